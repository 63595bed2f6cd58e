//! Processes that fail while others go on, and message spaces that are revoked.
//!
//! The launcher notices a death, appends the rank to the segment's list of failures and alerts everyone
//! ([`isthmus_shm::Segment::alert`]); a process that revokes does the same with the list of revocations. An alert shows in
//! a word that every round of progress looks at, and wakes who sleeps. What is done about it stands here, once per failure
//! or revocation; operations that are started later look at one flag.
//!
//! What a dead process sent before it died is still delivered, if all of it is in shared memory. Its claims on our buffers
//! ended with it: the launcher declares nobody failed whose address space is still there.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_shm::revocation;
use isthmus_shm::segment::Failure;

use crate::channel::inbound::Incoming;
use crate::engine::Engine;
use crate::matching::unexpected::Unexpected;
use crate::ops::Stage;
use crate::protocol::reach::Reach;
use crate::types::{Arrival, ContextId, OpId, Outcome, Peer};
use crate::{Entered, Result};

/// Failures, revocations and calls given up that this process knows of.
static WOUNDS: AtomicU32 = AtomicU32::new(0);

/// How many failures, revocations and calls given up this process knows of: while it is 0, nothing needs to be looked at
/// more closely.
#[inline]
pub fn wounds() -> u32 {
    WOUNDS.load(Ordering::Relaxed)
}

/// One more.
pub(crate) fn wound() {
    WOUNDS.fetch_add(1, Ordering::Relaxed);
}

/// What is known of the dead.
#[derive(Debug, Default)]
pub(crate) struct Wounds {
    /// There are some.
    any: bool,
    /// Who has failed, by peer; empty while nobody has.
    failed: Vec<bool>,
    /// Entries of the segment's list of failures that are known.
    known: u32,
    /// Message spaces that are revoked.
    revoked: HashSet<u32>,
    /// How far the list of revocations was looked at.
    seen: u64,
}

/// How an operation ends whose peer has failed.
const LOST: Outcome = Outcome {
    arrival: Arrival {
        source: 0,
        tag: 0,
        bytes: 0,
    },
    truncated: false,
    cancelled: false,
    peer_failed: true,
    revoked: false,
};

/// How an operation ends whose message space is revoked.
const REVOKED: Outcome = Outcome { revoked: true, ..LOST };

impl Engine {
    /// Must operations look whether their peer lives and their message space is good?
    #[inline]
    pub fn is_wounded(&self) -> bool {
        self.wounds.any
    }

    /// Has this process failed?
    pub fn has_failed(&self, peer: u32) -> bool {
        self.wounds.failed.get(peer as usize).copied().unwrap_or(false)
    }

    /// How an operation of this kind ends at once: it is with a dead process, or in a revoked message space. `None`: it may
    /// begin.
    #[cold]
    pub fn obstacle(&self, peer: Option<u32>, context: ContextId) -> Option<Outcome> {
        if self.wounds.revoked.contains(&context.0) {
            return Some(REVOKED);
        }
        peer.is_some_and(|peer| self.has_failed(peer)).then_some(LOST)
    }

    /// Is there something to know that we do not know yet? For sleepers, who may have missed an alert.
    pub fn is_behind(&self) -> bool {
        self.segment.failed() != self.wounds.known
    }

    /// Learn of failures and revocations. True: there were some.
    #[cold]
    pub fn attend(&mut self) -> bool {
        // SYNC: attention
        self.segment.attention(self.me).swap(0, Ordering::SeqCst);
        let before = wounds();
        while self.wounds.known < self.segment.failed() {
            let peer = self.segment.failure(self.wounds.known).rank;
            self.wounds.known += 1;
            if peer != self.me && !self.has_failed(peer) {
                self.lose(peer);
            }
            wound();
        }
        let (revocations, seen) = revocation::since(self.segment, self.wounds.seen, self.me);
        self.wounds.seen = seen;
        for revocation in revocations {
            let count = revocation.count.min(MOST_CONTEXTS);
            self.close((0..count).map(|at| revocation.first.wrapping_add(at)).collect());
            wound();
        }
        self.ops.news = true;
        wounds() != before
    }

    /// A process has failed: take what it left, and end what needs it.
    fn lose(&mut self, peer: u32) {
        // What it published is whole, whenever it died. Its doorbell bit may be missing.
        self.open(peer);
        self.take_all(peer);
        if self.wounds.failed.is_empty() {
            self.wounds.failed = vec![false; self.segment.ranks() as usize];
        }
        self.wounds.failed[peer as usize] = true;
        self.wounds.any = true;
        self.forget_channels(peer);
        self.forget_messages(peer);
        for op in 0..self.ops.len() {
            let ours = &self.ops[op];
            match ours.stage {
                Stage::Posted if ours.from == Some(peer) => {
                    self.drop_advert(op);
                    self.matching.remove_posted(&mut self.ops, op);
                }
                Stage::Receiving { .. } if ours.to == peer => {}
                Stage::Queued | Stage::Offered if ours.to == peer => {
                    if let Some(descriptor) = self.ops[op].descriptor.take() {
                        self.arena.give_back(descriptor);
                    }
                }
                _ => continue,
            }
            self.fail(op, LOST);
        }
    }

