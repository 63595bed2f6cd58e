//! Rendezvous: the receiver fetches an announced message by a single copy, or asks for it through the ring.
//!
//! ```text
//! sender                      receiver
//! offer, ReadyToSend   ->     matched: take the offer
//!                             pull: process_vm_readv, or loads if it lies in memory that both map, as short messages do beside the descriptor
//!                             and those of `blocks`
//!                      <-     Help                          (push from the other end, see `single_copy`)
//!                      <-     Finished                      (all of it is there)
//!                      <-     ClearToSend {offset, limit}   (no permission, or it failed and this part is missing)
//! Data ...             ->     complete
//!                      <-     ClearToSend {.., stream}      (see `streamed`)
//! feed, Fed ...        ->     drain ...
//!                      <-     Finished
//! ```
//!
//! A sender that computes does not hear that it is clear to send. After a short silence the receiver withdraws the request
//! and pulls: slower perhaps than a ring with both at work, but the sender's computation hides it. What a receiver
//! that computes does not hear, see [`crate::protocol::advertise`].

use std::ops::Range;
use std::time::Duration;

use isthmus_os::clock;
use isthmus_os::topology::{Level, Locality};
use isthmus_shm::Offset;
use isthmus_transfer::Direction;
use isthmus_transfer::copy::Copying;

use crate::channel::outbound::{Answer, Queued};
use crate::channel::record::{ClearToSend, Finished, ReadyToSend};
use crate::counters;
use crate::data_path::{CostSample, DataPath};
use crate::engine::Engine;
use crate::limits::PUSHED_FROM;
use crate::matching::queues::Key;
use crate::matching::unexpected::Unexpected;
use crate::memory::arena;
use crate::ops::Stage;
use crate::protocol::access::{Access, Pushable};
use crate::protocol::advertise::Silence;
use crate::protocol::choice::protocols::{self, Message, Mover};
use crate::protocol::choice::select::Measurements;
use crate::protocol::choice::tuning;
use crate::protocol::mechanism;
use crate::rules::Rule;
use crate::types::{ContextId, OpId};

/// The side that copies an announced message.
#[derive(Debug, Clone, Copy)]
enum Taken {
    /// We, and the sender may help.
    Pulled(Access),
    /// The sender alone.
    Pushed(DataPath),
}

/// Bytes that we have asked a sender to stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingCts {
    op: OpId,
    peer: u32,
    number: u64,
    record: ReadyToSend,
    silence: Silence,
}

impl PendingCts {
    /// Of whom.
    pub fn peer(&self) -> u32 {
        self.peer
    }
}

impl Engine {
    /// A peer offers a message.
    pub(crate) fn on_ready_to_send(&mut self, peer: u32, context: ContextId, record: ReadyToSend) {
        let key = Key {
            context,
            from: peer,
            tag: record.envelope.tag,
        };
        // Its line comes while we look for the receive.
        if let Some(descriptor) = self.descriptor(record.descriptor) {
            descriptor.expect_to_write();
        }
        // The offer is taken only for a receive that is there: a withdrawn message must not consume one.
        let Some(op) = self.matching.find_posted(&self.ops, key) else {
            self.keep(key, Unexpected::Announced(record));
            return;
        };
        if let Some(claimant) = self.withdraw_advert(op) {
            self.follow(claimant, op, peer, key, record);
            return;
        }
        if self.take_offer(peer, record) {
            self.matching.remove_posted(&mut self.ops, op);
            self.fetch(op, peer, key.tag, record);
        }
    }

    /// Has the sender withdrawn this message?
    pub(crate) fn is_withdrawn(&self, record: ReadyToSend) -> bool {
        let descriptor = self.descriptor(record.descriptor);
        descriptor.is_none_or(|descriptor| descriptor.is_withdrawn())
    }

    /// Take an offer. False: it was withdrawn, and its sender knows that we know.
    pub(crate) fn take_offer(&mut self, peer: u32, record: ReadyToSend) -> bool {
        let taken = self
            .descriptor(record.descriptor)
            .is_some_and(|descriptor| descriptor.take());
        if !taken {
            self.finish(peer, record, false);
        }
        taken
    }

