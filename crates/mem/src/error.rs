//! What can go wrong with memory of a device.

/// A failure of the driver, by its own name for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Error {
    what: String,
}

/// The result of a call on memory of any kind.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// There is no driver, or no such procedure in it.
    pub fn unsupported() -> Self {
        Self {
            what: "this process has no CUDA driver that can do this".to_owned(),
        }
    }
}
