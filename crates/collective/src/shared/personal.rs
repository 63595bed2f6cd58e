//! A post with a part for each other rank: the parts by rank, without one's own. If they are not of one length, a table of
//! their places and lengths stands before them, and each begins on a multiple of eight. Where they are lent, the post is a table that
//! says where each lies.

use isthmus_engine::{LONGEST, Posted, Step};
use isthmus_twice::twice;

use super::Access;
use super::exchange::{Draft, LENT_FROM, is_not_there};
use crate::error::Result;
use crate::fail;

/// What the table says of a part: where it begins in the post, and its length.
type StagedSpan = [u32; 2];

/// A part that is lent: where it lies in the segment, and its length.
type Loan = [u64; 2];

/// Bytes before the parts.
fn table(size: usize) -> usize {
    (size - 1) * size_of::<StagedSpan>()
}

/// The place of `rank` among the parts that `me` posts.
pub(super) fn index(rank: usize, me: usize) -> usize {
    if rank < me { rank } else { rank - 1 }
}

/// How parts lie in a post.
#[derive(Debug, Clone, Copy)]
pub struct Parts<L> {
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

    /// Post them: where they lie, if all map that, which `part(rank)` says of those that lie in a row, else as
    /// `write(rank, to)` writes them. The user must not write there until the call returns.
    ///
    /// # Safety
    /// `write` must write no more than it should.
    #[twice]
    #[inline]
    pub async unsafe fn show_parts<L: Fn(usize) -> usize>(
        &self,
        step: Step,
        parts: Parts<L>,
        part: impl Fn(usize) -> Option<*const u8>,
        write: impl Fn(usize, *mut u8),
    ) -> Result<()> {
        let is_lent = parts.bytes >= LENT_FROM && self.others().all(|rank| self.loan(&parts, &part, rank).is_some());
        let bytes = match is_lent {
            true => (self.board.members() - 1) * size_of::<Loan>(),
            false => parts.bytes,
        };
        let mut draft = self.draft(step, bytes).await?;
        if !is_lent {
            // SAFETY: the draft has room for the parts, and the caller's promise.
            unsafe { self.post_parts(draft, parts, write) };
            return Ok(());
        }
        for rank in self.others() {
            let loan = self.loan(&parts, &part, rank).unwrap_or_default();
            let entry = draft.data.cast::<Loan>().wrapping_add(index(rank, self.board.me()));
            // SAFETY: the draft has room for the table, and is aligned to 8 bytes.
            unsafe { entry.write(loan) };
        }
        draft.lent = true;
        self.post(&draft);
        Ok(())
    }

    fn loan<L: Fn(usize) -> usize>(
        &self,
        parts: &Parts<L>,
        part: impl Fn(usize) -> Option<*const u8>,
        rank: usize,
    ) -> Option<Loan> {
        match (parts.length)(rank) {
            0 => Some(Loan::default()),
            length => Some([self.board.offset_of(part(rank)?, length)?, length as u64]),
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
            let entry = draft.data.cast::<StagedSpan>().wrapping_add(index(rank, me));
            // SAFETY: the draft has room for table and parts; drafts are aligned to 8 bytes.
            unsafe { entry.write([at as u32, length(rank) as u32]) };
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
        if posted.lent {
            return self.lent_part(from, posted, index);
        }
        if !posted.remark {
            let length = posted.length / (size - 1);
            return Ok(Posted {
                data: posted.data.wrapping_add(index * length),
                length,
                ..posted
            });
        }
        let nonsense = || fail!(Intern, "what rank {from} shares makes no sense");
        if posted.length < table(size) {
            return Err(nonsense());
        }
        // SAFETY: within the table, which lies within the post; posts are aligned to 8 bytes.
        let [at, length] =
            unsafe { posted.data.cast::<StagedSpan>().add(index).read_volatile() }.map(|word| word as usize);
        if at.saturating_add(length) > posted.length {
            return Err(nonsense());
        }
        Ok(Posted {
            data: posted.data.wrapping_add(at),
            length,
            ..posted
        })
    }

    #[cold]
    fn lent_part(&self, from: usize, posted: Posted, index: usize) -> Result<Posted> {
        if posted.length < (index + 1) * size_of::<Loan>() {
            return Err(is_not_there(from));
        }
        // SAFETY: within the table, which lies within the post; posts are aligned to 8 bytes.
        let [offset, length] = unsafe { posted.data.cast::<Loan>().add(index).read_volatile() };
        let length = length as usize;
        let data = match length {
            0 => posted.data,
            _ => self.board.at(offset, length).ok_or_else(|| is_not_there(from))?,
        };
        Ok(Posted { data, length, ..posted })
    }
}
