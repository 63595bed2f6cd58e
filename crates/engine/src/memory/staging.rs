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

use isthmus_shm::segment::{self, PAGE, SLOTS_OF_EACH};
use isthmus_shm::{Offset, Segment};

use crate::channel::ring_size;
use crate::limits::{
    ROOMY_SEGMENT, SHORT_RING, SHORT_RING_PIECE, SHORT_STAGED, STAGED_LARGEST, STAGED_SLOTS,
    STAGED_SLOTS_OVERSUBSCRIBED, STAGED_SMALLEST, STAGED_STEP,
};
use crate::memory::arena::Arena;
use crate::memory::board::{Board, Step};
use crate::memory::huge_pages::HugePages;
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

/// Memory of short pieces, in pages that lie so far apart.
#[derive(Debug)]
struct Slots {
    base: Offset,
    stride: u64,
    /// Pages that have memory.
    backed: u64,
}

#[derive(Debug)]
struct Ring {
    base: Offset,
    /// Bytes that it goes round in: fewer than `whole` while there is no memory for more.
    size: u64,
    /// Bytes that it has addresses for.
    whole: u64,
    /// Bytes from the base that have memory: it grows as the ring is gone round for the first time.
    backed: u64,
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
    /// It is for non-blocking calls, which ranks may make in different orders.
    is_apart: bool,
    slots: Option<Slots>,
    readers: [Option<Readers>; STAGED_SLOTS_OVERSUBSCRIBED],
    next_slot: usize,
    /// For pieces up to [`SHORT_RING_PIECE`] where ranks share CPUs.
    short_ring: Option<Ring>,
    ring: Option<Ring>,
    spilled: Vec<Spilled>,
}