    /// What waits for room on the way to a dead process, and what it has of ours.
    fn forget_channels(&mut self, peer: u32) {
        self.channels.forget(&mut self.arena, peer);
        self.given_ups.take_back_letters(peer, |_| {});
        self.reach[peer as usize] = Reach::NONE;
        self.streams.forget(peer);
        self.pulls.retain(|pull| pull.peer() != peer);
        self.pushes.retain(|push| push.peer != peer);
        self.claims.retain(|claim| claim.peer() != peer);
        self.questions.retain(|question| question.peer() != peer);
    }

    /// Messages of which a part is in the dead process.
    fn forget_messages(&mut self, peer: u32) {
        let incoming = self.channels.from_mut(peer).and_then(|inbound| inbound.incoming.take());
        let unfinished = match incoming {
            Some(Incoming::Unexpected(entry)) => Some(entry),
            _ => None,
        };
        let streams = self.matching.end_streams(peer);
        self.remove_all_unexpected(|entry, key, early| {
            let is_part = unfinished == Some(entry) || streams.contains(&Incoming::Unexpected(entry));
            key.from == peer && (matches!(early, Unexpected::Announced(_)) || is_part)
        });
        for (at, key, early) in self.matching.all_taken() {
            let here = Incoming::Taken(at);
            let part = incoming == Some(here) || streams.contains(&here) || matches!(early, Unexpected::Taken(_));
            if key.from == peer && part {
                *early = Unexpected::Lost { source: early.source() };
            }
        }
    }

    /// These message spaces are revoked: end what is not under way yet. What is, ends by itself, since both sides live.
    fn close(&mut self, contexts: Vec<u32>) {
        self.wounds.any = true;
        for op in 0..self.ops.len() {
            if contexts.contains(&self.ops[op].context.0) && self.retract(op) {
                self.fail(op, REVOKED);
            }
        }
        self.remove_all_unexpected(|_, key, early| {
            contexts.contains(&key.context.0)
                && matches!(early, Unexpected::Payload { bytes, total, .. } if bytes.len() as u64 == *total)
        });
        self.wounds.revoked.extend(contexts);
    }

    /// The operation ends by what happened to others.
    fn fail(&mut self, op: u32, outcome: Outcome) {
        let arrival = match self.ops[op].stage {
            Stage::Receiving { .. } => self.ops[op].outcome.arrival,
            _ => Arrival::default(),
        };
        self.ops.complete(op, Outcome { arrival, ..outcome });
    }
}

/// A communicator has no more message spaces.
const MOST_CONTEXTS: u32 = 16;

impl Entered {
    /// How many processes this one knows to be no more.
    pub fn failures(&mut self) -> u32 {
        self.engine().wounds.known
    }

    /// The `index`-th process that went, counted from 0; true beside it: in peace, after `MPI_Finalize`.
    pub fn failure(&mut self, index: u32) -> Option<(Peer, bool)> {
        let engine = self.engine();
        if index >= engine.wounds.known {
            return None;
        }
        let Failure { rank, in_peace } = engine.segment.failure(index);
        Some((Peer(rank), in_peace))
    }

    /// Is this process no more?
    pub fn has_failed(&mut self, peer: Peer) -> bool {
        self.engine().has_failed(peer.0)
    }

    /// The message space of the receive `op`, if it has not matched and anybody may send to it.
    pub fn awaits_anybody(&mut self, op: OpId) -> Option<ContextId> {
        let engine = self.engine();
        let op = &engine.ops[engine.ops.find(op)?];
        (op.stage == Stage::Posted && op.from.is_none()).then_some(op.context)
    }

    /// Is this message space revoked?
    pub fn is_revoked(&mut self, context: ContextId) -> bool {
        self.engine().wounds.revoked.contains(&context.0)
    }

    /// Learn of failures up to the `failures`-th, which somebody else knows of.
    pub fn learn_of(&mut self, failures: u32) {
        let engine = self.engine();
        if engine.wounds.known < failures {
            engine.attend();
        }
    }

    /// Learn of all failures and revocations that anybody knows of.
    pub fn learn(&mut self) {
        self.engine().attend();
    }

    /// Revoke the message spaces from `first` on, `count` of them, for all `members`, of which the calling process is one:
    /// operations in them fail everywhere from now on. Does not block.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn revoke(&mut self, first: ContextId, count: u32, members: &[Peer]) -> Result<()> {
        let engine = self.engine();
        let members: Vec<u32> = members.iter().map(|peer| peer.0).collect();
        let at = engine
            .arena
            .allocate(engine.segment, revocation::bytes_for(members.len()))?;
        revocation::publish(engine.segment, at, first.0, count, &members)?;
        for &member in members.iter().filter(|&&member| member != engine.me) {
            engine.segment.alert(member);
        }
        engine.attend();
        Ok(())
    }

    /// This process goes on when others fail: its error handlers return. Until every process of the job has said so, the
    /// first failure ends the job.
    pub fn endure(&mut self) {
        let engine = self.engine();
        engine.slot().endure();
    }
}

#[cfg(test)]
mod tests;
