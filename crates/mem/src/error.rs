//! What can go wrong with memory of a device.

/// A failure of the driver, by its own name for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Error {
    what: String,
    code: i32,
}

/// The result of a call on memory of any kind.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// There is no driver, or no such procedure in it.
    pub fn unsupported() -> Self {
        Self::plain("this process has no CUDA driver that can do this".to_owned())
    }

    /// What the driver's call answered, by number and name, and what it was made for.
    pub(crate) fn of_driver(code: i32, name: &str, call: &str, what: &str) -> Self {
        Self {
            what: format!("{what}: {call} answers {name}"),
            code,
        }
    }

    /// Without an answer of the driver.
    pub(crate) fn plain(what: String) -> Self {
        Self { what, code: 0 }
    }

    /// The driver's number for it (`CUresult`); 0 if it is not the driver's.
    pub fn code(&self) -> i32 {
        self.code
    }
}
