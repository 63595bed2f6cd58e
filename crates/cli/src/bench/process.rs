//! Running one command to its end, with a limit on time, and reading what our C programs print.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use isthmus_os::{interrupt, signal};

/// Longer than any launch takes, even of a library that yields its CPU only by sleeping.
const LIMIT: Duration = Duration::from_secs(120);
/// How long a launcher has to end its ranks once it is asked to.
const GRACE: Duration = Duration::from_secs(3);
const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

/// A command that ended well.
pub struct Finished {
    /// From before its start until it was reaped.
    pub took: Duration,
    stdout: String,
}

/// One `result NAME key=value ...` line.
pub struct Line<'a>(&'a str);

impl Finished {
    /// The lines that hold results called `name`.
    pub fn results<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Line<'a>> {
        self.stdout.lines().filter_map(move |line| {
            let rest = line.strip_prefix("result ")?.strip_prefix(name)?;
            rest.starts_with(' ').then_some(Line(rest))
        })
    }

    /// What the program says it runs on.
    pub fn library(&self) -> Option<&str> {
        self.stdout.lines().find_map(|line| line.strip_prefix("library "))
    }
}

impl Line<'_> {
    /// The number behind `key=`.
    pub fn field(&self, key: &str) -> Option<f64> {
        let fields = self.0.split_whitespace();
        let value = fields
            .filter_map(|field| field.split_once('='))
            .find(|(name, _)| *name == key)?
            .1;
        value.parse().ok()
    }
}

/// Run `command`, keeping its output in files in `directory`: a pipe would wait for stray children that hold it. Blocks
/// until it ends, at most for [`LIMIT`].
pub fn run(mut command: Command, directory: &Path) -> Result<Finished> {
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
    let watchdog = thread::spawn(move || {
        let late = |limit| hears.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
        let was_late = late(LIMIT);
        if was_late {
            let _ = signal::send(pid, SIGTERM);
            if late(GRACE) {
                let _ = signal::send(pid, SIGKILL);
            }
        }
        was_late
    });
    let status = child.wait();
    let took = start.elapsed();
    drop(ended);
    let was_late = watchdog.join().unwrap_or(false);

    ensure!(!interrupt::noted(), "interrupted");
    ensure!(!was_late, "{name} did not end within {} s", LIMIT.as_secs());
    let status = status.with_context(|| format!("cannot wait for {name}"))?;
    if !status.success() {
        let text = String::from_utf8_lossy(&fs::read(&err)?).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(5).collect();
        let why = if lines.is_empty() {
            "it does not say why".to_owned()
        } else {
            lines.join("; ")
        };
        bail!("{name} failed ({status}): {why}");
    }
    let stdout = String::from_utf8_lossy(&fs::read(&out)?).into_owned();
    Ok(Finished { took, stdout })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_among_other_output() {
        let finished = Finished {
            took: Duration::ZERO,
            stdout: "noise\nlibrary Some MPI\nresult line us=0.5 best=0.4\nresult lines us=9\n".to_owned(),
        };
        let lines: Vec<_> = finished.results("line").collect();
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].field("best"), Some(0.4));
        assert_eq!(lines[0].field("worst"), None);
        assert_eq!(finished.library(), Some("Some MPI"));
    }

    #[test]
    fn a_failure_says_why() {
        let directory = std::env::temp_dir();
        let mut command = Command::new("sh");
        command.args(["-c", "echo because >&2; exit 3"]);
        let error = run(command, &directory)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(error.contains("because"), "{error}");
    }
}
