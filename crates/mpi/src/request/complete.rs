//! Completing requests: the wait and test families (MPI-5.0 §3.7.3, §3.7.5).
//!
//! `statuses` is called with a position and the status that belongs there, once per completed request. Where the call
//! fails with `MPI_ERR_IN_STATUS` each status carries an error code, and only there.

use isthmus_engine::{Entered, enter, wait_until};

use super::{Finished, Look, REQUEST_NULL, REQUESTS, Request, at_index, in_status, look, poll, retire};
use crate::constants::UNDEFINED;
use crate::error::{Class, Error, Result};
use crate::handle::Handle;
use crate::status::Status;

/// `MPI_Wait`: blocks until the operation is complete.
pub fn wait(request: &mut Handle<Request>) -> Result<Status> {
    wait_until(|inside| poll(inside, request).transpose())??.report()
}

/// `MPI_Test`: the status, if the operation is complete.
pub fn test(request: &mut Handle<Request>) -> Result<(bool, Status)> {
    match try_twice(|inside| poll(inside, request).transpose()).transpose()? {
        Some(finished) => Ok((true, finished.report()?)),
        None => Ok((false, Status::EMPTY)),
    }
}

/// `MPI_Waitall`: blocks until all are complete. Does not wait for the others once a process on the other side has
/// died: those get `MPI_ERR_PENDING`.
pub fn waitall(requests: &mut [Handle<Request>], statuses: &mut dyn FnMut(usize, &Status)) -> Result<()> {
    let mut complete = 0;
    wait_until(|inside| all_complete(inside, requests, &mut complete).transpose())??;
    complete_all(requests, statuses)
}

/// `MPI_Testall`: true, and everything completed, if all are complete; else nothing changes.
pub fn testall(requests: &mut [Handle<Request>], statuses: &mut dyn FnMut(usize, &Status)) -> Result<bool> {
    let mut complete = 0;
    match try_twice(|inside| all_complete(inside, requests, &mut complete).transpose()).transpose()? {
        Some(()) => complete_all(requests, statuses).map(|()| true),
        None => Ok(false),
    }
}

/// `MPI_Waitany`: blocks until one is complete: its position and status, or `UNDEFINED` if none is active.
pub fn waitany(requests: &mut [Handle<Request>]) -> Result<(i32, Status)> {
    wait_until(|inside| first_complete(inside, requests).transpose())??.report()
}

/// `MPI_Testany`: as [`waitany`], but does not block. True also if none is active.
pub fn testany(requests: &mut [Handle<Request>]) -> Result<(i32, bool, Status)> {
    match try_twice(|inside| first_complete(inside, requests).transpose()).transpose()? {
        Some(first) => first.report().map(|(index, status)| (index, true, status)),
        None => Ok((UNDEFINED, false, Status::EMPTY)),
    }
}

/// `MPI_Waitsome`: blocks until at least one is complete, and completes all that are. Their number, or `UNDEFINED` if
/// none is active; their positions in `indices`.
pub fn waitsome(
    requests: &mut [Handle<Request>],
    indices: &mut [i32],
    statuses: &mut dyn FnMut(usize, &Status),
) -> Result<i32> {
    match wait_until(|inside| any_complete(inside, requests).transpose())?? {
        Any::None => Ok(UNDEFINED),
        Any::Some => complete_some(requests, indices, statuses),
    }
}

/// `MPI_Testsome`: as [`waitsome`], but does not block: 0 if active requests exist and none is complete.
pub fn testsome(
    requests: &mut [Handle<Request>],
    indices: &mut [i32],
    statuses: &mut dyn FnMut(usize, &Status),
) -> Result<i32> {
    match try_twice(|inside| any_complete(inside, requests).transpose()).transpose()? {
        None => Ok(0),
        Some(Any::None) => Ok(UNDEFINED),
        Some(Any::Some) => complete_some(requests, indices, statuses),
    }
}

/// Look, and if there is nothing, make progress and look once more.
#[inline]
pub(crate) fn try_twice<T>(mut ready: impl FnMut(&mut Entered) -> Option<T>) -> Option<T> {
    let mut inside = enter();
    ready(&mut inside).or_else(|| {
        inside.progress();
        ready(&mut inside)
    })
}

/// Are all complete? `complete` says how many of the first ones are known to be. Also if one is complete because its
/// peer died.
pub(super) fn all_complete(
    inside: &mut Entered,
    requests: &[Handle<Request>],
    complete: &mut usize,
) -> Result<Option<()>> {
    while let Some(request) = requests.get(*complete) {
        if *request != REQUEST_NULL {
            match look(inside, *request).map_err(|error| in_array(&error, *complete))? {
                Look::Pending => return Ok(None),
                Look::PeerFailed => return Ok(Some(())),
                Look::Complete | Look::Inactive => {}
            }
        }
        *complete += 1;
    }
    Ok(Some(()))
}

