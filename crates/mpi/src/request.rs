//! Requests: operations that the user has started and not completed (MPI-5.0 §3.7).
//!
//! A contiguous send or receive is an operation of the engine and nothing else (`plain`): its handle is the operation's
//! name. Whatever needs more (staging buffers, several transfers, user callbacks, schedules of collectives; later windows and
//! files) is a boxed `Operation` in a table.

pub(crate) mod anybody;
mod background;
mod complete;
mod finish;
mod free;
mod generalized;
mod observe;
mod persistent;
pub(crate) mod plain;
mod scope;
mod slab;

use std::any::Any;
use std::sync::Arc;

use isthmus_engine::{ContextId, Entered, Guarded, OpId, Outcome, enter};
use isthmus_os::switches::Switch;

use crate::check::sites;
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::fail;
use crate::handle::{Handle, Object, ObjectKind};
use crate::status::Status;

pub(crate) use background::detach;
pub(crate) use complete::try_now;
pub use complete::{test, testall, testany, testsome, wait, waitall, waitany, waitsome};
pub(crate) use finish::with_comm;
pub(crate) use free::drain_freed;
pub use free::request_free;
pub use generalized::{CancelFn, FreeFn, Functions, PollFn, QueryFn, WaitFn, grequest_complete, grequest_start};
pub use observe::{request_get_status, request_get_status_all, request_get_status_any, request_get_status_some};
use persistent::Persistent;
pub(crate) use persistent::{prepare, prepare_again};
pub use persistent::{start, startall};
pub(crate) use plain::Plain;
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

    /// Start it, as if for the first time: see [`prepare_again`].
    fn restart(&mut self, _inside: &mut Entered) -> Result<()> {
        Err(fail!(Intern, "an operation that cannot be started again"))
    }

    /// If it is complete, succeeded and needs no finalization: end it, and return its status.
    fn take_well(&mut self, _inside: &mut Entered) -> Option<Status> {
        None
    }

    /// Is user code to run before it can go on?
    fn calls_out(&self) -> bool {
        false
    }

    /// Run the user code that is to run, if any, outside the engine; user code that may complete or free the request is answered instead.
    fn call_out(&mut self) -> Option<UserCode> {
        None
    }

    /// How it went; asked once [`Self::advance`] has said that it is complete, perhaps more than once. Outside the
    /// engine: user code may run here. Must not block.
    fn outcome(&mut self) -> Result<Status>;

    /// The user has seen the outcome, or has freed the request: finalize it. Outside the engine.
    fn retire(self: Box<Self>) -> Result<()> {
        Ok(())
    }

    /// Is it over, with nothing to report, so that it can be dropped inside the engine?
    fn is_gone(&self) -> bool {
        false
    }

    /// Withdraw what can be withdrawn; the user code that is to run for it, if any.
    fn cancel(&mut self, _inside: &mut Entered) -> Option<UserCode> {
        None
    }

    /// Must it be complete before MPI is finalized even if the request has been freed? Sends must.
    fn blocks_finalize(&self) -> bool {
        true
    }

    /// Does it move on whenever this process makes progress, since other processes depend on it? Collectives do, partitioned
    /// receives, and generalized requests with functions that say how they are.
    fn is_autonomous(&self) -> bool {
        false
    }

    /// Can it be neither cancelled nor freed while it is under way (MPI-5.0 §4.2, §6.12)?
    fn is_not_cancellable(&self) -> bool {
        self.is_autonomous()
    }
}

/// Work to run outside the engine.
pub(crate) type UserCode = Box<dyn FnOnce() -> Result<()>>;

/// What a request stands for.
pub(crate) enum Work {
    /// Complete from the start, with nothing to report.
    Complete,
    /// A receive from `MPI_PROC_NULL`.
    NoProcess,
    /// Contiguous data. The table has it only while a persistent request is active.
    Plain(Plain),
    /// Anything else.
    Other(Box<dyn Operation>),
    /// A persistent request.
    Persistent(Box<Persistent>),
    /// Lent for the moment to the thread that works on it: not complete, as far as others can tell.
    Lent,
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
    /// Complete, because the process on the other side died, or the communicator is revoked.
    PeerFailed,
    /// A receive from any source that may wait for a dead rank: not complete, but the call that waits ends
    /// (`MPIX_ERR_PROC_FAILED_PENDING`).
    Disturbed,
}

