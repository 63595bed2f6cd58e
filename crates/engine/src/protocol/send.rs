//! Sending: eager through the ring, announced beyond, or to ourselves.

use isthmus_mem::Export;
use isthmus_shm::Offset;

use crate::channel::outbound::{Message, Queued};
use crate::channel::record::ReadyToSend;
use crate::data_path::DataPath;
use crate::engine::Engine;
use crate::limits::CELL_FROM;
use crate::matching::queues::Key;
use crate::matching::unexpected::Unexpected;
use crate::memory::arena;
use crate::memory::buffer::Buffer;
use crate::memory::heap;
use crate::memory::payload::Payload;
use crate::ops::Stage;
use crate::protocol::blocks::InBlock;
use crate::protocol::choice::protocols::{self, Mover};
use crate::protocol::mechanism;
use crate::types::{ContextId, Mode, Outcome, Posting};
use crate::{Result, counters};

impl Engine {
    /// Start a send. `None`: it is complete.
    ///
    /// # Safety
    /// `buffer` must be readable for `length` bytes until the operation completes.
    #[inline]
    pub unsafe fn send(
        &mut self,
        mode: Mode,
        to: u32,
        posting: Posting,
        buffer: Buffer,
        length: usize,
    ) -> Result<Option<u32>> {
        if self.has_faults()
            && let Some(outcome) = self.pending_failure(Some(to), posting.context)
        {
            return self.completed(posting.context, outcome).map(Some);
        }
        if to == self.me {
            return self.send_to_self(mode, posting, buffer, length);
        }
        let goes_at_once = protocols::is_short(&self.transfers.facts, mode, length as u64)
            || self.plan(mode, to, buffer, length, false).is_at_once();
        let (arena, failed_calls) = (&mut self.memory.arena, &mut self.membership.failed_calls);
        let mut outbound = self.channels.outbound_to(arena, failed_calls, to)?;
        let message = Message::of(posting, buffer, length);
        if !goes_at_once || outbound.announce_only() {
            if !goes_at_once {
                self.want_cell(mode, to, length);
            }
            return self.announce(to, message, None).map(Some);
        }
        if outbound.is_remote() {
            // A message that cannot be announced, for lack of descriptors, goes in frames.
            if self.plan(mode, to, buffer, length, true) == Mover::RemoteRead
                && let Ok(op) = self.announce(to, message, None)
            {
                return Ok(Some(op));
            }
            if self.channels.send_message(to, message) {
                counters::EAGER_SENT.add(1);
                counters::EAGER_BYTES.add(length as u64);
                return Ok(None);
            }
            outbound = self.outbound(to)?;
        }
        if length >= CELL_FROM && outbound.cells.are_wanted() {
            self.channels.make_cell(&mut self.memory.arena, to);
            outbound = self.outbound(to)?;
        }
        if outbound.try_eager(message) {
            self.channels.ring(to);
            counters::EAGER_SENT.add(1);
            counters::EAGER_BYTES.add(length as u64);
            return Ok(None);
        }
        self.send_long_eager(to, message)
    }

    /// What moves a message, as far as its sender chooses.
    #[cold]
    fn plan(&self, mode: Mode, to: u32, buffer: Buffer, length: usize, is_remote: bool) -> Mover {
        let outbound = self.channels.outbound(to);
        let message = protocols::Message {
            is_remote,
            has_cell: outbound.is_some_and(|outbound| outbound.is_idle() && outbound.cells.fitting(length).is_some()),
            is_mapped: &|| shared_address_of(buffer, length) != 0,
            ..protocols::Message::of(length as u64, mode)
        };
        protocols::plan(&self.transfers.facts, &message).by
    }

    /// More than one record, or no room: with a larger ring if that helps, and what does not fit now is queued.
    #[cold]
    fn send_long_eager(&mut self, to: u32, message: Message) -> Result<Option<u32>> {
        if self.outbound(to)?.cells.fitting(message.length).is_none() {
            let by = self.plan(Mode::Standard, to, message.buffer, message.length, false);
            if by == Mover::MessageBlock && self.send_in_block(to, message)? {
                return Ok(None);
            }
            self.lease_for(to, message.length);
        }
        counters::EAGER_SENT.add(1);
        counters::EAGER_BYTES.add(message.length as u64);
        let op = self.new_send(Stage::Queued, to, message)?;
        let (wrote, whole) = self.outbound(to)?.begin(op, message);
        if wrote {
            self.channels.ring(to);
        }
        if whole {
            self.ops.release(op);
            return Ok(None);
        }
        self.kick(to);
        Ok(Some(op))
    }

