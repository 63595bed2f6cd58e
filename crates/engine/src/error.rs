//! What can go wrong in the engine.

use isthmus_datatype::error::Class;
use isthmus_os::errno;

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
    /// The program has closed a file descriptor that the library needs.
    #[error(
        "a file descriptor of the library is closed ({0}): the program closes descriptors that it has not opened; it must do so before \
         MPI_Init, or spare them"
    )]
    Closed(String),
    /// A process we need has died.
    #[error("process {peer} has failed")]
    PeerFailed {
        /// Its index.
        peer: u32,
    },
    /// Ranks of several nodes cannot do that after a failure under another launcher.
    #[error("ranks on several nodes cannot {what} under another launcher than Isthmus's mpiexec")]
    NoArbiter {
        /// What they wanted.
        what: &'static str,
    },
    /// A one-sided operation names bytes that its region does not have.
    #[error("bytes {from} to {} are not among the {length} bytes that process {peer} exposes", .to.saturating_sub(1))]
    OutOfRange {
        /// The region's owner.
        peer: u32,
        /// First byte.
        from: u64,
        /// Behind the last byte.
        to: u64,
        /// Bytes of the region.
        length: u64,
    },
    /// A key names no region of a peer.
    #[error("no region of process {peer}: {why}")]
    BadKey {
        /// The alleged owner.
        peer: u32,
        /// The mistake.
        why: &'static str,
    },
    /// Memory of a device cannot be used so, as its driver says.
    #[error("{0}")]
    Device(String),
    /// The arguments of a one-sided operation contradict each other.
    #[error("one-sided operation: {0}")]
    Mismatch(&'static str),
    /// A peer refuses what a layer above asked of it.
    #[error("process {peer}, on another node, refuses what is asked of it: it knows no such object, or has freed it")]
    Refused {
        /// Which.
        peer: u32,
    },
    /// Memory of a peer can be reached by nothing.
    #[error("the memory of process {peer} cannot be reached: {why}")]
    Unreachable {
        /// Its owner.
        peer: u32,
        /// Why, and what to do.
        why: String,
    },
    /// The message handle names no message.
    #[error("the message was received already")]
    NoSuchMessage,
}

impl From<isthmus_shm::segment::Error> for Error {
    fn from(error: isthmus_shm::segment::Error) -> Self {
        match &error {
            isthmus_shm::segment::Error::Os(os) if os.errno == errno::EBADF => Self::Closed(error.to_string()),
            _ => Self::NoMemory(error.to_string()),
        }
    }
}

/// As the layers above report it: with a class of MPI's.
impl From<Error> for isthmus_datatype::error::Error {
    fn from(error: Error) -> Self {
        let class = match error {
            Error::NoMemory(_) => Class::NoMem,
            Error::PeerFailed { .. } => Class::ProcFailed,
            Error::NoArbiter { .. } => Class::UnsupportedOperation,
            Error::OutOfRange { .. } => Class::RmaRange,
            Error::Mismatch(_) => Class::Type,
            Error::Refused { .. } => Class::RmaSync,
            _ => Class::Other,
        };
        Self::new(class, error.to_string())
    }
}

/// Result of engine calls.
pub type Result<T> = std::result::Result<T, Error>;