impl Look {
    pub(crate) fn at(outcome: Option<&Outcome>) -> Self {
        match outcome {
            None => Self::Pending,
            Some(outcome) if outcome.peer_failed => Self::PeerFailed,
            Some(_) => Self::Complete,
        }
    }

    /// How far the receive `op` is that may be from anybody.
    pub(crate) fn at_receive(inside: &mut Entered, op: OpId) -> Self {
        match Self::at(inside.peek(op)) {
            Self::Pending => Self::unless_disturbed(inside, op),
            look => look,
        }
    }

    /// How far the receive `op` is, which is not complete.
    #[inline]
    fn unless_disturbed(inside: &mut Entered, op: OpId) -> Self {
        match anybody::disturbs(inside, op) {
            Some(_) => Self::Disturbed,
            None => Self::Pending,
        }
    }

    fn is_complete(self) -> bool {
        matches!(self, Self::Complete | Self::PeerFailed)
    }
}

struct RegisteredRequest {
    scope: Scope,
    work: Work,
}

/// The requests of this process that are not plain.
struct Requests {
    live: Slab<RegisteredRequest>,
    scopes: Scopes,
    /// Freed by the user while plain requests were active on them, which may fail yet.
    freed_comms: Vec<Arc<Comm>>,
    /// Freed by the user while active: they complete by themselves, but own buffers until then.
    orphans: Vec<Box<dyn Operation>>,
    /// Sends without buffers of their own that were freed.
    freed_sends: Vec<OpId>,
    /// Those under way that move on by themselves, and some that are over.
    autonomous: Vec<Handle<Request>>,
    /// Those of them for which user code is to run.
    due: Vec<Handle<Request>>,
}

static REQUESTS: Guarded<Requests> = Guarded::new(Requests {
    live: Slab::new(ObjectKind::Request),
    scopes: Scopes::new(),
    freed_comms: Vec::new(),
    orphans: Vec::new(),
    freed_sends: Vec::new(),
    autonomous: Vec::new(),
    due: Vec::new(),
});

impl Requests {
    #[inline]
    fn entry(&mut self, request: Handle<Request>) -> Result<&mut RegisteredRequest> {
        match self.live.get(request.raw()) {
            Some(entry) => Ok(entry),
            None => Err(invalid(request)),
        }
    }

    /// There must be room.
    fn insert(&mut self, comm: Option<&Comm>, work: Work) -> Handle<Request> {
        let scope = comm.map_or(Scope::NONE, |comm| self.scopes.hold(comm));
        let handle = self.live.insert_with(|| RegisteredRequest { scope, work });
        if Switch::Check.is_on() {
            sites::made(handle);
        }
        Handle::from_raw(handle)
    }

