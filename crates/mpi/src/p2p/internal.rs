//! Messages between the ranks of a communicator on the library's own account, for collectives and agreements.
//!
//! All of them block until done. Ranks are valid ranks of the communicator; the tag may be any non-negative number.

use std::ffi::c_void;

use isthmus_engine::{ContextId, Mode, Posting};

use super::arguments::{Incoming, Outgoing, Source, bytes, destination, layout};
use super::exchange;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;

/// Send bytes.
#[inline]
pub fn send_bytes(comm: &Comm, context: ContextId, dest: i32, tag: i32, data: &[u8]) -> Result<()> {
    let outgoing = outgoing_bytes(comm, context, dest, tag, data)?;
    // SAFETY: `data` is borrowed until the send is complete.
    unsafe { outgoing.deliver() }
}

/// Receive up to `out.len()` bytes; how many came.
#[inline]
pub fn recv_bytes(comm: &Comm, context: ContextId, source: i32, tag: i32, out: &mut [u8]) -> Result<usize> {
    let incoming = incoming_bytes(comm, context, source, tag, out)?;
    // SAFETY: `out` is borrowed until the receive is complete.
    let status = unsafe { incoming.accept() }?;
    Ok(status.bytes as usize)
}

/// Send `data` to `dest` and receive from `source` at once; how many bytes came.
pub fn exchange_bytes(
    comm: &Comm,
    context: ContextId,
    tag: i32,
    dest: i32,
    data: &[u8],
    source: i32,
    out: &mut [u8],
) -> Result<usize> {
    let outgoing = outgoing_bytes(comm, context, dest, tag, data)?;
    let incoming = incoming_bytes(comm, context, source, tag, out)?;
    // SAFETY: both are borrowed until the exchange is complete.
    let status = unsafe { exchange(&outgoing, &incoming) }?;
    Ok(status.bytes as usize)
}

/// Send `count` elements.
///
/// # Safety
/// `buf` must be readable where `count` elements of `datatype` say.
pub unsafe fn send_typed(
    comm: &Comm,
    context: ContextId,
    dest: i32,
    tag: i32,
    buf: *const c_void,
    count: i64,
    datatype: &Datatype,
) -> Result<()> {
    let outgoing = outgoing(comm, context, dest, tag, buf, count, datatype)?;
    // SAFETY: the caller's promise.
    unsafe { outgoing.deliver() }
}

/// Receive up to `count` elements; how many bytes came.
///
/// # Safety
/// `buf` must be writable where `count` elements of `datatype` say.
pub unsafe fn recv_typed(
    comm: &Comm,
    context: ContextId,
    source: i32,
    tag: i32,
    buf: *mut c_void,
    count: i64,
    datatype: &Datatype,
) -> Result<usize> {
    let incoming = incoming(comm, context, source, tag, buf, count, datatype)?;
    // SAFETY: the caller's promise.
    let status = unsafe { incoming.accept() }?;
    Ok(status.bytes as usize)
}

/// Send to `dest` and receive from `source` at once; how many bytes came. The receive is posted first.
///
/// # Safety
/// As for [`send_typed`] and [`recv_typed`]; the buffers must not overlap.
#[allow(clippy::too_many_arguments)] // Both halves of what MPI_Sendrecv takes.
pub unsafe fn exchange_typed(
    comm: &Comm,
    context: ContextId,
    tag: i32,
    dest: i32,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: &Datatype,
    source: i32,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: &Datatype,
) -> Result<usize> {
    let outgoing = outgoing(comm, context, dest, tag, sendbuf, sendcount, sendtype)?;
    let incoming = incoming(comm, context, source, tag, recvbuf, recvcount, recvtype)?;
    // SAFETY: the caller's promise.
    let status = unsafe { exchange(&outgoing, &incoming) }?;
    Ok(status.bytes as usize)
}

fn outgoing<'a>(
    comm: &Comm,
    context: ContextId,
    dest: i32,
    tag: i32,
    buf: *const c_void,
    count: i64,
    datatype: &'a Datatype,
) -> Result<Outgoing<'a>> {
    Ok(Outgoing {
        mode: Mode::Standard,
        to: destination(comm, dest)?,
        posting: Posting {
            context,
            source: comm.rank(),
            tag,
        },
        buf: buf.cast(),
        count,
        bytes: bytes(count, datatype)?,
        layout: layout(datatype),
    })
}

fn outgoing_bytes(comm: &Comm, context: ContextId, dest: i32, tag: i32, data: &[u8]) -> Result<Outgoing<'static>> {
    Ok(Outgoing {
        mode: Mode::Standard,
        to: destination(comm, dest)?,
        posting: Posting {
            context,
            source: comm.rank(),
            tag,
        },
        buf: data.as_ptr(),
        count: data.len() as i64,
        bytes: data.len(),
        layout: None,
    })
}

fn incoming<'a>(
    comm: &Comm,
    context: ContextId,
    source: i32,
    tag: i32,
    buf: *mut c_void,
    count: i64,
    datatype: &'a Datatype,
) -> Result<Incoming<'a>> {
    Ok(Incoming {
        from: Source::check(source, comm)?,
        context,
        tag: Some(tag),
        buf: buf.cast(),
        count,
        bytes: bytes(count, datatype)?,
        layout: layout(datatype),
    })
}

fn incoming_bytes(comm: &Comm, context: ContextId, source: i32, tag: i32, out: &mut [u8]) -> Result<Incoming<'static>> {
    Ok(Incoming {
        from: Source::check(source, comm)?,
        context,
        tag: Some(tag),
        buf: out.as_mut_ptr(),
        count: out.len() as i64,
        bytes: out.len(),
        layout: None,
    })
}
