//! The arguments of sends and receives, and what can be wrong with them.

use std::ffi::c_void;

use isthmus_engine::{ContextId, MessageId, Mode, Peer, Posting};
use isthmus_mem::Kind;

use crate::check;
use crate::comm::Comm;
use crate::constants::{ANY_SOURCE, ANY_TAG, PROC_NULL, TAG_UB};
use crate::datatype::{Datatype, Type};
use crate::error::{Error, Result};
use crate::fail;
use crate::ledger::types;

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
        match check::is_on() {
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
    if !datatype.is_committed() || buf.addr() < FIRST_PAGE || isthmus_mem::is_watched() {
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
