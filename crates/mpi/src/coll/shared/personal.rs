//! A post with a part for each other rank: the parts by rank, without one's own. If they are not of one length, a table of
//! their lengths stands before them, and each begins on a multiple of eight.

use isthmus_engine::{LONGEST, Posted, Step};

use super::Access;
use super::exchange::Draft;
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

/// How parts lie in a post.
#[derive(Debug, Clone, Copy)]
pub(in crate::coll) struct Parts<L> {
    /// Their length, if they are of one.
    common: Option<usize>,
    length: L,
    /// Of the post.
    pub bytes: usize,
}

impl Access<'_> {
    /// Longest part that such a post can have for each rank.
    pub fn longest_part(&self) -> usize {
        let others = self.board.members() - 1;
        ((LONGEST - table(others + 1)) / others) & !63
    }

    /// A post with parts of `length(rank)` bytes for everyone else.
    #[inline]
    pub fn parts<L: Fn(usize) -> usize>(&self, length: L) -> Parts<L> {
        let first = length(usize::from(self.board.me() == 0));
        if self.others().all(|rank| length(rank) == first) {
            return Parts {
                common: Some(first),
                bytes: first * (self.board.members() - 1),
                length,
            };
        }
        let end = |end: usize, rank| end + length(rank).next_multiple_of(8);
        Parts {
            common: None,
            bytes: self.others().fold(table(self.board.members()), end),
            length,
        }
    }

    /// Post them in a draft of so many bytes; `write(rank, to)` writes one.
    ///
    /// # Safety
    /// There must be room for them; `write` must write no more than it should.
    #[inline]
    pub unsafe fn post_parts<L: Fn(usize) -> usize>(
        &self,
        mut draft: Draft,
        parts: Parts<L>,
        write: impl Fn(usize, *mut u8),
    ) {
        let me = self.board.me();
        if let Some(length) = parts.common {
            for rank in self.others() {
                write(rank, draft.data.wrapping_add(index(rank, me) * length));
            }
            return self.post(&draft);
        }
        let length = parts.length;
        let mut at = table(self.board.members());
        for rank in self.others() {
            let entry = draft.data.wrapping_add(index(rank, me) * ENTRY).cast::<u32>();
            // SAFETY: the draft has room for table and parts; drafts are aligned to 8 bytes.
            unsafe { entry.write(length(rank) as u32) };
            write(rank, draft.data.wrapping_add(at));
            at += length(rank).next_multiple_of(8);
        }
        draft.remark = true;
        self.post(&draft);
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (size, me) = (self.board.members(), self.board.me());
        (0..size).filter(move |&rank| rank != me)
    }

    /// The part for a rank in what `from` has posted that way, which it has.
    pub fn part(&self, to: usize, from: usize, step: Step) -> Result<Posted> {
        let size = self.board.members();
        let posted = self.posted(from, step)?;
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
