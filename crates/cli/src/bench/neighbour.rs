//! Processes beside what is measured: what a machine does that is not ours alone.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;
use isthmus_os::signal;

const SIGTERM: i32 = 15;
/// How long a neighbour has to end once it is asked to.
const GRACE: Duration = Duration::from_secs(5);
/// From the start of neighbours to that of the measured job.
const HEAD_START: Duration = Duration::from_millis(300);
/// Processes of [`Neighbour::Crowd`] beside its loop.
const CROWD: usize = 40;

/// A kind of neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Neighbour {
    /// Nobody
    None,
    /// A busy loop
    Loop,
    /// Two busy loops
    Loops,
    /// Two busy loops, which were ended 100 ms before
    Gone,
    /// A C compiler, over and over
    Build,
    /// A process that copies memory beyond all caches
    Copier,
    /// A second job of the same library and size that exchanges messages all the time
    Job,
    /// A busy loop at nice 10
    Nice,
    /// A busy loop under SCHED_IDLE
    Idle,
    /// A busy loop in a cgroup with a quota of half a CPU (as root)
    Quota,
    /// A busy loop and forty under SCHED_IDLE
    Crowd,
}

impl Neighbour {
    /// As on the command line.
    pub fn name(self) -> String {
        let value = self.to_possible_value().expect("no kind is hidden");
        value.get_name().to_owned()
    }

    /// As in a title.
    pub fn title(self) -> &'static str {
        match self {
            Self::None => "beside nobody",
            Self::Loop => "beside a busy loop",
            Self::Loops => "beside two busy loops",
            Self::Gone => "100 ms after two busy loops have ended",
            Self::Build => "beside a C compiler",
            Self::Copier => "beside a process that copies memory",
            Self::Job => "beside a second job of the same library",
            Self::Nice => "beside a busy loop at nice 10",
            Self::Idle => "beside a busy loop under SCHED_IDLE",
            Self::Quota => "beside a busy loop with a quota of half a CPU",
            Self::Crowd => "beside a busy loop and forty under SCHED_IDLE",
        }
    }

    /// Options of the measuring program.
    pub fn options(self) -> Vec<String> {
        match self {
            Self::Gone => vec!["--gone".to_owned(), "2".to_owned()],
            _ => vec![],
        }
    }

    /// Does it say how far it has come?
    pub fn is_counted(self) -> bool {
        matches!(self, Self::Loop | Self::Loops)
    }

    /// Start it: `program` is compiled from `neighbour.c`, `job` runs the second job. Blocks for a moment, so that it runs.
    pub fn start(self, program: &Path, job: impl FnOnce() -> Command) -> Result<Running> {
        let one = |words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words);
            command
        };
        let commands = match self {
            Self::None | Self::Gone => vec![],
            Self::Loop | Self::Quota => vec![one(&["loop"])],
            Self::Loops => vec![one(&["loop"]), one(&["loop"])],
            Self::Build => vec![one(&["build"])],
            Self::Copier => vec![one(&["copier"])],
            Self::Job => vec![job()],
            Self::Nice => vec![one(&["--nice", "10", "loop"])],
            Self::Idle => vec![one(&["--idle", "loop"])],
            Self::Crowd => {
                let crowd = (0..CROWD).map(|_| one(&["--idle", "loop"]));
                crowd.chain([one(&["loop"])]).collect()
            }
        };
        let mut running = Running {
            children: Vec::new(),
            group: None,
        };
        for mut command in commands {
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            let child = command.spawn().context("cannot start a neighbour")?;
            running.children.push(child);
        }
        if self == Self::Quota {
            running.limit()?;
        }
        if !running.children.is_empty() {
            std::thread::sleep(HEAD_START);
        }
        Ok(running)
    }
}

/// Neighbours that run; they end when this is dropped.
pub struct Running {
    children: Vec<Child>,
    /// A cgroup that was made for them.
    group: Option<PathBuf>,
}

impl Running {
    /// End them: what they print.
    pub fn end(mut self) -> String {
        let mut printed = String::new();
        for child in &mut self.children {
            end(child);
            if let Some(mut output) = child.stdout.take() {
                let _ = output.read_to_string(&mut printed);
            }
        }
        printed
    }

    /// Let them have half a CPU.
    fn limit(&mut self) -> Result<()> {
        // The kernel's first version of control groups, and the second: its file tells where it is mounted.
        let quotas = [
            ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"),
            ("/sys/fs/cgroup", "cpu.max", "50000 100000"),
        ];
        let why = "a quota needs root and a control group";
        let name = format!("isthmus-bench-{}", std::process::id());
        let (group, quota, value) = quotas
            .into_iter()
            .map(|(root, quota, value)| (Path::new(root), quota, value))
            .filter(|(root, ..)| root.join("cgroup.procs").exists())
            .find_map(|(root, quota, value)| {
                let group = root.join(&name);
                fs::create_dir(&group).ok()?;
                self.group = Some(group.clone());
                group.join(quota).exists().then_some((group, quota, value))
            })
            .context(why)?;
        fs::write(group.join(quota), value).context(why)?;
        for child in &self.children {
            fs::write(group.join("cgroup.procs"), child.id().to_string()).context(why)?;
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.children.iter_mut().for_each(end);
        // The kernel lets go of it a moment after its last process has ended.
        let began = Instant::now();
        while let Some(group) = &self.group
            && fs::remove_dir(group).is_err_and(|error| error.kind() == ErrorKind::ResourceBusy)
            && began.elapsed() < GRACE
        {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Ask a process to end, and kill it if it does not. Blocks until it has.
fn end(child: &mut Child) {
    if matches!(child.try_wait(), Ok(None)) {
        let _ = signal::send(child.id(), SIGTERM);
    }
    let asked = Instant::now();
    while matches!(child.try_wait(), Ok(None)) {
        if asked.elapsed() > GRACE {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_run_until_they_are_ended() {
        let sleeps = || {
            let mut command = Command::new("sh");
            command.args(["-c", "echo result; exec sleep 600"]);
            command
        };
        let running = Neighbour::Job.start(Path::new("/nowhere"), sleeps).expect("a shell");
        let pid = running.children[0].id();
        assert!(Path::new(&format!("/proc/{pid}")).exists());
        assert_eq!(running.end(), "result\n");
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        assert!(Neighbour::Loop.start(Path::new("/nowhere"), sleeps).is_err());
    }
}
