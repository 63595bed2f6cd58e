//! Long messages that go at once where ranks share CPUs: copied into memory that the receiver maps, announced, and fetched from there
//! by their receivers.
//!
//! The sender goes on as soon as it has copied; it needs to answer nothing, and neither side waits for the other's turn on a CPU. A message
//! that comes before its receive stays where it is. A block serves messages to all peers, and the one that came last goes out first, since it is
//! still in a cache. As a cell does, it changes hands with the message: its reader writes it in less time than its writer
//! (docs/decisions/0007). A receiver with enough of them leaves it to the sender.

use isthmus_shm::{Offset, Segment};
use isthmus_transfer::copy::{Copying, copy_by};

use crate::channel::outbound::Message;
use crate::channel::record::ReadyToSend;
use crate::counters;
use crate::engine::Engine;
use crate::limits::{BLOCKS, BLOCKS_KEPT};
use crate::memory::arena::Arena;
use crate::memory::buffer::Buffer;
use crate::ops::{Ops, Owner};
use crate::types::OpId;

/// A copy by `rep movsb` is slow where one end lies a few bytes further in its page than the other.
const PAGE: u64 = 4 << 10;

/// A line.
const LINE: u64 = 64;

/// Where in a block a message begins whose buffer is at that address: half a page from where it lies there, as from where it will lie at its
/// receiver, since programs keep what they send and receive at like places; and at a line.
fn beginning(address: u64) -> u64 {
    (address + PAGE / 2) % PAGE / LINE * LINE
}

/// The blocks of this process.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// Blocks have room for two to the power of this; `None`: there are none. It goes by tunables, which may be others at other ranks.
    order: Option<u32>,
    /// Those that it has, and those that could not be had.
    count: usize,
    /// The one that came last is the last.
    free: Vec<Offset>,
    away: Vec<Away>,
}

/// A block with a message.
#[derive(Debug)]
struct Away {
    block: Offset,
    /// The send, which nobody asks for, and whom it goes to.
    op: OpId,
    to: u32,
}

impl Blocks {
    /// None yet, for messages of so many bytes.
    pub fn new(range: Option<(u64, u64)>) -> Self {
        Self {
            order: range.map(|(_, longest)| longest.ilog2()),
            count: 0,
            free: Vec::new(),
            away: Vec::new(),
        }
    }

    /// Of another size from now on.
    #[cfg(test)]
    pub fn open(&mut self, order: u32) {
        self.order = Some(order);
    }

    /// Blocks here, and with messages.
    #[cfg(test)]
    pub fn here_and_away(&self) -> (usize, usize) {
        (self.free.len(), self.away.len())
    }

    /// A block, if one is free or may be made.
    fn take(&mut self, segment: &Segment, arena: &mut Arena, ops: &Ops) -> Option<Offset> {
        let bytes = bytes(self.order?);
        self.away.retain(|away| {
            let is_away = ops.find(away.op).is_some();
            if !is_away {
                self.free.push(away.block);
            }
            is_away
        });
        self.free.pop().or_else(|| {
            if self.count == BLOCKS {
                return None;
            }
            // Refused memory is not asked for again: rings do.
            self.count += 1;
            arena.allocate(segment, bytes).ok()
        })
    }

    /// Does the message of this send lie in a block? Then it is the receiver alone who ends the send: it may keep the block.
    pub fn has_sent(&self, op: OpId) -> bool {
        self.away.iter().any(|away| away.op == op)
    }

    /// The receiver of this send has kept its block.
    pub fn leave(&mut self, op: OpId) {
        self.drop_lost(|away| away.op == op);
    }

    /// The peer has died. It may have kept blocks of ours, and sent them to others, without having told us.
    pub fn forget(&mut self, peer: u32) {
        self.drop_lost(|away| away.to == peer);
    }

    fn drop_lost(&mut self, is_lost: impl Fn(&Away) -> bool) {
        let before = self.away.len();
        self.away.retain(|away| !is_lost(away));
        self.count = self.count.saturating_sub(before - self.away.len());
    }

