//! Looking at requests without completing them (MPI-5.0 §3.7.6).

use isthmus_engine::{Entered, enter};

use super::complete::{Any, all_complete, any_complete, tell_all, try_twice, with_error};
use super::{Look, REQUEST_NULL, Request, Work, at_index, blame, in_status, lend, look, scope};
use crate::constants::UNDEFINED;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::status::Status;
use crate::{fail, p2p};

/// `MPI_Request_get_status`: the status, if the request is complete; it stays as it is.
pub fn request_get_status(request: Handle<Request>) -> Result<(bool, Status)> {
    if request == REQUEST_NULL {
        return Ok((true, Status::EMPTY));
    }
    match try_twice(|inside| complete(inside, request).transpose()).transpose()? {
        Some(()) => observe(request).map(|status| (true, status)),
        None => Ok((false, Status::EMPTY)),
    }
}

/// `MPI_Request_get_status_all`: true, and the statuses, if all are complete.
pub fn request_get_status_all(requests: &[Handle<Request>], statuses: &mut dyn FnMut(usize, &Status)) -> Result<bool> {
    let mut known = 0;
    match try_twice(|inside| all_complete(inside, requests, &mut known).transpose()).transpose()? {
        Some(()) => observe_all(requests.iter().enumerate(), statuses).map(|_| true),
        None => Ok(false),
    }
}

/// `MPI_Request_get_status_any`: position and status of one that is complete. True also if none is active, with
/// `UNDEFINED`.
pub fn request_get_status_any(requests: &[Handle<Request>]) -> Result<(i32, bool, Status)> {
    match try_twice(|inside| any_complete(inside, requests).transpose()).transpose()? {
        None => Ok((UNDEFINED, false, Status::EMPTY)),
        Some(Any::None) => Ok((UNDEFINED, true, Status::EMPTY)),
        Some(Any::Some) => match complete_ones(requests).next() {
            Some((at, request)) => match observe(*request) {
                Ok(status) => Ok((at as i32, true, status)),
                Err(error) => Err(at_index(error, at as i32)),
            },
            None => Ok((UNDEFINED, false, Status::EMPTY)),
        },
    }
}

/// `MPI_Request_get_status_some`: how many are complete, or `UNDEFINED` if none is active; their positions in
/// `indices`.
pub fn request_get_status_some(
    requests: &[Handle<Request>],
    indices: &mut [i32],
    statuses: &mut dyn FnMut(usize, &Status),
) -> Result<i32> {
    match try_twice(|inside| any_complete(inside, requests).transpose()).transpose()? {
        None => Ok(0),
        Some(Any::None) => Ok(UNDEFINED),
        Some(Any::Some) => {
            let mut count = 0;
            let found = complete_ones(requests).inspect(|(at, _)| {
                indices[count] = *at as i32;
                count += 1;
            });
            observe_all(found, statuses)
        }
    }
}

fn complete(inside: &mut Entered, request: Handle<Request>) -> Result<Option<()>> {
    Ok((look(inside, request)? != Look::Pending).then_some(()))
}

/// The complete ones among active requests.
fn complete_ones(requests: &[Handle<Request>]) -> impl Iterator<Item = (usize, &Handle<Request>)> {
    requests
        .iter()
        .enumerate()
        .filter(|(_, request)| **request != REQUEST_NULL && look(&mut enter(), **request).is_ok_and(Look::is_complete))
}

/// Tell the statuses of these requests, positions counted from 0; how many.
fn observe_all<'a>(
    requests: impl Iterator<Item = (usize, &'a Handle<Request>)>,
    tell: &mut dyn FnMut(usize, &Status),
) -> Result<i32> {
    let mut statuses = Vec::new();
    let mut failed = None;
    for (at, request) in requests {
        statuses.push(match observe(*request) {
            Ok(status) => status,
            Err(error) => {
                let status = with_error(&error);
                failed.get_or_insert((at, error));
                status
            }
        });
    }
    let count = statuses.len() as i32;
    tell_all(&mut statuses, failed.is_some(), tell);
    match failed {
        None => Ok(count),
        Some((at, error)) => Err(in_status(&error, at, count)),
    }
}

/// The status of a request that is complete, inactive or null.
fn observe(request: Handle<Request>) -> Result<Status> {
    if request == REQUEST_NULL {
        return Ok(Status::EMPTY);
    }
    match look(&mut enter(), request)? {
        Look::Inactive => Ok(Status::EMPTY),
        Look::Pending => Err(pending(request)),
        Look::Complete | Look::PeerFailed => {
            let outcome = lend(request, outcome)?.unwrap_or_else(|| Err(pending(request)));
            outcome.map_err(|error| blame(error, scope(request)))
        }
    }
}

#[cold]
fn pending(request: Handle<Request>) -> Error {
    fail!(Pending, "request={request:?} is not complete")
}

/// How complete work ended.
fn outcome(work: &mut Work) -> Option<Result<Status>> {
    Some(match work {
        Work::Complete => Ok(Status::SENT),
        Work::NoProcess => Ok(Status::NO_PROCESS),
        Work::Send(op) => p2p::sent(enter().peek(*op)?),
        Work::Receive(op) => p2p::received(enter().peek(*op)?),
        Work::Other(operation) => operation.outcome(),
        Work::Persistent(persistent) => return outcome(persistent.current.as_mut()?),
        Work::Lent => return None,
    })
}
