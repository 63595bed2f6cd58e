//! The two sides of a message: a send and a receive whose arguments have been checked, and how each is started and completed. Contiguous data goes
//! straight from and to the user's buffer; how other data does stands in `staging.rs`.

use std::ffi::c_void;

use isthmus_engine::{Arrival, ContextId, Entered, MessageId, Mode, OpId, Peer, Posting, enter};
use isthmus_mem::Kind;
use isthmus_os::switches::Switch;

use super::staging::Kept;
use super::{Started, await_anybody, await_receive, await_send};
use crate::check;
use crate::comm::Comm;
use crate::constants::{ANY_SOURCE, ANY_TAG, PROC_NULL, TAG_UB};
use crate::datatype::{Datatype, Type};
use crate::error::{Error, Result};
use crate::fail;
use crate::ledger::types;
use crate::liveness::check_revoked;
use crate::status::Status;

/// Receives that are shorter are never advertised, whatever the engine's limits.
const ADVERTISED_FROM: usize = 32 << 10;

/// A send whose arguments have been checked.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    pub mode: Mode,
    /// `None`: `MPI_PROC_NULL`.
    pub to: Option<Peer>,
    pub posting: Posting,
    pub buf: *const u8,
    pub count: i64,
    /// What `count` elements amount to.
    pub bytes: usize,
    /// `None`: contiguous, in host memory.
    pub layout: Option<&'a Datatype>,
    /// Is it memory of a device?
    pub on_device: bool,
}

/// A receive whose arguments have been checked.
#[derive(Clone, Copy)]
pub struct Incoming<'a> {
    pub from: Source,
    pub context: ContextId,
    /// `None`: any.
    pub tag: Option<i32>,
    pub buf: *mut u8,
    pub count: i64,
    /// What `count` elements amount to.
    pub bytes: usize,
    /// `None`: contiguous, in host memory.
    pub layout: Option<&'a Datatype>,
    /// Is it memory of a device?
    pub on_device: bool,
}

/// Where a message may come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `MPI_PROC_NULL`.
    Nobody,
    /// `MPI_MESSAGE_NO_PROC`, which has no communicator.
    NoMessage,
    /// `MPI_ANY_SOURCE`.
    Any,
    /// One process.
    Peer(Peer),
    /// A matched probe has found it already.
    Matched(MessageId),
}

// SAFETY: the pointer is the user's, followed only while its operation is pending; MPI lets any thread complete it.
unsafe impl Send for Outgoing<'_> {}
// SAFETY: as above.
unsafe impl Send for Incoming<'_> {}

impl<'a> Outgoing<'a> {
    /// Check the arguments of a send.
    #[inline(always)]
    pub fn check(
        mode: Mode,
        buf: *const c_void,
        count: i64,
        datatype: &'a Datatype,
        dest: i32,
        tag: i32,
        comm: &Comm,
    ) -> Result<Self> {
        let (bytes, on_device) = span(buf, count, datatype)?;
        let to = destination(comm, dest)?;
        if tag as u32 > TAG_UB as u32 {
            return Err(wrong_tag(tag));
        }
        Ok(Self {
            mode,
            to,
            posting: Posting {
                context: comm.context(),
                source: comm.rank(),
                tag,
            },
            buf: buf.cast(),
            count,
            bytes,
            layout: layout(datatype, on_device),
            on_device,
        })
    }

    /// The same as the checking mode wants it, if that is on: of these elements. Where the mode of a send stands in the source, that
    /// is asked first, so that what follows is compiled for this mode.
    #[inline(always)]
    pub fn watched(self, count: i64, datatype: &Type) -> Self {
        match Switch::Check.is_on() {
            true => self.checked(count, datatype),
            false => self,
        }
    }

    /// The same as the checking mode wants it: the envelope tells of these elements, and standard sends may be synchronous.
    #[cold]
    pub fn checked(mut self, count: i64, datatype: &Type) -> Self {
        if check::is_synchronous() {
            self.mode = Mode::Synchronous;
        }
        self.posting.source = types::with_types(self.posting.source, count, datatype);
        self
    }

    /// The same of a buffered or partitioned send, which never waits for its receive.
    pub fn buffered(self) -> Self {
        Self {
            mode: Mode::Standard,
            ..self
        }
    }

    /// Start. The buffer may be reused once it is complete.
    ///
    /// # Safety
    /// The buffer must be readable where the datatype says until it is complete.
    pub(super) unsafe fn begin(&self, inside: &mut Entered) -> Result<Started> {
        if let Some(datatype) = self.layout {
            // SAFETY: the caller's promise.
            return unsafe { self.begin_packing(inside, datatype) };
        }
        // SAFETY: the caller's promise.
        let op = unsafe { self.post(inside) }?;
        Ok(Started {
            op,
            kept: Kept::Nothing,
        })
    }

