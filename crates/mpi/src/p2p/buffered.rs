//! Buffered sends (MPI-5.0 §3.6): the message is copied, and leaves when it can.
//!
//! Copies live in memory of our own. A buffer that the user attaches is an allowance, not a place: the bytes of copies
//! that have not left yet may not exceed its size. That keeps the promise of the standard without its fragmentation,
//! and the address goes back to the user untouched.

use std::ffi::c_void;

use isthmus_engine::{ContextId, Entered, Guarded, Mode, OpId, Peer, Posting, enter, wait_until};

use super::Outgoing;
use crate::comm::Comm;
use crate::constants::BUFFER_AUTOMATIC;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::liveness::check_revoked;
use crate::process::SessionId;
use crate::request::{Look, Operation, Request, Work, launch};
use crate::session::Session;
use crate::status::Status;

/// The object that an attached buffer belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Process,
    Session(SessionId),
    Comm(ContextId),
    /// None: it is a message of the library's own.
    Library,
}

/// An attached buffer.
struct Buffer {
    owner: Owner,
    address: *mut c_void,
    size: i64,
    /// Bytes of copies that have not left yet.
    used: i64,
}

// SAFETY: the address is the user's; it is handed back, never followed.
unsafe impl Send for Buffer {}

/// A message that has not left yet.
struct Copied {
    owner: Owner,
    /// Counts up over all buffered sends.
    serial: u64,
    op: OpId,
    data: Vec<u8>,
}

struct Buffers {
    attached: Vec<Buffer>,
    copies: Vec<Copied>,
    next_serial: u64,
}

static BUFFERS: Guarded<Buffers> = Guarded::new(Buffers {
    attached: Vec::new(),
    copies: Vec::new(),
    next_serial: 0,
});

impl Buffers {
    fn buffer(&mut self, owner: Owner) -> Option<&mut Buffer> {
        self.attached.iter_mut().find(|buffer| buffer.owner == owner)
    }

    /// The buffer that sends on a communicator use: its own, else that of the session it is derived from, else that of the process.
    fn serving(&mut self, users: [Owner; 3]) -> Option<&mut Buffer> {
        let of = |owner| self.attached.iter().position(|buffer| buffer.owner == owner);
        users.into_iter().find_map(of).map(|at| &mut self.attached[at])
    }

