//! Completing requests: the wait and test families (MPI-5.0 §3.7.3, §3.7.5).
//!
//! `statuses` is told a status per completed request. Where the call fails with `MPI_ERR_IN_STATUS` each status carries an error
//! code, and only there.

use isthmus_engine::backoff::{LOOKS_AT_REQUEST, look_briefly};
use isthmus_engine::{Entered, enter, is_oversubscribed};

use super::finish::{at_index, finish, finish_plain, in_status};
use super::{Look, Plain, REQUEST_NULL, REQUESTS, RegisteredRequest, Request, Work, generalized, look};
use crate::completion::Completing;
use crate::constants::UNDEFINED;
use crate::error::{Class, Error, Result};
use crate::handle::Handle;
use crate::status::{Status, Statuses};

/// `MPI_Wait`: blocks until the operation is complete.
pub fn wait(request: &mut Handle<Request>) -> Result<Status> {
    let mut inside = enter();
    if !is_autonomous(&mut inside, *request) {
        inside.wait_for_operations(|inside| {
            let done = complete(inside, *request).transpose();
            if done.is_none() {
                await_some(inside, &[*request]);
            }
            done
        })??;
        return finish(&mut inside, request);
    }
    generalized::wait_as_told(&mut inside, *request)?;
    // What a collective waits for shows in shared memory, and is often a store away.
    let mut found = None;
    look_briefly(&LOOKS_AT_REQUEST, || {
        found = complete(&mut inside, *request).transpose();
        found.is_some()
    });
    if found.transpose()?.is_some() {
        return finish(&mut inside, request);
    }
    inside.wait(|inside| complete(inside, *request).transpose())??;
    finish(&mut inside, request)
}

/// Is it a collective, or another one that moves on by itself?
fn is_autonomous(inside: &mut Entered, request: Handle<Request>) -> bool {
    has_autonomous(inside)
        && matches!(REQUESTS.get(inside).entry(request), Ok(RegisteredRequest { work: Work::Other(operation), .. }) if operation.is_autonomous())
}

fn has_autonomous(inside: &mut Entered) -> bool {
    !REQUESTS.get(inside).autonomous.is_empty()
}

/// The first of these that is complete; blocks until there is one.
fn await_first(inside: &mut Entered, requests: &[Handle<Request>]) -> Result<FirstComplete> {
    if has_autonomous(inside) && search(inside, requests)?.is_none() {
        generalized::wait_for_first(inside, requests)?;
    }
    inside.wait_for_operations(|inside| search(inside, requests).transpose())?
}

/// `MPI_Test`: the status, if the operation is complete.
pub fn test(request: &mut Handle<Request>) -> Result<(bool, Status)> {
    let mut inside = enter();
    match try_now(&mut inside, |inside| complete(inside, *request).transpose()).transpose()? {
        Some(()) => match finish_plain(&mut inside, request) {
            Some(status) => Ok((true, status)),
            None => finish(&mut inside, request).map(|status| (true, status)),
        },
        None => Ok((false, Status::EMPTY)),
    }
}

/// `MPI_Waitall`: blocks until all are complete. Does not wait for the others once a process on the other side has
/// died: those get `MPI_ERR_PENDING`.
pub fn waitall(requests: &mut [Handle<Request>], statuses: &dyn Statuses) -> Result<()> {
    let mut complete = 0;
    let mut inside = enter();
    if has_autonomous(&mut inside) {
        for request in requests.iter().filter(|request| **request != REQUEST_NULL) {
            if is_autonomous(&mut inside, *request) {
                generalized::wait_as_told(&mut inside, *request)?;
            }
        }
    }
    inside.wait_for_operations(|inside| all_complete(inside, requests, &mut complete).transpose())??;
    complete_all(&mut inside, requests, statuses)
}

/// `MPI_Testall`: true, and everything completed, if all are complete; else nothing changes.
pub fn testall(requests: &mut [Handle<Request>], statuses: &dyn Statuses) -> Result<bool> {
    let mut complete = 0;
    let mut inside = enter();
    match try_now(&mut inside, |inside| {
        all_complete(inside, requests, &mut complete).transpose()
    })
    .transpose()?
    {
        Some(()) => complete_all(&mut inside, requests, statuses).map(|()| true),
        None => Ok(false),
    }
}