    /// Start to send contiguous data. `None`: the buffer may be reused already.
    ///
    /// # Safety
    /// The buffer must be readable for `self.bytes` bytes until the operation is complete.
    #[inline(always)]
    pub(super) unsafe fn post(&self, inside: &mut Entered) -> Result<Option<OpId>> {
        match self.to {
            // SAFETY: the caller's promise.
            Some(to) => Ok(unsafe { inside.send(self.mode, to, self.posting, self.buf, self.bytes) }?),
            None => check_revoked(inside, self.posting.context).map(|()| None),
        }
    }

    /// Send, and wait until the buffer may be reused.
    ///
    /// # Safety
    /// The buffer must be readable where the datatype says.
    #[inline(always)]
    pub unsafe fn deliver(self) -> Result<()> {
        if let Some(datatype) = self.layout {
            // SAFETY: the caller's promise.
            return unsafe { self.deliver_elements(datatype) };
        }
        let mut inside = enter();
        // SAFETY: the operation is complete when this returns.
        match unsafe { self.post(&mut inside) }? {
            None => Ok(()),
            Some(op) => await_send(&mut inside, op),
        }
    }
}

impl<'a> Incoming<'a> {
    /// Check the arguments of a receive.
    #[inline(always)]
    pub fn check(
        buf: *mut c_void,
        count: i64,
        datatype: &'a Datatype,
        source: i32,
        tag: i32,
        comm: &Comm,
    ) -> Result<Self> {
        datatype.check_apart("buf", count)?;
        let (bytes, on_device) = span(buf, count, datatype)?;
        Ok(Self {
            bytes,
            from: Source::check(source, comm)?,
            context: comm.context(),
            tag: any_tag(tag, comm)?,
            buf: buf.cast(),
            count,
            layout: layout(datatype, on_device),
            on_device,
        })
    }

    /// Check the arguments of a receive of a message that a matched probe found; `None`: from `MPI_PROC_NULL`.
    pub fn check_matched(
        buf: *mut c_void,
        count: i64,
        datatype: &'a Datatype,
        message: Option<MessageId>,
    ) -> Result<Self> {
        datatype.check_apart("buf", count)?;
        let (bytes, on_device) = span(buf, count, datatype)?;
        Ok(Self {
            bytes,
            from: message.map_or(Source::NoMessage, Source::Matched),
            context: ContextId(0),
            tag: None,
            buf: buf.cast(),
            count,
            layout: layout(datatype, on_device),
            on_device,
        })
    }

    /// Start.
    ///
    /// # Safety
    /// The buffer must be writable where the datatype says until it is complete.
    pub(super) unsafe fn begin(&self, inside: &mut Entered) -> Result<Started> {
        if let Some(datatype) = self.layout {
            // SAFETY: the caller's promise.
            return unsafe { self.begin_unpacking(inside, datatype) };
        }
        // SAFETY: the caller's promise.
        let op = unsafe { self.post(inside, self.buf) }?;
        Ok(Started {
            op,
            kept: Kept::Nothing,
        })
    }

    /// Post the receive into `buf`. `None`: there is nothing to wait for.
    ///
    /// # Safety
    /// `buf` must be writable for `self.bytes` bytes until the operation is complete.
    #[inline(always)]
    pub(super) unsafe fn post(&self, inside: &mut Entered, buf: *mut u8) -> Result<Option<OpId>> {
        let from = match self.from {
            Source::Peer(peer) => Some(peer),
            Source::Any => None,
            Source::Nobody => return check_revoked(inside, self.context).map(|()| None),
            Source::NoMessage => return Ok(None),
            // SAFETY: the caller's promise.
            Source::Matched(message) => unsafe {
                return Ok(Some(inside.receive_matched(message, buf, self.bytes)?));
            },
        };
        // SAFETY: the caller's promise.
        Ok(Some(unsafe {
            inside.receive(from, self.context, self.tag, buf, self.bytes)
        }?))
    }

    /// The receive `op` has been started, and its caller goes on with something else.
    #[inline]
    pub(super) fn advertise(&self, inside: &mut Entered, op: Option<OpId>) {
        if self.bytes >= ADVERTISED_FROM
            && let Some(op) = op
        {
            inside.advertise(op);
        }
    }

