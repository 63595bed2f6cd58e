//! How operations end, and what calls return of operations that failed.

use std::sync::Arc;

use isthmus_collective::failure;
use isthmus_engine::Outcome;

use crate::comm::Comm;
use crate::errhandler::Errhandler;
use crate::error::{Error, Result};
use crate::fail;
use crate::status::{Status, rank_in};

/// What a call that failed returns nevertheless: it completed an operation, and it is the operation that failed.
#[derive(Clone)]
pub struct Completion {
    /// How the operation ended. Of calls that return several statuses: meaningless, those have been given already.
    pub status: Status,
    /// Which request completed (`MPI_Waitany` and its kin), or how many (`MPI_Waitsome` and its kin).
    pub index: i32,
    /// The communicator whose error handler is to be called, where the call's arguments do not name it.
    pub scope: Option<Arc<Comm>>,
    /// The error handler to be called, and the handle that it is told, where that is no communicator's.
    pub errhandler: Option<(Arc<Errhandler>, u32)>,
}

impl Completion {
    /// What the call that met `error` returns nevertheless.
    pub fn of(error: &Error) -> Self {
        error.completion().cloned().unwrap_or(Self {
            status: Status::EMPTY,
            index: 0,
            scope: None,
            errhandler: None,
        })
    }
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

/// The error of an operation that ended with `status`.
#[cold]
pub(crate) fn of_operation(error: Error, status: Status) -> Error {
    let completion = Completion {
        status,
        ..Completion::of(&error)
    };
    error.completing(completion)
}

/// How a send ended.
#[inline]
pub(crate) fn sent(outcome: &Outcome) -> Result<Status> {
    let status = Status {
        cancelled: outcome.cancelled,
        ..Status::SENT
    };
    if outcome.peer_failed {
        return Err(of_operation(not_sent(outcome), status));
    }
    Ok(status)
}

#[cold]
fn not_sent(outcome: &Outcome) -> Error {
    failure::error_of(outcome, "the receiving process died before it had the message")
}

/// How a receive ended.
#[inline]
pub(crate) fn received(outcome: &Outcome) -> Result<Status> {
    let status = Status::from(outcome);
    if outcome.truncated | outcome.peer_failed {
        let source = rank_in(status.source);
        return Err(of_operation(not_received(outcome), Status { source, ..status }));
    }
    Ok(status)
}

#[cold]
fn not_received(outcome: &Outcome) -> Error {
    let arrival = outcome.arrival;
    if outcome.peer_failed {
        return failure::error_of(outcome, "the sending process died before its message had arrived");
    }
    fail!(
        Truncate,
        "the message from rank {} with tag {} is longer than the buffer, which holds its first {} bytes",
        rank_in(arrival.source),
        arrival.tag,
        arrival.bytes
    )
}
