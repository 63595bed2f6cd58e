//! Combining straight out of the ranks' own memory: a piece of a rank's elements is copied into a near cache, and combined there before
//! the next one; what lies in memory that all map is combined where it lies.

use isthmus_engine::{Remote, Step};
use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::memory::ScratchMemory;
use crate::shared::Access;
use crate::shared::fold::overlap;
use isthmus_datatype::{Kernel, Reduction};

/// Bytes of a piece: 16 KiB cost more calls of the kernel than the nearer cache gains (an all-reduce of 128 KiB on two ranks takes 18 us so
/// and 14 with 64 KiB, on Emerald Rapids).
const PIECE: usize = 64 << 10;

/// A part of the elements that all ranks have posted, in bytes.
struct CopiedPiece {
    /// Of all elements.
    total: usize,
    /// Where the part begins.
    first: usize,
    length: usize,
    /// Where ours lies.
    own: *const u8,
    result: *mut u8,
    /// For a piece.
    room: *mut u8,
}

impl Access<'_> {
    /// Combine `share` (first element, number of elements) of the `total` elements that all ranks have at `input`, in the order of ranks,
    /// into `output`, which may overlap `input`. Each rank has a share of its own, or none. False, as all ranks know: nothing is done, since
    /// somebody's memory cannot be read.
    ///
    /// # Safety
    /// `input` must hold the elements, `output` have room for the share.
    #[twice]
    pub async unsafe fn combine_remote(
        &self,
        operand: &Operand<'_>,
        input: *const u8,
        total: i64,
        share: Option<(i64, i64)>,
        output: *mut u8,
    ) -> Result<bool> {
        let Reduction::Kernel(kernel) = operand.reduction else {
            return Ok(false);
        };
        let (first, count) = share.unwrap_or_default();
        let (length, total) = (operand.crossing(count), operand.crossing(total));
        // What others read must not be written over before they have.
        let aside = length > 0 && overlap(input, output, total);
        let mut memory = ScratchMemory::allocate(if aside { PIECE + length } else { PIECE.min(length) })?;
        let room = memory.start();
        let part = CopiedPiece {
            total,
            first: operand.crossing(first),
            length,
            own: operand.at(input, first),
            result: if aside { room.wrapping_add(PIECE) } else { output },
            room,
        };
        let result = part.result;
        let (shown, copied) = (self.step(), self.step());
        let loan = self.post_remote(shown, input, total).await?;
        // SAFETY: the caller's promise; there is room for the results and for a piece.
        let done = unsafe { self.combine(shown, kernel, operand.crossing(1), part).await? };
        self.vote(copied, done).await?;
        let done = self.verdict_of_all(copied, loan).await? && done;
        if done && aside {
            // SAFETY: the caller's promise; results lie elsewhere.
            unsafe { isthmus_engine::copy(result, output, length) };
        }
        Ok(done)
    }

    /// Combine a part of what all post in step `shown`. False: something cannot be read.
    ///
    /// # Safety
    /// There must be room, and nothing overlap.
    #[twice]
    async unsafe fn combine(&self, shown: Step, kernel: Kernel, each: usize, part: CopiedPiece) -> Result<bool> {
        let (me, last) = (self.rank(), self.size() - 1);
        let at_once = PIECE / each * each;
        for done in (0..part.length).step_by(at_once) {
            let now = at_once.min(part.length - done);
            let (own, result) = (part.own.wrapping_add(done), part.result.wrapping_add(done));
            // Intermediate results alternate between the two, and end where the result belongs.
            let place = |rank: usize| {
                if (last - rank).is_multiple_of(2) {
                    result
                } else {
                    part.room
                }
            };
            let mut left = own;
            for rank in 0..=last {
                let mut right = own;
                if rank != me {
                    let theirs = self.remote(rank, shown).await?;
                    if theirs.length() > part.total && done == 0 {
                        self.mismatch(rank, theirs.length(), part.total);
                    }
                    // Both are free while what is on the left lies with its owner.
                    let is_free = rank == 1 && left != place(0).cast_const();
                    let into = if is_free { part.room } else { place(rank) };
                    let first = part.first + done;
                    let theirs = theirs.part(first..first + now);
                    // SAFETY: the caller's promise.
                    match unsafe { self.bring(rank, theirs, now, into).await } {
                        Some(there) => right = there,
                        None => return Ok(false),
                    }
                }
                left = if rank == 0 {
                    right
                } else {
                    // SAFETY: as above; a right operand may lie where the result goes, a left one never does.
                    unsafe { kernel(left, right, place(rank), now / each) };
                    place(rank)
                };
            }
        }
        Ok(true)
    }

    /// Where `length` bytes of a rank's are, once they are near: in memory that all map, or copied. `None`: they cannot be read.
    ///
    /// # Safety
    /// There must be room.
    #[twice]
    async unsafe fn bring(&self, rank: usize, theirs: Remote, length: usize, into: *mut u8) -> Option<*const u8> {
        match theirs.mapped() {
            Some(there) if theirs.length() == length => Some(there),
            // SAFETY: the caller's promise.
            _ => unsafe { self.copy_from(rank, theirs, length, into).await }.then_some(into.cast_const()),
        }
    }
}