    /// Keep the block at `at`, which a peer may have told us, whose message we have read. False: it goes back.
    fn keep(&mut self, segment: &Segment, at: Offset, order: u32) -> bool {
        let is_wanted =
            self.free.len() + self.away.len() < BLOCKS_KEPT && self.count < BLOCKS && self.order == Some(order);
        if !is_wanted || segment.at(at, bytes(order)).is_none() {
            return false;
        }
        self.count += 1;
        self.free.push(at);
        true
    }
}

/// Bytes of a block of this order.
fn bytes(order: u32) -> u64 {
    (1 << order) + PAGE
}

/// Where in a block a message lies.
#[derive(Debug, Clone, Copy)]
pub(super) struct InBlock {
    pub at: Offset,
    /// Lines from the beginning of the block.
    pub lines: u64,
    pub order: u32,
}

impl Engine {
    /// Copy the message into a block, and announce it there. False: no block is free, or the peer is on another node.
    ///
    /// # Errors
    /// There is no memory to announce it.
    pub(super) fn send_in_block(&mut self, to: u32, message: Message) -> crate::Result<bool> {
        if self.channels.is_remote(to) {
            return Ok(false);
        }
        let (blocks, arena) = (&mut self.transfers.blocks, &mut self.memory.arena);
        let order = blocks.order.unwrap_or(0);
        let Some(block) = blocks.take(self.segment, arena, &self.ops) else {
            return Ok(false);
        };
        let (row, length) = (message.buffer.row(), message.length);
        let begins = row.map_or(0, |from| beginning(from.addr() as u64));
        let at = Offset(block.0 + begins);
        let Some(there) = self.segment.at(at, length as u64) else {
            return Ok(false);
        };
        let there = there.as_ptr();
        // SAFETY: the block is ours, has room for the message there, and is no part of the user's pending buffer.
        unsafe {
            match row {
                Some(from) if Copying::rep_movsb_suits(from, there) => copy_by(Copying::RepMovsb, from, there, length),
                _ => message.buffer.read(0, length, there),
            }
        }
        let message = Message {
            buffer: Buffer::source(there),
            ..message
        };
        let lines = begins / LINE;
        match self.announce(to, message, Some(InBlock { at, lines, order })) {
            Ok(op) => {
                self.ops[op].owner = Owner::Nobody;
                let op = self.ops.id(op);
                self.transfers.blocks.away.push(Away { block, op, to });
                counters::IN_BLOCKS.add(1);
                counters::BLOCK_BYTES.add(length as u64);
                Ok(true)
            }
            Err(error) => {
                self.transfers.blocks.free.push(block);
                Err(error)
            }
        }
    }

    /// Copy the message out of its block, if it lies in one.
    pub(super) fn take_from_block(&self, op: u32, record: ReadyToSend, expected: u64) -> bool {
        let at = record.lines_into_block().map(|_| Offset(record.shared_address));
        let there = at.and_then(|at| self.segment.at(at, expected));
        if let Some(there) = there {
            // SAFETY: the receive's pending buffer has room for `expected` bytes; as many are mapped there, which are left alone until the
            // sender hears that we have finished.
            unsafe { self.ops[op].buffer.write(0, expected as usize, there.as_ptr()) };
        }
        there.is_some()
    }

    /// The message that this announced is here: keep its block, if it lay in one and we have few. Its sender must be told.
    pub(super) fn keep_block(&mut self, record: ReadyToSend) -> bool {
        let Some((lines, order)) = record.lines_into_block() else {
            return false;
        };
        let block = record.shared_address.checked_sub(lines * LINE);
        block.is_some_and(|block| self.transfers.blocks.keep(self.segment, Offset(block), order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_begin_at_lines_and_far_from_their_buffers() {
        for address in [0, 16, 100, 2047, 2048, 4095, 0x7fff_1230] {
            let begins = beginning(address);
            let apart = begins.abs_diff(address % PAGE);
            assert!(begins < PAGE && begins.is_multiple_of(LINE), "{address}: {begins}");
            assert!(apart.abs_diff(PAGE / 2) < LINE, "{address}: {begins}");
        }
    }
}
