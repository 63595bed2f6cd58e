//! A cgroup with a limit on memory or on CPU time, of either version.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::Run;

/// Goes with the value.
#[derive(Debug)]
pub struct ControlGroup {
    folder: PathBuf,
}

/// Where each version has groups that limit something, and the file that says how much.
type Versions = [(&'static str, &'static str); 2];

const MEMORY: Versions = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
    ("/sys/fs/cgroup", "memory.max"),
];
const CPU: Versions = [
    ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us"),
    ("/sys/fs/cgroup", "cpu.max"),
];

/// The most memory that was used at a time.
const PEAKS: [&str; 2] = ["memory.max_usage_in_bytes", "memory.peak"];

/// What the kernel counts CPU time against, if nobody says otherwise.
const PERIOD_US: u32 = 100_000;

impl ControlGroup {
    /// A new group of processes that together may use `limit` bytes. `None`: this user or machine cannot have that.
    pub fn with_memory(limit: u64) -> Option<Self> {
        let group = Self::new(MEMORY, &limit.to_string())?;
        group.peak().ok()?;
        Some(group)
    }

    /// A new group of processes that together may use the time of so many CPUs. `None`: this user or machine cannot have
    /// that.
    pub fn with_cpus(cpus: u32) -> Option<Self> {
        Self::new(CPU, &(cpus * PERIOD_US).to_string())
    }

    fn new(versions: Versions, limit: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (root, file) = versions
            .into_iter()
            .find(|(root, _)| Path::new(root).join("cgroup.procs").exists())?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(root).join(format!("isthmus-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let group = Self { folder };
        std::fs::write(group.folder.join(file), limit).ok()?;
        Some(group)
    }

    /// A run of `program` within it.
    pub fn run(&self, program: impl AsRef<Path>) -> Run {
        let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.folder.display());
        Run::program("sh")
            .words("-c")
            .arg(enter)
            .arg("sh")
            .arg(program.as_ref())
    }

    /// The most memory that was used at a time, in bytes.
    pub fn peak(&self) -> Result<u64> {
        let text = PEAKS
            .into_iter()
            .find_map(|file| std::fs::read_to_string(self.folder.join(file)).ok());
        let text = text.context("the group does not count memory")?;
        text.trim().parse().context("a number of bytes")
    }

    /// Is no process in it?
    pub fn is_empty(&self) -> bool {
        std::fs::read_to_string(self.folder.join("cgroup.procs")).is_ok_and(|pids| pids.is_empty())
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        // Processes that have ended still count for a moment.
        let begun = Instant::now();
        while std::fs::remove_dir(&self.folder).is_err() && begun.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