    /// Get the bytes of a taken offer moving into the receive `op`.
    pub(crate) fn fetch(&mut self, op: u32, peer: u32, tag: i32, record: ReadyToSend) {
        let expected = self.ops.matched(op, record.envelope.source, tag, record.total);
        self.ops[op].to = peer;
        let (far, near) = (record.address == 0, self.ops[op].buffer.row().is_none());
        self.ops[op].sample = (!far && !near).then(CostSample::begin);
        self.ops[op].began = (far != near).then(clock::now);
        if expected > 0 && self.fetch_by_device(op, peer, record, expected) {
            // The driver copies it, here or there.
        } else if expected == 0 || self.take_beside(op, record, expected) || self.take_from_block(op, record, expected)
        {
            self.fetched(op, peer, record, 0..0);
        } else if self.read_offer(op, peer, record, expected) {
            // The network tells when it is here.
        } else if let Some(path) = self.choose_path(op, peer, record, expected) {
            match path {
                Taken::Pulled(access) => self.start_pull(access, op, peer, record, expected),
                Taken::Pushed(path) => self.start_pushed(path, op, peer, record, expected),
            }
        } else {
            self.fetched(op, peer, record, 0..expected);
            // A receiver that waits for a stream was told that it is best.
            if !matches!(self.ops[op].path, DataPath::Stream(_))
                && (self.ops[op].sample.is_some() || self.ops[op].began.is_some())
                && self.ops[op].buffer.has_layout()
                && expected >= PUSHED_FROM
                && self.pull_access(peer, record, expected).is_some()
            {
                let pending = PendingCts {
                    op: self.ops.id(op),
                    peer,
                    number: self.cts_number(),
                    record,
                    silence: self.silence(peer),
                };
                self.transfers.pending_cts.push(pending);
            }
        }
    }

    /// Copy the message from beside its descriptor, if it lies there.
    fn take_beside(&self, op: u32, record: ReadyToSend, expected: u64) -> bool {
        if record.flags & ReadyToSend::BESIDE == 0 {
            return false;
        }
        let Some(at) = arena::beside(self.segment, Offset(record.descriptor), expected) else {
            return false;
        };
        // SAFETY: the receive's pending buffer has room for `expected` bytes; as many are mapped there, which the sender leaves alone
        // until it hears that we have finished.
        unsafe { self.ops[op].buffer.write(0, expected as usize, at.as_ptr()) };
        true
    }

    /// The number of the last request to send: no other process has the same.
    fn cts_number(&self) -> u64 {
        u64::from(self.me) << 32 | u64::from(self.transfers.asked)
    }

    /// Pull what senders were asked for that do not answer. True: something moved.
    pub(crate) fn advance_pending_cts(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.transfers.pending_cts.len() {
            let mut pending = self.transfers.pending_cts[at];
            let is_due = self.is_silent(pending.peer, pending.record.total, &mut pending.silence);
            self.transfers.pending_cts[at] = pending;
            let open = self.ops.find(pending.op).filter(|&op| {
                let begun = !matches!(self.ops[op].stage, Stage::Receiving { received: 0, .. });
                self.ops[op].to == pending.peer && !begun
            });
            match open {
                Some(_) if !is_due => at += 1,
                Some(op) => {
                    self.transfers.pending_cts.swap_remove(at);
                    moved |= self.take_back(op, pending);
                }
                None => drop(self.transfers.pending_cts.swap_remove(at)),
            }
        }
        moved
    }

    /// False: the sender has begun.
    fn take_back(&mut self, op: u32, pending: PendingCts) -> bool {
        let Stage::Receiving { expected, .. } = self.ops[op].stage else {
            return false;
        };
        let Some(access) = self.pull_access(pending.peer, pending.record, expected) else {
            return false;
        };
        let descriptor = self.descriptor(pending.record.descriptor);
        if !descriptor.is_some_and(|descriptor| descriptor.take_back(pending.number)) {
            return false;
        }
        counters::TAKEN_BACK.add(1);
        // How long this takes says nothing about the way: we waited first.
        self.ops[op].sample = None;
        self.ops[op].began = None;
        self.start_pull(access, op, pending.peer, pending.record, expected);
        true
    }

    /// All of the message but `missing` is here, and no more will be pulled: it is complete, or the rest is asked for
    /// through the ring.
    pub(crate) fn fetched(&mut self, op: u32, peer: u32, record: ReadyToSend, missing: Range<u64>) {
        let Stage::Receiving { expected, .. } = self.ops[op].stage else {
            return;
        };
        if missing.is_empty() {
            let kept = self.keep_block(record);
            self.finish(peer, record, kept);
            self.ops.complete_as_is(op);
            return;
        }
        self.ops[op].stage = Stage::Receiving {
            received: expected - (missing.end - missing.start),
            expected,
        };
        self.ops[op].wire = expected;
        let (receive_op, copying) = (self.ops.id(op).0, self.ops[op].path.copying());
        let stream = self.expect_fed(op, peer, record, &missing);
        self.ask(peer, record, receive_op, missing, (copying, stream));
    }