/// `MPI_Waitany`: blocks until one is complete: its position and status, or `UNDEFINED` if none is active.
pub fn waitany(requests: &mut [Handle<Request>]) -> Result<(i32, Status)> {
    let mut inside = enter();
    let found = await_first(&mut inside, requests)?;
    complete_one(&mut inside, requests, found)
}

/// `MPI_Testany`: as [`waitany`], but does not block. True also if none is active.
pub fn testany(requests: &mut [Handle<Request>]) -> Result<(i32, bool, Status)> {
    let mut inside = enter();
    match try_now(&mut inside, |inside| search(inside, requests).transpose()).transpose()? {
        Some(found) => complete_one(&mut inside, requests, found).map(|(index, status)| (index, true, status)),
        None => Ok((UNDEFINED, false, Status::EMPTY)),
    }
}

/// `MPI_Waitsome`: blocks until at least one is complete, and completes all that are. Their number, or `UNDEFINED` if
/// none is active; their positions in `indices`.
pub fn waitsome(requests: &mut [Handle<Request>], indices: &mut [i32], statuses: &dyn Statuses) -> Result<i32> {
    let mut inside = enter();
    match await_first(&mut inside, requests)? {
        FirstComplete::NoneActive => Ok(UNDEFINED),
        FirstComplete::Complete(first) => complete_some(&mut inside, requests, first, indices, statuses),
    }
}

/// `MPI_Testsome`: as [`waitsome`], but does not block: 0 if active requests exist and none is complete.
pub fn testsome(requests: &mut [Handle<Request>], indices: &mut [i32], statuses: &dyn Statuses) -> Result<i32> {
    let mut inside = enter();
    match try_now(&mut inside, |inside| search(inside, requests).transpose()).transpose()? {
        None => Ok(0),
        Some(FirstComplete::NoneActive) => Ok(UNDEFINED),
        Some(FirstComplete::Complete(first)) => complete_some(&mut inside, requests, first, indices, statuses),
    }
}

/// Look, and if there is nothing, make progress and look again; where ranks share CPUs, as long as something moves: there messages that
/// nobody waits for are taken one by one.
#[inline]
pub(crate) fn try_now<T>(inside: &mut Entered, mut ready: impl FnMut(&mut Entered) -> Option<T>) -> Option<T> {
    /// Others may send without end.
    const ROUNDS: usize = 32;
    let mut found = ready(inside);
    for _ in 0..ROUNDS {
        if found.is_some() {
            break;
        }
        let moved = inside.poll();
        found = ready(inside);
        if !moved || !is_oversubscribed() {
            break;
        }
    }
    if found.is_none() {
        return inside.found_nothing(ready);
    }
    inside.found();
    found
}

/// Is it complete, inactive or null?
#[inline]
pub(super) fn complete(inside: &mut Entered, request: Handle<Request>) -> Result<Option<()>> {
    Ok((request == REQUEST_NULL || look(inside, request)? != Look::Pending).then_some(()))
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
                Look::Pending => {
                    await_some(inside, &requests[*complete..]);
                    return Ok(None);
                }
                Look::PeerFailed | Look::Disturbed => return Ok(Some(())),
                Look::Complete | Look::Inactive => {}
            }
        }
        *complete += 1;
    }
    Ok(Some(()))
}

/// The awaited ones: the incomplete ones of the first few of these.
#[inline]
fn await_some(inside: &mut Entered, requests: &[Handle<Request>]) {
    const FEW: usize = 8;
    let few = requests.iter().take(FEW);
    inside.await_operations(few.filter_map(|request| Plain::of(*request)).map(Plain::op));
}

/// What a search for a complete request found.
#[derive(Clone, Copy)]
pub(super) enum FirstComplete {
    /// None is active.
    NoneActive,
    /// The first complete one is at this position.
    Complete(usize),
}

