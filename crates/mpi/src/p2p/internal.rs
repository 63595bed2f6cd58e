//! Messages between the ranks of a communicator on the library's own account, for collectives and agreements.
//!
//! All of them block until done. Ranks are valid ranks of the communicator; the tag may be any non-negative number.

use isthmus_engine::{ContextId, Entered, Mode, OpId, Posting, enter};

use super::sides::{Incoming, Outgoing, Source, destination};
use crate::comm::Comm;
use crate::completion::{received, sent};
use crate::error::Result;

/// Send bytes.
#[inline]
pub fn send_bytes(comm: &Comm, context: ContextId, dest: i32, tag: i32, data: &[u8]) -> Result<()> {
    let outgoing = outgoing_bytes(comm, context, dest, tag, data)?;
    // SAFETY: `data` is borrowed until the send is over.
    unsafe { run(comm, Some(&outgoing), None) }.map(drop)
}

/// Receive up to `out.len()` bytes; how many came.
#[inline]
pub fn recv_bytes(comm: &Comm, context: ContextId, source: i32, tag: i32, out: &mut [u8]) -> Result<usize> {
    let incoming = incoming_bytes(comm, context, source, tag, out)?;
    // SAFETY: `out` is borrowed until the receive is over.
    unsafe { run(comm, None, Some(&incoming)) }
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
    // SAFETY: both are borrowed until the exchange is over.
    unsafe { run(comm, Some(&outgoing), Some(&incoming)) }
}

/// Send and receive contiguous bytes, as a part of what all members of `comm` do: fails if one has failed. How many came.
///
/// # Safety
/// The buffers must be good until this returns.
unsafe fn run(comm: &Comm, outgoing: Option<&Outgoing<'_>>, incoming: Option<&Incoming<'_>>) -> Result<usize> {
    let mut ops = [None; 2];
    let mut inside = enter();
    comm.check_whole(&mut inside)?;
    let mut start = || -> Result<()> {
        if let Some(incoming) = incoming {
            // SAFETY: the caller's promise.
            ops[0] = unsafe { incoming.post(&mut inside, incoming.buf) }?;
        }
        if let Some(outgoing) = outgoing {
            // SAFETY: as above.
            ops[1] = unsafe { outgoing.post(&mut inside) }?;
        }
        Ok(())
    };
    let started = start();
    if let (Err(_), Some(op)) = (&started, ops[0]) {
        inside.cancel(op);
    }
    let mut came = 0;
    let settled = comm.settle(&mut inside, &ops, |at, outcome| {
        if at == 0 {
            came = received(outcome)?.bytes as usize;
        } else {
            sent(outcome)?;
        }
        Ok(())
    });
    started.and(settled).map(|()| came)
}

/// Start to send bytes to a rank, in the message space of collective calls; the operation is the caller's to take.
///
/// # Safety
/// `data` must be readable for `bytes` until the operation is over.
pub unsafe fn post_send(
    inside: &mut Entered,
    comm: &Comm,
    dest: i32,
    tag: i32,
    data: *const u8,
    bytes: usize,
) -> Result<Option<OpId>> {
    // SAFETY: the caller's promise; it is only looked at as long as that.
    let data = unsafe { std::slice::from_raw_parts(data, bytes) };
    let outgoing = outgoing_bytes(comm, comm.collective_context(), dest, tag, data)?;
    // SAFETY: the caller's promise.
    unsafe { outgoing.post(inside) }
}

/// As [`post_send`], to receive.
///
/// # Safety
/// `out` must be writable for `bytes` until the operation is over.
pub unsafe fn post_recv(
    inside: &mut Entered,
    comm: &Comm,
    source: i32,
    tag: i32,
    out: *mut u8,
    bytes: usize,
) -> Result<Option<OpId>> {
    // SAFETY: the caller's promise.
    let room = unsafe { std::slice::from_raw_parts_mut(out, bytes) };
    let incoming = incoming_bytes(comm, comm.collective_context(), source, tag, room)?;
    // SAFETY: the caller's promise.
    unsafe { incoming.post(inside, incoming.buf) }
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
        on_device: false,
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
        on_device: false,
    })
}
