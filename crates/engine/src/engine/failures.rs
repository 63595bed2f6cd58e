//! Processes that fail while others go on, and message spaces that are revoked.
//!
//! The launcher notices a death, appends the rank to the segment's list of failures and alerts everyone
//! ([`isthmus_shm::Segment::alert`]); a process that revokes tells the members concerned and alerts them. An alert shows in
//! a word that every round of progress looks at, and wakes who sleeps. What is done about it stands here, once per failure
//! or revocation; operations that are started later look at one flag.
//!
//! What a dead process sent before it died is still delivered, if all of it is in shared memory. Its claims on our buffers
//! ended with it: the launcher declares nobody failed whose address space is still there.

use std::ops::Range;
use std::sync::atomic::Ordering;

use isthmus_shm::revocation;
use isthmus_shm::segment::Failure;

use crate::channel::inbound::Incoming;
use crate::engine::Engine;
use crate::limits::REVOCATIONS_LOOKED_AT;
use crate::matching::unexpected::Unexpected;
use crate::membership::control::{Decision, Revocation, ToLauncher, ToRank};
use crate::membership::failures::{PEER_FAILED, REVOKED, fault_events, note_fault_event};
use crate::membership::launcher;
use crate::ops::Stage;
use crate::types::{Arrival, ContextId, OpId, Outcome, Peer};
use crate::{Entered, Result};

impl Engine {
    /// Must operations look whether their peer lives and their message space is good?
    #[inline]
    pub fn has_faults(&self) -> bool {
        self.membership.failures.any()
    }

    /// Has this process failed?
    pub fn has_failed(&self, peer: u32) -> bool {
        self.membership.failures.has_failed(peer)
    }

    /// How an operation of this kind ends at once: see [`Failures::pending_failure`](crate::membership::failures::Failures::pending_failure).
    #[cold]
    pub fn pending_failure(&self, peer: Option<u32>, context: ContextId) -> Option<Outcome> {
        self.membership.failures.pending_failure(peer, context)
    }

    /// Is there something to know that we do not know yet? For sleepers, who may have missed an alert.
    pub fn is_behind(&self) -> bool {
        self.segment.failed() != self.membership.failures.known()
    }

    /// Learn of failures and revocations. True: there were some.
    #[cold]
    pub fn handle_failures(&mut self) -> bool {
        // SYNC: attention
        self.attention.swap(0, Ordering::SeqCst);
        let before = fault_events();
        while self.membership.failures.known() < self.segment.failed() {
            let peer = self.segment.failure(self.membership.failures.known()).rank;
            self.membership.failures.know_next();
            if peer != self.me && !self.has_failed(peer) {
                self.handle_failure(peer);
                if let Some(revocation) = revocation::left_by(self.segment, peer, self.me) {
                    self.revoke(revocation.first, revocation.count);
                }
            }
            note_fault_event();
        }
        for revocation in revocation::take(self.segment, self.me) {
            self.revoke(revocation.first, revocation.count);
        }
        if self.segment.nodes() > 1 {
            self.hear_launcher();
        }
        self.ops.has_events = true;
        fault_events() != before
    }

    /// Reports from other nodes.
    fn hear_launcher(&mut self) {
        for said in launcher::heard() {
            match said {
                ToRank::Revoked(Revocation { first, count, .. }) => self.revoke(first, count),
                ToRank::Decided(Decision { key, turn, agreed }) => {
                    self.membership.decisions.insert((key, turn), agreed);
                }
                ToRank::Welcome { .. } | ToRank::Pool | ToRank::Refused => {}
            }
        }
    }

    /// Memory of this process's earlier revocations that all members have learned of.
    fn take_back_revocations(&mut self) {
        // Entries that a dead member has not taken stay in the list.
        for _ in 0..REVOCATIONS_LOOKED_AT {
            let Some((at, length)) = self.membership.revocations.pop_front() else {
                break;
            };
            match revocation::is_unused(self.segment, at) {
                true => self.memory.arena.release(at, length),
                false => self.membership.revocations.push_back((at, length)),
            }
        }
    }

    fn revoke(&mut self, first: u32, count: u32) {
        self.close(first..first.saturating_add(count.min(MOST_CONTEXTS)));
        note_fault_event();
    }

