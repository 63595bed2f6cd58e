//! What can go wrong in the engine.

/// Errors of the engine. Each names what failed and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process could not join its job.
    #[error("cannot join the job: {0}")]
    Boot(String),
    /// Memory for communication could not be had.
    #[error("out of memory for communication: {0}")]
    NoMemory(String),
    /// A process we need has died.
    #[error("process {peer} has failed")]
    PeerFailed {
        /// Its index.
        peer: u32,
    },
    /// The message handle names no message.
    #[error("the message was received already")]
    NoSuchMessage,
}

impl From<isthmus_shm::segment::Error> for Error {
    fn from(error: isthmus_shm::segment::Error) -> Self {
        Self::NoMemory(error.to_string())
    }
}

/// Result of engine calls.
pub type Result<T> = std::result::Result<T, Error>;