/// The first complete request; `None`: some are active, and none of them is complete.
pub(super) fn search(inside: &mut Entered, requests: &[Handle<Request>]) -> Result<Option<FirstComplete>> {
    let mut active = false;
    for (at, request) in requests.iter().enumerate() {
        if *request == REQUEST_NULL {
            continue;
        }
        match look(inside, *request).map_err(|error| in_array(&error, at))? {
            Look::Inactive => {}
            Look::Pending => active = true,
            Look::Complete | Look::PeerFailed | Look::Disturbed => return Ok(Some(FirstComplete::Complete(at))),
        }
    }
    Ok((!active).then_some(FirstComplete::NoneActive))
}

/// Complete the request that a search found: its position and status.
#[inline(always)]
fn complete_one(inside: &mut Entered, requests: &mut [Handle<Request>], found: FirstComplete) -> Result<(i32, Status)> {
    let FirstComplete::Complete(at) = found else {
        return Ok((UNDEFINED, Status::EMPTY));
    };
    if let Some(status) = finish_plain(inside, &mut requests[at]) {
        return Ok((at as i32, status));
    }
    match finish(inside, &mut requests[at]) {
        Ok(status) => Ok((at as i32, status)),
        Err(error) => Err(at_index(error, at as i32)),
    }
}

/// Complete every request, of which none is pending unless another one's peer has died.
fn complete_all(inside: &mut Entered, requests: &mut [Handle<Request>], statuses: &dyn Statuses) -> Result<()> {
    let mut several = Several::new(statuses);
    for (at, request) in requests.iter_mut().enumerate() {
        several.add(at, finish(inside, request));
    }
    several.end().map(drop)
}

/// End the complete ones, of which the first is at `first`; how many.
fn complete_some(
    inside: &mut Entered,
    requests: &mut [Handle<Request>],
    first: usize,
    indices: &mut [i32],
    statuses: &dyn Statuses,
) -> Result<i32> {
    let mut several = Several::new(statuses);
    for (at, request) in requests.iter_mut().enumerate().skip(first) {
        if is_complete(inside, *request)? {
            indices[several.count] = at as i32;
            several.add(at, finish(inside, request));
        }
    }
    several.end()
}

/// Is it active and complete?
pub(super) fn is_complete(inside: &mut Entered, request: Handle<Request>) -> Result<bool> {
    Ok(request != REQUEST_NULL && look(inside, request)?.is_complete())
}

/// The outcomes of several requests, as they are told.
pub(super) struct Several<'a> {
    statuses: &'a dyn Statuses,
    count: usize,
    /// The first that failed, and its position among the requests. Once there is one, every status says how its operation went.
    failed: Option<(usize, Error)>,
}

impl<'a> Several<'a> {
    pub fn new(statuses: &'a dyn Statuses) -> Self {
        Self {
            statuses,
            count: 0,
            failed: None,
        }
    }

    /// One more outcome, of the request at `at`.
    #[inline]
    pub fn add(&mut self, at: usize, outcome: Result<Status>) {
        match outcome {
            // Not a copy, which would wait for the stores that have just made it.
            Ok(ref status) if self.failed.is_none() => self.statuses.put(self.count, status),
            Ok(status) => self.add_with(status, Class::Success as i32),
            Err(error) => self.add_failure(at, error),
        }
        self.count += 1;
    }

    #[cold]
    fn add_failure(&mut self, at: usize, error: Error) {
        let status = error.completion().map_or(Status::EMPTY, |completion| completion.status);
        self.add_with(status, error.code());
        if self.failed.is_none() {
            for before in 0..self.count {
                self.statuses.put_error(before, Class::Success as i32);
            }
            self.failed = Some((at, error));
        }
    }

    fn add_with(&mut self, status: Status, code: i32) {
        let error = Some(code);
        self.statuses.put(self.count, &Status { error, ..status });
    }

    /// How many there were.
    pub fn end(self) -> Result<i32> {
        let count = self.count as i32;
        match self.failed {
            None => Ok(count),
            Some((at, error)) => Err(in_status(&error, at, count)),
        }
    }
}

/// The error of looking at the request at a position.
#[cold]
fn in_array(error: &Error, at: usize) -> Error {
    Error::from_code(error.code(), format!("array_of_requests[{at}]: {}", error.detail()))
}