    /// The handle is stale from now on.
    #[inline]
    fn remove(&mut self, request: Handle<Request>) {
        if let Some(entry) = self.live.take(request.raw()) {
            self.scopes.release(entry.scope);
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
pub(crate) fn launch<'a>(
    comm: impl Into<Option<&'a Comm>>,
    start: impl FnOnce(&mut Entered) -> Result<Work>,
) -> Result<Handle<Request>> {
    launch_inside(&mut enter(), comm, start)
}

/// As [`launch`], from inside.
pub(crate) fn launch_inside<'a>(
    inside: &mut Entered,
    comm: impl Into<Option<&'a Comm>>,
    start: impl FnOnce(&mut Entered) -> Result<Work>,
) -> Result<Handle<Request>> {
    REQUESTS.get(inside).live.reserve()?;
    let mut work = start(inside)?;
    if let Work::Plain(plain) = work {
        return Ok(plain.give(inside));
    }
    let autonomous = work.is_autonomous();
    let request = REQUESTS.get(inside).insert(comm.into(), work);
    if autonomous {
        background::begin(inside, request);
    }
    Ok(request)
}

/// The user has freed the communicator. Requests that are active on it may still fail: it is kept for them.
pub(crate) fn comm_freed(comm: Arc<Comm>) {
    let mut inside = enter();
    let mut freed = std::mem::take(&mut REQUESTS.get(&mut inside).freed_comms);
    freed.push(comm);
    let (kept, over) = freed.into_iter().partition(|comm| inside.has_users(comm.context()));
    REQUESTS.get(&mut inside).freed_comms = kept;
    drop(inside);
    // What they own may take its leave of the engine.
    drop::<Vec<_>>(over);
}

/// The communicator whose point-to-point message space this is, if it has requests or a handle.
pub(crate) fn comm_of(inside: &mut Entered, context: ContextId) -> Option<Arc<Comm>> {
    let requests = REQUESTS.get(inside);
    let is_it = |comm: &Comm| comm.context() == context;
    let freed = || requests.freed_comms.iter().find(|comm| is_it(comm)).cloned();
    let held = requests.scopes.find(is_it).or_else(freed);
    held.or_else(|| Comm::table().find(is_it))
}

/// The communicator of a live request: its error handler is the one for errors of the request.
pub fn scope(request: Handle<Request>) -> Option<Arc<Comm>> {
    scope_inside(&mut enter(), request)
}

fn scope_inside(inside: &mut Entered, request: Handle<Request>) -> Option<Arc<Comm>> {
    if let Some(plain) = Plain::of(request) {
        inside.users(plain.op())?;
        let context = inside.context_of(plain.op())?;
        return comm_of(inside, context);
    }
    let requests = REQUESTS.get(inside);
    let scope = requests.live.get(request.raw())?.scope;
    requests.scopes.comm(scope)
}

impl Work {
    /// The operation, if it takes one; that of a persistent request, while it is active.
    fn operation(&mut self) -> Option<&mut dyn Operation> {
        match self {
            Self::Other(operation) => Some(&mut **operation),
            Self::Persistent(persistent) => persistent.current.as_mut()?.operation(),
            _ => None,
        }
    }

    fn is_autonomous(&mut self) -> bool {
        self.operation().is_some_and(|operation| operation.is_autonomous())
    }

    fn is_not_cancellable(&mut self) -> bool {
        self.operation().is_some_and(|operation| operation.is_not_cancellable())
    }

