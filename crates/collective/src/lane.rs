//! The messages of one call: between whom they go, and what their end means.

use isthmus_engine::{Entered, Mode, OpId, Outcome, Peer, Posting, enter};
use isthmus_os::switches::Switch;

use crate::error::Result;
use crate::fail;
use crate::link::{Incoming, Outgoing};
use crate::team::{Team, failure};

/// Where the messages of one call cross: collective calls on `team`, told apart by `tag`.
#[derive(Clone, Copy)]
pub struct Lane<'a> {
    /// Between whom.
    pub team: &'a Team,
    /// Which call.
    pub tag: i32,
}

impl<'a> Lane<'a> {
    /// The lane of a new call.
    #[inline]
    pub fn new(team: &'a Team, tag: i32) -> Self {
        if Switch::Faults.is_on() {
            // It was that of other calls, which may have been given up.
            enter().forget_failed_call(team.collective_context(), Team::opposite(tag));
        }
        Self { team, tag }
    }

    /// Fails if a member has failed, the communicator is revoked, or a member has given up the call.
    #[inline]
    pub fn check(self, inside: &mut Entered) -> Result<()> {
        self.team.check_call(inside, self.tag)
    }

    /// The calling process cannot do its part: tell the others, if that was not done.
    #[cold]
    pub fn fail(self, inside: &mut Entered) {
        self.team.fail_call(inside, self.tag);
    }

    /// A rank of the communicator's group, or of the other one behind it.
    fn peer(self, rank: usize) -> Option<Peer> {
        self.team.peer_at(rank)
    }

    /// # Safety
    /// The region must be writable until the operation is complete.
    unsafe fn post(self, inside: &mut Entered, receive: &Incoming) -> Result<OpId> {
        let from = self.peer(receive.from);
        let context = self.team.collective_context();
        // SAFETY: the caller's promise.
        Ok(unsafe { inside.receive(from, context, Some(self.tag), receive.into, receive.len) }?)
    }

    /// # Safety
    /// The region must be readable until the operation is complete.
    unsafe fn start(self, inside: &mut Entered, send: &Outgoing) -> Result<Option<OpId>> {
        let to = self.peer(send.to);
        let to = to.ok_or_else(|| fail!(Intern, "a collective sent to rank {}", send.to))?;
        let posting = Posting {
            context: self.team.collective_context(),
            source: self.team.rank(),
            tag: self.tag,
        };
        // SAFETY: the caller's promise.
        Ok(unsafe { inside.send(Mode::Standard, to, posting, send.data, send.len) }?)
    }

    /// Start to receive and send; the operations come to `ops` in that order. If it fails, what was started is withdrawn
    /// where that can be; it must still be waited for.
    ///
    /// # Safety
    /// As for [`Link::transfer`](crate::Link::transfer), until the operations are complete.
    pub unsafe fn start_all(
        self,
        inside: &mut Entered,
        receives: &[Incoming],
        sends: &[Outgoing],
        ops: &mut [Option<OpId>],
    ) -> Result<()> {
        let (receiving, sending) = ops.split_at_mut(receives.len());
        let mut started = || {
            for (op, receive) in receiving.iter_mut().zip(receives) {
                // SAFETY: the caller's promise.
                *op = Some(unsafe { self.post(inside, receive) }?);
            }
            for (op, send) in sending.iter_mut().zip(sends) {
                // SAFETY: the caller's promise.
                *op = unsafe { self.start(inside, send) }?;
            }
            Ok(())
        };
        let result = started();
        if result.is_err() {
            for op in ops.iter().flatten() {
                inside.cancel(*op);
            }
        }
        result
    }
}

/// What the end of an operation means for the call; `receive` is what it was to receive, if anything. A message of the
/// wrong length is told to `mismatch`; what did not come of it reads as zeros.
pub fn check(outcome: &Outcome, receive: Option<&Incoming>, mismatch: impl FnOnce(usize, usize, usize)) -> Result<()> {
    if outcome.peer_failed {
        return Err(failure::error_of(
            outcome,
            "a process of the communicator died in the call",
        ));
    }
    if let Some(receive) = receive {
        let got = outcome.arrival.bytes as usize;
        if (outcome.truncated || got != receive.len) && !outcome.cancelled {
            if got < receive.len {
                // SAFETY: the region was given to be written to, and the operation is complete.
                unsafe { receive.into.add(got).write_bytes(0, receive.len - got) };
            }
            mismatch(receive.from, got, receive.len);
        }
    }
    Ok(())
}
