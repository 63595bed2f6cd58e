//! Errors on their way to an error handler.

use std::sync::Arc;

pub use isthmus_datatype::error::{Class, Error, Result};

use crate::comm::Comm;
use crate::status::Status;

/// What a call that failed returns nevertheless: it completed an operation, and it is the operation that failed.
#[derive(Clone)]
pub struct Completion {
    /// How the operation ended. Of calls that return several statuses: meaningless, those have been given already.
    pub status: Status,
    /// Which request completed (`MPI_Waitany` and its kin), or how many (`MPI_Waitsome` and its kin).
    pub index: i32,
    /// The communicator whose error handler is to be called, where the call's arguments do not name it.
    pub scope: Option<Arc<Comm>>,
}

/// Errors of operations that a call completed.
pub trait Completing {
    /// The same error, of an operation that the call completed.
    #[must_use]
    fn completing(self, completion: Completion) -> Self;

    /// What to return nevertheless: the call completed an operation, and that failed.
    fn completion(&self) -> Option<&Completion>;
}

impl Completing for Error {
    #[cold]
    fn completing(self, completion: Completion) -> Self {
        self.attach(completion)
    }

    fn completion(&self) -> Option<&Completion> {
        self.attachment()
    }
}
