//! Persistent sends and receives (MPI-5.0 §3.9): arguments checked once, started as often as one likes.

use std::ffi::c_void;
use std::sync::Arc;

use isthmus_engine::{Entered, Mode};

use super::{Incoming, Outgoing, buffered};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::handle::Handle;
use crate::ledger::{self, Given};
use crate::request::{Request, prepare};

/// `MPI_Send_init`.
///
/// # Safety
/// `buf` must be readable where `count` elements of `datatype` say, whenever the request is active.
pub unsafe fn send_init(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    unsafe { prepare_send(Mode::Standard, buf, count, datatype, dest, tag, comm) }
}

/// `MPI_Ssend_init`.
///
/// # Safety
/// As for [`send_init`].
pub unsafe fn ssend_init(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    unsafe { prepare_send(Mode::Synchronous, buf, count, datatype, dest, tag, comm) }
}

/// `MPI_Rsend_init`.
///
/// # Safety
/// As for [`send_init`].
pub unsafe fn rsend_init(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    unsafe { prepare_send(Mode::Standard, buf, count, datatype, dest, tag, comm) }
}

/// `MPI_Bsend_init`.
///
/// # Safety
/// As for [`send_init`].
pub unsafe fn bsend_init(
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
    let recipe = Recipe::new(outgoing, datatype);
    let owners = buffered::owners(comm);
    // SAFETY: the caller's promise.
    let start = move |inside: &mut Entered| unsafe { buffered::start(recipe.arguments(), owners, inside) };
    ledger::keep([Given::sends(buf, count, datatype)], || prepare(comm, start))
}

/// `MPI_Recv_init`.
///
/// # Safety
/// `buf` must be writable where `count` elements of `datatype` say, whenever the request is active.
pub unsafe fn recv_init(
    buf: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    source: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    let incoming = Incoming::check(buf, count, datatype, source, tag, comm)?;
    let recipe = Recipe::new(incoming, datatype);
    // SAFETY: the caller's promise.
    let start = move |inside: &mut Entered| unsafe { recipe.arguments().start(inside) };
    ledger::keep([Given::receives(buf, count, datatype)], || prepare(comm, start))
}

/// # Safety
/// As for [`send_init`].
unsafe fn prepare_send(
    mode: Mode,
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    let outgoing = Outgoing::check(mode, buf, count, datatype, dest, tag, comm)?.watched(count, datatype);
    let recipe = Recipe::new(outgoing, datatype);
    // SAFETY: the caller's promise.
    let start = move |inside: &mut Entered| unsafe { recipe.arguments().start(inside) };
    ledger::keep([Given::sends(buf, count, datatype)], || prepare(comm, start))
}

/// Checked arguments, and the datatype that they refer to, alive even after its handle is freed.
struct Recipe<A> {
    arguments: A,
    _datatype: Arc<Datatype>,
}

impl<A> Recipe<A> {
    fn new(arguments: A, datatype: &'static Datatype) -> Self {
        Self {
            arguments,
            _datatype: datatype.share_object(),
        }
    }

    /// A method, so that closures hold on to the whole and not only to the arguments.
    fn arguments(&self) -> &A {
        &self.arguments
    }
}
