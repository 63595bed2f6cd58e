//! Looking at messages before receiving them (MPI-5.0 §3.8).

use std::ffi::c_void;
use std::sync::Arc;

use isthmus_engine::{Entered, Guarded, MessageId, Peer, enter, fault_events, wait_until};

use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::handle::{Handle, Kind};
use crate::p2p::{Incoming, Source, any_tag};
use crate::request::{Request, Slab, blame, try_now};
use crate::status::Status;
use crate::{fail, liveness};

/// What a [`Handle<Message>`] names: a message that no other receive can match any more.
pub enum Message {}

/// `MPI_MESSAGE_NULL`.
pub const MESSAGE_NULL: Handle<Message> = Handle::from_raw(0x128);
/// `MPI_MESSAGE_NO_PROC`: what a matched probe of `MPI_PROC_NULL` finds.
pub const MESSAGE_NO_PROC: Handle<Message> = Handle::from_raw(0x129);

struct Found {
    id: MessageId,
    comm: Arc<Comm>,
}

static MESSAGES: Guarded<Slab<Found>> = Guarded::new(Slab::new(Kind::Message));

/// The arguments of a probe, checked; `None`: from `MPI_PROC_NULL`.
fn check(source: i32, tag: i32, comm: &Comm) -> Result<Option<Wanted>> {
    let tag = any_tag(tag, comm)?;
    let from = match Source::check(source, comm)? {
        Source::Peer(peer) => Some(peer),
        Source::Any | Source::Matched(_) => None,
        Source::Nobody => return Ok(None),
    };
    Ok(Some(Wanted { from, tag }))
}

#[derive(Clone, Copy)]
struct Wanted {
    from: Option<Peer>,
    tag: Option<i32>,
}

impl Wanted {
    /// There is no such message, and it may be that none will come.
    fn in_vain(self, inside: &mut Entered, comm: &Comm) -> Option<Error> {
        if fault_events() == 0 {
            return None;
        }
        match self.from {
            _ if inside.is_revoked(comm.context()) => Some(liveness::revoked()),
            Some(peer) => inside.has_failed(peer).then(|| liveness::failed(peer)),
            None => comm.unacknowledged(inside).map(liveness::unanswered),
        }
    }
}

/// `MPI_Probe`: blocks until a message can be received.
pub fn probe(source: i32, tag: i32, comm: &'static Comm) -> Result<Status> {
    let Some(wanted) = check(source, tag, comm)? else {
        return Ok(Status::NO_PROCESS);
    };
    let arrival = wait_until(|inside| {
        let found = inside.probe(wanted.from, comm.context(), wanted.tag);
        found.map(Ok).or_else(|| wanted.in_vain(inside, comm).map(Err))
    })??;
    Ok(Status::from(&arrival))
}

/// `MPI_Iprobe`: as [`probe`], but does not block.
pub fn iprobe(source: i32, tag: i32, comm: &'static Comm) -> Result<(bool, Status)> {
    let Some(wanted) = check(source, tag, comm)? else {
        return Ok((true, Status::NO_PROCESS));
    };
    let arrival = try_now(&mut enter(), |inside| {
        let found = inside.probe(wanted.from, comm.context(), wanted.tag);
        found.map(Ok).or_else(|| wanted.in_vain(inside, comm).map(Err))
    })
    .transpose()?;
    Ok(arrival.map_or((false, Status::EMPTY), |arrival| (true, Status::from(&arrival))))
}

/// `MPI_Mprobe` (MPI-5.0 §3.8.2): blocks until a message can be received, and takes it out of matching.
pub fn mprobe(source: i32, tag: i32, comm: &'static Comm) -> Result<(Handle<Message>, Status)> {
    let Some(wanted) = check(source, tag, comm)? else {
        return Ok((MESSAGE_NO_PROC, Status::NO_PROCESS));
    };
    wait_until(|inside| take(inside, wanted, comm))?
}

/// `MPI_Improbe`: as [`mprobe`], but does not block.
pub fn improbe(source: i32, tag: i32, comm: &'static Comm) -> Result<(bool, Handle<Message>, Status)> {
    let Some(wanted) = check(source, tag, comm)? else {
        return Ok((true, MESSAGE_NO_PROC, Status::NO_PROCESS));
    };
    match try_now(&mut enter(), |inside| take(inside, wanted, comm)).transpose()? {
        Some((message, status)) => Ok((true, message, status)),
        None => Ok((false, MESSAGE_NULL, Status::EMPTY)),
    }
}

/// `MPI_Mrecv` (MPI-5.0 §3.8.3). The handle becomes null.
///
/// # Safety
/// `buf` must be writable where `count` elements of `datatype` say.
pub unsafe fn mrecv(
    buf: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    message: &mut Handle<Message>,
) -> Result<Status> {
    let given = *message;
    let incoming =
        Incoming::check_matched(buf, count, datatype, find(given)?).map_err(|error| blame(error, scope(given)))?;
    let found = forget(message);
    // SAFETY: the caller's promise.
    let received = unsafe { incoming.accept() };
    received.map_err(|error| blame(error, found.map(|found| found.comm)))
}

/// `MPI_Imrecv`. The handle becomes null.
///
/// # Safety
/// `buf` must be writable where `count` elements of `datatype` say, until the request is complete.
pub unsafe fn imrecv(
    buf: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    message: &mut Handle<Message>,
) -> Result<Handle<Request>> {
    let given = *message;
    let incoming =
        Incoming::check_matched(buf, count, datatype, find(given)?).map_err(|error| blame(error, scope(given)))?;
    let comm = forget(message).map(|found| found.comm);
    // SAFETY: the caller's promise.
    let request = unsafe { incoming.launch(comm.as_deref()) };
    request.map_err(|error| blame(error, comm))
}

/// The communicator of a message: its error handler is the one for errors of the message.
pub fn scope(message: Handle<Message>) -> Option<Arc<Comm>> {
    let mut inside = enter();
    let found = MESSAGES.get(&mut inside).get(message.raw())?;
    Some(Arc::clone(&found.comm))
}

/// Take a message out of matching, if one is there.
fn take(inside: &mut Entered, wanted: Wanted, comm: &Comm) -> Option<Result<(Handle<Message>, Status)>> {
    if let Err(error) = MESSAGES.get(inside).reserve() {
        return Some(Err(error));
    }
    let Some((id, arrival)) = inside.matched_probe(wanted.from, comm.context(), wanted.tag) else {
        return wanted.in_vain(inside, comm).map(Err);
    };
    let comm = match comm.handle().share("comm") {
        Ok(comm) => comm,
        Err(error) => return Some(Err(error)),
    };
    let message = MESSAGES.get(inside).insert_with(|| Found { id, comm });
    Some(Ok((Handle::from_raw(message), Status::from(&arrival))))
}

/// Which message a handle names, `None` for `MPI_MESSAGE_NO_PROC`.
fn find(message: Handle<Message>) -> Result<Option<MessageId>> {
    if message == MESSAGE_NO_PROC {
        return Ok(None);
    }
    match MESSAGES.get(&mut enter()).get(message.raw()) {
        Some(found) => Ok(Some(found.id)),
        None => Err(fail!(Request, "message={message:?} is not a live handle (MPI_Message)")),
    }
}

/// The handle becomes null; what it named.
fn forget(message: &mut Handle<Message>) -> Option<Found> {
    let found = MESSAGES.get(&mut enter()).take(message.raw());
    *message = MESSAGE_NULL;
    found
}
