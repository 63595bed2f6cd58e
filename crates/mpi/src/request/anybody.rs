//! Receives from any source, where a possible sender may have failed.

use isthmus_engine::{Entered, OpId, Outcome, Peer, fault_events};

use super::comm_of;
use crate::error::Result;
use crate::liveness::unanswered;

/// May the receive `op`, which has not matched, wait for a failed rank? Free while the job is whole.
#[inline]
pub(crate) fn disturbs(inside: &mut Entered, op: OpId) -> Option<Peer> {
    if fault_events() == 0 {
        return None;
    }
    disturbs_if_wild(inside, op)
}

#[cold]
fn disturbs_if_wild(inside: &mut Entered, op: OpId) -> Option<Peer> {
    let context = inside.awaits_anybody(op)?;
    comm_of(inside, context)?.unacknowledged(inside)
}

/// Wait for the receive `op` from anybody. Gives up, and withdraws it, if a member has failed that the user does not know of.
pub(crate) fn await_anybody(inside: &mut Entered, op: OpId) -> Result<Outcome> {
    let mut dead = None;
    let outcome = inside.wait(|inside| {
        if let Some(outcome) = inside.take(op) {
            return Some(outcome);
        }
        dead = disturbs(inside, op);
        dead.is_some_and(|_| inside.cancel(op))
            .then(|| inside.take(op))
            .flatten()
    })?;
    match dead {
        Some(dead) if outcome.cancelled => Err(unanswered(dead)),
        _ => Ok(outcome),
    }
}
