//! Sends and receives that return when their buffer may be used again.

use std::ffi::c_void;

use isthmus_engine::Mode;
use isthmus_os::switches::Switch;

use super::{Incoming, Outgoing, complete_both, exchange};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::ledger::{self, Given};
use crate::status::Status;

/// `MPI_Send` (MPI-5.0 §3.2.1).
///
/// # Safety
/// `buf` must be readable where `count` elements of `datatype` say.
#[inline(always)]
pub unsafe fn send(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<()> {
    let outgoing = Outgoing::check(Mode::Standard, buf, count, datatype, dest, tag, comm)?;
    // SAFETY: the caller's promise.
    unsafe { deliver(outgoing, datatype) }
}

/// Send, as programs are checked or not.
///
/// # Safety
/// As for [`send`].
#[inline(always)]
unsafe fn deliver(outgoing: Outgoing<'_>, datatype: &Datatype) -> Result<()> {
    if Switch::Check.is_on() {
        // SAFETY: the caller's promise.
        return unsafe { deliver_checked(outgoing, datatype) };
    }
    // SAFETY: as above.
    unsafe { outgoing.deliver() }
}

/// Send where programs are checked.
///
/// # Safety
/// As for [`send`].
#[cold]
#[inline(never)]
unsafe fn deliver_checked(outgoing: Outgoing<'_>, datatype: &Datatype) -> Result<()> {
    let given = Given::sends(outgoing.buf.cast(), outgoing.count, datatype);
    let outgoing = outgoing.checked(given.count, given.datatype);
    // SAFETY: the caller's promise.
    ledger::pass([given], || unsafe { outgoing.deliver() })
}

/// Receive where programs are checked.
///
/// # Safety
/// As for [`recv`].
#[cold]
#[inline(never)]
unsafe fn accept_checked(incoming: Incoming<'_>, datatype: &Datatype) -> Result<Status> {
    let given = Given::receives(incoming.buf.cast(), incoming.count, datatype);
    // SAFETY: the caller's promise.
    ledger::pass_received([given], || unsafe { incoming.accept() })
}

/// Send and receive where programs are checked.
///
/// # Safety
/// As for [`sendrecv`].
#[cold]
#[inline(never)]
unsafe fn exchange_checked(outgoing: Outgoing<'_>, incoming: Incoming<'_>, buffers: [Given<'_>; 2]) -> Result<Status> {
    let outgoing = outgoing.checked(buffers[0].count, buffers[0].datatype);
    // SAFETY: the caller's promise.
    ledger::pass_received(buffers, || unsafe { exchange(&outgoing, &incoming) })
}

/// `MPI_Ssend` (MPI-5.0 §3.4): returns once the matching receive has started.
///
/// # Safety
/// As for [`send`].
pub unsafe fn ssend(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<()> {
    let outgoing = Outgoing::check(Mode::Synchronous, buf, count, datatype, dest, tag, comm)?;
    // SAFETY: the caller's promise.
    unsafe { deliver(outgoing, datatype) }
}

/// `MPI_Rsend` (MPI-5.0 §3.4): the receive has been posted already, says the user. Nothing depends on it.
///
/// # Safety
/// As for [`send`].
pub unsafe fn rsend(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { send(buf, count, datatype, dest, tag, comm) }
}

/// `MPI_Recv` (MPI-5.0 §3.2.4).
///
/// # Safety
/// `buf` must be writable where `count` elements of `datatype` say.
#[inline(always)]
pub unsafe fn recv(
    buf: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    source: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Status> {
    let incoming = Incoming::check(buf, count, datatype, source, tag, comm)?;
    if Switch::Check.is_on() {
        // SAFETY: the caller's promise.
        return unsafe { accept_checked(incoming, datatype) };
    }
    // SAFETY: as above.
    unsafe { incoming.accept() }
}

/// `MPI_Sendrecv` (MPI-5.0 §3.10).
///
/// # Safety
/// As for [`send`] and [`recv`]; the buffers must not overlap.
#[allow(clippy::too_many_arguments)] // The standard's.
pub unsafe fn sendrecv(
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: &'static Datatype,
    dest: i32,
    sendtag: i32,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: &'static Datatype,
    source: i32,
    recvtag: i32,
    comm: &'static Comm,
) -> Result<Status> {
    let outgoing = Outgoing::check(Mode::Standard, sendbuf, sendcount, sendtype, dest, sendtag, comm)?;
    let incoming = Incoming::check(recvbuf, recvcount, recvtype, source, recvtag, comm)?;
    let buffers = [
        Given::sends(sendbuf, sendcount, sendtype),
        Given::receives(recvbuf, recvcount, recvtype),
    ];
    if Switch::Check.is_on() {
        // SAFETY: the caller's promise.
        return unsafe { exchange_checked(outgoing, incoming, buffers) };
    }
    // SAFETY: as above.
    unsafe { exchange(&outgoing, &incoming) }
}

/// `MPI_Sendrecv_replace` (MPI-5.0 §3.10): what leaves is copied first.
///
/// # Safety
/// `buf` must be readable and writable where `count` elements of `datatype` say.
#[allow(clippy::too_many_arguments)] // The standard's.
pub unsafe fn sendrecv_replace(
    buf: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: &'static Comm,
) -> Result<Status> {
    let outgoing = Outgoing::check(Mode::Standard, buf, count, datatype, dest, sendtag, comm)?.watched(count, datatype);
    let incoming = Incoming::check(buf, count, datatype, source, recvtag, comm)?;
    // SAFETY: the caller's promise.
    let copy = unsafe { outgoing.copy() }?;
    ledger::pass_received([Given::receives(buf, count, datatype)], || {
        // SAFETY: the caller's promise; what leaves is the copy.
        unsafe { complete_both(&incoming, |inside| outgoing.begin_copy(inside, copy)) }
    })
}