    /// A send could not finish at once: its copy stays until it has.
    fn keep(&mut self, owner: Owner, op: OpId, data: Vec<u8>) {
        if let Some(buffer) = self.buffer(owner) {
            buffer.used += data.len() as i64;
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        self.copies.push(Copied {
            owner,
            serial,
            op,
            data,
        });
    }
}

impl Buffer {
    /// May so many bytes more be copied?
    fn has_room(&self, bytes: usize) -> bool {
        self.address == BUFFER_AUTOMATIC || bytes as i64 <= self.size - self.used
    }
}

/// `MPI_Bsend`.
///
/// # Safety
/// `buf` must be readable where `count` elements of `datatype` say.
pub unsafe fn bsend(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<()> {
    let outgoing = Outgoing::check(Mode::Standard, buf, count, datatype, dest, tag, comm)?
        .watched(count, datatype)
        .buffered();
    let mut inside = enter();
    // SAFETY: the caller's promise.
    unsafe { start(&outgoing, owners(comm), &mut inside) }.map(drop)
}

/// `MPI_Ibsend`: complete at once.
///
/// # Safety
/// As for [`bsend`].
pub unsafe fn ibsend(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    let outgoing = Outgoing::check(Mode::Standard, buf, count, datatype, dest, tag, comm)?
        .watched(count, datatype)
        .buffered();
    // SAFETY: the caller's promise.
    launch(comm, |inside| unsafe { start(&outgoing, owners(comm), inside) })
}

/// The owners of the buffers for sends on `comm`, in order.
pub(super) fn owners(comm: &Comm) -> [Owner; 3] {
    let session = comm.group.session().map_or(Owner::Process, Owner::Session);
    [Owner::Comm(comm.context()), session, Owner::Process]
}

/// Copy the message and start to send the copy.
///
/// # Safety
/// The buffer must be readable where the datatype says.
pub(super) unsafe fn start(outgoing: &Outgoing<'_>, users: [Owner; 3], inside: &mut Entered) -> Result<Work> {
    if outgoing.to.is_none() {
        return check_revoked(inside, outgoing.posting.context).map(|()| Work::Complete);
    }
    let owner = find_room(inside, outgoing, users)?;
    // SAFETY: the caller's promise.
    let started = outgoing.begin_copy(inside, unsafe { outgoing.copy() }?)?;
    if let Some(op) = started.op {
        let buffers = BUFFERS.get(inside);
        buffers.keep(owner, op, started.kept.into_copy());
        if buffers.copies.len().is_power_of_two() {
            release(inside);
        }
    }
    Ok(Work::Complete)
}

/// Send a message of the library's own, without waiting for anything.
pub(super) fn send_for_library(inside: &mut Entered, to: Peer, posting: Posting, data: Vec<u8>) -> Result<()> {
    // SAFETY: the data is kept until the operation is complete.
    let op = unsafe { inside.send(Mode::Standard, to, posting, data.as_ptr(), data.len()) }?;
    if let Some(op) = op {
        BUFFERS.get(inside).keep(Owner::Library, op, data);
    }
    Ok(())
}

/// The owner of a buffer with room for the message.
fn find_room(inside: &mut Entered, outgoing: &Outgoing<'_>, users: [Owner; 3]) -> Result<Owner> {
    if let Some(buffer) = BUFFERS.get(inside).serving(users)
        && buffer.has_room(outgoing.bytes)
    {
        return Ok(buffer.owner);
    }
    inside.progress();
    release(inside);
    match BUFFERS.get(inside).serving(users) {
        Some(buffer) if buffer.has_room(outgoing.bytes) => Ok(buffer.owner),
        Some(buffer) => Err(fail!(
            Buffer,
            "a message of {} bytes, but the attached buffer has room for {} more",
            outgoing.bytes,
            buffer.size - buffer.used
        )),
        None => Err(fail!(Buffer, "no buffer is attached for buffered sends")),
    }
}

/// Forget the copies that have left.
fn release(inside: &mut Entered) {
    let mut copies = std::mem::take(&mut BUFFERS.get(inside).copies);
    copies.retain(|copy| {
        // Nobody is left to hear of a failure: the send was complete when it was called.
        let left = inside.take(copy.op).is_some();
        if left && let Some(buffer) = BUFFERS.get(inside).buffer(copy.owner) {
            buffer.used -= copy.data.len() as i64;
        }
        !left
    });
    BUFFERS.get(inside).copies = copies;
}

/// Wait until the copies have left that `which` names.
fn flush(which: impl Fn(&Copied) -> bool + Send) -> Result<()> {
    wait_until(move |inside| {
        release(inside);
        (!BUFFERS.get(inside).copies.iter().any(&which)).then_some(())
    })?;
    Ok(())
}

fn attach(owner: Owner, address: *mut c_void, size: i64) -> Result<()> {
    if address.is_null() && size > 0 {
        return Err(fail!(Buffer, "the buffer is a null pointer, but its size is {size}"));
    }
    let mut inside = enter();
    let buffers = BUFFERS.get(&mut inside);
    if buffers.buffer(owner).is_some() {
        return Err(fail!(Buffer, "a buffer is attached already"));
    }
    buffers.attached.push(Buffer {
        owner,
        address,
        size,
        used: 0,
    });
    Ok(())
}

fn detach(owner: Owner) -> Result<(*mut c_void, i64)> {
    flush(|copy| copy.owner == owner)?;
    let mut inside = enter();
    let attached = &mut BUFFERS.get(&mut inside).attached;
    match attached.iter().position(|buffer| buffer.owner == owner) {
        Some(at) => {
            let buffer = attached.swap_remove(at);
            Ok((buffer.address, buffer.size))
        }
        None => Err(fail!(Buffer, "no buffer is attached")),
    }
}

/// A request that completes once the copies have left that are there now.
fn start_flush(comm: Option<&Comm>, owner: Owner) -> Result<Handle<Request>> {
    launch(comm, |inside| {
        let before = BUFFERS.get(inside).next_serial;
        Ok(Work::Other(Box::new(Flush { owner, before })))
    })
}

struct Flush {
    owner: Owner,
    before: u64,
}

impl Operation for Flush {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        release(inside);
        let mut copies = BUFFERS.get(inside).copies.iter();
        match copies.any(|copy| copy.owner == self.owner && copy.serial < self.before) {
            true => Look::Pending,
            false => Look::Complete,
        }
    }

    fn outcome(&mut self) -> Result<Status> {
        Ok(Status::SENT)
    }
}

/// `MPI_Buffer_attach`: `MPI_BUFFER_AUTOMATIC` stands for as much as is needed.
pub fn buffer_attach(buffer: *mut c_void, size: i64) -> Result<()> {
    attach(Owner::Process, buffer, size)
}

/// `MPI_Buffer_detach`: blocks until every message has left; address and size of the buffer.
pub fn buffer_detach() -> Result<(*mut c_void, i64)> {
    detach(Owner::Process)
}

/// `MPI_Buffer_flush`: blocks until every message has left.
pub fn buffer_flush() -> Result<()> {
    flush(|copy| copy.owner == Owner::Process)
}

/// `MPI_Buffer_iflush`.
pub fn buffer_iflush() -> Result<Handle<Request>> {
    start_flush(None, Owner::Process)
}

/// `MPI_Comm_attach_buffer`: for sends on `comm`, which then do not use the process's.
pub fn comm_attach_buffer(comm: &'static Comm, buffer: *mut c_void, size: i64) -> Result<()> {
    attach(Owner::Comm(comm.context()), buffer, size)
}

/// `MPI_Comm_detach_buffer`.
pub fn comm_detach_buffer(comm: &'static Comm) -> Result<(*mut c_void, i64)> {
    detach(Owner::Comm(comm.context()))
}

/// `MPI_Comm_flush_buffer`.
pub fn comm_flush_buffer(comm: &'static Comm) -> Result<()> {
    flush(|copy| copy.owner == Owner::Comm(comm.context()))
}

/// `MPI_Comm_iflush_buffer`.
pub fn comm_iflush_buffer(comm: &'static Comm) -> Result<Handle<Request>> {
    start_flush(Some(comm), Owner::Comm(comm.context()))
}

/// `MPI_Session_attach_buffer`: for sends on communicators derived from `session` that have none of their own.
pub fn session_attach_buffer(session: &'static Session, buffer: *mut c_void, size: i64) -> Result<()> {
    attach(Owner::Session(session.id()), buffer, size)
}

/// `MPI_Session_detach_buffer`.
pub fn session_detach_buffer(session: &'static Session) -> Result<(*mut c_void, i64)> {
    detach(Owner::Session(session.id()))
}

/// `MPI_Session_flush_buffer`.
pub fn session_flush_buffer(session: &'static Session) -> Result<()> {
    flush(|copy| copy.owner == Owner::Session(session.id()))
}

/// `MPI_Session_iflush_buffer`.
pub fn session_iflush_buffer(session: &'static Session) -> Result<Handle<Request>> {
    start_flush(None, Owner::Session(session.id()))
}

/// A communicator goes: its buffer is no longer attached. Messages still leave.
pub(crate) fn forget_comm(context: ContextId) {
    forget(Owner::Comm(context));
}

/// As [`forget_comm`], of a session.
pub(crate) fn forget_session(session: SessionId) {
    forget(Owner::Session(session));
}

fn forget(owner: Owner) {
    let mut inside = enter();
    let attached = &mut BUFFERS.get(&mut inside).attached;
    attached.retain(|buffer| buffer.owner != owner);
}

/// Wait until every buffered message has left.
pub(super) fn flush_everything() -> Result<()> {
    flush(|_| true)
}
