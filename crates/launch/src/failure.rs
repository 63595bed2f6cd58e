//! Why a job could not be started, and talking to the user.

use std::fmt::Display;

use crate::sink::{self, Stream};

/// One line for the user, and the exit code.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// What failed and what to do.
    pub message: String,
    /// Exit code of mpiexec: 2 for a wrong command line, 126 and 127 for programs as shells have it, 1 otherwise.
    pub code: u8,
}

impl Failure {
    /// The command line is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, code: 2 }
    }

    /// There is no such program.
    pub fn not_found(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, code: 127 }
    }

    /// The program is there but cannot be run.
    pub fn not_runnable(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { message, code: 126 }
    }

    /// It happened on this of several nodes.
    pub fn on_host(self) -> Self {
        Self {
            message: format!("host {}: {}", isthmus_os::host::name(), self.message),
            ..self
        }
    }

    /// The machine does not give what a job needs.
    pub fn machine(what: &str, error: impl Display) -> Self {
        let message = format!("cannot {what}: {error}");
        Self { message, code: 1 }
    }
}

/// Result of what comes before the ranks run.
pub type Result<T> = std::result::Result<T, Failure>;

/// Print one line of ours on standard error.
pub fn say(message: &str) {
    say_as_it_is(&format!("mpiexec: {message}"));
}

/// Print one line on standard error, in one write, so that it stays whole among the ranks' output. Does not block once threads write
/// (`sink.rs`).
pub fn say_as_it_is(line: &str) {
    sink::put(Stream::Err, format!("{line}\n").into_bytes());
}
