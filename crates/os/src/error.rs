//! A failed system call.

use std::fmt;
use std::io;

/// Which call failed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error {
    /// Name of the system call.
    pub call: &'static str,
    /// What the kernel said.
    pub errno: i32,
}

/// The numbers that callers tell apart.
pub mod errno {
    pub use libc::{
        EACCES, EBADF, ECONNRESET, EFAULT, EFBIG, EINVAL, EIO, EMFILE, ENFILE, ENODEV, ENOENT, ENOMEM, ENOSYS, ENOTTY,
        EPERM, EPIPE, EPROTO, ESRCH,
    };
}

/// Result of system calls.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The calling thread's `errno`, after `call` failed.
    pub fn last(call: &'static str) -> Self {
        Self {
            call,
            errno: io::Error::last_os_error().raw_os_error().unwrap_or(0),
        }
    }
}

/// The answer of a system call that `rustix` makes, under its name.
pub(crate) fn named<T>(call: &'static str, answer: rustix::io::Result<T>) -> Result<T> {
    answer.map_err(|error| Error {
        call,
        errno: error.raw_os_error(),
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, io::Error::from_raw_os_error(self.errno))
    }
}

impl std::error::Error for Error {}

/// `value`, or the error if it is -1.
pub(crate) fn check(call: &'static str, value: libc::c_int) -> Result<libc::c_int> {
    if value == -1 { Err(Error::last(call)) } else { Ok(value) }
}

/// As [`check`], for calls that return a size.
pub(crate) fn check_size(call: &'static str, value: libc::ssize_t) -> Result<usize> {
    if value == -1 {
        Err(Error::last(call))
    } else {
        Ok(value as usize)
    }
}
