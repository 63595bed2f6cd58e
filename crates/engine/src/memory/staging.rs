//! Memory in which a process shows others what does not fit into a post of a [`Board`]: one copy in, and everyone copies
//! out.
//!
//! Pieces belong to a step of a board, and are free again when all its members have finished that step. Short pieces have
//! a few slots, which stay in the nearest cache. Longer ones go round a ring that is larger than a core's own cache, since
//! lines that a reader still holds there are slow to write again: twice that size was measured to be two to five times as
//! fast from 4 KiB on (Zen 4); `ring_size.rs` tells how large it is where the last cache is far, or ranks share CPUs. There pieces that
//! are not long have a short ring of their own, which stays in the cache of the core that ranks take turns on. Nothing is taken before it is needed.
//!
//! What a non-blocking call shows is held until the slowest member has come to that call, which it may do only after calls on
//! other boards. So such calls have slots and a ring of their own, and no other call waits for theirs; and where these are
//! full, each has pieces of its own for as many steps as may be under way ([`Spilled`]), so that it goes on whatever becomes of the
//! others.

mod publish;

use std::collections::VecDeque;
use std::sync::Arc;

use isthmus_shm::{Offset, Segment};

use crate::channel::ring_size;
use crate::limits::{
    SHORT_RING, SHORT_RING_PIECE, SHORT_STAGED, STAGED_LARGEST, STAGED_SLOTS, STAGED_SLOTS_OVERSUBSCRIBED,
    STAGED_SMALLEST,
};
use crate::memory::arena::Arena;
use crate::memory::board::{Board, Step};
use crate::{Entered, Result, allows_threads, counters, tunables};

pub use publish::{copy_for_others, copy_from_others, copy_past_caches};

/// The longest piece: a round number, and what its users put before it.
pub const LONGEST: usize = 264 << 10;

/// A piece of memory that everyone can read.
#[derive(Debug, Clone, Copy)]
pub struct Staged {
    /// Its address here.
    pub data: *mut u8,
    /// Its place in the segment.
    pub offset: u64,
}

// SAFETY: the address is of memory in the job segment, which stays mapped, and every thread may write there for the
// owner of the piece.
unsafe impl Send for Staged {}

/// The possible readers of a piece.
#[derive(Debug)]
struct Readers {
    board: Arc<Board>,
    step: Step,
}

impl Readers {
    fn are_done(&self) -> bool {
        self.board.is_finished(self.step)
    }
}

/// A piece of the ring.
#[derive(Debug)]
struct StagedPiece {
    /// Where it begins, counted without going round.
    start: u64,
    /// `None`: nobody.
    readers: Option<Readers>,
}

#[derive(Debug)]
struct Ring {
    base: Offset,
    size: u64,
    /// First free byte, counted without going round.
    head: u64,
    /// Oldest first.
    pieces: VecDeque<StagedPiece>,
    /// There was no room for a piece, and has not been since.
    was_full: bool,
}

/// Memory for one piece that found no room.
#[derive(Debug)]
struct Spilled {
    offset: Offset,
    length: u64,
    readers: Readers,
}

/// All of a process's, for one kind of calls.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    slots: Option<Offset>,
    readers: [Option<Readers>; STAGED_SLOTS_OVERSUBSCRIBED],
    next_slot: usize,
    /// For pieces up to [`SHORT_RING_PIECE`] where ranks share CPUs.
    short_ring: Option<Ring>,
    ring: Option<Ring>,
    spilled: Vec<Spilled>,
}

impl Staging {
    /// Memory for `length` bytes, at most [`LONGEST`], until all members of `board` have finished `step`. `None`: not yet. `by_half`: once the
    /// ring was full, half of it is to be free.
    fn take(
        &mut self,
        segment: &Segment,
        arena: &mut Arena,
        board: &Arc<Board>,
        step: Step,
        length: usize,
        by_half: bool,
    ) -> Result<Option<Offset>> {
        if length <= SHORT_STAGED {
            return self.take_slot(segment, arena, board, step);
        }
        let is_short = length <= SHORT_RING_PIECE && publish::ranks_take_turns() && tunables::STAGING.get() == 0;
        if is_short && self.short_ring.is_none() {
            // Without memory for it the long one serves.
            self.short_ring = Ring::of_size(segment, arena, SHORT_RING).ok();
        }
        let ring = match (&mut self.short_ring, &mut self.ring) {
            (Some(ring), _) if is_short => ring,
            (_, Some(ring)) => ring,
            (_, ring) => ring.insert(Ring::new(segment, arena)?),
        };
        let readers = || Readers {
            board: Arc::clone(board),
            step,
        };
        Ok(ring.take(length as u64, by_half, readers))
    }

