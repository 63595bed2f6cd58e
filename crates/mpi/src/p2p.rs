//! Point-to-point communication (MPI-5.0 §3).
//!
//! A call checks its arguments into an `Outgoing` or an `Incoming`, which then start on the engine. Contiguous data
//! goes straight from and to the user's buffer: no request, no allocation, no lock. Anything else the engine packs and
//! unpacks piece by piece, told by its datatype where the pieces lie (`staging`).

mod blocking;
mod buffered;
pub mod internal;
mod nonblocking;
mod partitioned;
mod persistent;
mod sides;
mod staging;

use isthmus_engine::{Entered, OpId, Outcome, State, enter, wait_until};

use crate::completion::{received, sent};
use crate::error::{Error, Result};
use crate::request::{self, anybody};
use crate::status::Status;

pub use blocking::{recv, rsend, send, sendrecv, sendrecv_replace, ssend};
pub use buffered::{
    bsend, buffer_attach, buffer_detach, buffer_flush, buffer_iflush, comm_attach_buffer, comm_detach_buffer,
    comm_flush_buffer, comm_iflush_buffer, ibsend, session_attach_buffer, session_detach_buffer, session_flush_buffer,
    session_iflush_buffer,
};
pub(crate) use buffered::{forget_comm, forget_session};
pub use nonblocking::{irecv, irsend, isend, isendrecv, isendrecv_replace, issend};
pub(crate) use partitioned::forget_channels;
pub use partitioned::{parrived, pready, pready_list, pready_range, precv_init, psend_init};
pub use persistent::{bsend_init, recv_init, rsend_init, send_init, ssend_init};
pub(crate) use sides::{Incoming, Outgoing, Source, any_tag};
use staging::Kept;

/// A transfer that has been started.
struct Started {
    /// `None`: there is nothing to wait for.
    op: Option<OpId>,
    /// What the engine looks at meanwhile, beside the user's buffer.
    kept: Kept,
}

impl Started {
    const NONE: Self = Self {
        op: None,
        kept: Kept::Nothing,
    };

    /// Wait until a send is complete.
    fn wait(mut self, inside: &mut Entered) -> Result<()> {
        match self.complete(inside) {
            None => Ok(()),
            Some(outcome) => sent(&outcome?).map(drop),
        }?;
        self.kept.check()
    }

    /// Wait until it is complete; `None`: there was nothing to wait for.
    fn complete(&mut self, inside: &mut Entered) -> Option<Result<Outcome>> {
        let op = self.op.take()?;
        Some(inside.wait_for_operations(|inside| inside.take(op)).map_err(|error| {
            // The engine gave up, but a peer may still use what we keep.
            std::mem::forget(std::mem::take(&mut self.kept));
            error.into()
        }))
    }
}

/// Wait for a send from the user's buffer.
#[inline(never)]
fn await_send(inside: &mut Entered, op: OpId) -> Result<()> {
    let outcome = inside.wait_for_operations(|inside| inside.take(op))?;
    sent(&outcome).map(drop)
}

/// Wait for a receive into the user's buffer.
#[inline(always)]
fn await_receive(inside: &mut Entered, op: OpId) -> Result<Status> {
    inside.wait_for_operations(|inside| match inside.peek(op) {
        Some(_) => Some(()),
        None => {
            inside.await_operations([op]);
            None
        }
    })?;
    // Built in place from what the engine has: an outcome handed from call to call costs more than looking twice.
    let status = match inside.peek(op) {
        Some(outcome) if outcome.truncated | outcome.peer_failed => return take_failure(inside, op),
        Some(outcome) => Status::from(outcome),
        None => unreachable!("nobody else takes the operation of a blocking receive"),
    };
    inside.detach(op);
    Ok(status)
}

/// As [`await_receive`], where anybody may send. Gives up if somebody who might have sent has failed.
fn await_anybody(inside: &mut Entered, op: OpId) -> Result<Status> {
    received(&anybody::await_anybody(inside, op)?)
}

#[cold]
fn take_failure(inside: &mut Entered, op: OpId) -> Result<Status> {
    let outcome = inside.wait_for_operations(|inside| inside.take(op))?;
    received(&outcome)
}

/// Receive and send at once, and wait for both. The receive is posted first.
///
/// # Safety
/// As for [`Incoming::accept`] and [`Outgoing::deliver`]; the buffers must not overlap.
#[inline]
unsafe fn exchange(outgoing: &Outgoing<'_>, incoming: &Incoming<'_>) -> Result<Status> {
    if outgoing.layout.is_some() || incoming.layout.is_some() {
        // SAFETY: the caller's promise.
        return unsafe { complete_both(incoming, |inside| outgoing.begin(inside)) };
    }
    let mut inside = enter();
    // SAFETY: the caller's promise; both operations are complete when this returns.
    let (receive, send) = unsafe {
        let receive = incoming.post(&mut inside, incoming.buf)?;
        (receive, outgoing.post(&mut inside))
    };
    let sent = match send {
        Ok(None) => Ok(()),
        Ok(Some(op)) => await_send(&mut inside, op),
        Err(error) => Err(error),
    };
    if let Err(error) = sent {
        return Err(give_up(&mut inside, receive, error));
    }
    match receive {
        None => Ok(Status::NO_PROCESS),
        Some(op) if incoming.from == Source::Any => await_anybody(&mut inside, op),
        Some(op) => await_receive(&mut inside, op),
    }
}

/// A send failed: the receive that goes with it may never match.
#[cold]
fn give_up(inside: &mut Entered, receive: Option<OpId>, error: Error) -> Error {
    if let Some(op) = receive {
        inside.cancel(op);
        // If it is too late to cancel, the message is on its way into the user's buffer.
        let _ = await_receive(inside, op);
    }
    error
}

/// As [`exchange`], whatever the layouts. The receive is posted before `start_send` starts the send.
///
/// # Safety
/// As for [`Incoming::accept`], and `start_send` must start an operation that may be pending until this returns.
unsafe fn complete_both(
    incoming: &Incoming<'_>,
    start_send: impl FnOnce(&mut Entered) -> Result<Started>,
) -> Result<Status> {
    let mut inside = enter();
    // SAFETY: the caller's promise; the operation is complete when this returns.
    let mut receiving = unsafe { incoming.begin(&mut inside) }?;
    let sending = start_send(&mut inside);
    let delivered = sending.and_then(|started| started.wait(&mut inside));
    if let (Err(_), Some(op)) = (&delivered, receiving.op) {
        inside.cancel(op);
    }
    let outcome = match receiving.op {
        Some(op) if incoming.from == Source::Any => Some(anybody::await_anybody(&mut inside, op)),
        _ => receiving.complete(&mut inside),
    };
    let status = match outcome {
        None => Ok(Status::NO_PROCESS),
        Some(outcome) => outcome.and_then(|outcome| received(&outcome)),
    };
    delivered
        .and(status)
        .and_then(|status| receiving.kept.check().map(|()| status))
}

/// Wait until everything that this process sent has left it: also buffered sends, and sends whose request was freed. A child made by
/// `fork` sent nothing.
pub(crate) fn drain() -> Result<()> {
    if isthmus_engine::state() != State::Inside {
        return Ok(());
    }
    buffered::flush_everything()?;
    request::drain_freed()?;
    wait_until(|inside| inside.is_quiet().then_some(()))?;
    Ok(())
}
