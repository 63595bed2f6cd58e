//! Long messages that go at once where ranks share CPUs: copied into memory that the receiver maps, announced, and fetched from there
//! by whoever matches them.
//!
//! The sender goes on as soon as it has copied; it needs to answer nothing, and neither side waits for the other's turn on a CPU. A message
//! that comes before its receive stays where it is. A block serves messages to all peers, and the one that came last goes out first, since it is
//! still in a cache. As a cell does, it changes hands with the message: who has read it writes it in less time than who wrote it before
//! (docs/decisions/0022, 0104). Who has enough of them leaves it to the sender.

use isthmus_shm::{Offset, Place, Segment};
use isthmus_transfer::copy::{Copying, copy_by};

use crate::channel::cells;
use crate::channel::outbound::Message;
use crate::channel::record::ReadyToSend;
use crate::counters;
use crate::engine::Engine;
use crate::membership::boot;
use crate::memory::arena::Arena;
use crate::memory::buffer::Buffer;
use crate::memory::heap;
use crate::ops::{Ops, Owner};
use crate::protocol::access::Access;
use crate::protocol::mechanism;
use crate::rules::Rule;
use crate::types::OpId;

/// Blocks that one process makes.
const MOST: usize = 8;
/// Who has fewer keeps what comes to it.
const KEPT: usize = 4;
/// Bytes that the blocks of all ranks take at most.
const ALL: u64 = 256 << 20;
/// More is not worth a copy.
const LARGEST: u64 = 1 << 20;

/// A copy by strings is slow where one end lies a few bytes further in its page than the other.
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
    /// Bytes of a block; 0: there are none.
    size: u64,
    made: usize,
    /// The one that came last is the last.
    free: Vec<Offset>,
    /// Each with the send that it belongs to, which nobody asks for.
    away: Vec<(OpId, Offset)>,
}

impl Blocks {
    /// None yet, of a job of so many ranks.
    pub fn new(ranks: u32) -> Self {
        let share = ALL / MOST as u64 / u64::from(ranks.max(1));
        let size = match boot::is_oversubscribed() && Rule::Blocks.holds() {
            true => LARGEST.min(1 << share.max(1).ilog2()),
            false => 0,
        };
        Self {
            size,
            made: 0,
            free: Vec::new(),
            away: Vec::new(),
        }
    }

    /// Does a message of `length` bytes go this way, if a block is free? Shorter ones stream through a ring in less time.
    #[inline]
    pub fn suit(&self, length: usize) -> bool {
        length as u64 <= self.size && length as u64 > cells::LARGEST
    }

    /// A block, if one is free or may be made.
    fn take(&mut self, segment: &Segment, arena: &mut Arena, ops: &Ops) -> Option<Offset> {
        self.away.retain(|&(op, at)| {
            let is_away = ops.find(op).is_some();
            if !is_away {
                self.free.push(at);
            }
            is_away
        });
        self.free.pop().or_else(|| {
            if self.made == MOST {
                return None;
            }
            // What cannot be had now is not asked for again: rings do.
            self.made += 1;
            arena.allocate(segment, self.size + PAGE).ok()
        })
    }

    /// The receiver of this send has kept its block.
    pub fn leave(&mut self, op: OpId) {
        if let Some(at) = self.away.iter().position(|(own, _)| *own == op) {
            self.away.swap_remove(at);
            self.made = self.made.saturating_sub(1);
        }
    }

    /// Keep the block at `at`, which a peer may have told us, whose message we have read. False: it goes back.
    fn keep(&mut self, segment: &Segment, at: Offset) -> bool {
        let is_wanted = self.free.len() + self.away.len() < KEPT && self.made < MOST;
        if !is_wanted || segment.at(at, self.size + PAGE).is_none() {
            return false;
        }
        self.made += 1;
        self.free.push(at);
        true
    }
}

impl Engine {
    /// Copy the message into a block, and announce it there. False: no block is free.
    ///
    /// # Errors
    /// There is no memory to announce it.
    pub(super) fn send_in_block(&mut self, to: u32, message: Message) -> crate::Result<bool> {
        let Some(block) = self
            .transfers
            .blocks
            .take(self.segment, &mut self.memory.arena, &self.ops)
        else {
            return Ok(false);
        };
        let (row, length) = (message.buffer.row(), message.length);
        let begins = row.map_or(0, |from| beginning(from.addr() as u64));
        let Some(there) = self.segment.at(Offset(block.0 + begins), length as u64) else {
            return Ok(false);
        };
        let there = there.as_ptr();
        // SAFETY: the block is ours, has room for the message there, and is no part of the user's pending buffer.
        unsafe {
            match row {
                Some(from) if Copying::strings_suit(from, there) => copy_by(Copying::String, from, there, length),
                _ => message.buffer.read(0, length, there),
            }
        }
        let message = Message {
            buffer: Buffer::source(there),
            ..message
        };
        match self.announce(to, message, ReadyToSend::in_block(begins / LINE)) {
            Ok(op) => {
                self.ops[op].owner = Owner::Nobody;
                self.transfers.blocks.away.push((self.ops.id(op), block));
                counters::IN_BLOCKS.add(1);
                Ok(true)
            }
            Err(error) => {
                self.transfers.blocks.free.push(block);
                Err(error)
            }
        }
    }

    /// How to fetch a message that lies in a block of its sender's.
    pub(super) fn block_access(&self, record: ReadyToSend, length: u64) -> Option<Access> {
        record.lines_into_block()?;
        self.mapped_access(record.place, length)
            .filter(|access| mechanism::may_pull(access.way))
    }

    /// The message that this announced is here: keep its block, if it lay in one and we have few. Its sender must be told.
    pub(super) fn keep_block(&mut self, record: ReadyToSend) -> bool {
        let Some(lines) = record.lines_into_block() else {
            return false;
        };
        let message = heap::address_of(Place(record.place), 1);
        let begins = message.and_then(|at| (at.addr().get() as u64).checked_sub(lines * LINE));
        let block = begins.and_then(|address| self.segment.offset_of(address, 0));
        block.is_some_and(|block| self.transfers.blocks.keep(self.segment, Offset(block)))
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
            assert!(begins < PAGE && begins % LINE == 0, "{address}: {begins}");
            assert!(apart.abs_diff(PAGE / 2) < LINE, "{address}: {begins}");
        }
    }
}
