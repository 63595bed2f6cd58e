//! Receiving: from what came early, or by a posted receive.

use crate::channel::inbound::Incoming;
use crate::engine::Engine;
use crate::matching::queues::{Key, Pattern};
use crate::matching::unexpected::Unexpected;
use crate::memory::buffer::Buffer;
use crate::memory::payload::Payload;
use crate::ops::Stage;
use crate::types::{Arrival, MessageId, Outcome};
use crate::{Error, Result};

impl Engine {
    /// Start a receive.
    ///
    /// # Safety
    /// `buffer` must be writable for `capacity` bytes until the operation completes.
    #[inline]
    pub unsafe fn receive(&mut self, pattern: Pattern, buffer: Buffer, capacity: usize) -> Result<u32> {
        if self.has_faults()
            && let Some(over) = self.receive_from_failed(pattern)
        {
            return over;
        }
        let op = self.new_receive(pattern, buffer, capacity)?;
        if self.matching.has_no_unexpected() || !self.receive_unexpected(op, pattern) {
            self.matching.post(&mut self.ops, op, pattern);
        }
        Ok(op)
    }

    /// Receive a message that is here already, without an operation. `None`: there is none, or it does not fit.
    ///
    /// # Safety
    /// `buffer` must be writable for `capacity` bytes.
    #[inline]
    pub unsafe fn receive_at_once(&mut self, pattern: Pattern, buffer: *mut u8, capacity: usize) -> Option<Arrival> {
        if self.matching.has_no_unexpected() || self.has_faults() {
            return None;
        }
        let entry = self.matching.find_unexpected(pattern)?;
        let (key, unexpected) = self.matching.unexpected_mut(entry);
        // SAFETY: the caller's promise.
        let arrival = unsafe { copy_whole(key, unexpected, buffer, capacity) }?;
        let block = self.end_unexpected(entry);
        self.spare(block);
        Some(arrival)
    }

    /// As [`Self::receive_at_once`], of a message that [`Self::matched_probe`] took.
    ///
    /// # Safety
    /// As there.
    #[inline]
    pub unsafe fn receive_matched_at_once(
        &mut self,
        message: MessageId,
        buffer: *mut u8,
        capacity: usize,
    ) -> Option<Arrival> {
        let entry = self.matching.taken(message)?;
        let (key, unexpected) = self.matching.unexpected_mut(entry);
        // SAFETY: the caller's promise.
        let arrival = unsafe { copy_whole(key, unexpected, buffer, capacity) }?;
        let block = self.matching.end_taken(entry);
        self.spare(block);
        Some(arrival)
    }

    /// The block that a message was kept in may be taken for the next one.
    #[inline]
    fn spare(&mut self, block: Option<Vec<u8>>) {
        if let Some(block) = block {
            self.memory.spare.give(block);
        }
    }

    /// Give the receive `op` the first unexpected message that it matches. False: there is none.
    fn receive_unexpected(&mut self, op: u32, pattern: Pattern) -> bool {
        while let Some(entry) = self.matching.find_unexpected(pattern) {
            let (key, unexpected) = self.remove_unexpected(entry);
            if self.take_unexpected(op, key.from, key.tag, unexpected, Incoming::Unexpected(entry)) {
                return true;
            }
        }
        false
    }

    /// `Some`: the receive is over before it begins. What a dead process sent can still be received.
    #[cold]
    fn receive_from_failed(&mut self, pattern: Pattern) -> Option<Result<u32>> {
        let outcome = self.pending_failure(pattern.from, pattern.context)?;
        if !outcome.revoked && self.probe(pattern).is_some() {
            return None;
        }
        Some(self.completed(pattern.context, outcome))
    }

    #[inline]
    fn new_receive(&mut self, pattern: Pattern, buffer: Buffer, capacity: usize) -> Result<u32> {
        let op = self.ops.allocate(Stage::Posted, buffer, capacity)?;
        let receive = &mut self.ops[op];
        receive.context = pattern.context;
        receive.from = pattern.from;
        receive.tag = pattern.tag;
        receive.descriptor = None;
        Ok(op)
    }

    /// Give an unexpected message to the receive `op`. False: it was withdrawn, look for another.
    fn take_unexpected(&mut self, op: u32, peer: u32, tag: i32, unexpected: Unexpected, was: Incoming) -> bool {
        match unexpected {
            Unexpected::Payload { source, bytes, total } => {
                let expected = self.ops.matched(op, source, tag, total);
                self.ops[op].to = peer;
                let here = expected.min(bytes.len() as u64);
                // SAFETY: the receive's pending buffer has room for `expected` bytes.
                unsafe { self.ops[op].buffer.write(0, here as usize, bytes.as_ptr()) };
                if bytes.len() as u64 == total {
                    self.ops.complete_as_is(op);
                } else {
                    self.ops[op].stage = Stage::Receiving {
                        received: bytes.len() as u64,
                        expected,
                    };
                    self.redirect(peer, was, Incoming::Receive(op));
                }
                if let Payload::Long(block) = bytes {
                    self.memory.spare.give(block);
                }
                true
            }
            Unexpected::Announced(record) => {
                let taken = self.take_offer(peer, record);
                if taken {
                    self.fetch(op, peer, tag, record);
                }
                taken
            }
            Unexpected::Taken(record) => {
                self.fetch(op, peer, tag, record);
                true
            }
            Unexpected::Loopback { source, op: send } => {
                let (from, total) = (self.ops[send].buffer, self.ops[send].length);
                let expected = self.ops.matched(op, source, tag, total as u64);
                // SAFETY: both are pending user buffers; `matched` limits the length.
                unsafe { self.ops[op].buffer.take_from(from, expected as usize) };
                self.ops.complete_as_is(op);
                self.ops.complete_as_is(send);
                true
            }
            Unexpected::Lost { source } => {
                self.ops.matched(op, source, tag, 0);
                self.ops[op].outcome.peer_failed = true;
                self.ops.complete_as_is(op);
                true
            }
        }
    }

