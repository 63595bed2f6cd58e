//! A post with a part for each other rank: the parts by rank, without one's own. If they are not of one length, a table of
//! their lengths stands before them, and each begins on a multiple of eight.

use isthmus_engine::{LONGEST, Posted, Step};

use super::Access;
use crate::error::Result;
use crate::fail;

/// What an entry of the table takes.
const ENTRY: usize = size_of::<u32>();

/// Bytes before the parts.
fn table(size: usize) -> usize {
    ((size - 1) * ENTRY).next_multiple_of(8)
}

/// The place of `rank` among the parts that `me` posts.
fn index(rank: usize, me: usize) -> usize {
    if rank < me { rank } else { rank - 1 }
}

impl Access<'_> {
    /// Longest part that such a post can have for each rank.
    pub fn longest_part(&self) -> usize {
        let others = self.board.members() - 1;
        ((LONGEST - table(others + 1)) / others) & !63
    }

    /// Post parts for everyone else, of `length(rank)` bytes each, that `write(rank, to)` writes.
    ///
    /// # Safety
    /// `write` must write no more than it should.
    pub unsafe fn post_parts(
        &self,
        step: Step,
        length: impl Fn(usize) -> usize,
        write: impl Fn(usize, *mut u8),
    ) -> Result<()> {
        let (size, me) = (self.board.members(), self.board.me());
        let others = || (0..size).filter(|&rank| rank != me);
        let first = length(usize::from(me == 0));
        if others().all(|rank| length(rank) == first) {
            let draft = self.draft(step, first * (size - 1))?;
            for rank in others() {
                write(rank, draft.data.wrapping_add(index(rank, me) * first));
            }
            self.post(&draft);
            return Ok(());
        }
        let mut at = table(size);
        let total = others().fold(at, |end, rank| end + length(rank).next_multiple_of(8));
        let mut draft = self.draft(step, total)?;
        for rank in others() {
            let entry = draft.data.wrapping_add(index(rank, me) * ENTRY).cast::<u32>();
            // SAFETY: the draft has room for table and parts; drafts are aligned to 8 bytes.
            unsafe { entry.write(length(rank) as u32) };
            write(rank, draft.data.wrapping_add(at));
            at += length(rank).next_multiple_of(8);
        }
        draft.remark = true;
        self.post(&draft);
        Ok(())
    }

    /// The part for us in what `from` has posted that way. Blocks until it has.
    pub fn read_part(&self, from: usize, step: Step) -> Result<Posted> {
        self.read_part_for(self.board.me(), from, step)
    }

    /// The same for another rank.
    pub fn read_part_for(&self, to: usize, from: usize, step: Step) -> Result<Posted> {
        let size = self.board.members();
        let posted = self.read(from, step)?;
        let index = index(to, from);
        if !posted.remark {
            let length = posted.length / (size - 1);
            return Ok(Posted {
                data: posted.data.wrapping_add(index * length),
                length,
                ..posted
            });
        }
        let mut at = table(size);
        let mut length = 0;
        for part in 0..=index {
            at += usize::next_multiple_of(length, 8);
            if posted.length < at {
                break;
            }
            // SAFETY: within the table, which lies within the post; posts are aligned to 8 bytes.
            length = unsafe { posted.data.add(part * ENTRY).cast::<u32>().read_volatile() } as usize;
        }
        if at.saturating_add(length) > posted.length {
            return Err(fail!(Intern, "what rank {from} shares makes no sense"));
        }
        Ok(Posted {
            data: posted.data.wrapping_add(at),
            length,
            ..posted
        })
    }
}