    /// Ask for a part of an announced message, whose offer we have taken, through the ring.
    ///
    /// Or by the stream with this number.
    pub(crate) fn ask(
        &mut self,
        peer: u32,
        record: ReadyToSend,
        receive_op: u32,
        part: Range<u64>,
        (copying, stream): (Copying, u32),
    ) {
        self.transfers.asked = self.transfers.asked.wrapping_add(1);
        let number = self.cts_number();
        if let Some(descriptor) = self.descriptor(record.descriptor) {
            descriptor.ask(number);
        }
        let answer = ClearToSend {
            send_op: record.send_op,
            receive_op,
            offset: part.start,
            limit: part.end,
            descriptor: record.descriptor,
            copying: copying as u32,
            stream,
            number,
        };
        self.answer(peer, Answer::ClearToSend(answer));
    }

    /// By what the message is to be pulled; `None`: let it come through the ring.
    fn choose_path(&mut self, op: u32, peer: u32, record: ReadyToSend, length: u64) -> Option<Taken> {
        // Messages packed and unpacked in pieces.
        self.ops[op].path = DataPath::Ring(Copying::Vector);
        if self.ops[op].began.is_some() {
            return self.way_of_scattered(op, peer, record, length);
        }
        self.ops[op].sample?;
        let mapped = self.mapped_access(record.shared_address, length);
        let single = self.single_access(peer, record.address, Direction::Pull);
        let message = Message {
            is_mapped: &|| mapped.is_some(),
            can_copy: single.is_some(),
            streams: self.open_streams(peer),
            is_apart: single.is_none() && self.is_apart(peer),
            measured: tuning::preferred(length),
            ..Message::announced(length)
        };
        let facts = self.transfers.facts;
        let paths = protocols::paths(&facts, &message);
        let is_measured = paths
            .clone()
            .any(|(_, protocol)| message.measured == Some(protocol.mechanism));
        let (path, protocol) = if is_measured || Rule::Learning.holds() {
            let path = self
                .learned(peer)
                .announced
                .choose(length, paths.clone().map(|(path, _)| path));
            paths.clone().find(|(open, _)| *open == path)?
        } else {
            let pays = single.is_some() && facts.leaves_ring_out();
            let usual = paths.clone().find(|(path, _)| pays || *path != DataPath::SingleCopy);
            usual.or(paths.clone().next())?
        };
        self.ops[op].path = path;
        match protocol.by {
            Mover::Mapped => mapped.map(Taken::Pulled),
            Mover::Pull | Mover::BothEnds => single.map(Taken::Pulled),
            Mover::Push => Some(Taken::Pushed(path)),
            _ => None,
        }
    }

    /// Do this rank and the peer run on CPUs that have no cache in common, as far as both are bound to some?
    fn is_apart(&self, peer: u32) -> bool {
        let locality = |rank: u32| {
            let identity = self.segment.slot(rank).identity();
            identity.map_or(Locality::default(), |identity| Locality::from_bits(identity.locality))
        };
        let (own, theirs) = (locality(self.me), locality(peer));
        let mut units = [Level::Package, Level::L3]
            .into_iter()
            .map(|level| own.unit(level).zip(theirs.unit(level)));
        units.any(|units| units.is_some_and(|(own, theirs)| own != theirs))
    }

    /// As [`Self::choose_path`], of a message that is not in a row at one end: that end is local to the copying side.
    fn way_of_scattered(&mut self, op: u32, peer: u32, record: ReadyToSend, length: u64) -> Option<Taken> {
        let buffer = self.ops[op].buffer;
        let told = record.address != 0 || Pushable(record.flags).by(DataPath::Mapped);
        if told
            && buffer.has_layout()
            && let Some(path) = self.named_stream(peer)
        {
            self.ops[op].path = path;
            return None;
        }
        let taken = match buffer.row() {
            None if buffer.has_layout() => self.pull_access(peer, record, length).map(Taken::Pulled),
            None => None,
            Some(row) => {
                let path = Self::path_into(row, length);
                let can = Pushable(record.flags).by(path) && mechanism::may_push(path);
                can.then_some(Taken::Pushed(path))
            }
        }?;
        let path = match taken {
            Taken::Pulled(access) => access.path,
            Taken::Pushed(path) => path,
        };
        let ring = DataPath::Ring(Copying::Vector);
        let ring = mechanism::is_open(ring).then_some(ring);
        let chosen = self
            .learned(peer)
            .scattered
            .choose(length, std::iter::once(path).chain(ring));
        self.ops[op].path = chosen;
        (chosen == path).then_some(taken)
    }

    pub(crate) fn learned(&mut self, peer: u32) -> &mut Measurements {
        self.transfers.learned[peer as usize].get_or_insert_default()
    }

    /// An announced message of `length` bytes is here, and has come this way.
    pub(crate) fn learn_from_announced(&mut self, peer: u32, sample: CostSample, path: DataPath, length: u64) {
        let (now, measurements) = (clock::ticks(), self.learned(peer));
        let before = std::mem::replace(&mut measurements.last, now);
        measurements
            .announced
            .learn(path, length, length, sample.cost_after(before, now));
    }

