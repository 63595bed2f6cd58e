//! What can be wrong with a call.

use isthmus_engine::abort;

use crate::life;

/// Why a call cannot be served. Each names the argument, and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Before `ARMCI_Init`, or after `ARMCI_Finalize`.
    #[error("ARMCI is not initialized: call ARMCI_Init first")]
    NotInitialized,
    /// There is no such process.
    #[error("proc={proc} is no process: there are {processes}")]
    Process {
        /// The value given.
        proc: i32,
        /// How many there are.
        processes: usize,
    },
    /// A pointer does not lead into global memory of the process that it is said to belong to.
    #[error(
        "{what}={address:#x}, {length} bytes, is not within memory that process {proc} has from ARMCI_Malloc (or was freed)"
    )]
    Outside {
        /// The argument's name.
        what: &'static str,
        /// First byte that would be touched.
        address: u64,
        /// From there to behind the last one.
        length: u64,
        /// The process.
        proc: usize,
    },
    /// An argument makes no sense; the text names it.
    #[error("{0}")]
    Argument(String),
    /// Memory that cannot be had, here or at another process of a collective call.
    #[error("{bytes} bytes cannot be had: {why}")]
    Memory {
        /// As asked for here.
        bytes: u64,
        /// What refused them.
        why: String,
    },
    /// Another process has died.
    #[error("process {0} has failed")]
    Failed(usize),
    /// A collective call could not be made: mostly because a member has failed.
    #[error("{0}")]
    Collective(String),
    /// The engine could not do it.
    #[error(transparent)]
    Engine(#[from] isthmus_engine::Error),
}

/// Result of a call.
pub type Result<T> = std::result::Result<T, Error>;

/// An argument that makes no sense.
pub fn argument(text: impl Into<String>) -> Error {
    Error::Argument(text.into())
}

/// An empty list with room for so many elements, as a program's argument says. Does not block.
///
/// # Errors
/// There is not as much memory.
pub fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|error| Error::Memory {
        bytes: (count as u64).saturating_mul(size_of::<T>() as u64),
        why: error.to_string(),
    })?;
    Ok(list)
}

/// Exit code of a job that a wrong call ends.
const CODE: i32 = 1;

/// End the job: `call` cannot be served. ARMCI has no other way to tell.
#[cold]
pub fn fatal(call: &str, error: &Error) -> ! {
    abort(CODE, &line(call, &error.to_string()))
}

/// One line for the user.
pub fn line(call: &str, what: &str) -> String {
    match life::rank() {
        Some(rank) => format!("isthmus: rank {rank}: {call}: {what}"),
        None => format!("isthmus: {call}: {what}"),
    }
}
