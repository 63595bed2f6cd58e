//! Sends and receives that are completed by their request (MPI-5.0 §3.7.2).

use std::ffi::c_void;

use isthmus_engine::{Entered, Mode};
use isthmus_os::switches::Switch;

use super::staging::{Arriving, Leaving};
use super::{Incoming, Outgoing, Started};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::handle::Handle;
use crate::ledger::{self, Given};
use crate::request::{Look, Operation, Request, Work, launch, plain};
use crate::status::Status;

/// `MPI_Isend`.
///
/// # Safety
/// `buf` must be readable where `count` elements of `datatype` say, until the request is complete.
#[inline(always)]
pub unsafe fn isend(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    let outgoing = Outgoing::check(Mode::Standard, buf, count, datatype, dest, tag, comm)?;
    let given = Given::sends(buf, count, datatype);
    if Switch::Check.is_on() {
        // SAFETY: the caller's promise.
        return unsafe { launch_checked(outgoing, given, comm) };
    }
    // SAFETY: as above.
    unsafe { outgoing.launch(comm) }
}

/// Start a send where programs are checked.
///
/// # Safety
/// As for [`isend`].
#[cold]
#[inline(never)]
unsafe fn launch_checked(
    outgoing: Outgoing<'static>,
    given: Given<'static>,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    let outgoing = outgoing.checked(given.count, given.datatype);
    // SAFETY: the caller's promise.
    ledger::hold([given], || unsafe { outgoing.launch(comm) })
}

/// `MPI_Issend`: complete once the matching receive has started.
///
/// # Safety
/// As for [`isend`].
pub unsafe fn issend(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    let outgoing = Outgoing::check(Mode::Synchronous, buf, count, datatype, dest, tag, comm)?;
    let given = Given::sends(buf, count, datatype);
    if Switch::Check.is_on() {
        // SAFETY: the caller's promise.
        return unsafe { launch_checked(outgoing, given, comm) };
    }
    // SAFETY: as above.
    unsafe { outgoing.launch(comm) }
}

/// `MPI_Irsend`: as [`super::rsend`], nothing depends on the receive being there.
///
/// # Safety
/// As for [`isend`].
pub unsafe fn irsend(
    buf: *const c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    // SAFETY: the caller's promise.
    unsafe { isend(buf, count, datatype, dest, tag, comm) }
}

/// `MPI_Irecv`.
///
/// # Safety
/// `buf` must be writable where `count` elements of `datatype` say, until the request is complete.
#[inline(always)]
pub unsafe fn irecv(
    buf: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    source: i32,
    tag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    let incoming = Incoming::check(buf, count, datatype, source, tag, comm)?;
    let given = Given::receives(buf, count, datatype);
    if Switch::Check.is_on() {
        // SAFETY: the caller's promise.
        return ledger::hold([given], || unsafe { incoming.launch(comm) });
    }
    // SAFETY: as above.
    unsafe { incoming.launch(comm) }
}

/// `MPI_Isendrecv` (MPI-5.0 §3.10).
///
/// # Safety
/// As for [`isend`] and [`irecv`]; the buffers must not overlap.
#[allow(clippy::too_many_arguments)] // The standard's.
pub unsafe fn isendrecv(
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
) -> Result<Handle<Request>> {
    let outgoing = Outgoing::check(Mode::Standard, sendbuf, sendcount, sendtype, dest, sendtag, comm)?
        .watched(sendcount, sendtype);
    let incoming = Incoming::check(recvbuf, recvcount, recvtype, source, recvtag, comm)?;
    let buffers = [
        Given::sends(sendbuf, sendcount, sendtype),
        Given::receives(recvbuf, recvcount, recvtype),
    ];
    // SAFETY: the caller's promise.
    let start = |inside: &mut Entered| unsafe { start_both(inside, &incoming, |inside| outgoing.begin(inside)) };
    ledger::hold(buffers, || launch(comm, start))
}