    fn rings(&self) -> impl Iterator<Item = &Ring> {
        self.short_ring.iter().chain(&self.ring)
    }

    #[inline]
    fn take_slot(
        &mut self,
        segment: &Segment,
        arena: &mut Arena,
        board: &Arc<Board>,
        step: Step,
    ) -> Result<Option<Offset>> {
        let Offset(base) = match self.slots {
            Some(base) => base,
            None => *self
                .slots
                .insert(arena.allocate(segment, (STAGED_SLOTS_OVERSUBSCRIBED * SHORT_STAGED) as u64)?),
        };
        let slot = self.next_slot;
        match &mut self.readers[slot] {
            Some(readers) if !readers.are_done() => return Ok(None),
            Some(readers) if Arc::ptr_eq(&readers.board, board) => readers.step = step,
            readers => {
                *readers = Some(Readers {
                    board: Arc::clone(board),
                    step,
                });
            }
        }
        let slots = match publish::ranks_take_turns() {
            true => STAGED_SLOTS_OVERSUBSCRIBED,
            false => STAGED_SLOTS,
        };
        self.next_slot = (slot + 1) % slots;
        Ok(Some(Offset(base + (slot * SHORT_STAGED) as u64)))
    }

    /// As [`Self::take`], and if there is no room, memory from the arena.
    fn take_or_spill(
        &mut self,
        segment: &Segment,
        arena: &mut Arena,
        board: &Arc<Board>,
        step: Step,
        length: usize,
    ) -> Result<Offset> {
        if let Some(taken) = self.take(segment, arena, board, step, length, false)? {
            return Ok(taken);
        }
        self.drain(arena);
        let length = length as u64;
        let offset = arena.allocate(segment, length)?;
        let board = Arc::clone(board);
        self.spilled.push(Spilled {
            offset,
            length,
            readers: Readers { board, step },
        });
        Ok(offset)
    }

    /// Give back what has spilled and everyone has read.
    fn drain(&mut self, arena: &mut Arena) {
        self.spilled.retain(|spilled| {
            let are_done = spilled.readers.are_done();
            if are_done {
                arena.release(spilled.offset, spilled.length);
            }
            !are_done
        });
    }

    /// Wait for nobody who has failed.
    #[cold]
    fn bury(&self, has_failed: impl Fn(u32) -> bool) {
        let pieces = self.rings().flat_map(|ring| &ring.pieces);
        let readers = pieces.filter_map(|piece| piece.readers.as_ref());
        let spilled = self.spilled.iter().map(|spilled| &spilled.readers);
        for readers in readers.chain(self.readers.iter().flatten()).chain(spilled) {
            readers.board.bury(&has_failed);
        }
    }

    /// Let go of boards that nobody else here needs, and whose members are done.
    fn settle(&mut self, arena: &mut Arena) {
        self.drain(arena);
        let is_last = |readers: &Readers| Arc::strong_count(&readers.board) == 1 && readers.are_done();
        let slots = self.readers.iter_mut();
        let rings = self.short_ring.iter_mut().chain(&mut self.ring);
        let pieces = rings.flat_map(|ring| &mut ring.pieces);
        for readers in slots.chain(pieces.map(|piece| &mut piece.readers)) {
            // A board with several pieces here is let go of next time.
            readers.take_if(|readers| is_last(readers));
        }
    }
}

impl Ring {
    fn new(segment: &Segment, arena: &mut Arena) -> Result<Self> {
        let wanted = match tunables::STAGING.get() {
            0 => ring_size::suitable(segment.ranks()),
            bytes => bytes,
        };
        let mut size = wanted.clamp(STAGED_SMALLEST, STAGED_LARGEST).next_power_of_two();
        loop {
            match Self::of_size(segment, arena, size) {
                Err(_) if size > STAGED_SMALLEST => size /= 2,
                made => return made,
            }
        }
    }

    fn of_size(segment: &Segment, arena: &mut Arena, size: u64) -> Result<Self> {
        let base = arena.allocate(segment, size)?;
        segment.populate(base, size);
        Ok(Self {
            base,
            size,
            head: 0,
            pieces: VecDeque::new(),
            was_full: false,
        })
    }

