//! The one place where errors end: a line with the routine, what is wrong and where, then what the program wants, or the end of the job.

use std::ffi::{CString, c_char, c_int};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Why a call cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Before `GA_Initialize`, or after `GA_Terminate`.
    #[error("Global Arrays is not initialized: call GA_Initialize first")]
    NotInitialized,
    /// There is no such array.
    #[error("handle {0} is no array (or was destroyed)")]
    Handle(i32),
    /// An index beyond an array.
    #[error("array '{name}': {what}[{dimension}]={value} is outside {low}..{high}")]
    Range {
        /// The array's name.
        name: String,
        /// Which argument.
        what: &'static str,
        /// Counted from 0, the slowest first.
        dimension: usize,
        /// The value given.
        value: i64,
        /// The first that is right.
        low: i64,
        /// The first that is not.
        high: i64,
    },
    /// An argument makes no sense; the text names it.
    #[error("{0}")]
    Argument(String),
    /// A library that is not installed.
    #[error("{routine} needs {library}, which cannot be opened ({why}); on Debian: apt-get install {package}")]
    Library {
        /// The routine of that library.
        routine: &'static str,
        /// Its file.
        library: &'static str,
        /// What the loader says.
        why: String,
        /// Where it is.
        package: &'static str,
    },
    /// One-sided operations or memory failed.
    #[error(transparent)]
    Armci(#[from] isthmus_armci::Error),
}

/// Result of a call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An argument that makes no sense.
    pub fn argument(text: impl Into<String>) -> Self {
        Self::Argument(text.into())
    }

    /// Of registered types.
    pub fn no_arithmetic() -> Self {
        Self::argument("elements of a registered type can be moved, not computed with")
    }
}

/// What a program does about an error; gets the line and `GA_Error`'s code.
pub type Handler = unsafe extern "C" fn(*const c_char, c_int);

static HANDLER: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// From now on errors are told to this function first; none: to nobody.
pub fn set_handler(handler: Option<Handler>) {
    let handler = handler.map_or(std::ptr::null_mut(), |handler| handler as *mut ());
    HANDLER.store(handler, Ordering::Release);
}

/// Tell the program's handler, which may leave by `longjmp` or end the process; if it comes back, or there is none, end the job.
#[cold]
pub fn fatal(call: &str, what: &str, code: i32) -> ! {
    let line = isthmus_armci::error::line(call, what);
    let handler = HANDLER.load(Ordering::Acquire);
    if !handler.is_null() {
        let text = CString::new(line.replace('\0', " ")).unwrap_or_default();
        // SAFETY: `set_handler` stored such a function.
        unsafe { std::mem::transmute::<*mut (), Handler>(handler)(text.as_ptr(), code) };
    }
    isthmus_engine::abort(if code == 0 { 1 } else { code }, &line)
}
