//! Single copies between the ranks' own memory.
//!
//! Ranks post where their bytes lie, copy, and post how that went: until then whoever has lent its memory stays in the call. The addresses are in the posts that ranks wait for anyway, so there is nothing to be cached across calls. Copies may fail at
//! any pair at any time; then those whom it concerns, and these know it by the same posts, do the call again by copies through
//! shared memory.

mod combine;

use std::future::poll_fn;
use std::task::Poll;

use isthmus_engine::{Remote, Step, enter};
use isthmus_twice::twice;

use super::Access;
use super::exchange::is_not_there;
use super::lending::OnLoan;
use super::personal::index;
use crate::error::Result;
use crate::link::Link;
use crate::link::elements::Packed;
use crate::polling::token;

/// Readers of one rank's memory at a time: they contend for its page tables. Source: the throttled reads of
/// Chakraborty, Subramoni, Panda, CLUSTER 2017. How many are best was not measured: two CPUs do not tell.
const READERS: usize = 4;

impl Access<'_> {
    /// Post where bytes of ours lie, for everyone.
    #[twice]
    pub async fn post_remote(&self, step: Step, data: *const u8, length: usize) -> Result<OnLoan<'_>> {
        let draft = self.draft(step, size_of::<Remote>()).await?;
        // SAFETY: the draft has room for it, and is aligned to 8 bytes.
        unsafe { draft.data.cast::<Remote>().write(Remote::of(data, length)) };
        let loan = self.on_loan(step);
        self.post(&draft);
        Ok(loan)
    }

    /// Post where bytes of ours lie for each other rank.
    #[twice]
    pub async fn post_remotes(&self, step: Step, part: impl Fn(usize) -> Remote) -> Result<OnLoan<'_>> {
        let (me, size) = (self.board.me(), self.board.members());
        let draft = self.draft(step, (size - 1) * size_of::<Remote>()).await?;
        for rank in (0..size).filter(|&rank| rank != me) {
            let entry = draft.data.cast::<Remote>().wrapping_add(index(rank, me));
            // SAFETY: the draft has room for all, and is aligned to 8 bytes.
            unsafe { entry.write(part(rank)) };
        }
        let loan = self.on_loan(step);
        self.post(&draft);
        Ok(loan)
    }

    /// What a rank has posted that way, for everyone or for us, as soon as it has.
    #[twice]
    pub async fn remote(&self, from: usize, step: Step) -> Result<Remote> {
        let posted = self.read(from, step).await?;
        let entry = match posted.length == size_of::<Remote>() {
            true => 0,
            false => index(self.board.me(), from),
        };
        if posted.length < (entry + 1) * size_of::<Remote>() {
            return Err(is_not_there(from));
        }
        self.borrow(from);
        // SAFETY: within the post; posts are aligned to 8 bytes.
        Ok(unsafe { posted.data.cast::<Remote>().add(entry).read_volatile() })
    }

    /// Take all that a rank has posted for us to where it is packed; what is missing reads as zeros. False: it cannot be read.
    ///
    /// # Safety
    /// There must be room.
    #[twice]
    pub async unsafe fn fetch(&self, from: usize, step: Step, into: &Packed<'_>) -> Result<bool> {
        let theirs = self.remote(from, step).await?;
        let length = theirs.length().min(into.len);
        if theirs.length() != into.len {
            self.mismatch(from, theirs.length(), into.len);
            // SAFETY: there is room for so many.
            unsafe { into.data.add(length).write_bytes(0, into.len - length) };
        }
        // SAFETY: the caller's promise. Should the other one have left the call, that is found out in the end.
        Ok(unsafe { self.copy_from(from, theirs, length, into.data).await })
    }

    /// # Safety
    /// As for [`isthmus_engine::Entered::copy_from`].
    unsafe fn copy_from(&self, from: usize, theirs: Remote, length: usize, into: *mut u8) -> bool {
        // SAFETY: the caller's promise.
        unsafe { enter().copy_from(self.board.peer(from), theirs, length, into) }
    }

    /// # Safety
    /// As above.
    async unsafe fn copy_from_later(&self, from: usize, theirs: Remote, length: usize, into: *mut u8) -> bool {
        let peer = self.board.peer(from);
        // SAFETY: as above.
        poll_fn(|context| Poll::Ready(unsafe { token(context).copy_from(peer, theirs, length, into) })).await
    }

    /// Tell everyone how our copies went.
    #[twice]
    pub async fn vote(&self, step: Step, done: bool) -> Result<()> {
        let mut draft = self.draft(step, 0).await?;
        draft.remark = done;
        self.post(&draft);
        Ok(())
    }

    /// How a rank's copies went, as soon as they are over.
    #[twice]
    pub async fn verdict(&self, of: usize, step: Step) -> Result<bool> {
        Ok(self.read(of, step).await?.remark)
    }

    /// How the copies of the one rank went that reads what we have lent, as soon as they are over: that is ours again.
    #[twice]
    pub async fn verdict_of(&self, reader: usize, step: Step, loan: OnLoan<'_>) -> Result<bool> {
        let done = self.verdict(reader, step).await?;
        loan.end();
        Ok(done)
    }

    /// How all other ranks' copies went, as soon as they are over: what we have lent is ours again.
    #[twice]
    pub async fn verdict_of_all(&self, step: Step, loan: OnLoan<'_>) -> Result<bool> {
        let (me, size) = (self.board.me(), self.board.members());
        let mut done = true;
        for other in (1..size).map(|i| (me + i) % size) {
            done &= self.verdict(other, step).await?;
        }
        loan.end();
        Ok(done)
    }

    /// Wait until it is our turn to read what all but the root read: when they have come to so many before us.
    #[twice]
    pub async fn await_turn(&self, root: usize, step: Step) -> Result<()> {
        let (me, size) = (self.board.me(), self.board.members());
        if (me + size - root) % size > READERS {
            self.verdict((me + size - READERS) % size, step).await?;
        }
        Ok(())
    }
}
