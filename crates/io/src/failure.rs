//! A call of the system that failed.

use std::fmt;
use std::io;

use crate::error::{Class, Error};

/// A system call that failed: which, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// As in the manual: `pwrite`.
    pub call: &'static str,
    /// The system's number for the reason.
    pub errno: i32,
}

impl Failure {
    /// `error` of `call`; what has no number counts as a fault of the device.
    pub fn new(call: &'static str, error: &io::Error) -> Self {
        Self {
            call,
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        }
    }

    /// The class of errors that MPI has for it (MPI-5.0 §14.8).
    pub fn class(&self) -> Class {
        class_of(self.errno)
    }

    /// The error of an access to the file of this name.
    #[cold]
    pub fn of(&self, path: &str) -> Error {
        Error::new(self.class(), format!("{path}: {self}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, io::Error::from_raw_os_error(self.errno))
    }
}

impl std::error::Error for Failure {}

/// What of a system's call went well, or did not.
pub type Result<T> = std::result::Result<T, Failure>;

/// The class of errors for a number of the system's.
pub fn class_of(errno: i32) -> Class {
    match errno {
        libc::EACCES | libc::EPERM => Class::Access,
        libc::ENOENT => Class::NoSuchFile,
        libc::EEXIST => Class::FileExists,
        libc::ENOSPC => Class::NoSpace,
        libc::EDQUOT => Class::Quota,
        libc::EROFS => Class::ReadOnly,
        libc::EISDIR | libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP => Class::BadFile,
        libc::EBUSY | libc::ETXTBSY | libc::EAGAIN | libc::EDEADLK => Class::FileInUse,
        libc::EOPNOTSUPP | libc::ENOSYS | libc::ENOLCK => Class::UnsupportedOperation,
        libc::ENOMEM => Class::NoMem,
        _ => Class::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_file_call_and_reason() {
        let failure = Failure {
            call: "pwrite",
            errno: libc::ENOSPC,
        };
        let error = failure.of("/tmp/data");
        assert_eq!(error.code(), Class::NoSpace as i32);
        assert!(
            error.detail().contains("/tmp/data: pwrite: No space left on device"),
            "{}",
            error.detail()
        );
    }
}
