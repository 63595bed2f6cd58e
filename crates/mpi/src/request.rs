//! Requests: operations that the user has started and not completed (MPI-5.0 §3.7).
//!
//! One representation serves every kind of operation. A contiguous send or receive is the engine's [`OpId`] and
//! nothing else, so that starting and completing one allocates nothing; whatever needs more (staging buffers, several
//! transfers, user callbacks; later schedules of collectives, windows, files) is a boxed [`Operation`].

mod complete;
mod generalized;
mod observe;
mod scope;
mod slab;

use std::any::Any;
use std::sync::Arc;

use isthmus_engine::{Entered, Guarded, OpId, Outcome, enter, wait_until};

use crate::comm::Comm;
use crate::error::{Class, Completion, Error, Result};
use crate::handle::{Handle, Kind};
use crate::status::Status;
use crate::{fail, p2p};

pub(crate) use complete::try_twice;
pub use complete::{test, testall, testany, testsome, wait, waitall, waitany, waitsome};
pub use generalized::{CancelFn, FreeFn, QueryFn, grequest_complete, grequest_start};
pub use observe::{request_get_status, request_get_status_all, request_get_status_any, request_get_status_some};
use scope::{Scope, Scopes};
pub(crate) use slab::Slab;

/// What a [`Handle<Request>`] names.
pub enum Request {}

/// `MPI_REQUEST_NULL`.
pub const REQUEST_NULL: Handle<Request> = Handle::from_raw(0x180);

/// An operation that needs more than one [`OpId`].
pub(crate) trait Operation: Any + Send {
    /// Move on as far as possible. Inside the engine, so no user code may run here.
    fn advance(&mut self, inside: &mut Entered) -> Look;

    /// How it went; asked once [`Self::advance`] has said that it is complete, perhaps more than once. Outside the
    /// engine: user code may run here. Must not block.
    fn outcome(&mut self) -> Result<Status>;

    /// The user has seen the outcome, or has freed the request: last rites. Outside the engine.
    fn retire(self: Box<Self>) -> Result<()> {
        Ok(())
    }

    /// Withdraw what can be withdrawn. Outside the engine.
    fn cancel(&mut self) -> Result<()> {
        Ok(())
    }

    /// Must it be complete before MPI is finalized even if the request has been freed? Sends must.
    fn is_owed(&self) -> bool {
        true
    }
}

/// What a request stands for.
pub(crate) enum Work {
    /// Complete from the start, with nothing to report.
    Complete,
    /// A receive from `MPI_PROC_NULL`.
    NoProcess,
    /// A send of contiguous data.
    Send(OpId),
    /// A receive of contiguous data.
    Receive(OpId),
    /// Anything else.
    Other(Box<dyn Operation>),
    /// A persistent request.
    Persistent(Box<Persistent>),
    /// Lent for the moment to the function that works on it.
    Lent,
}

/// How to start what a persistent request stands for.
type Recipe = Box<dyn Fn(&mut Entered) -> Result<Work> + Send>;

/// A persistent request.
pub(crate) struct Persistent {
    recipe: Recipe,
    /// `None`: inactive.
    current: Option<Work>,
}

/// How far an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// A persistent request that has not been started: counts as none.
    Inactive,
    /// Not complete.
    Pending,
    /// Complete.
    Complete,
    /// Complete, because the process on the other side died.
    PeerFailed,
}

impl Look {
    pub(crate) fn at(outcome: Option<&Outcome>) -> Self {
        match outcome {
            None => Self::Pending,
            Some(outcome) if outcome.peer_failed => Self::PeerFailed,
            Some(_) => Self::Complete,
        }
    }

    fn is_complete(self) -> bool {
        matches!(self, Self::Complete | Self::PeerFailed)
    }
}

struct Entry {
    scope: Scope,
    work: Work,
}

/// The requests of this process.
struct Requests {
    live: Slab<Entry>,
    scopes: Scopes,
    /// Freed by the user while active: they complete by themselves, but own buffers until then.
    orphans: Vec<Box<dyn Operation>>,
    /// Sends without buffers of their own that were freed.
    freed_sends: Vec<OpId>,
    /// Room for the statuses of a call that completes several requests.
    statuses: Vec<Status>,
}

static REQUESTS: Guarded<Requests> = Guarded::new(Requests {
    live: Slab::new(Kind::Request),
    scopes: Scopes::new(),
    orphans: Vec::new(),
    freed_sends: Vec::new(),
    statuses: Vec::new(),
});

