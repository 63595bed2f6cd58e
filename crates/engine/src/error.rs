//! What can go wrong in the engine.

/// Errors of the engine. Each names what failed and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The process could not join its job.
    #[error("cannot join the job: {0}")]
    Boot(String),
    /// Shared memory could not be had.
    #[error("out of shared memory: {0}")]
    NoMemory(String),
    /// A process we need has died.
    #[error("process {peer} has failed")]
    PeerFailed {
        /// Its index.
        peer: u32,
    },
    /// The launcher has gone.
    #[error("the launcher has gone")]
    LauncherGone,
}

/// Result of engine calls.
pub type Result<T> = std::result::Result<T, Error>;
