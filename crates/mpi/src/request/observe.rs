//! Looking at requests without completing them (MPI-5.0 §3.7.6).

use isthmus_engine::{Entered, enter};
use isthmus_os::switches::Switch;

use super::complete::{FirstComplete, Several, all_complete, complete, is_complete, search, try_now};
use super::finish::disturbed;
use super::finish::{at_index, pending};
use super::{Look, REQUEST_NULL, Request, Work, lend, look, scope_inside, with_comm};
use crate::constants::UNDEFINED;
use crate::error::Result;
use crate::handle::Handle;
use crate::ledger::types::without_types;
use crate::status::{Status, Statuses};

/// `MPI_Request_get_status`: the status, if the request is complete; it stays as it is.
pub fn request_get_status(request: Handle<Request>) -> Result<(bool, Status)> {
    let mut inside = enter();
    match try_now(&mut inside, |inside| complete(inside, request).transpose()).transpose()? {
        Some(()) => observe(&mut inside, request).map(|status| (true, status)),
        None => Ok((false, Status::EMPTY)),
    }
}

/// `MPI_Request_get_status_all`: true, and the statuses, if all are complete.
pub fn request_get_status_all(requests: &[Handle<Request>], statuses: &dyn Statuses) -> Result<bool> {
    let mut known = 0;
    let mut inside = enter();
    match try_now(&mut inside, |inside| {
        all_complete(inside, requests, &mut known).transpose()
    })
    .transpose()?
    {
        Some(()) => {
            let mut several = Several::new(statuses);
            for (at, request) in requests.iter().enumerate() {
                several.add(at, observe(&mut inside, *request));
            }
            several.end().map(|_| true)
        }
        None => Ok(false),
    }
}

/// `MPI_Request_get_status_any`: position and status of one that is complete. True also if none is active, with
/// `UNDEFINED`.
pub fn request_get_status_any(requests: &[Handle<Request>]) -> Result<(i32, bool, Status)> {
    let mut inside = enter();
    match try_now(&mut inside, |inside| search(inside, requests).transpose()).transpose()? {
        None => Ok((UNDEFINED, false, Status::EMPTY)),
        Some(FirstComplete::NoneActive) => Ok((UNDEFINED, true, Status::EMPTY)),
        Some(FirstComplete::Complete(at)) => match observe(&mut inside, requests[at]) {
            Ok(status) => Ok((at as i32, true, status)),
            Err(error) => Err(at_index(error, at as i32)),
        },
    }
}

/// `MPI_Request_get_status_some`: how many are complete, or `UNDEFINED` if none is active; their positions in
/// `indices`.
pub fn request_get_status_some(
    requests: &[Handle<Request>],
    indices: &mut [i32],
    statuses: &dyn Statuses,
) -> Result<i32> {
    let mut inside = enter();
    let first = match try_now(&mut inside, |inside| search(inside, requests).transpose()).transpose()? {
        None => return Ok(0),
        Some(FirstComplete::NoneActive) => return Ok(UNDEFINED),
        Some(FirstComplete::Complete(first)) => first,
    };
    let mut several = Several::new(statuses);
    let mut places = indices.iter_mut();
    for (at, request) in requests.iter().enumerate().skip(first) {
        if is_complete(&mut inside, *request)? {
            several.add(at, observe(&mut inside, *request));
            if let Some(place) = places.next() {
                *place = at as i32;
            }
        }
    }
    several.end()
}

/// The status of a request that is complete, inactive or null. Steps outside the engine for user code.
fn observe(inside: &mut Entered, request: Handle<Request>) -> Result<Status> {
    if request == REQUEST_NULL {
        return Ok(Status::EMPTY);
    }
    match look(inside, request)? {
        Look::Inactive => Ok(Status::EMPTY),
        Look::Pending => Err(pending(request)),
        Look::Disturbed => Err(disturbed(inside, request)),
        Look::Complete | Look::PeerFailed => {
            let outcome = lend(inside, request, outcome)?.unwrap_or_else(|| Err(pending(request)));
            let outcome = outcome.map_err(|error| with_comm(error, scope_inside(inside, request)));
            if Switch::Check.is_on() {
                outcome.map(without_types)
            } else {
                outcome
            }
        }
    }
}

/// How complete work ended.
fn outcome(work: &mut Work) -> Option<Result<Status>> {
    Some(match work {
        Work::Complete => Ok(Status::SENT),
        Work::NoProcess => Ok(Status::NO_PROCESS),
        Work::Plain(plain) => plain.judge(enter().peek(plain.op())?),
        Work::Other(operation) => operation.outcome(),
        Work::Persistent(persistent) => return outcome(persistent.current.as_mut()?),
        Work::Lent => return None,
    })
}
