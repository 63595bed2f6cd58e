//! Running one command to its end, with a limit on time, and reading what our C programs print.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use isthmus_os::{interrupt, signal};

/// A command that prints nothing for so long hangs, even with a library that yields its CPU only by sleeping, if nothing else is known of it.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(30);
/// How often its output is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long a launcher has to end its ranks once it is asked to.
const GRACE: Duration = Duration::from_secs(3);
const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

/// How long a command may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// It is ended if it prints nothing for so long.
    pub silence: Duration,
    /// It is ended then, and what it has printed is kept.
    pub until: Option<Instant>,
}

impl Limits {
    /// Of a command that hangs if it prints nothing for so long.
    pub const fn silence(silence: Duration) -> Self {
        Self { silence, until: None }
    }
}

/// A command that ended.
pub struct Finished {
    /// From before its start until it was reaped.
    pub took: Duration,
    /// Why it did not end well, if it did not.
    pub failure: Option<String>,
    /// Whether it was ended because its time was used up.
    pub is_late: bool,
    stdout: String,
    stderr: String,
}

/// One `result NAME key=value ...` line.
pub struct Line<'a>(&'a str);

impl Finished {
    /// One that printed this.
    pub fn of(stdout: &str) -> Self {
        Self {
            took: Duration::ZERO,
            failure: None,
            is_late: false,
            stdout: stdout.to_owned(),
            stderr: String::new(),
        }
    }

    /// The lines that hold results called `name`.
    pub fn results<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Line<'a>> {
        self.stdout.lines().filter_map(move |line| {
            let rest = line.strip_prefix("result ")?.strip_prefix(name)?;
            rest.starts_with(' ').then_some(Line(rest))
        })
    }

    /// All lines that it printed.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.stdout.lines()
    }

    /// The sums over ranks that `mpiexec --stats` printed, by the counter's name.
    pub fn counters(&self) -> impl Iterator<Item = (&str, u64)> {
        self.stdout.lines().chain(self.stderr.lines()).filter_map(|line| {
            let mut words = line.strip_prefix("isthmus: ")?.split_whitespace();
            Some((words.next()?, words.next()?.parse().ok()?))
        })
    }

    /// It is as if the command had printed this, too.
    pub fn append(&mut self, printed: &str) {
        self.stdout.push_str(printed);
    }

    /// The command, if it ended well.
    pub fn well(self) -> Result<Self> {
        match self.failure {
            Some(why) => bail!(why),
            None => Ok(self),
        }
    }

    /// What the program says it runs on.
    pub fn library(&self) -> Option<&str> {
        self.stdout.lines().find_map(|line| line.strip_prefix("library "))
    }
}

impl Line<'_> {
    /// The number behind `key=`.
    pub fn field(&self, key: &str) -> Option<f64> {
        self.word(key)?.parse().ok()
    }

    /// The value of `key=`.
    pub fn word(&self, key: &str) -> Option<&str> {
        let mut fields = self.0.split_whitespace().filter_map(|field| field.split_once('='));
        Some(fields.find(|(name, _)| *name == key)?.1)
    }
}

/// Run `command` to its end, keeping its output in files in `directory`: a pipe would wait for stray children that hold
/// it. Blocks; a command that reaches one of its limits is ended, and so is one that runs when SIGINT or SIGTERM comes. An error means that it could
/// not be run at all, or that such a signal came.
pub fn run(mut command: Command, directory: &Path, limits: Limits) -> Result<Finished> {
    let name = Path::new(command.get_program()).display().to_string();
    let (out, err) = (directory.join("stdout"), directory.join("stderr"));
    command
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?);

    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot run {name}"))?;
    let pid = child.id();
    let (ended, hears) = mpsc::channel::<()>();
    let watched = out.clone();
    let watchdog = thread::spawn(move || {
        let still_runs = |limit| hears.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        let (mut said, mut since) = (0, Instant::now());
        while still_runs(LOOK) {
            let says = fs::metadata(&watched).map_or(said, |metadata| metadata.len());
            if says != said {
                (said, since) = (says, Instant::now());
            }
            let is_late = limits.until.is_some_and(|until| Instant::now() >= until);
            let is_hung = !is_late && since.elapsed() > limits.silence;
            if is_hung || is_late || interrupt::noted() {
                let _ = signal::send(pid, SIGTERM);
                if still_runs(GRACE) {
                    let _ = signal::send(pid, SIGKILL);
                }
                return (is_hung, is_late);
            }
        }
        (false, false)
    });
    let status = child.wait();
    let took = start.elapsed();
    drop(ended);
    let (is_hung, is_late) = watchdog.join().unwrap_or((false, false));

    ensure!(!interrupt::noted(), "interrupted");
    let status = status.with_context(|| format!("cannot wait for {name}"))?;
    let stderr = String::from_utf8_lossy(&fs::read(&err)?).into_owned();
    let failure = if is_hung {
        Some(format!("{name} printed nothing for {} s", limits.silence.as_secs()))
    } else if is_late {
        Some(format!("{name} was ended: its time was used up"))
    } else if status.success() {
        None
    } else {
        let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).take(5).collect();
        let why = if lines.is_empty() {
            "it does not say why".to_owned()
        } else {
            lines.join("; ")
        };
        Some(format!("{name} failed ({status}): {why}"))
    };
    let stdout = String::from_utf8_lossy(&fs::read(&out)?).into_owned();
    Ok(Finished {
        took,
        failure,
        is_late,
        stdout,
        stderr,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_among_other_output() {
        let finished = Finished::of("noise\nlibrary Some MPI\nresult line us=0.5 best=0.4\nresult lines us=9\n");
        let lines: Vec<_> = finished.results("line").collect();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].field("best"), Some(0.4));
        assert_eq!(lines[0].word("best"), Some("0.4"));
        assert_eq!(lines[0].field("worst"), None);
        assert_eq!(finished.library(), Some("Some MPI"));
    }

    #[test]
    fn a_failure_says_why_and_keeps_what_was_printed() -> Result<()> {
        let directory = std::env::temp_dir().join(format!("isthmus-bench-test-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let mut command = Command::new("sh");
        command.args(["-c", "echo result one us=1; echo because >&2; exit 3"]);
        let finished = run(command, &directory, Limits::silence(SILENCE_LIMIT))?;
        assert_eq!(finished.results("one").count(), 1);
        assert!(!finished.is_late);
        let error = finished.well().err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("because")));
        fs::remove_dir_all(directory)?;
        Ok(())
    }

    #[test]
    fn a_command_whose_time_is_used_up_keeps_what_it_printed() -> Result<()> {
        let directory = std::env::temp_dir().join(format!("isthmus-bench-late-{}", std::process::id()));
        fs::create_dir_all(&directory)?;
        let mut command = Command::new("sh");
        command.args(["-c", "echo result one us=1; exec sleep 1000"]);
        let limits = Limits {
            until: Some(Instant::now() + 2 * LOOK),
            ..Limits::silence(SILENCE_LIMIT)
        };
        let finished = run(command, &directory, limits)?;
        assert!(finished.is_late && finished.failure.is_some());
        assert_eq!(finished.results("one").count(), 1);
        fs::remove_dir_all(directory)?;
        Ok(())
    }
}