    /// As [`Self::learn_from_announced`], of a message that is scattered at one end: packing says little about copying, so it
    /// is the time until all of it was here.
    pub(crate) fn learn_from_scattered(&mut self, peer: u32, path: DataPath, began: Duration, length: u64) {
        let took = (clock::now() - began).as_nanos() as u64;
        self.learned(peer).scattered.learn(path, length, length, took);
    }

    fn finish(&mut self, peer: u32, record: ReadyToSend, kept: bool) {
        self.answer(
            peer,
            Answer::Finished(Finished {
                send_op: record.send_op,
                kept: kept.into(),
                descriptor: record.descriptor,
            }),
        );
    }

    pub(crate) fn answer(&mut self, peer: u32, answer: Answer) {
        match self.outbound(peer) {
            Ok(outbound) => {
                outbound.answer(answer);
                self.kick(peer);
            }
            // Without a channel back the sender would wait without end; its launcher must know.
            Err(error) => crate::abort(
                1,
                &format!("isthmus: rank {}: cannot answer rank {peer}: {error}", self.me),
            ),
        }
    }

    /// The receiver wants the bytes through the ring.
    pub(crate) fn on_clear_to_send(&mut self, peer: u32, record: ClearToSend) {
        let Some(op) = self.offered_to(peer, record.send_op) else {
            return;
        };
        // Taken back: we have been silent for too long, and the receiver pulls.
        let own = self.ops[op].descriptor.and_then(|own| self.descriptor(own.0));
        if !own.is_some_and(|own| own.stream(record.number)) {
            return;
        }
        self.answered(op);
        let (buffer, length) = (self.ops[op].buffer, self.ops[op].length);
        let end = (record.limit as usize).min(length);
        let next = (record.offset as usize).min(end);
        self.transfers.streams.stop_feeding(self.ops.id(op));
        if record.stream != 0 {
            self.start_feeding(op, peer, record, next as u64..end as u64);
            return;
        }
        self.reclaim(op, record.descriptor);
        self.ops[op].stage = Stage::Queued;
        self.lease_for(peer, end - next);
        let stream = Queued::Stream {
            op,
            receive_op: record.receive_op,
            copying: Copying::of(record.copying),
            buffer,
            next,
            end,
        };
        let outbound = self.channels.outbound_mut(peer).expect("it was announced through it");
        outbound.push(stream);
        self.kick(peer);
    }

    /// The receiver has everything, or has seen that the offer was withdrawn.
    pub(crate) fn on_finished(&mut self, peer: u32, record: Finished) {
        let ours = |op: &u32| self.ops[*op].descriptor.is_some_and(|own| own.0 == record.descriptor);
        match self.offered_to(peer, record.send_op).filter(ours) {
            Some(op) => {
                self.answered(op);
                self.transfers.streams.stop_feeding(self.ops.id(op));
                self.reclaim(op, record.descriptor);
                if record.kept != 0 {
                    self.transfers.blocks.leave(self.ops.id(op));
                }
                self.ops.complete_as_is(op);
            }
            // Withdrawn: the operation is over, the descriptor comes back now. It may have left after that.
            None => {
                if let Some(outbound) = self.channels.outbound_mut(peer) {
                    outbound.orders.answered(OpId(record.send_op));
                }
                self.reclaim_withdrawn(record.descriptor);
            }
        }
    }

    /// The announced send that `peer` names, if it is one.
    pub(crate) fn offered_to(&self, peer: u32, send_op: u32) -> Option<u32> {
        let op = self.ops.find(OpId(send_op))?;
        (self.ops[op].stage == Stage::Offered && self.ops[op].to == peer).then_some(op)
    }

    /// The announced send `op` has been heard of.
    pub(crate) fn answered(&mut self, op: u32) {
        let id = self.ops.id(op);
        if let Some(outbound) = self.channels.outbound_mut(self.ops[op].to) {
            outbound.orders.answered(id);
        }
    }

    pub(crate) fn reclaim(&mut self, op: u32, descriptor: u64) {
        if self.channels.has_network() {
            self.end_exposure(descriptor);
        }
        self.transfers.pushes.retain(|push| push.op != op);
        if self.ops[op].descriptor.take_if(|own| own.0 == descriptor).is_some() {
            if let Some(descriptor) = self.descriptor(descriptor) {
                descriptor.expect_to_write();
            }
            self.memory.arena.give_back(Offset(descriptor));
        }
    }

    fn reclaim_withdrawn(&mut self, descriptor: u64) {
        if let Some(own) = self.transfers.withdrawn.take(&Offset(descriptor)) {
            self.memory.arena.give_back(own);
        }
    }
}
