//! How a complete operation leaves its request, and what its failure says.

use std::sync::Arc;

use isthmus_engine::{Entered, OpId, Outcome};

use super::free::bury_orphans;
use super::{Entry, Look, Operation, REQUEST_NULL, REQUESTS, Request, Scope, Work, invalid, look};
use crate::comm::Comm;
use crate::error::{Class, Completion, Error, Result};
use crate::handle::Handle;
use crate::p2p;
use crate::status::Status;

/// If the request is complete (or inactive, or null), take the operation out of it. The handle becomes null, unless the
/// request is persistent.
#[inline]
pub(super) fn poll(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Option<Finished>> {
    if *request == REQUEST_NULL {
        return Ok(Some(Finished::EMPTY));
    }
    match REQUESTS.get(inside).entry(*request)?.work {
        Work::Send(op) => poll_plain(inside, request, op, p2p::sent),
        Work::Receive(op) => poll_plain(inside, request, op, p2p::received),
        _ => poll_any(inside, request),
    }
}

#[inline]
fn poll_plain(
    inside: &mut Entered,
    request: &mut Handle<Request>,
    op: OpId,
    ended: fn(&Outcome) -> Result<Status>,
) -> Result<Option<Finished>> {
    let Some(outcome) = inside.take(op) else {
        return Ok(None);
    };
    let scope = forget(inside, request)?.scope;
    Ok(Some(Finished::known(inside, scope, ended(&outcome))))
}

#[inline(never)]
fn poll_any(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Option<Finished>> {
    match look(inside, *request)? {
        Look::Pending => return Ok(None),
        Look::Inactive => return Ok(Some(Finished::EMPTY)),
        Look::Complete | Look::PeerFailed => {}
    }
    let entry = REQUESTS.get(inside).entry(*request)?;
    let scope = entry.scope;
    let work = match &mut entry.work {
        Work::Persistent(persistent) => persistent.current.take().unwrap_or(Work::Complete),
        _ => forget(inside, request)?.work,
    };
    let ended = match work {
        Work::Complete => Ok(Status::SENT),
        Work::NoProcess => Ok(Status::NO_PROCESS),
        Work::Send(op) => p2p::sent(&taken(inside, op)),
        Work::Receive(op) => p2p::received(&taken(inside, op)),
        Work::Other(operation) => {
            let scope = REQUESTS.get(inside).scopes.comm(scope);
            let how = How::Ask(operation);
            return Ok(Some(Finished { how, scope }));
        }
        Work::Persistent(_) | Work::Lent => return Err(invalid(*request)),
    };
    Ok(Some(Finished::known(inside, scope, ended)))
}

fn taken(inside: &mut Entered, op: OpId) -> Outcome {
    inside.take(op).expect("the caller saw that the operation is complete")
}

/// The request is complete: its handle becomes null.
#[inline]
fn forget(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Entry> {
    let requests = REQUESTS.get(inside);
    let entry = requests.remove(*request)?;
    *request = REQUEST_NULL;
    if !requests.orphans.is_empty() {
        bury_orphans(inside);
    }
    Ok(entry)
}

/// A complete operation on its way out of its request.
pub(super) struct Finished {
    how: How,
    /// Whom to blame; only looked up where something may have failed.
    scope: Option<Arc<Comm>>,
}

enum How {
    Known(Result<Status>),
    Ask(Box<dyn Operation>),
}

impl Finished {
    pub const EMPTY: Self = Self {
        how: How::Known(Ok(Status::EMPTY)),
        scope: None,
    };

    #[inline]
    fn known(inside: &mut Entered, scope: Scope, ended: Result<Status>) -> Self {
        let scope = match ended {
            Ok(_) => None,
            Err(_) => REQUESTS.get(inside).scopes.comm(scope),
        };
        let how = How::Known(ended);
        Self { how, scope }
    }

    /// The status, or the error with the status and the communicator it belongs to. Outside the engine.
    #[inline]
    pub fn report(self) -> Result<Status> {
        match self.how {
            How::Known(Ok(status)) => Ok(status),
            How::Known(Err(error)) => Err(blame(error, self.scope)),
            How::Ask(mut operation) => {
                let outcome = operation.outcome();
                let retired = operation.retire();
                match (outcome, retired) {
                    (Ok(status), Ok(())) => Ok(status),
                    (Ok(status), Err(error)) => Err(blame(of_operation(error, status), self.scope)),
                    (Err(error), _) => Err(blame(error, self.scope)),
                }
            }
        }
    }
}

/// Say which communicator an operation that failed belongs to.
#[cold]
pub(crate) fn blame(error: Error, scope: Option<Arc<Comm>>) -> Error {
    let completion = Completion {
        scope,
        ..completion(&error)
    };
    error.completing(completion)
}

/// The error of an operation that ended with `status`.
#[cold]
pub(crate) fn of_operation(error: Error, status: Status) -> Error {
    let completion = Completion {
        status,
        ..completion(&error)
    };
    error.completing(completion)
}

/// The error says: the `index`-th request.
#[cold]
pub(super) fn at_index(error: Error, index: i32) -> Error {
    let completion = Completion {
        index,
        ..completion(&error)
    };
    error.completing(completion)
}

fn completion(error: &Error) -> Completion {
    error.completion().cloned().unwrap_or(Completion {
        status: Status::EMPTY,
        index: 0,
        scope: None,
    })
}

/// An error that reports several: which ones is in the statuses.
#[cold]
pub(super) fn in_status(first: &Error, at: usize, index: i32) -> Error {
    let error = Error::new(
        Class::InStatus,
        format!("array_of_requests[{at}] failed: {}", first.detail()),
    );
    error.completing(Completion {
        index,
        ..completion(first)
    })
}
