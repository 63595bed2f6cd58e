//! Posting and reading.

use isthmus_engine::{INLINE, LONGEST, Posted, Step};
use isthmus_twice::twice;

use super::{Access, LONG};
use crate::error::{Error, Result};
use crate::fail;
use crate::link::elements::Elements;
use crate::link::operand::Operand;
use crate::link::{Link, mismatched};

/// Shorter data is not lent: to wait until all have read it costs as much as a copy (docs/decisions/0028).
pub(super) const LENT_FROM: usize = 8 << 10;

/// Memory for what is to be posted.
#[derive(Debug)]
pub struct Draft {
    /// The step it is for.
    pub step: Step,
    length: usize,
    /// Where it goes.
    pub data: *mut u8,
    /// Its place, if it is not the post itself.
    offset: Option<u64>,
    /// Something that readers are to know.
    pub remark: bool,
    /// It is, or names, memory of the user.
    pub lent: bool,
}

impl Access<'_> {
    /// Memory for a contribution of `length` bytes to a step, at most [`isthmus_engine::LONGEST`], as soon as there is some.
    #[twice]
    #[inline]
    pub async fn draft(&self, step: Step, length: usize) -> Result<Draft> {
        if !self.board.is_free(step) {
            self.await_cell(step).await?;
        }
        let (data, offset) = if length <= INLINE {
            (self.board.payload(step), None)
        } else {
            let staged = self.stage(step, length).await?;
            (staged.data, Some(staged.offset))
        };
        Ok(Draft {
            step,
            length,
            data,
            offset,
            remark: false,
            lent: false,
        })
    }

    #[inline]
    fn publish(&self, draft: &Draft, reader: Option<usize>) {
        if draft.lent {
            self.lend(draft.step, reader);
        }
        let Draft {
            step, length, offset, ..
        } = *draft;
        self.board.post(step, length, offset, draft.remark, draft.lent);
    }

    /// A contribution of `length` bytes that lies in memory of the user: lent, if all map that and it is long, else copied to
    /// a draft by `write`. The user must not write there until the call returns.
    ///
    /// Inlined, as what calls it: a draft that was handed over by memory would be read as a whole, which waits for the stores before
    /// it, also for those of `write`, to lines that others hold (a fifth of an all-reduce of 8 bytes).
    ///
    /// # Safety
    /// `write` must write no more than `length` bytes.
    #[twice]
    #[inline(always)]
    pub async unsafe fn draft_of(
        &self,
        step: Step,
        from: Option<*const u8>,
        length: usize,
        write: impl FnOnce(*mut u8),
    ) -> Result<Draft> {
        if length >= LENT_FROM
            && let Some(from) = from
            && let Some(offset) = self.board.offset_of(from, length)
        {
            if !self.board.is_free(step) {
                self.await_cell(step).await?;
            }
            return Ok(Draft {
                step,
                length,
                data: from.cast_mut(),
                offset: Some(offset),
                remark: false,
                lent: true,
            });
        }
        let draft = self.draft(step, length).await?;
        write(draft.data);
        Ok(draft)
    }

    /// The same for `length` bytes of the packed form of elements, from byte `at` on.
    ///
    /// # Safety
    /// The elements must be readable, and have that part.
    #[twice]
    #[inline(always)]
    pub async unsafe fn draft_part(
        &self,
        step: Step,
        elements: Elements<'_>,
        at: usize,
        length: usize,
    ) -> Result<Draft> {
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            let write = |to: *mut u8| elements.pack_part(at, length, to);
            self.draft_of(step, elements.part(at), length, write).await
        }
    }

    /// The same for `count` elements as they cross. `may_lend`: the calling process will not write to them in this call.
    ///
    /// # Safety
    /// `from` must hold the elements.
    #[twice]
    #[inline(always)]
    pub async unsafe fn draft_operands(
        &self,
        step: Step,
        operand: &Operand<'_>,
        from: *const u8,
        count: i64,
        may_lend: bool,
    ) -> Result<Draft> {
        let lies_there = may_lend && !operand.crosses_packed();
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            let write = |to: *mut u8| operand.put(from, count, to);
            self.draft_of(step, lies_there.then_some(from), operand.crossing(count), write)
                .await
        }
    }

    /// Post what was drafted, for everyone.
    #[inline]
    pub fn post(&self, draft: &Draft) {
        self.publish(draft, None);
        self.board.ring_all();
    }

    /// Post what was drafted, for one rank alone.
    #[inline]
    pub fn post_to(&self, reader: usize, draft: &Draft) {
        self.publish(draft, Some(reader));
        self.board.ring(reader);
    }

    /// What a rank has posted for a step, as soon as it has.
    #[twice]
    #[inline]
    pub async fn read(&self, member: usize, step: Step) -> Result<Posted> {
        if !self.board.has_posted(member, step) {
            self.await_post(member, step).await?;
        }
        self.posted(member, step)
    }

    /// All other ranks have posted for a step, as soon as they have.
    #[twice]
    #[inline]
    pub async fn everyone(&self, step: Step) -> Result<()> {
        let (me, size) = (self.board.me(), self.board.members());
        for member in (1..size).map(|i| (me + i) % size) {
            if !self.board.has_posted(member, step) {
                self.await_post(member, step).await?;
            }
        }
        if !self.is_of_request() {
            // This saves looking how far they are with earlier calls, which they have ended.
            self.board.everyone_came_to(step);
        }
        Ok(())
    }

    /// What a rank has posted for a step, which it has.
    #[inline]
    pub fn posted(&self, member: usize, step: Step) -> Result<Posted> {
        let posted = self.board.posted(member, step).ok_or_else(|| is_not_there(member))?;
        if posted.lent {
            self.borrow(member);
        }
        Ok(posted)
    }

    /// Put what `from` has posted where it belongs: `elements` from byte `done` on, `segment` bytes if there are as many.
    ///
    /// # Safety
    /// The elements must be writable, and more than `done` bytes.
    #[inline]
    pub unsafe fn take(&self, from: usize, posted: Posted, elements: Elements<'_>, done: usize, segment: usize) {
        let total = elements.bytes();
        let expected = segment.min(total - done);
        // SAFETY: the caller's promise.
        unsafe {
            if posted.length == expected && self.floods.get() {
                elements.unpack_part_by(isthmus_engine::copy_past_caches, done, expected, posted.data);
            } else if posted.length == expected {
                elements.unpack_part(done, expected, posted.data);
            } else {
                self.mismatch(from, done + posted.length, total);
                elements.unpack_short(done, posted.data, posted.length);
            }
        }
    }

    /// Where `count` elements lie as they cross, in what `from` has posted.
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
}

/// The error of a post that names no memory.
#[cold]
pub(super) fn is_not_there(member: usize) -> Error {
    fail!(Intern, "what rank {member} shares is not there")
}

#[inline]
fn elements_in(bytes: usize, operand: &Operand<'_>) -> i64 {
    (bytes / operand.crossing(1).max(1)).max(1) as i64
}