    /// A larger ring to `peer`, if messages of this length want one and it can be had.
    pub fn lease_for(&mut self, peer: u32, length: usize) {
        self.channels.lease(peer, length);
    }

    /// A message that is announced, since there is no cell for it: there may be one for the next.
    #[cold]
    fn want_cell(&mut self, mode: Mode, to: u32, length: usize) {
        let facts = &self.transfers.facts;
        let fits = mode == Mode::Standard && length as u64 <= facts.cell_limit && !facts.leaves_ring_out();
        if let Some(outbound) = self.channels.outbound_mut(to)
            && fits
        {
            outbound.cells.miss();
            if outbound.cells.are_wanted() {
                self.channels.make_cell(&mut self.memory.arena, to);
            }
        }
    }

    /// Offer the message; the receiver fetches it, or asks for it through the ring. `block`: it lies in one.
    #[cold]
    pub(super) fn announce(&mut self, to: u32, message: Message, block: Option<InBlock>) -> Result<u32> {
        self.announce_with(to, message, block, None)
    }

    /// As [`Self::announce`]; `export`: it is in memory of a device, and this is how others reach it.
    pub(super) fn announce_with(
        &mut self,
        to: u32,
        message: Message,
        block: Option<InBlock>,
        export: Option<Export>,
    ) -> Result<u32> {
        let op = self.new_send(Stage::Offered, to, message)?;
        match self.offer(op, message, block, export) {
            Ok(announcement) => self.outbound(to)?.push(announcement),
            Err(error) => {
                self.ops.release(op);
                return Err(error);
            }
        }
        self.kick(to);
        Ok(op)
    }

    /// The announcement of the send `op`.
    fn offer(&mut self, op: u32, message: Message, block: Option<InBlock>, export: Option<Export>) -> Result<Queued> {
        let descriptor = self.memory.arena.descriptor(self.segment, message.length as u64)?;
        self.descriptor(descriptor.0).expect("ours").offer();
        self.ops[op].descriptor = Some(descriptor);
        self.ops[op].stage = Stage::Offered;
        counters::RENDEZVOUS_SENT.add(1);
        let flags = match export {
            None => self.put_beside(descriptor, self.ops[op].to, message),
            Some(export) => self.put_export(descriptor, export),
        };
        let to = self.ops[op].to;
        let key = match self.channels.is_remote(to) {
            true => self.expose(to, descriptor.0, message.buffer, message.length),
            false => None,
        };
        let flags = flags | key.map_or(0, |_| ReadyToSend::READABLE);
        let flags = flags | block.map_or(0, |block| ReadyToSend::in_block(block.lines, block.order));
        let shared_address = block.map(|block| block.at.0).or(key);
        let record = ReadyToSend {
            envelope: message.envelope,
            total: message.length as u64,
            address: message.buffer.row().map_or(0, |at| at.expose_provenance() as u64),
            shared_address: shared_address.unwrap_or_else(|| shared_address_of(message.buffer, message.length)),
            descriptor: descriptor.0,
            send_op: self.ops.id(op).0,
            flags: flags | self.pushable(to, message.buffer).0,
        };
        Ok(Queued::Announcement {
            context: message.context,
            record,
        })
    }

    /// Copy a short message to where its receiver finds it with the descriptor: the flag that says so. Not if the user has named another way.
    fn put_beside(&self, descriptor: Offset, to: u32, message: Message) -> u32 {
        let fits = message.length as u64 <= self.memory.arena.room_beside(descriptor);
        if !fits || self.channels.is_remote(to) || !mechanism::is_open(DataPath::Mapped) {
            return 0;
        }
        let Some(at) = arena::beside(self.segment, descriptor, message.length as u64) else {
            return 0;
        };
        // SAFETY: the buffer is a pending operation's; nobody else looks beside a descriptor of ours before it is announced.
        unsafe { message.buffer.read(0, message.length, at.as_ptr()) };
        ReadyToSend::BESIDE
    }

    /// The peer has no room for unmatched payload: announce the first message that waits for room in its ring. False:
    /// there is no memory for that.
    pub fn announce_first(&mut self, peer: u32) -> bool {
        let first = self
            .channels
            .outbound_mut(peer)
            .and_then(|outbound| outbound.first_unbegun());
        let Some((op, message)) = first else { return false };
        let Ok(announcement) = self.offer(op, message, None, None) else {
            return false;
        };
        if let Some(outbound) = self.channels.outbound_mut(peer) {
            outbound.replace_first(announcement);
        }
        true
    }