    fn look(&mut self, inside: &mut Entered) -> Look {
        match self {
            Self::Complete | Self::NoProcess => Look::Complete,
            Self::Plain(plain) => plain.look(inside),
            Self::Other(operation) => operation.advance(inside),
            Self::Persistent(persistent) => match &mut persistent.current {
                Some(work) => work.look(inside),
                None => Look::Inactive,
            },
            Self::Lent => Look::Pending,
        }
    }
}

/// What a live request is, for messages: a noun, and what has not been done to it.
pub(crate) fn describe(inside: &mut Entered, request: Handle<Request>) -> (&'static str, &'static str) {
    match Plain::of(request) {
        Some(Plain::Send(_)) => ("send request", "completed"),
        Some(Plain::Receive(_)) => ("receive request", "completed"),
        None => match REQUESTS.get(inside).entry(request).map(|entry| &entry.work) {
            Ok(Work::Persistent(persistent)) if persistent.current.is_none() => ("persistent request", "freed"),
            Ok(Work::Persistent(_)) => ("active persistent request", "completed"),
            _ => ("request", "completed"),
        },
    }
}

/// How far the request is.
#[inline]
fn look(inside: &mut Entered, request: Handle<Request>) -> Result<Look> {
    match Plain::of(request) {
        Some(plain) => plain.look_at_users(inside).ok_or_else(|| invalid(request)),
        None => look_at_entry(inside, request),
    }
}

#[inline(never)]
fn look_at_entry(inside: &mut Entered, request: Handle<Request>) -> Result<Look> {
    let entry = REQUESTS.get(inside).entry(request)?;
    // Nobody else need be kept from it.
    if let Work::Persistent(persistent) = &entry.work {
        match persistent.current {
            None => return Ok(Look::Inactive),
            Some(Work::Complete) => return Ok(Look::Complete),
            Some(Work::Plain(plain)) => return Ok(plain.look(inside)),
            _ => {}
        }
    }
    let mut work = std::mem::replace(&mut entry.work, Work::Lent);
    let look = work.look(inside);
    let due = work.operation().is_some_and(|operation| operation.calls_out());
    REQUESTS.get(inside).entry(request)?.work = work;
    if due {
        background::call_for(inside, request);
    }
    Ok(look)
}

/// Work on what a request stands for. Waits while another thread does.
pub(crate) fn with_work<R>(
    inside: &mut Entered,
    request: Handle<Request>,
    f: impl FnOnce(&mut Work, &mut Entered) -> R,
) -> Result<R> {
    let mut work = borrow(inside, request)?;
    let answer = f(&mut work, inside);
    give_back(inside, request, work)?;
    Ok(answer)
}

/// As [`with_work`], outside the engine: `f` may run user code.
pub(crate) fn lend<R>(inside: &mut Entered, request: Handle<Request>, f: impl FnOnce(&mut Work) -> R) -> Result<R> {
    let mut work = borrow(inside, request)?;
    let answer = inside.outside(|| f(&mut work));
    give_back(inside, request, work)?;
    Ok(answer)
}

/// Take what a request stands for, once no other thread has it.
fn borrow(inside: &mut Entered, request: Handle<Request>) -> Result<Work> {
    if let Some(plain) = Plain::of(request) {
        return match inside.users(plain.op()) {
            Some(_) => Ok(Work::Plain(plain)),
            None => Err(invalid(request)),
        };
    }
    inside.wait(|inside| match REQUESTS.get(inside).entry(request) {
        Ok(RegisteredRequest { work: Work::Lent, .. }) => None,
        Ok(entry) => Some(Ok(std::mem::replace(&mut entry.work, Work::Lent))),
        Err(error) => Some(Err(error)),
    })?
}

fn give_back(inside: &mut Entered, request: Handle<Request>, work: Work) -> Result<()> {
    if !matches!(work, Work::Plain(_)) {
        REQUESTS.get(inside).entry(request)?.work = work;
    }
    inside.notice();
    Ok(())
}

/// `MPI_Cancel` (MPI-5.0 §3.8.4): a receive that has not matched, or a send whose message is only announced, is
/// withdrawn; anything else goes on. Either way the request must still be completed.
pub fn cancel(request: Handle<Request>) -> Result<()> {
    let mut inside = enter();
    let asked = with_work(&mut inside, request, |work, inside| cancel_work(inside, request, work))?;
    let scope = scope_inside(&mut inside, request);
    // The user code may complete the request.
    drop(inside);
    asked
        .and_then(|user_code| user_code.map_or(Ok(()), |user_code| user_code()))
        .map_err(|error| with_comm(error, scope))
}

fn cancel_work(inside: &mut Entered, request: Handle<Request>, work: &mut Work) -> Result<Option<UserCode>> {
    match work {
        Work::Plain(plain) => {
            inside.cancel(plain.op());
            Ok(None)
        }
        Work::Other(operation) if operation.is_not_cancellable() => Err(fail!(
            Request,
            "request={request:?} is a collective or partitioned, and cannot be cancelled"
        )),
        Work::Other(operation) => Ok(operation.cancel(inside)),
        Work::Persistent(persistent) => match &mut persistent.current {
            Some(work) => cancel_work(inside, request, work),
            None => Err(fail!(Request, "request={request:?} is not active")),
        },
        Work::Complete | Work::NoProcess | Work::Lent => Ok(None),
    }
}