    /// What the first matching message looks like.
    #[inline]
    pub fn probe(&mut self, pattern: Pattern) -> Option<Arrival> {
        let entry = self.first_of(pattern)?;
        Some(self.arrival_of(entry))
    }

    /// What an unexpected message will report.
    #[inline]
    fn arrival_of(&mut self, entry: u32) -> Arrival {
        let ops = &self.ops;
        let (key, unexpected) = self.matching.unexpected_mut(entry);
        let bytes = match unexpected {
            Unexpected::Payload { total, .. } => *total,
            Unexpected::Announced(record) | Unexpected::Taken(record) => record.total,
            Unexpected::Loopback { op, .. } => ops[*op].length as u64,
            Unexpected::Lost { .. } => 0,
        };
        Arrival {
            source: unexpected.source(),
            tag: key.tag,
            bytes,
        }
    }

    /// The first matching message. Those before it that were withdrawn before any receive took them are forgotten.
    #[inline]
    fn first_of(&mut self, pattern: Pattern) -> Option<u32> {
        loop {
            let entry = self.matching.find_unexpected(pattern)?;
            let Unexpected::Announced(record) = *self.matching.unexpected_mut(entry).1 else {
                return Some(entry);
            };
            if !self
                .descriptor(record.descriptor)
                .is_none_or(|descriptor| descriptor.is_withdrawn())
            {
                return Some(entry);
            }
            let (key, _) = self.remove_unexpected(entry);
            self.take_offer(key.from, record);
        }
    }

    /// Take the first matching message out of matching. An offer is taken with it: it cannot be withdrawn any more.
    pub fn matched_probe(&mut self, pattern: Pattern) -> Result<Option<(MessageId, Arrival)>> {
        loop {
            let Some(entry) = self.first_of(pattern) else {
                return Ok(None);
            };
            let arrival = self.arrival_of(entry);
            let message = self.take_out(entry)?;
            let (key, unexpected) = self.matching.unexpected_mut(entry);
            if let Unexpected::Announced(record) = *unexpected {
                *unexpected = Unexpected::Taken(record);
                if !self.take_offer(key.from, record) {
                    self.matching.remove_taken(entry);
                    continue;
                }
            }
            return Ok(Some((message, arrival)));
        }
    }

    /// Receive a message that [`Self::matched_probe`] took.
    ///
    /// # Safety
    /// As for [`Self::receive`].
    pub unsafe fn receive_matched(&mut self, message: MessageId, buffer: Buffer, capacity: usize) -> Result<u32> {
        self.ops.reserve()?;
        let entry = self.matching.taken(message).ok_or(Error::NoSuchMessage)?;
        let (key, unexpected) = self.matching.remove_taken(entry);
        let pattern = Pattern {
            context: key.context,
            from: Some(key.from),
            tag: Some(key.tag),
        };
        let op = self.new_receive(pattern, buffer, capacity)?;
        let given = self.take_unexpected(op, key.from, key.tag, unexpected, Incoming::Unexpected(entry));
        debug_assert!(given, "a taken message cannot be withdrawn");
        Ok(op)
    }

    /// Withdraw a receive, or an announced send. False: too late.
    pub fn cancel(&mut self, op: u32) -> bool {
        if self.ops[op].stage == Stage::Posted {
            if self.withdraw_advert(op).is_some() {
                return false;
            }
            self.matching.remove_posted(&mut self.ops, op);
            self.ops.complete(
                op,
                Outcome {
                    cancelled: true,
                    ..Outcome::default()
                },
            );
            return true;
        }
        self.cancel_send(op)
    }
}

/// Copy a message that is here whole, and fits; what it reports.
///
/// # Safety
/// `buffer` must be writable for `capacity` bytes.
#[inline]
unsafe fn copy_whole(key: Key, unexpected: &Unexpected, buffer: *mut u8, capacity: usize) -> Option<Arrival> {
    let (source, bytes) = unexpected.whole(capacity)?;
    // SAFETY: the buffer has room for them.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, bytes.len()) };
    Some(Arrival {
        source,
        tag: key.tag,
        bytes: bytes.len() as u64,
    })
}
