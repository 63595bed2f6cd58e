//! One run of a command, watched.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A command to run.
#[derive(Debug)]
pub struct Run {
    command: Command,
    input: Option<String>,
    limit: Duration,
}

/// How it went.
#[derive(Debug)]
pub struct Finished {
    /// Exit code; `None` if a signal killed it.
    pub code: Option<i32>,
    /// What it printed.
    pub out: String,
    /// What it printed as errors.
    pub err: String,
    /// How long it ran.
    pub took: Duration,
}

/// A command that runs. It ends with the value, if nobody has waited for its end: a test that fails leaves nothing to others.
#[derive(Debug)]
pub struct Running {
    child: Child,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<String>>,
    begun: Instant,
    limit: Duration,
}

impl Run {
    /// Our mpiexec with these arguments, separated by blanks.
    pub fn mpiexec(arguments: &str) -> Self {
        Self::program(crate::command("mpiexec")).words(arguments)
    }

    /// Any program.
    pub fn program(program: impl AsRef<OsStr>) -> Self {
        Self {
            command: Command::new(program),
            input: None,
            limit: Duration::from_secs(60),
        }
    }

    /// More arguments, separated by blanks.
    pub fn words(mut self, arguments: &str) -> Self {
        self.command.args(arguments.split_whitespace());
        self
    }

    /// One more argument.
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.command.arg(argument.into());
        self
    }

    /// In its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// With this as its working directory.
    pub fn directory(mut self, directory: impl AsRef<std::path::Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// On its standard input; without it the input is empty.
    pub fn input(mut self, text: &str) -> Self {
        self.input = Some(text.to_owned());
        self
    }

    /// How long it may run (a minute if not said).
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Start it.
    pub fn start(mut self) -> Result<Running> {
        let input = if self.input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        };
        self.command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child = self
            .command
            .spawn()
            .with_context(|| format!("cannot run {:?}", self.command))?;
        if let (Some(text), Some(mut pipe)) = (self.input, child.stdin.take()) {
            // A program that does not read its input is no failure of the test's.
            std::thread::spawn(move || pipe.write_all(text.as_bytes()));
        }
        Ok(Running {
            out: Some(read(child.stdout.take())),
            err: Some(read(child.stderr.take())),
            child,
            begun,
            limit: self.limit,
        })
    }

    /// Run it to its end. Fails if that takes too long.
    pub fn finish(self) -> Result<Finished> {
        self.start()?.finish()
    }

    /// Run it to its end; fails, with all it said, unless it exits with 0.
    pub fn succeed(self) -> Result<Finished> {
        let finished = self.finish()?;
        if finished.code != Some(0) {
            bail!("exit code {:?}\n{}{}", finished.code, finished.out, finished.err);
        }
        Ok(finished)
    }
}

impl Running {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Wait for its end. Fails if that takes too long.
    pub fn finish(mut self) -> Result<Finished> {
        let status = loop {
            if let Some(status) = self.child.try_wait().context("cannot wait")? {
                break status;
            }
            if self.begun.elapsed() > self.limit {
                let listing = crate::listing(self.pid());
                crate::end(self.pid());
                self.child.wait().context("cannot wait")?;
                let (out, err) = (text(self.out.take()), text(self.err.take()));
                bail!("not done after {:?}:\n{listing}\n{out}{err}", self.limit);
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let took = self.begun.elapsed();
        Ok(Finished {
            code: status.code(),
            out: text(self.out.take()),
            err: text(self.err.take()),
            took,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            crate::end(self.pid());
            // It has been killed: there is nothing left to say.
            let _ = self.child.wait();
        }
    }
}

fn read(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // Output before an error is still useful.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn text(reader: Option<JoinHandle<String>>) -> String {
    reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
}