impl Requests {
    #[inline]
    fn entry(&mut self, request: Handle<Request>) -> Result<&mut Entry> {
        match self.live.get(request.raw()) {
            Some(entry) => Ok(entry),
            None => Err(invalid(request)),
        }
    }

    #[inline]
    fn remove(&mut self, request: Handle<Request>) -> Result<Entry> {
        match self.live.remove(request.raw()) {
            Some(entry) => {
                self.scopes.release(entry.scope);
                Ok(entry)
            }
            None => Err(invalid(request)),
        }
    }
}

#[cold]
fn invalid(request: Handle<Request>) -> Error {
    let what = if request == REQUEST_NULL {
        "the null handle"
    } else {
        "not a live handle"
    };
    fail!(Request, "request={request:?} is {what} (MPI_Request)")
}

/// Start an operation and make a request of it; its errors belong to `comm`, if to any.
#[inline]
pub(crate) fn launch<'a>(
    comm: impl Into<Option<&'a Comm>>,
    start: impl FnOnce(&mut Entered) -> Result<Work>,
) -> Result<Handle<Request>> {
    let mut inside = enter();
    REQUESTS.get(&mut inside).live.check_room()?;
    let work = start(&mut inside)?;
    let requests = REQUESTS.get(&mut inside);
    let scope = comm.into().map_or(Scope::NONE, |comm| requests.scopes.hold(comm));
    Ok(Handle::from_raw(requests.live.insert(Entry { scope, work })))
}

/// Make a persistent request on `comm` that is started by `recipe`.
pub(crate) fn prepare(
    comm: &Comm,
    recipe: impl Fn(&mut Entered) -> Result<Work> + Send + 'static,
) -> Result<Handle<Request>> {
    launch(comm, |_| {
        Ok(Work::Persistent(Box::new(Persistent {
            recipe: Box::new(recipe),
            current: None,
        })))
    })
}

/// The communicator of a live request: its error handler is the one for errors of the request.
pub fn scope(request: Handle<Request>) -> Option<Arc<Comm>> {
    let mut inside = enter();
    let requests = REQUESTS.get(&mut inside);
    let scope = requests.live.get(request.raw())?.scope;
    requests.scopes.comm(scope)
}

impl Work {
    fn look(&mut self, inside: &mut Entered) -> Look {
        match self {
            Self::Complete | Self::NoProcess => Look::Complete,
            Self::Send(op) | Self::Receive(op) => Look::at(inside.peek(*op)),
            Self::Other(operation) => operation.advance(inside),
            Self::Persistent(persistent) => match &mut persistent.current {
                Some(work) => work.look(inside),
                None => Look::Inactive,
            },
            Self::Lent => Look::Pending,
        }
    }
}

/// How far the request is.
#[inline]
fn look(inside: &mut Entered, request: Handle<Request>) -> Result<Look> {
    match REQUESTS.get(inside).entry(request)?.work {
        Work::Send(op) | Work::Receive(op) => Ok(Look::at(inside.peek(op))),
        Work::Complete | Work::NoProcess => Ok(Look::Complete),
        _ => look_at_boxed(inside, request),
    }
}

#[inline(never)]
fn look_at_boxed(inside: &mut Entered, request: Handle<Request>) -> Result<Look> {
    let mut work = std::mem::replace(&mut REQUESTS.get(inside).entry(request)?.work, Work::Lent);
    let look = work.look(inside);
    REQUESTS.get(inside).entry(request)?.work = work;
    Ok(look)
}

/// A complete operation on its way out of its request.
struct Finished {
    how: How,
    /// Whom to blame; only looked up where something may have failed.
    scope: Option<Arc<Comm>>,
}

enum How {
    Known(Result<Status>),
    Ask(Box<dyn Operation>),
}

