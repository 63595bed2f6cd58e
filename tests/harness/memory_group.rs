//! A cgroup with a limit on memory, of either version.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::Run;

/// Goes with the value.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
    peak: &'static str,
}

/// Where a version's groups are, and what it calls the limit and the most that was used.
const VERSIONS: [(&str, &str, &str); 2] = [
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.max_usage_in_bytes",
    ),
    ("/sys/fs/cgroup", "memory.max", "memory.peak"),
];

impl MemoryGroup {
    /// A new group of processes that together may use `limit` bytes. `None`: this user or machine cannot have that.
    pub fn new(limit: u64) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let (root, file, peak) = VERSIONS
            .into_iter()
            .find(|(root, _, _)| Path::new(root).join("cgroup.procs").exists())?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = Path::new(root).join(format!("isthmus-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        let group = Self { folder, peak };
        std::fs::write(group.folder.join(file), limit.to_string()).ok()?;
        std::fs::metadata(group.folder.join(peak)).ok()?;
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

    /// The most that was used at a time, in bytes.
    pub fn peak(&self) -> Result<u64> {
        let text = std::fs::read_to_string(self.folder.join(self.peak))?;
        text.trim().parse().context("a number of bytes")
    }

    /// Is no process in it?
    pub fn is_empty(&self) -> bool {
        std::fs::read_to_string(self.folder.join("cgroup.procs")).is_ok_and(|pids| pids.is_empty())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Processes that have ended still count for a moment.
        let begun = Instant::now();
        while std::fs::remove_dir(&self.folder).is_err() && begun.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
