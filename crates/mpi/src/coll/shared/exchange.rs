//! Posting and reading.

use isthmus_engine::{Entered, INLINE, LONGEST, Posted, Step, is_crowded};

use super::{Access, LARGEST_ELEMENT, LONG};
use crate::coll::elements::Elements;
use crate::coll::link::Link;
use crate::coll::link::mismatched;
use crate::coll::operand::Operand;
use crate::error::{Error, Result};
use crate::fail;

/// Looks at a post before anything else is looked at, where each rank has a CPU.
const LOOKS: u32 = 100;

/// Memory for what is to be posted.
#[derive(Debug)]
pub(in crate::coll) struct Draft {
    /// The step it is for.
    pub step: Step,
    length: usize,
    /// Where it goes.
    pub data: *mut u8,
    /// Its place, if it is not the post itself.
    offset: Option<u64>,
    /// Something that readers are to know.
    pub remark: bool,
}

impl Access<'_> {
    /// Memory for a contribution of `length` bytes to a step, at most [`isthmus_engine::LONGEST`]. Blocks until there is
    /// some.
    #[inline]
    pub fn draft(&self, step: Step, length: usize) -> Result<Draft> {
        if !self.board.is_free(step) {
            self.wait_for_room(|_| self.board.is_free(step).then_some(()))?;
        }
        if length <= INLINE {
            return Ok(Draft {
                step,
                length,
                data: self.board.payload(step),
                offset: None,
                remark: false,
            });
        }
        let board = self.board;
        let staged = self.wait_for_room(|inside| inside.stage(board, step, length).transpose())??;
        Ok(Draft {
            step,
            length,
            data: staged.data,
            offset: Some(staged.offset),
            remark: false,
        })
    }

    #[inline]
    fn publish(&self, draft: &Draft) {
        self.board.post(draft.step, draft.length, draft.offset, draft.remark);
    }

    /// Post what was drafted, for everyone.
    #[inline]
    pub fn post(&self, draft: &Draft) {
        self.publish(draft);
        self.board.ring_all();
    }

    /// Post what was drafted, for one rank alone.
    #[inline]
    pub fn post_to(&self, reader: usize, draft: &Draft) {
        self.publish(draft);
        self.board.ring(reader);
    }

    /// What a rank has posted for a step. Blocks until it has.
    #[inline]
    pub fn read(&self, member: usize, step: Step) -> Result<Posted> {
        let looks = if is_crowded() { 1 } else { LOOKS };
        let mut looked = 0;
        while !self.board.has_posted(member, step) {
            looked += 1;
            if looked == looks {
                self.wait_for(member, step)?;
                break;
            }
            std::hint::spin_loop();
        }
        let posted = self.board.posted(member, step);
        posted.ok_or_else(|| fail!(Intern, "what rank {member} shares is not there"))
    }

    /// Put what `from` has posted where it belongs: `elements` from byte `done` on, `segment` bytes if there are as many.
    ///
    /// # Safety
    /// The elements must be writable, and more than `done` bytes.
    #[inline]
    pub unsafe fn take(
        &self,
        link: &impl Link,
        from: usize,
        posted: Posted,
        elements: Elements<'_>,
        done: usize,
        segment: usize,
    ) {
        let total = elements.bytes();
        let expected = segment.min(total - done);
        // SAFETY: the caller's promise.
        unsafe {
            if posted.length == expected {
                elements.unpack_part(done, expected, posted.data);
            } else {
                link.mismatch(from, done + posted.length, total);
                elements.unpack_short(done, posted.data, posted.length);
            }
        }
    }

    /// Where `count` elements lie as they cross, in what `from` has posted for a step. Blocks until it has.
    #[inline]
    pub fn read_operands(&self, operand: &Operand<'_>, from: usize, step: Step, count: i64) -> Result<*const u8> {
        self.operands(operand, from, self.read(from, step)?, count)
    }

    /// The same in what is read already.
    #[inline]
    pub fn operands(&self, operand: &Operand<'_>, from: usize, posted: Posted, count: i64) -> Result<*const u8> {
        let expected = operand.crossing(count);
        if posted.length == expected {
            return Ok(posted.data);
        }
        Err(mismatched(from, self.board.members(), posted.length, expected))
    }

    /// Elements of `count` that each rank contributes in one step, where some wait while others write.
    #[inline]
    pub fn elements_at_once(&self, operand: &Operand<'_>, count: i64) -> i64 {
        elements_in(self.segment(operand.crossing(count)), operand)
    }

    /// The same where all write at the same time.
    #[inline]
    pub fn most_elements(&self, operand: &Operand<'_>) -> i64 {
        elements_in(LONG, operand)
    }

    /// The same, of which each other rank gets a part.
    pub fn part_at_once(&self, operand: &Operand<'_>) -> i64 {
        elements_in(self.longest_part(), operand)
    }

    /// The same, where each rank gets a slice of them.
    pub fn slices_at_once(&self, operand: &Operand<'_>) -> i64 {
        let (size, each) = (self.board.members(), operand.crossing(1).max(1));
        // Slices differ by one element, and are aligned.
        let slack = size * (each + 16);
        ((LONGEST - slack) / each) as i64
    }

    /// Everyone has posted for this step, as we have seen: this saves looking how far they are.
    #[inline]
    pub fn all_came(&self, step: Step) {
        self.board.everyone_came_to(step);
    }

    #[inline(never)]
    fn wait_for(&self, member: usize, step: Step) -> Result<()> {
        let (board, comm) = (self.board, self.comm);
        comm.wait_until(|inside| {
            if board.has_posted(member, step) {
                return Some(Ok(()));
            }
            if !board.has_skipped(member, step) {
                return None;
            }
            // Perhaps because somebody has failed, which it may have learned before us.
            inside.learn();
            Some(comm.check_whole(inside).and_then(|()| Err(left(member))))
        })?
    }

    #[cold]
    fn wait_for_room<T: Send>(&self, room: impl FnMut(&mut Entered) -> Option<T> + Send) -> Result<T> {
        self.comm.wait_until(room)
    }
}

#[inline]
fn elements_in(bytes: usize, operand: &Operand<'_>) -> i64 {
    debug_assert!(operand.crossing(1) <= LARGEST_ELEMENT);
    (bytes / operand.crossing(1).max(1)).max(1) as i64
}

#[cold]
fn left(member: usize) -> Error {
    fail!(
        Other,
        "rank {member} left the call without its part: its call failed, or was another one"
    )
}