    /// Receive, and wait for it.
    ///
    /// # Safety
    /// The buffer must be writable where the datatype says.
    #[inline(always)]
    pub unsafe fn accept(self) -> Result<Status> {
        if let Some(datatype) = self.layout {
            // SAFETY: the caller's promise.
            return unsafe { self.accept_elements(datatype) };
        }
        let mut inside = enter();
        // SAFETY: the caller's promise.
        if let Some(arrival) = unsafe { self.accept_at_once(&mut inside) } {
            return Ok(Status::from(&arrival));
        }
        // SAFETY: the operation is complete when this returns.
        match unsafe { self.post(&mut inside, self.buf) }? {
            None => Ok(Status::NO_PROCESS),
            Some(op) if self.from == Source::Any => await_anybody(&mut inside, op),
            Some(op) => await_receive(&mut inside, op),
        }
    }

    /// Receive a message that is here already.
    ///
    /// # Safety
    /// `self.buf` must be writable for `self.bytes` bytes.
    #[inline(always)]
    unsafe fn accept_at_once(&self, inside: &mut Entered) -> Option<Arrival> {
        let from = match self.from {
            Source::Peer(peer) => Some(peer),
            Source::Any => None,
            Source::Nobody | Source::NoMessage => return None,
            // SAFETY: the caller's promise.
            Source::Matched(message) => unsafe {
                return inside.receive_matched_at_once(message, self.buf, self.bytes);
            },
        };
        // SAFETY: the caller's promise.
        unsafe { inside.receive_at_once(from, self.context, self.tag, self.buf, self.bytes) }
    }
}

impl Source {
    /// The process, or whichever.
    #[inline(always)]
    pub fn check(source: i32, comm: &Comm) -> Result<Self> {
        if let Some(peer) = comm.peer(source) {
            return Ok(Self::Peer(peer));
        }
        match source {
            ANY_SOURCE => comm.check_wildcards(true, false).map(|()| Self::Any),
            PROC_NULL => Ok(Self::Nobody),
            _ => Err(wrong_rank("source", source, comm)),
        }
    }
}

/// Where a message to `dest` goes; `None`: nowhere, it is `MPI_PROC_NULL`.
#[inline(always)]
pub fn destination(comm: &Comm, dest: i32) -> Result<Option<Peer>> {
    match comm.peer(dest) {
        None if dest != PROC_NULL => Err(wrong_rank("dest", dest, comm)),
        peer => Ok(peer),
    }
}

/// The tag of a receive or probe; `None`: any.
#[inline(always)]
pub fn any_tag(tag: i32, comm: &Comm) -> Result<Option<i32>> {
    match tag {
        ANY_TAG => comm.check_wildcards(false, true).map(|()| None),
        0..=TAG_UB => Ok(Some(tag)),
        _ => Err(wrong_tag(tag)),
    }
}

/// How the elements lie, unless they are contiguous in host memory.
#[inline(always)]
fn layout(datatype: &Datatype, on_device: bool) -> Option<&Datatype> {
    if datatype.is_contiguous() && !on_device {
        None
    } else {
        Some(datatype)
    }
}

/// Check datatype, count and buffer; what the elements amount to, and whether they are in memory of a device.
#[inline(always)]
fn span(buf: *const c_void, count: i64, datatype: &Datatype) -> Result<(usize, bool)> {
    let mut on_device = false;
    if !datatype.is_committed() || buf.addr() < FIRST_PAGE || Switch::Devices.is_on() {
        on_device = check_elements(buf, count, datatype)?;
    }
    Ok((bytes(count, datatype)?, on_device))
}

/// Where nothing is mapped: addresses below are no buffers, unless the datatype holds absolute ones.
const FIRST_PAGE: usize = 4096;

#[cold]
fn check_elements(buf: *const c_void, count: i64, datatype: &Datatype) -> Result<bool> {
    datatype.check_committed("datatype")?;
    datatype.check_buffer("buf", buf, count).map(Kind::is_device)
}

/// What `count` elements amount to.
#[inline(always)]
pub fn bytes(count: i64, datatype: &Datatype) -> Result<usize> {
    match count.checked_mul(datatype.size()).map(usize::try_from) {
        Some(Ok(bytes)) => Ok(bytes),
        _ => Err(wrong_count(count, datatype)),
    }
}

#[cold]
fn wrong_count(count: i64, datatype: &Datatype) -> Error {
    fail!(Count, "count={count} elements of {} bytes", datatype.size())
}

#[cold]
fn wrong_rank(argument: &str, rank: i32, comm: &Comm) -> Error {
    fail!(
        Rank,
        "{argument}={rank}, but the communicator has {} ranks",
        comm.remote_size()
    )
}

#[cold]
fn wrong_tag(tag: i32) -> Error {
    fail!(Tag, "tag={tag}, but tags are 0 to {TAG_UB}")
}