impl Staging {
    /// Of calls that need not follow each other.
    pub fn apart() -> Self {
        Self {
            is_apart: true,
            ..Self::default()
        }
    }

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
        let is_short = length <= SHORT_RING_PIECE
            && publish::ranks_take_turns()
            && tunables::STAGING.get() == 0
            && segment.limit() >= ROOMY_SEGMENT;
        if is_short && self.short_ring.is_none() {
            self.short_ring = Ring::of_size(segment, arena, SHORT_RING).ok();
        }
        let short_ring = match &mut self.short_ring {
            Some(ring) if is_short => match ring.has_room(segment, arena, length as u64) {
                Ok(_) => Some(ring),
                Err(_) => {
                    // Without memory for it the long one serves, from now on.
                    (ring.size, ring.whole) = (ring.backed, ring.backed);
                    None
                }
            },
            _ => None,
        };
        let ring = match (short_ring, &mut self.ring) {
            (Some(ring), _) => ring,
            (None, Some(ring)) => ring,
            (None, ring) => ring.insert(Ring::new(segment, arena)?),
        };
        let readers = || {
            let board = Arc::clone(board);
            Some(Readers { board, step })
        };
        ring.take(segment, arena, length as u64, by_half, readers)
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
        let mut slot = self.next_slot;
        let at = match &mut self.slots {
            Some(slots) if slots.has_memory(slot) => slots.at(slot),
            slots => {
                let slots = match slots {
                    Some(slots) => slots,
                    None if self.is_apart => slots.insert(Slots::own(segment, arena)?),
                    None => slots.insert(Slots::among_all(segment, arena, board.peer(board.me()).0)?),
                };
                if let Err(error) = slots.back(segment, arena, slot) {
                    if slots.backed == 0 {
                        return Err(error);
                    }
                    // It goes round in those that it has.
                    slot = 0;
                    self.next_slot = 0;
                }
                slots.at(slot)
            }
        };
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
        Ok(Some(at))
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
        if let Ok(Some(taken)) = self.take(segment, arena, board, step, length, false) {
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

impl Slots {
    /// Slots in a page.
    const IN_PAGE: u64 = PAGE / SHORT_STAGED as u64;
    const PAGES: u64 = STAGED_SLOTS_OVERSUBSCRIBED as u64 / Self::IN_PAGE;

    /// Those of rank `me`. Page after page of all ranks lie together: a reader that touches that of one for the first
    /// time gets those of the 15 around it, too, if they have been written (docs/decisions/0240).
    #[cold]
    fn among_all(segment: &Segment, arena: &mut Arena, me: u32) -> Result<Self> {
        const { assert!(Self::PAGES * PAGE == SLOTS_OF_EACH) };
        let of_all = match HugePages::policy().is_by_name() {
            true => None,
            false => segment.slots_of_all(me),
        };
        match of_all {
            Some((all, ranks, before)) => Ok(Self {
                base: Offset(all.0 + before * PAGE),
                stride: ranks * PAGE,
                backed: 0,
            }),
            None => Self::own(segment, arena),
        }
    }

    /// Those of one process, which nobody else has there.
    #[cold]
    fn own(segment: &Segment, arena: &mut Arena) -> Result<Self> {
        Ok(Self {
            base: arena.allocate(segment, Self::PAGES * PAGE)?,
            stride: PAGE,
            backed: Self::PAGES,
        })
    }

    /// See that this slot has memory.
    #[cold]
    fn back(&mut self, segment: &Segment, arena: &Arena, slot: usize) -> Result<()> {
        while !self.has_memory(slot) {
            arena.back(segment, Offset(self.base.0 + self.backed * self.stride), PAGE)?;
            self.backed += 1;
        }
        Ok(())
    }

    #[inline]
    fn has_memory(&self, slot: usize) -> bool {
        (slot as u64) < self.backed * Self::IN_PAGE
    }

    #[inline]
    fn at(&self, slot: usize) -> Offset {
        let (page, within) = (slot as u64 / Self::IN_PAGE, slot as u64 % Self::IN_PAGE);
        Offset(self.base.0 + page * self.stride + within * SHORT_STAGED as u64)
    }
}

impl Ring {
    fn new(segment: &Segment, arena: &mut Arena) -> Result<Self> {
        let wanted = match tunables::STAGING.get() {
            0 => ring_size::suitable(segment.ranks()),
            bytes => bytes,
        };
        // In a small segment there is to be room for those of all ranks, and for all else.
        let share = segment.limit() / 4 / u64::from(segment.ranks_here().max(1));
        let wanted = wanted.min(share).clamp(STAGED_SMALLEST, STAGED_LARGEST);
        let mut size = wanted.next_power_of_two();
        loop {
            match Self::of_size(segment, arena, size) {
                Err(_) if size > STAGED_SMALLEST => size /= 2,
                made => return made,
            }
        }
    }

    fn of_size(segment: &Segment, arena: &mut Arena, size: u64) -> Result<Self> {
        let (base, backed) = arena.take(segment, size)?;
        Ok(Self {
            base,
            size,
            whole: size,
            backed,
            head: 0,
            pieces: VecDeque::new(),
            was_full: false,
        })
    }

    /// See that a piece can lie at the head, or at the base once what lies there has been read. A page costs 2 us when it is first written, and few
    /// programs need them all (docs/decisions/0240). False: it may, once all that lies there has been read.
    ///
    /// # Errors
    /// Memory is used up, and what the ring has holds fewer than three such pieces.
    #[inline]
    fn has_room(&mut self, segment: &Segment, arena: &Arena, length: u64) -> Result<bool> {
        if 3 * length > self.size && !self.is_whole_again(length)? {
            return Ok(false);
        }
        let end = self.head + length.next_multiple_of(128);
        if self.backed < self.size && end > self.backed {
            self.back(segment, arena, end, length)?;
        }
        Ok(true)
    }

    /// There was no memory for as much as it has addresses for. Try again from the base. False: somebody has not read what lies there.
    #[cold]
    fn is_whole_again(&mut self, length: u64) -> Result<bool> {
        if 3 * length > self.whole {
            let error = segment::Error::Exhausted {
                wanted: length,
                left: self.whole,
                limit: "memory in which collectives stage data",
            };
            return Err(error.into());
        }
        let mut readers = self.pieces.iter().filter_map(|piece| piece.readers.as_ref());
        if !readers.all(Readers::are_done) {
            return Ok(false);
        }
        self.pieces.clear();
        (self.head, self.size) = (0, self.whole);
        Ok(true)
    }

    /// Get memory up to `end`, counted from the base.
    #[cold]
    fn back(&mut self, segment: &Segment, arena: &Arena, end: u64, length: u64) -> Result<()> {
        let up_to = |end: u64| end.next_multiple_of(STAGED_STEP).min(self.size);
        let (least, twice) = (up_to(end), up_to(end.max(2 * self.backed)));
        let grow = |to: u64| {
            let at = Offset(self.base.0 + self.backed);
            arena.back(segment, at, to - self.backed).map(|()| to)
        };
        let grown = match grow(twice) {
            Err(_) if least < twice => grow(least),
            grown => grown,
        };
        match grown {
            Ok(backed) => self.backed = backed,
            Err(error) if 3 * length > self.backed => return Err(error.into()),
            // For now it goes round in what it has.
            Err(_) => self.size = self.backed,
        }
        Ok(())
    }

    /// Room for a piece. `by_half`: if it was full, once half of it is free. A woken rank then goes through several calls before it waits
    /// again; else, with 128 ranks on two CPUs, each call ends in as many wakes (docs/decisions/0028).
    fn take(
        &mut self,
        segment: &Segment,
        arena: &Arena,
        length: u64,
        by_half: bool,
        readers: impl FnOnce() -> Option<Readers>,
    ) -> Result<Option<Offset>> {
        if !self.has_room(segment, arena, length)? {
            return Ok(None);
        }
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
                return Ok(None);
            }
            self.pieces.pop_front();
        }
        self.was_full = false;
        self.pieces.push_back(StagedPiece {
            start: self.head,
            readers: readers(),
        });
        self.head = end;
        Ok(Some(Offset(self.base.0 + start % self.size)))
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
    /// `step`. `None`: not yet; the slowest reader rings our doorbell. Blocks no longer than the kernel takes to find memory. For calls that follow each other everywhere.
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

#[cfg(test)]
mod tests {
    use isthmus_shm::segment;
    use isthmus_transfer::fault::Plan;

    use super::*;

    fn segment(ranks: u32) -> Segment {
        let file = segment::create(ranks, [6; 16]).expect("memory");
        Segment::attach(file, [6; 16]).expect("a job segment")
    }

    #[test]
    fn slots_of_all_ranks_lie_apart_and_those_of_one_page_together() {
        let segment = segment(3);
        let mut arena = Arena::default();
        let mut all: Vec<Slots> = (0..3)
            .map(|me| Slots::among_all(&segment, &mut arena, me).expect("memory"))
            .collect();
        all.push(Slots::own(&segment, &mut arena).expect("memory"));
        assert!(!all[0].has_memory(0) && all[3].has_memory(STAGED_SLOTS_OVERSUBSCRIBED - 1));
        let mut found = Vec::new();
        for slots in &mut all {
            for slot in 0..STAGED_SLOTS_OVERSUBSCRIBED {
                slots.back(&segment, &arena, slot).expect("memory");
                assert!(slots.has_memory(slot));
                found.push(slots.at(slot).0);
            }
        }
        assert_eq!(all[1].at(0).0, all[0].at(0).0 + PAGE, "the next rank's page");
        found.sort_unstable();
        assert!(found.windows(2).all(|pair| pair[1] - pair[0] >= SHORT_STAGED as u64));
        assert!(
            found
                .iter()
                .all(|at| segment.at(Offset(*at), SHORT_STAGED as u64).is_some())
        );
    }

    #[test]
    fn a_ring_grows_while_it_is_gone_round_and_does_with_what_it_has() {
        let segment = segment(1);
        let mut ring = Ring {
            base: Offset(0),
            size: 4 << 20,
            whole: 4 << 20,
            backed: 0,
            head: 0,
            pieces: VecDeque::new(),
            was_full: false,
        };
        let mut arena = Arena::default();
        (ring.base, ring.backed) = arena.take(&segment, ring.size).expect("addresses");
        let before = segment.granted();
        let mut grown = Vec::new();
        for length in [1, STAGED_STEP + 1, 1 << 20] {
            ring.has_room(&segment, &arena, length).expect("memory");
            grown.push(ring.backed);
            assert_eq!(segment.granted() - before, ring.backed, "all of it was reserved");
        }
        assert_eq!(grown, [STAGED_STEP, 2 * STAGED_STEP, 1 << 20]);
        let plan = Plan::parse("memory:ENOMEM").expect("a plan");
        arena.plan = Some(Box::leak(Box::new(plan)));
        // Pieces that lie near the end of what there is, and those that do not fit behind them.
        ring.head = (1 << 20) - (8 << 10);
        for _ in 0..8 {
            let at = ring.take(&segment, &arena, LONGEST as u64, false, || None);
            let at = at.expect("it has enough").expect("nothing lies there").0 - ring.base.0;
            assert!(at + LONGEST as u64 <= 1 << 20, "{at}");
            ring.pieces.clear();
        }
        assert_eq!((ring.size, ring.backed), (1 << 20, 1 << 20));
        (ring.size, ring.backed, ring.head) = (4 << 20, STAGED_STEP, 0);
        assert!(
            ring.has_room(&segment, &arena, LONGEST as u64).is_err(),
            "too little for the longest pieces"
        );
        ring.head = STAGED_STEP;
        ring.has_room(&segment, &arena, 8 << 10)
            .expect("short ones go round in it");
        assert_eq!(ring.size, STAGED_STEP);
        assert!(
            ring.has_room(&segment, &arena, 128 << 10).is_err(),
            "and longer ones are refused while there is no memory"
        );
        arena.plan = None;
        let at = ring.take(&segment, &arena, LONGEST as u64, false, || None);
        assert_eq!(at.expect("there is memory again"), Some(ring.base));
        assert_eq!(ring.size, 4 << 20);
    }
}
