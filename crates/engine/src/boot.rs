//! Joining and leaving the job.

use crate::Result;

/// Life of the engine in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not booted yet.
    Outside,
    /// Part of the job.
    Inside,
    /// In a child made by `fork`: channels must not be touched.
    Forked,
}

/// Join the job: under our `mpiexec` by its environment, else as a singleton. Calling again is free.
/// Blocks until every rank of the job has arrived.
pub fn boot() -> Result<()> {
    todo!()
}

/// Tell the launcher that this process has finalized: its exit is no longer a failure. The engine stays usable.
pub fn leave() {
    todo!()
}

/// Where this process stands.
pub fn state() -> State {
    todo!()
}
