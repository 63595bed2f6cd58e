//! Looking at messages before receiving them (MPI-5.0 §3.8).

use std::ffi::c_void;
use std::sync::Arc;

use isthmus_engine::{Cause, ContextId, Entered, MessageId, Peer, enter, fault_events};

use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::handle::{Handle, ObjectKind, carried, carry};
use crate::ledger::{self, Given, types};
use crate::liveness::check_revoked;
use crate::p2p::{Incoming, Source, any_tag};
use crate::request::{Request, comm_of, try_now, with_comm};
use crate::status::Status;
use crate::{fail, liveness};

/// What a [`Handle<Message>`] names: a message that no other receive can match any more.
pub enum Message {}

/// `MPI_MESSAGE_NULL`.
pub const MESSAGE_NULL: Handle<Message> = Handle::from_raw(0x128);
/// `MPI_MESSAGE_NO_PROC`: what a matched probe of `MPI_PROC_NULL` finds.
pub const MESSAGE_NO_PROC: Handle<Message> = Handle::from_raw(0x129);

/// The arguments of a probe, checked; `None`: from `MPI_PROC_NULL`.
#[inline(always)]
fn check(source: i32, tag: i32, comm: &Comm) -> Result<Option<ProbeKey>> {
    let tag = any_tag(tag, comm)?;
    let from = match Source::check(source, comm)? {
        Source::Peer(peer) => Some(peer),
        Source::Any | Source::Matched(_) => None,
        Source::Nobody | Source::NoMessage => return check_revoked(&mut enter(), comm.context()).map(|()| None),
    };
    Ok(Some(ProbeKey {
        from: from.map_or(ANYTHING, |peer| peer.0.into()),
        tag: tag.map_or(ANYTHING, |tag| tag.cast_unsigned().into()),
    }))
}

/// What a probe asks for. Whole words: what is written by halves and read as one waits until all that was written before has reached the
/// cache, the last message that was sent among it.
#[derive(Clone, Copy)]
struct ProbeKey {
    from: u64,
    tag: u64,
}

/// A wildcard.
const ANYTHING: u64 = u64::MAX;

impl ProbeKey {
    #[inline(always)]
    fn from(self) -> Option<Peer> {
        (self.from != ANYTHING).then_some(Peer(self.from as u32))
    }

    #[inline(always)]
    fn tag(self) -> Option<i32> {
        (self.tag != ANYTHING).then_some((self.tag as u32).cast_signed())
    }

    /// A call waits for such a message.
    fn is_awaited(self, inside: &mut Entered, comm: &Comm) {
        let from = self.from().map(|Peer(from)| from);
        inside.waits_for(Cause::Receives(from, self.tag(), comm.context().0));
    }

    /// There is no such message, and it may be that none will come.
    fn failure(self, inside: &mut Entered, comm: &Comm) -> Option<Error> {
        if fault_events() == 0 {
            return None;
        }
        match self.from() {
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
    let arrival = enter().wait_for_operations(|inside| {
        let found = inside.probe(wanted.from(), comm.context(), wanted.tag());
        if found.is_none() {
            wanted.is_awaited(inside, comm);
        }
        found.map(Ok).or_else(|| wanted.failure(inside, comm).map(Err))
    })??;
    Ok(types::found(&arrival))
}

/// `MPI_Iprobe`: as [`probe`], but does not block.
pub fn iprobe(source: i32, tag: i32, comm: &'static Comm) -> Result<(bool, Status)> {
    let Some(wanted) = check(source, tag, comm)? else {
        return Ok((true, Status::NO_PROCESS));
    };
    let arrival = try_now(&mut enter(), |inside| {
        let found = inside.probe(wanted.from(), comm.context(), wanted.tag());
        if found.is_none() {
            wanted.is_awaited(inside, comm);
        }
        found.map(Ok).or_else(|| wanted.failure(inside, comm).map(Err))
    })
    .transpose()?;
    Ok(arrival.map_or((false, Status::EMPTY), |arrival| (true, types::found(&arrival))))
}

/// `MPI_Mprobe` (MPI-5.0 §3.8.2): blocks until a message can be received, and takes it out of matching.
pub fn mprobe(source: i32, tag: i32, comm: &'static Comm) -> Result<(Handle<Message>, Status)> {
    let Some(wanted) = check(source, tag, comm)? else {
        return Ok((MESSAGE_NO_PROC, Status::NO_PROCESS));
    };
    enter().wait_for_operations(|inside| take(inside, wanted, comm))?
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
    let found = find(*message)?;
    let incoming =
        Incoming::check_matched(buf, count, datatype, found.name()).map_err(|error| found.with_comm(error))?;
    let buffers = [Given::receives(buf, count, datatype)];
    // SAFETY: the caller's promise.
    let received = ledger::pass_received(buffers, || unsafe { incoming.accept() });
    found.end(message, received)
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
    let found = find(*message)?;
    let incoming =
        Incoming::check_matched(buf, count, datatype, found.name()).map_err(|error| found.with_comm(error))?;
    // A plain request finds its communicator by itself, if it needs one.
    let comm = incoming.layout.and_then(|_| found.comm());
    let buffers = [Given::receives(buf, count, datatype)];
    // SAFETY: the caller's promise.
    let request = ledger::hold(buffers, || unsafe { incoming.launch(comm.as_deref()) });
    found.end(message, request)
}

/// A live message, and its message space; `None`: `MPI_MESSAGE_NO_PROC`.
#[derive(Clone, Copy)]
struct FoundMessage(Option<(MessageId, ContextId)>);

impl FoundMessage {
    fn name(self) -> Option<MessageId> {
        self.0.map(|(name, _)| name)
    }

    /// Its receive is over, or has begun: the handle becomes null. If there was no room for it, the message is still there.
    #[inline]
    fn end<T>(self, message: &mut Handle<Message>, received: Result<T>) -> Result<T> {
        if received.is_ok() || find(*message).is_err() {
            *message = MESSAGE_NULL;
        }
        received.map_err(|error| self.with_comm(error))
    }

    fn comm(self) -> Option<Arc<Comm>> {
        let (_, context) = self.0?;
        comm_of(&mut enter(), context)
    }

    #[cold]
    fn with_comm(self, error: Error) -> Error {
        with_comm(error, self.comm())
    }
}

/// The communicator of a message: its error handler is the one for errors of the message.
pub fn scope(message: Handle<Message>) -> Option<Arc<Comm>> {
    find(message).ok()?.comm()
}

/// Take a message out of matching, if one is there.
fn take(inside: &mut Entered, wanted: ProbeKey, comm: &Comm) -> Option<Result<(Handle<Message>, Status)>> {
    match inside.matched_probe(wanted.from(), comm.context(), wanted.tag()) {
        Ok(Some((message, arrival))) => Some(Ok((
            Handle::from_raw(carry(ObjectKind::Message, message.0)),
            types::found(&arrival),
        ))),
        Ok(None) => {
            wanted.is_awaited(inside, comm);
            wanted.failure(inside, comm).map(Err)
        }
        Err(error) => Some(Err(error.into())),
    }
}

/// What a handle names.
#[inline]
fn find(message: Handle<Message>) -> Result<FoundMessage> {
    if message == MESSAGE_NO_PROC {
        return Ok(FoundMessage(None));
    }
    let (kind, name) = carried(message.raw());
    if kind == ObjectKind::Message as u32 {
        let name = MessageId(name);
        if let Some(context) = enter().context_of_message(name) {
            return Ok(FoundMessage(Some((name, context))));
        }
    }
    Err(fail!(Request, "message={message:?} is not a live handle (MPI_Message)"))
}
