//! Cells: memory for the payload of one message, which changes hands with the message.
//!
//! The lines of a ring are written by one side and read by the other, so each has to come back before it is written
//! again. A cell is answered in: the reader of a message owns its cell, and writes its own next message to that peer into
//! it, whose lines are in this CPU's cache by then. So each line crosses once a message, and not twice
//! (docs/decisions/0007).
//!
//! # Whose it is
//! A cell belongs to its maker, and from the record on that says that the message is whole to the receiver of that record. It
//! stays between those two. No rank waits for one: a rank without a cell sends through the ring, so what flows in one direction only
//! does, but for its first message.
//!
//! Nobody but its owner touches a cell, and what a peer wrote about one is range-checked where it arrives (law 6).

use std::ptr::NonNull;
use std::sync::OnceLock;

use isthmus_shm::{Offset, Segment};

use crate::counters;
use crate::limits::{CELL_AFTER, CELL_LONGEST, CELL_SMALLEST, CELLS_OF_ALL, CELLS_OF_PAIR, CELLS_OF_RANK};
use crate::memory::arena::Arena;
use crate::rules::Rule;

/// Bytes of a cell: the same in all processes of the job.
fn size(segment: &Segment) -> u64 {
    static SIZE: OnceLock<u64> = OnceLock::new();
    *SIZE.get_or_init(|| size_among(segment.ranks()))
}

/// The same in a job of so many ranks: each can make one for every other.
fn size_among(ranks: u32) -> u64 {
    let share = CELLS_OF_RANK / u64::from(ranks.max(1));
    (1 << share.max(1).ilog2()).clamp(CELL_SMALLEST, CELL_LONGEST)
}

/// Cells that one process makes in a job of so many ranks.
fn most_among(ranks: u32) -> u32 {
    let bytes = CELLS_OF_RANK.min(CELLS_OF_ALL / u64::from(ranks.max(1)));
    (bytes / size_among(ranks)) as u32
}

/// Payload of one record of a message of `total` bytes: both sides copy at the same time, and each piece has its price.
pub fn piece(total: usize) -> usize {
    (total / 4).next_power_of_two().clamp(8 << 10, 16 << 10)
}

/// One cell, which is ours.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub at: Offset,
    pub base: NonNull<u8>,
}

impl Cell {
    /// The cell at `at`, which a peer may have told us.
    pub fn find(segment: &Segment, at: Offset) -> Option<Self> {
        let base = segment.at(at, size(segment))?;
        Some(Self { at, base })
    }

    /// Where bytes `from..from + length` of a message lie, if there can be so many.
    pub fn bytes(self, segment: &Segment, from: u32, length: u32) -> Option<*mut u8> {
        let end = u64::from(from) + u64::from(length);
        // SAFETY: within the cell, which was range-checked when it was found.
        (end <= size(segment)).then(|| unsafe { self.base.as_ptr().add(from as usize) })
    }
}

/// The cells that we have for messages to one peer.
#[derive(Debug, Default)]
pub struct Cells {
    /// The one that came last is the last.
    ours: Vec<Cell>,
    longest: usize,
    /// We have made one.
    made: bool,
    /// Longer messages to this peer that found none.
    missed: u32,
}

impl Cells {
    /// Of a peer that shares no memory with us.
    pub fn never() -> Self {
        Self {
            made: true,
            ..Self::default()
        }
    }

    /// The cell for a message of `length` bytes, if there is one for it.
    #[inline]
    pub fn fitting(&self, length: usize) -> Option<Cell> {
        self.ours.last().copied().filter(|_| length <= self.longest)
    }

    /// Is there a cell for a message of `length` bytes, which goes there in one piece?
    #[inline]
    pub fn fit_whole(&self, length: usize) -> bool {
        length <= piece(length) && self.fitting(length).is_some()
    }

    /// It goes to the peer.
    pub fn leave(&mut self) {
        self.ours.pop();
        counters::IN_CELLS.add(1);
    }

    /// A cell that the peer's message came in.
    pub fn keep(&mut self, segment: &Segment, cell: Cell) {
        self.longest = size(segment) as usize;
        // An honest peer has no more to give.
        if self.ours.len() < CELLS_OF_PAIR {
            self.ours.push(cell);
        }
    }

    /// A longer message finds none.
    #[inline]
    pub fn miss(&mut self) {
        self.missed += u32::from(!self.made);
    }

    /// Is it time to make one, if the peer answers?
    #[inline]
    pub fn are_wanted(&self) -> bool {
        self.missed > CELL_AFTER && Rule::Cells.holds()
    }

    /// Make one, if this process may and the peer, from which so many longer messages came, answers. What cannot be had now
    /// is not asked for again: rings do.
    pub fn make(&mut self, segment: &Segment, arena: &mut Arena, made: &mut u32, heard: u32) {
        self.missed = 0;
        if heard <= CELL_AFTER {
            return;
        }
        self.made = true;
        if *made >= most_among(segment.ranks()) {
            return;
        }
        let cell = arena.allocate(segment, size(segment)).ok();
        if let Some(cell) = cell.and_then(|at| Cell::find(segment, at)) {
            *made += 1;
            self.keep(segment, cell);
        }
    }

    /// The message that it left with does not become whole.
    pub fn take_back(&mut self, cell: Option<Cell>) {
        self.ours.extend(cell);
    }

    /// The peer has died: what we have serves others.
    pub fn release(&mut self, segment: &Segment, arena: &mut Arena, made: &mut u32) {
        for cell in self.ours.drain(..) {
            arena.release(cell.at, size(segment));
            *made = made.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pairs_have_cells_until_they_take_too_much() {
        let among = |ranks| (size_among(ranks) >> 10, most_among(ranks));
        let expected = [
            (2, (512, 4)),
            (4, (512, 4)),
            (8, (256, 8)),
            (16, (128, 16)),
            (24, (64, 32)),
            (64, (32, 64)),
            (128, (16, 128)),
        ];
        assert_eq!(expected.map(|(ranks, _)| (ranks, among(ranks))), expected);
        assert_eq!(
            [256, 1000, 4096].map(among),
            [(8, 128), (4, 65), (4, 16)],
            "a part of them"
        );
    }

    #[test]
    fn pieces() {
        assert_eq!(piece(1 << 10), 8 << 10);
        assert_eq!(piece(32 << 10), 8 << 10);
        assert_eq!(piece(33 << 10), 16 << 10);
        assert_eq!(piece(128 << 10), 16 << 10);
    }
}