/// `MPI_Isendrecv_replace` (MPI-5.0 §3.10): what leaves is copied first.
///
/// # Safety
/// `buf` must be readable and writable where `count` elements of `datatype` say, until the request is complete.
#[allow(clippy::too_many_arguments)] // The standard's.
pub unsafe fn isendrecv_replace(
    buf: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    dest: i32,
    sendtag: i32,
    source: i32,
    recvtag: i32,
    comm: &'static Comm,
) -> Result<Handle<Request>> {
    let outgoing = Outgoing::check(Mode::Standard, buf, count, datatype, dest, sendtag, comm)?.watched(count, datatype);
    let incoming = Incoming::check(buf, count, datatype, source, recvtag, comm)?;
    // SAFETY: the caller's promise; what leaves is the copy.
    let start = |inside: &mut Entered| unsafe {
        let copy = outgoing.copy()?;
        start_both(inside, &incoming, |inside| outgoing.begin_copy(inside, copy))
    };
    ledger::hold([Given::receives(buf, count, datatype)], || launch(comm, start))
}

impl Outgoing<'_> {
    /// Start, and make a request of it.
    ///
    /// # Safety
    /// The buffer must be readable where the datatype says until the request is complete.
    #[inline(always)]
    unsafe fn launch(self, comm: &Comm) -> Result<Handle<Request>> {
        if self.layout.is_some() {
            // SAFETY: the caller's promise.
            return launch(comm, |inside| unsafe { self.start(inside) });
        }
        // SAFETY: the caller's promise.
        let post = |inside: &mut Entered| unsafe { self.post(inside) };
        plain::send(self.posting.context, post)
    }
}

impl Incoming<'_> {
    /// Start, and make a request of it; its errors belong to `comm`.
    ///
    /// # Safety
    /// The buffer must be writable where the datatype says until the request is complete.
    #[inline(always)]
    pub unsafe fn launch<'a>(self, comm: impl Into<Option<&'a Comm>>) -> Result<Handle<Request>> {
        if self.layout.is_some() {
            // SAFETY: the caller's promise.
            return launch(comm, |inside| unsafe { self.start(inside) });
        }
        let post = |inside: &mut Entered| {
            // SAFETY: the caller's promise.
            let op = unsafe { self.post(inside, self.buf) }?;
            self.advertise(inside, op);
            Ok(op)
        };
        plain::receive(self.context, post)
    }
}

/// Start a receive and then, by `start_send`, a send, to be completed together.
///
/// # Safety
/// The buffers must stay with the work until it is complete.
unsafe fn start_both(
    inside: &mut Entered,
    incoming: &Incoming<'_>,
    start_send: impl FnOnce(&mut Entered) -> Result<Started>,
) -> Result<Work> {
    // SAFETY: the caller's promise.
    let arriving = unsafe { incoming.begin(inside) }?;
    let leaving = match start_send(inside) {
        Ok(leaving) => leaving,
        Err(error) => {
            if let Some(op) = arriving.op {
                inside.cancel(op);
                inside.detach(op);
                // If the message was on its way already, it still lands there.
                std::mem::forget(arriving.kept);
            }
            return Err(error);
        }
    };
    Ok(match (leaving.op, arriving.op) {
        (None, _) => arriving.into_receive(),
        (Some(sent), received) => Work::Other(Box::new(Exchange {
            leaving: Leaving::new(sent, leaving.kept),
            arriving: received.map(|op| Arriving::new(op, arriving.kept)),
        })),
    })
}

/// A send and a receive that complete together.
struct Exchange {
    leaving: Leaving,
    /// `None`: from `MPI_PROC_NULL`.
    arriving: Option<Arriving>,
}

impl Operation for Exchange {
    fn advance(&mut self, inside: &mut Entered) -> Look {
        let arriving = self
            .arriving
            .as_mut()
            .map_or(Look::Complete, |half| half.advance(inside));
        match (self.leaving.advance(inside), arriving) {
            (Look::Complete, arriving) => arriving,
            (leaving, Look::Complete) => leaving,
            (Look::PeerFailed, Look::PeerFailed) => Look::PeerFailed,
            (Look::PeerFailed, Look::Disturbed) => Look::Disturbed,
            _ => Look::Pending,
        }
    }

    fn outcome(&mut self) -> Result<Status> {
        self.leaving.outcome()?;
        self.arriving
            .as_mut()
            .map_or(Ok(Status::NO_PROCESS), Operation::outcome)
    }
}