/// Complete every request of `requests`, and tell the statuses once it is known whether all went well.
fn complete_all(requests: &mut [Handle<Request>], tell: &mut dyn FnMut(usize, &Status)) -> Result<()> {
    let mut statuses = std::mem::take(&mut REQUESTS.get(&mut enter()).statuses);
    let mut failed = None;
    for (at, request) in requests.iter_mut().enumerate() {
        let finished = poll(&mut enter(), request)?;
        let status = match finished.map(Finished::report) {
            Some(Ok(status)) => status,
            Some(Err(error)) => {
                let status = with_error(&error);
                failed.get_or_insert((at, error));
                status
            }
            None => Status {
                error: Some(Class::Pending as i32),
                ..Status::EMPTY
            },
        };
        statuses.push(status);
    }
    tell_all(&mut statuses, failed.is_some(), tell);
    REQUESTS.get(&mut enter()).statuses = statuses;
    match failed {
        None => Ok(()),
        Some((at, error)) => Err(in_status(&error, at, 0)),
    }
}

/// Complete those of `requests` that are complete; how many.
fn complete_some(
    requests: &mut [Handle<Request>],
    indices: &mut [i32],
    tell: &mut dyn FnMut(usize, &Status),
) -> Result<i32> {
    let mut statuses = std::mem::take(&mut REQUESTS.get(&mut enter()).statuses);
    let mut failed = None;
    for (at, request) in requests.iter_mut().enumerate() {
        let Some(finished) = poll_active(&mut enter(), request)? else {
            continue;
        };
        let status = match finished.report() {
            Ok(status) => status,
            Err(error) => {
                let status = with_error(&error);
                failed.get_or_insert((at, error));
                status
            }
        };
        indices[statuses.len()] = at as i32;
        statuses.push(status);
    }
    let count = statuses.len() as i32;
    tell_all(&mut statuses, failed.is_some(), tell);
    REQUESTS.get(&mut enter()).statuses = statuses;
    match failed {
        None => Ok(count),
        Some((at, error)) => Err(in_status(&error, at, count)),
    }
}

/// Tell the statuses by position; with error codes if any operation failed.
pub(super) fn tell_all(statuses: &mut Vec<Status>, failed: bool, tell: &mut dyn FnMut(usize, &Status)) {
    for (at, mut status) in statuses.drain(..).enumerate() {
        if failed {
            status.error.get_or_insert(Class::Success as i32);
        }
        tell(at, &status);
    }
}

#[cold]
pub(super) fn with_error(error: &Error) -> Status {
    Status {
        error: Some(error.code()),
        ..error.completion().map_or(Status::EMPTY, |completion| completion.status)
    }
}

/// As [`poll`], but null and inactive requests count as none.
fn poll_active(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Option<Finished>> {
    if *request == REQUEST_NULL || !look(inside, *request)?.is_complete() {
        return Ok(None);
    }
    retire(inside, request).map(Some)
}

/// What a search for the first complete request found.
struct First {
    index: i32,
    finished: Finished,
}

impl First {
    fn report(self) -> Result<(i32, Status)> {
        match self.finished.report() {
            Ok(status) => Ok((self.index, status)),
            Err(error) => Err(at_index(error, self.index)),
        }
    }
}

/// The first complete request, taken out; or the news that none is active.
fn first_complete(inside: &mut Entered, requests: &mut [Handle<Request>]) -> Result<Option<First>> {
    let mut active = false;
    for (at, request) in requests.iter_mut().enumerate() {
        if *request == REQUEST_NULL {
            continue;
        }
        match look(inside, *request).map_err(|error| in_array(&error, at))? {
            Look::Inactive => {}
            Look::Pending => active = true,
            Look::Complete | Look::PeerFailed => {
                let (index, finished) = (at as i32, retire(inside, request)?);
                return Ok(Some(First { index, finished }));
            }
        }
    }
    let (index, finished) = (UNDEFINED, Finished::EMPTY);
    Ok((!active).then_some(First { index, finished }))
}

/// What there is to complete.
pub(super) enum Any {
    /// No request is active.
    None,
    /// At least one is complete.
    Some,
}

/// Is any complete, or none active?
pub(super) fn any_complete(inside: &mut Entered, requests: &[Handle<Request>]) -> Result<Option<Any>> {
    let mut active = false;
    for (at, request) in requests.iter().enumerate() {
        if *request == REQUEST_NULL {
            continue;
        }
        match look(inside, *request).map_err(|error| in_array(&error, at))? {
            Look::Inactive => {}
            Look::Pending => active = true,
            Look::Complete | Look::PeerFailed => return Ok(Some(Any::Some)),
        }
    }
    Ok((!active).then_some(Any::None))
}

/// The error of looking at the request at a position.
#[cold]
fn in_array(error: &Error, at: usize) -> Error {
    Error::from_code(error.code(), format!("array_of_requests[{at}]: {}", error.detail()))
}