    fn new_send(&mut self, stage: Stage, to: u32, message: Message) -> Result<u32> {
        let op = self.ops.allocate(stage, message.buffer, message.length)?;
        self.ops[op].to = to;
        self.ops[op].context = message.context;
        self.ops[op].tag = Some(message.envelope.tag);
        self.ops[op].descriptor = None;
        self.ops[op].outcome = Default::default();
        Ok(op)
    }

    /// An operation that is over before it begins.
    pub fn completed(&mut self, context: ContextId, outcome: Outcome) -> Result<u32> {
        let op = self.ops.allocate(Stage::Complete, Buffer::NOWHERE, 0)?;
        self.ops[op].context = context;
        self.ops.complete(op, outcome);
        Ok(op)
    }

    /// A message to ourselves: straight into the receive if it is posted; else kept, by copy if it is short, and by
    /// reference, with the send pending, if not.
    fn send_to_self(&mut self, mode: Mode, posting: Posting, buffer: Buffer, length: usize) -> Result<Option<u32>> {
        let key = Key {
            context: posting.context,
            from: self.me,
            tag: posting.tag,
        };
        let total = length as u64;
        if let Some(receive) = self.matching.take_posted(&mut self.ops, key) {
            let expected = self.ops.matched(receive, posting.source, posting.tag, total);
            // SAFETY: both are pending user buffers; `matched` limits the length to the receive's.
            unsafe { self.ops[receive].buffer.take_from(buffer, expected as usize) };
            self.ops.complete_as_is(receive);
            return Ok(None);
        }
        if mode == Mode::Standard && length as u64 <= self.transfers.facts.eager_limit {
            // SAFETY: the caller vouches for the buffer; the copy has as much room.
            let bytes = Payload::written(length, |to| unsafe { buffer.read(0, length, to) });
            self.keep(
                key,
                Unexpected::Payload {
                    source: posting.source,
                    bytes,
                    total,
                },
            );
            return Ok(None);
        }
        let message = Message::of(posting, buffer, length);
        let op = self.new_send(Stage::Loopback, self.me, message)?;
        self.keep(
            key,
            Unexpected::Loopback {
                source: posting.source,
                op,
            },
        );
        Ok(Some(op))
    }

    /// Withdraw a send that no receive has taken. False: too late, it will complete.
    pub fn cancel_send(&mut self, op: u32) -> bool {
        let withdrawn = self.retract(op);
        if withdrawn {
            self.ops[op].outcome.cancelled = true;
            self.ops.complete_as_is(op);
        }
        withdrawn
    }

    /// Take back an operation of which nothing has happened; it is the caller's to complete. False: too late.
    pub fn retract(&mut self, op: u32) -> bool {
        match self.ops[op].stage {
            Stage::Posted => {
                let claimed = self.withdraw_advert(op).is_some();
                if !claimed {
                    self.matching.remove_posted(&mut self.ops, op);
                }
                !claimed
            }
            Stage::Offered => self.withdraw_offer(op),
            Stage::Loopback => {
                let ours = |message: &Unexpected| matches!(message, Unexpected::Loopback { op: own, .. } if *own == op);
                !self.remove_all_unexpected(|_, _, message| ours(message)).is_empty()
            }
            Stage::Queued => {
                let to = self.ops[op].to;
                self.channels
                    .outbound_mut(to)
                    .is_some_and(|outbound| outbound.withdraw(op))
            }
            _ => false,
        }
    }

    fn withdraw_offer(&mut self, op: u32) -> bool {
        if self.channels.is_remote(self.ops[op].to) {
            return self.withdraw_remote(op);
        }
        let Some(Offset(descriptor)) = self.ops[op].descriptor else {
            return false;
        };
        let withdrawn = self.descriptor(descriptor).is_some_and(|state| state.withdraw());
        if withdrawn {
            // The descriptor comes back with the receiver's `Finished`.
            self.transfers.withdraw(self.ops[op].descriptor.take());
            self.answered(op);
            self.tell_of_withdrawal(op, descriptor);
        }
        withdrawn
    }
}

/// The address of a buffer in memory that everybody maps; 0: it is not there.
#[inline]
fn shared_address_of(buffer: Buffer, length: usize) -> u64 {
    let shared_address = buffer.row().and_then(|at| heap::shared_address_of(at, length as u64));
    shared_address.map_or(0, |shared_address| shared_address.0)
}