    /// A process has failed: take what it left, and end what needs it.
    fn handle_failure(&mut self, peer: u32) {
        // What it published is whole, whenever it died. Its doorbell bit may be missing.
        if self.channels.is_remote(peer) {
            self.take_last_frames(peer);
        }
        self.open(peer);
        self.take_all(peer);
        self.membership.failures.add(peer, self.segment.ranks());
        self.forget_channels(peer);
        self.forget_messages(peer);
        self.asked.retain(|asked| !asked.is_from(peer));
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
                        self.memory.arena.give_back(descriptor);
                    }
                }
                _ => continue,
            }
            self.fail(op, PEER_FAILED);
        }
    }

    /// Records that wait for room on the way to a dead process, and our memory that it holds.
    fn forget_channels(&mut self, peer: u32) {
        self.channels.forget(&mut self.memory.arena, peer);
        self.membership.failed_calls.take_back_notices(peer);
        self.transfers.forget(peer);
        self.forget_remote(peer);
    }

    /// Messages of which a part is in the dead process.
    fn forget_messages(&mut self, peer: u32) {
        let incoming = self
            .channels
            .inbound_mut(peer)
            .and_then(|inbound| inbound.incoming.take());
        let is_part = |entry| incoming == Some(Incoming::Unexpected(entry));
        self.remove_all_unexpected(|entry, key, message| {
            key.from == peer && (matches!(message, Unexpected::Announced(_)) || is_part(entry))
        });
        for (entry, key, message) in self.matching.all_taken() {
            if key.from == peer && (is_part(entry) || matches!(message, Unexpected::Taken(_))) {
                *message = Unexpected::Lost {
                    source: message.source(),
                };
            }
        }
    }

    /// These message spaces are revoked: end what is not under way yet. What is, ends by itself, since both sides live.
    fn close(&mut self, contexts: Range<u32>) {
        self.membership.failures.expect_revocations();
        for op in 0..self.ops.len() {
            if contexts.contains(&self.ops[op].context.0) && self.retract(op) {
                self.fail(op, REVOKED);
            }
        }
        self.remove_all_unexpected(|_, key, message| {
            contexts.contains(&key.context.0)
                && matches!(message, Unexpected::Payload { bytes, total, .. } if bytes.len() as u64 == *total)
        });
        self.membership.failures.revoke(contexts);
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
        self.engine().membership.failures.known()
    }

    /// The `index`-th process that went, counted from 0; true beside it: in peace, after `MPI_Finalize`.
    pub fn failure(&mut self, index: u32) -> Option<(Peer, bool)> {
        let engine = self.engine();
        if index >= engine.membership.failures.known() {
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
        self.engine().membership.failures.is_revoked(context)
    }

    /// Learn of failures up to the `failures`-th, which somebody else knows of.
    pub fn learn_of(&mut self, failures: u32) {
        let engine = self.engine();
        if engine.membership.failures.known() < failures {
            engine.handle_failures();
        }
    }

    /// Learn of all failures and revocations that anybody knows of.
    pub fn learn(&mut self) {
        self.engine().handle_failures();
    }

    /// Revoke the message spaces from `first` on, `count` of them, for all `members`, of which the calling process is one:
    /// operations in them fail everywhere from now on. Does not block.
    ///
    /// # Errors
    /// If there is no memory for it, or if members are on several nodes and the job's launcher is not ours.
    pub fn revoke(&mut self, first: ContextId, count: u32, members: &[Peer]) -> Result<()> {
        let engine = self.engine();
        let members: Vec<u32> = members.iter().map(|peer| peer.0).collect();
        if members.iter().any(|&member| engine.channels.is_remote(member)) {
            // First: if we die before those here know of it, nobody does.
            launcher::check_arbiter("revoke")?;
            launcher::tell(&ToLauncher::Revoke(Revocation {
                first: first.0,
                count,
                members: members.clone(),
            }));
        }
        let is_told =
            |member: &u32| *member != engine.me && !engine.channels.is_remote(*member) && !engine.has_failed(*member);
        let told: Vec<u32> = members.into_iter().filter(is_told).collect();
        engine.take_back_revocations();
        let length = revocation::bytes_for(told.len());
        let at = engine.memory.arena.allocate(engine.segment, length)?;
        if let Err(error) = revocation::publish(engine.segment, at, engine.me, (first.0, count), &told) {
            engine.memory.arena.release(at, length);
            return Err(error.into());
        }
        engine.membership.revocations.push_back((at, length));
        told.iter().for_each(|&member| engine.segment.alert(member));
        engine.revoke(first.0, count);
        engine.handle_failures();
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