    /// Room for a piece. `by_half`: if it was full, once half of it is free. A woken rank then goes through several calls before it waits
    /// again; else, with 128 ranks on two CPUs, each call ends in as many wakes (docs/decisions/0028).
    fn take(&mut self, length: u64, by_half: bool, readers: impl FnOnce() -> Readers) -> Option<Offset> {
        let length = length.next_multiple_of(128);
        // A piece does not go over the end.
        let mut start = self.head;
        if start % self.size + length > self.size {
            start = start.next_multiple_of(self.size);
        }
        let end = start + length;
        let most = match by_half && self.was_full {
            true => self.size / 2,
            false => self.size,
        };
        while let Some(oldest) = self.pieces.front() {
            if end - oldest.start <= most {
                break;
            }
            if oldest.readers.as_ref().is_some_and(|readers| !readers.are_done()) {
                self.was_full = true;
                return None;
            }
            self.pieces.pop_front();
        }
        self.was_full = false;
        self.pieces.push_back(StagedPiece {
            start: self.head,
            readers: Some(readers()),
        });
        self.head = end;
        Some(Offset(self.base.0 + start % self.size))
    }
}

/// # Panics
/// Never: the memory was taken.
fn staged(segment: &Segment, offset: Offset, length: usize) -> Staged {
    let data = segment.at(offset, length as u64).expect("what was taken is there");
    Staged {
        data: data.as_ptr(),
        offset: offset.0,
    }
}

impl Entered {
    /// Memory for `length` bytes, at most [`LONGEST`], that everyone can read until all members of `board` have finished
    /// `step`. `None`: not yet; the slowest reader rings our doorbell. Does not block. For calls that follow each other everywhere.
    pub fn stage(&mut self, board: &Arc<Board>, step: Step, length: usize) -> Result<Option<Staged>> {
        let engine = self.engine();
        // With one thread all that the ring holds when a call begins is of calls that have ended here. With several, one could wait for what
        // another one is to do.
        let by_half = step.index() == 0 && publish::ranks_take_turns() && !allows_threads();
        let (segment, arena, staging) = (engine.segment, &mut engine.memory.arena, &mut engine.memory.staging);
        let mut taken = staging.take(segment, arena, board, step, length, by_half)?;
        if taken.is_none() && engine.has_faults() {
            engine.memory.staging.bury(|peer| engine.has_failed(peer));
            let (arena, staging) = (&mut engine.memory.arena, &mut engine.memory.staging);
            taken = staging.take(segment, arena, board, step, length, by_half)?;
        }
        counters::STAGED_BYTES.add(taken.map_or(0, |_| length as u64));
        Ok(taken.map(|offset| staged(engine.segment, offset, length)))
    }

    /// The same for a caller that has waited for long, while another thread's call has what it waits for. There is always some, unless the job has no
    /// more memory.
    pub fn stage_or_spill(&mut self, board: &Arc<Board>, step: Step, length: usize) -> Result<Staged> {
        let engine = self.engine();
        let (segment, arena) = (engine.segment, &mut engine.memory.arena);
        let staging = &mut engine.memory.staging;
        let offset = staging.take_or_spill(segment, arena, board, step, length)?;
        counters::STAGED_BYTES.add(length as u64);
        Ok(staged(segment, offset, length))
    }

    /// The same for calls that need not follow each other. There is always some, unless the job has no more memory.
    pub fn stage_apart(&mut self, board: &Arc<Board>, step: Step, length: usize) -> Result<Staged> {
        let engine = self.engine();
        if engine.has_faults() {
            engine.memory.staging_apart.bury(|peer| engine.has_failed(peer));
        }
        let (segment, arena) = (engine.segment, &mut engine.memory.arena);
        let offset = engine
            .memory
            .staging_apart
            .take_or_spill(segment, arena, board, step, length)?;
        counters::STAGED_BYTES.add(length as u64);
        Ok(staged(segment, offset, length))
    }

    /// Let go of boards that are needed only for what is staged, where all have read it.
    pub(crate) fn settle_staged(&mut self) {
        let engine = self.engine();
        engine.memory.staging.settle(&mut engine.memory.arena);
        engine.memory.staging_apart.settle(&mut engine.memory.arena);
    }
}
