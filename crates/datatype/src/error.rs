//! Errors as MPI classes them, and a sentence. Other models of programming name the classes in their own words.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// The error classes of MPI 5.0 §9.4, with the standard ABI's values, and those of process failures, which are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
#[allow(missing_docs)] // The names are the standard's.
pub enum Class {
    Success = 0,
    Buffer = 1,
    Count = 2,
    Type = 3,
    Tag = 4,
    Comm = 5,
    Rank = 6,
    Request = 7,
    Root = 8,
    Group = 9,
    Op = 10,
    Topology = 11,
    Dims = 12,
    Arg = 13,
    Unknown = 14,
    Truncate = 15,
    Other = 16,
    Intern = 17,
    Pending = 18,
    InStatus = 19,
    Access = 20,
    Amode = 21,
    Assert = 22,
    BadFile = 23,
    Base = 24,
    Conversion = 25,
    Disp = 26,
    DupDatarep = 27,
    FileExists = 28,
    FileInUse = 29,
    File = 30,
    InfoKey = 31,
    InfoNokey = 32,
    InfoValue = 33,
    Info = 34,
    Io = 35,
    Keyval = 36,
    Locktype = 37,
    Name = 38,
    NoMem = 39,
    NotSame = 40,
    NoSpace = 41,
    NoSuchFile = 42,
    Port = 43,
    Quota = 44,
    ReadOnly = 45,
    RmaAttach = 46,
    RmaConflict = 47,
    RmaRange = 48,
    RmaShared = 49,
    RmaSync = 50,
    Service = 51,
    Size = 52,
    Spawn = 53,
    UnsupportedDatarep = 54,
    UnsupportedOperation = 55,
    Win = 56,
    RmaFlavor = 57,
    ProcAborted = 58,
    ValueTooLarge = 59,
    Session = 60,
    Errhandler = 61,
    Abi = 62,
    ProcFailed = 101,
    ProcFailedPending = 102,
    Revoked = 103,
}

/// An error on its way to an error handler. One word, so that results fit registers: what is returned through memory is copied there, part by
/// part, in every call that goes well.
#[derive(Debug, Clone)]
pub struct Error(Box<Contents>);

#[derive(Debug, Clone)]
struct Contents {
    code: i32,
    detail: Box<str>,
    attachment: Option<Arc<dyn Any + Send + Sync>>,
}

const _: () = assert!(size_of::<Result<&'static u8>>() == 16);

/// Result of calls on typed data.
pub type Result<T> = std::result::Result<T, Error>;

/// A list with room for `entries`, whose number a user gave: `NoMem` if there is no memory for them. `what` names them.
pub fn room<T>(entries: usize, what: &str) -> Result<Vec<T>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(entries) {
        Ok(()) => Ok(list),
        Err(_) => Err(no_room(entries, size_of::<T>(), what)),
    }
}

#[cold]
fn no_room(entries: usize, each: usize, what: &str) -> Error {
    Error::new(
        Class::NoMem,
        format!("no memory for {what}: {entries} entries of {each} bytes"),
    )
}

impl Error {
    /// An error of `class`; `detail` names argument and value, without the procedure's name: `dest=7, but the communicator has 4 ranks`.
    #[cold]
    pub fn new(class: Class, detail: impl Into<Box<str>>) -> Self {
        Self::from_code(class as i32, detail)
    }

    /// An error that a user callback returned, or a user-defined code (canonical code).
    #[cold]
    pub fn from_code(code: i32, detail: impl Into<Box<str>>) -> Self {
        Self(Box::new(Contents {
            code,
            detail: detail.into(),
            attachment: None,
        }))
    }

    /// The same error, with something that a layer above wants to find on it again.
    #[cold]
    #[must_use]
    pub fn attach<T: Any + Send + Sync>(mut self, attachment: T) -> Self {
        self.0.attachment = Some(Arc::new(attachment));
        self
    }

    /// The last attachment, if it is a `T`.
    pub fn attachment<T: Any>(&self) -> Option<&T> {
        self.0.attachment.as_deref()?.downcast_ref()
    }

    /// The canonical error code. For our own errors it is the class.
    pub fn code(&self) -> i32 {
        self.0.code
    }

    /// Is it because a process has failed, or because somebody revoked the communicator?
    pub fn is_failure(&self) -> bool {
        (Class::ProcFailed as i32..=Class::Revoked as i32).contains(&self.0.code)
    }

    /// Argument and value.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        self.0.code == other.0.code && self.0.detail == other.0.detail
    }
}

impl Eq for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.detail())
    }
}

impl std::error::Error for Error {}

/// Shorthand: an [`Error`] of a [`Class`] with a formatted detail.
#[macro_export]
macro_rules! fail {
    ($class:ident, $($arg:tt)*) => {
        $crate::error::Error::new($crate::error::Class::$class, format!($($arg)*))
    };
}
