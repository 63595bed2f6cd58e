//! How a complete operation leaves its request, and what its failure says.

use std::sync::Arc;

use isthmus_engine::Entered;
use isthmus_os::switches::Switch;

use super::background;
use super::background::bury_orphans;
use super::{Look, Persistent, Plain, REQUEST_NULL, REQUESTS, Request, Work, comm_of, invalid, look, scope_inside};
use crate::comm::Comm;
use crate::completion::{Completing, Completion, of_operation};
use crate::error::{Class, Error, Result};
use crate::fail;
use crate::handle::Handle;
use crate::status::Status;
use crate::{ledger, liveness};

/// Complete a request that is complete, inactive or null: its status, or the error of its operation. The handle becomes
/// null, unless the request is persistent. A pending request stays as it is, which is an error. Steps outside the engine
/// for user code.
#[inline]
pub(super) fn finish(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Status> {
    if *request == REQUEST_NULL {
        return Ok(Status::EMPTY);
    }
    if Switch::Check.is_on() {
        return finish_checked(inside, request);
    }
    finish_active(inside, request)
}

/// As [`finish`], where programs are checked: were its buffers left alone?
#[cold]
fn finish_checked(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Status> {
    let before = *request;
    // The communicator of a plain request is looked for if something is wrong only.
    let context = Plain::of(before).and_then(|plain| inside.context_of(plain.op()));
    let scope = match context {
        Some(_) => None,
        None => scope_inside(inside, before),
    };
    let result = finish_active(inside, request);
    let is_gone = *request == REQUEST_NULL;
    if !is_gone && !matches!(look(inside, before), Ok(Look::Inactive)) {
        return result;
    }
    ledger::end(before, is_gone, result).map_err(|error| {
        let scope = scope.or_else(|| comm_of(inside, context?));
        with_comm(error, scope)
    })
}

fn finish_active(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Status> {
    if let Some(status) = take_plain(inside, request) {
        return Ok(status);
    }
    if let Some(status) = take_started(inside, *request) {
        return Ok(status);
    }
    if bury_if_gone(inside, request) {
        return Ok(Status::EMPTY);
    }
    finish_any(inside, request)
}

/// As [`finish`], of a plain request that went well; `None`: anything else. What answers with more than the status asks this first: a status
/// that is put elsewhere soon after it was made waits for all stores before it (docs/decisions/0016).
#[inline(always)]
pub(super) fn finish_plain(inside: &mut Entered, request: &mut Handle<Request>) -> Option<Status> {
    if Switch::Check.is_on() {
        return None;
    }
    take_plain(inside, request)
}

#[inline(always)]
fn take_plain(inside: &mut Entered, request: &mut Handle<Request>) -> Option<Status> {
    let status = Plain::of(*request)?.take_users(inside)?;
    forget(inside, request);
    Some(status)
}

/// What most persistent requests of contiguous data end with: they went well, and can be started again.
fn take_started(inside: &mut Entered, request: Handle<Request>) -> Option<Status> {
    let started = persistent(inside, request)?;
    let status = match started.current {
        Some(Work::Complete) => Status::SENT,
        Some(Work::Plain(plain)) => plain.take_well(inside)?,
        Some(Work::Other(_)) if started.is_again() => return take_again(inside, request),
        _ => return None,
    };
    persistent(inside, request)?.current = None;
    Some(status)
}

/// As [`take_started`], of what is the same operation each time.
fn take_again(inside: &mut Entered, request: Handle<Request>) -> Option<Status> {
    let Some(Work::Other(mut operation)) = persistent(inside, request)?.current.take() else {
        return None;
    };
    let status = operation.take_well(inside);
    let started = persistent(inside, request)?;
    match status {
        Some(_) => started.rest(operation),
        None => started.current = Some(Work::Other(operation)),
    }
    status.inspect(|_| background::end(inside, request))
}

/// A persistent request.
fn persistent(inside: &mut Entered, request: Handle<Request>) -> Option<&mut Persistent> {
    match &mut REQUESTS.get(inside).live.get(request.raw())?.work {
        Work::Persistent(persistent) => Some(persistent),
        _ => None,
    }
}

/// What most collectives end with. False: there is more to do.
fn bury_if_gone(inside: &mut Entered, request: &mut Handle<Request>) -> bool {
    let Ok(entry) = REQUESTS.get(inside).entry(*request) else {
        return false;
    };
    if !matches!(&entry.work, Work::Other(operation) if operation.is_gone()) {
        return false;
    }
    background::end(inside, *request);
    REQUESTS.get(inside).remove(*request);
    forget(inside, request);
    true
}

/// The error of a receive that may wait for a dead rank. The request stays active.
#[cold]
pub(super) fn disturbed(inside: &mut Entered, request: Handle<Request>) -> Error {
    let comm = scope_inside(inside, request);
    let dead = comm.as_ref().and_then(|comm| comm.unacknowledged(inside));
    let error = dead.map_or_else(|| pending(request), liveness::pending);
    with_comm(error, comm)
}

#[inline(never)]
fn finish_any(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Status> {
    match look(inside, *request)? {
        Look::Pending => return Err(pending(*request)),
        Look::Inactive => return Ok(Status::EMPTY),
        Look::Disturbed => return Err(disturbed(inside, *request)),
        Look::Complete | Look::PeerFailed => {}
    }
    let (scope, ended) = (scope_inside(inside, *request), *request);
    let work = match Plain::of(*request) {
        Some(plain) => {
            forget(inside, request);
            Work::Plain(plain)
        }
        None => take_work(inside, request)?,
    };
    let result = match work {
        Work::Complete => Ok(Status::SENT),
        Work::NoProcess => Ok(Status::NO_PROCESS),
        Work::Plain(plain) => match inside.take(plain.op()) {
            Some(outcome) => plain.judge(&outcome),
            None => Err(pending(ended)),
        },
        Work::Other(mut operation) => {
            background::end(inside, ended);
            if persistent(inside, ended).is_some_and(|request| request.is_again()) {
                let outcome = inside.outside(|| operation.outcome());
                if let Some(request) = persistent(inside, ended) {
                    request.rest(operation);
                }
                outcome
            } else {
                inside.outside(|| {
                    let outcome = operation.outcome();
                    let retired = operation.retire();
                    outcome.and_then(|status| {
                        retired.map_or_else(|error| Err(of_operation(error, status)), |()| Ok(status))
                    })
                })
            }
        }
        Work::Persistent(_) | Work::Lent => Err(invalid(ended)),
    };
    result.map_err(|error| with_comm(error, scope))
}

/// What a complete request stood for. Its handle becomes null, unless it is persistent.
fn take_work(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Work> {
    match &mut REQUESTS.get(inside).entry(*request)?.work {
        Work::Persistent(persistent) => Ok(persistent.current.take().unwrap_or(Work::Complete)),
        work => {
            let work = std::mem::replace(work, Work::Lent);
            REQUESTS.get(inside).remove(*request);
            forget(inside, request);
            Ok(work)
        }
    }
}

/// The request is over: its handle becomes null.
#[inline]
fn forget(inside: &mut Entered, request: &mut Handle<Request>) {
    let requests = REQUESTS.get(inside);
    *request = REQUEST_NULL;
    if !requests.orphans.is_empty() {
        bury_orphans(inside);
    }
}

#[cold]
pub(super) fn pending(request: Handle<Request>) -> Error {
    fail!(Pending, "request={request:?} is not complete")
}

/// Say which communicator an operation that failed belongs to.
#[cold]
pub(crate) fn with_comm(error: Error, scope: Option<Arc<Comm>>) -> Error {
    let completion = Completion {
        scope,
        ..Completion::of(&error)
    };
    error.completing(completion)
}

/// The error says: the `index`-th request.
#[cold]
pub(super) fn at_index(error: Error, index: i32) -> Error {
    let completion = Completion {
        index,
        ..Completion::of(&error)
    };
    error.completing(completion)
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
        ..Completion::of(first)
    })
}