impl Finished {
    const EMPTY: Self = Self {
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
    fn report(self) -> Result<Status> {
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
fn at_index(error: Error, index: i32) -> Error {
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

/// If the request is complete (or inactive, or null), take the operation out of it. The handle becomes null, unless the
/// request is persistent.
#[inline]
fn poll(inside: &mut Entered, request: &mut Handle<Request>) -> Result<Option<Finished>> {
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

/// Work on what a request stands for, outside the engine: `f` may run user code.
fn lend<R>(request: Handle<Request>, f: impl FnOnce(&mut Work) -> R) -> Result<R> {
    let mut lent = std::mem::replace(&mut REQUESTS.get(&mut enter()).entry(request)?.work, Work::Lent);
    let answer = f(&mut lent);
    REQUESTS.get(&mut enter()).entry(request)?.work = lent;
    Ok(answer)
}

/// Let go of freed operations that have completed by now.
#[cold]
fn bury_orphans(inside: &mut Entered) {
    let mut orphans = std::mem::take(&mut REQUESTS.get(inside).orphans);
    orphans.retain_mut(|operation| {
        let complete = operation.advance(inside).is_complete();
        if complete {
            // A receive unpacks here. Nobody is left to hear of a failure.
            let _ = operation.outcome();
        }
        !complete
    });
    REQUESTS.get(inside).orphans.append(&mut orphans);
}

/// Let go of freed sends that have completed by now.
#[cold]
fn bury_sends(inside: &mut Entered) {
    let mut sends = std::mem::take(&mut REQUESTS.get(inside).freed_sends);
    sends.retain(|op| inside.take(*op).is_none());
    REQUESTS.get(inside).freed_sends = sends;
}

/// `MPI_Request_free` (MPI-5.0 §3.7.3): the operation, if active, completes by itself.
pub fn request_free(request: Handle<Request>) -> Result<()> {
    if generalized::free(request)? {
        return Ok(());
    }
    let mut inside = enter();
    let work = match REQUESTS.get(&mut inside).remove(request)?.work {
        Work::Persistent(persistent) => persistent.current,
        work => Some(work),
    };
    match work {
        Some(Work::Receive(op)) => inside.detach(op),
        Some(Work::Send(op)) => {
            let sends = &mut REQUESTS.get(&mut inside).freed_sends;
            sends.push(op);
            if sends.len().is_power_of_two() {
                bury_sends(&mut inside);
            }
        }
        Some(Work::Other(operation)) => {
            REQUESTS.get(&mut inside).orphans.push(operation);
            bury_orphans(&mut inside);
        }
        _ => {}
    }
    Ok(())
}

/// `MPI_Cancel` (MPI-5.0 §3.8.4): a receive that has not matched, or a send whose message is only announced, is
/// withdrawn; anything else goes on. Either way the request must still be completed.
pub fn cancel(request: Handle<Request>) -> Result<()> {
    let cancelled = lend(request, |work| cancel_work(request, work))?;
    cancelled.map_err(|error| blame(error, scope(request)))
}

fn cancel_work(request: Handle<Request>, work: &mut Work) -> Result<()> {
    match work {
        Work::Send(op) | Work::Receive(op) => {
            enter().cancel(*op);
            Ok(())
        }
        Work::Other(operation) => operation.cancel(),
        Work::Persistent(persistent) => match &mut persistent.current {
            Some(work) => cancel_work(request, work),
            None => Err(fail!(Request, "request={request:?} is not active")),
        },
        Work::Complete | Work::NoProcess | Work::Lent => Ok(()),
    }
}

/// `MPI_Start` (MPI-5.0 §3.9).
pub fn start(request: &mut Handle<Request>) -> Result<()> {
    start_work(*request).map_err(|error| blame(error, scope(*request)))
}

fn start_work(request: Handle<Request>) -> Result<()> {
    let mut inside = enter();
    let entry = REQUESTS.get(&mut inside).entry(request)?;
    let mut persistent = match std::mem::replace(&mut entry.work, Work::Lent) {
        Work::Persistent(persistent) => persistent,
        other => {
            entry.work = other;
            return Err(fail!(Request, "request={request:?} is not persistent"));
        }
    };
    let started = match &persistent.current {
        Some(_) => Err(fail!(Request, "request={request:?} is active already")),
        None => (persistent.recipe)(&mut inside).map(|work| persistent.current = Some(work)),
    };
    REQUESTS.get(&mut inside).entry(request)?.work = Work::Persistent(persistent);
    started
}

/// `MPI_Startall`: as [`start`], one after the other; ends at the first that fails.
pub fn startall(requests: &mut [Handle<Request>]) -> Result<()> {
    requests.iter_mut().try_for_each(start)
}

/// Wait for freed operations that must not be cut off.
pub(crate) fn drain_freed() -> Result<()> {
    wait_until(|inside| {
        bury_orphans(inside);
        bury_sends(inside);
        let requests = REQUESTS.get(inside);
        let owed = requests.orphans.iter().any(|operation| operation.is_owed());
        (!owed && requests.freed_sends.is_empty()).then_some(())
    })?;
    Ok(())
}

/// An error that reports several: which ones is in the statuses.
#[cold]
fn in_status(first: &Error, at: usize, index: i32) -> Error {
    let error = Error::new(
        Class::InStatus,
        format!("array_of_requests[{at}] failed: {}", first.detail()),
    );
    error.completing(Completion {
        index,
        ..completion(first)
    })
}
