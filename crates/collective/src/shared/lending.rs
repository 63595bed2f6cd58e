//! Lending what lies in the user's memory, instead of staging a copy of it: the bytes are copied once.
//!
//! Where all map that memory (`MPI_Alloc_mem`) nothing is agreed on: each rank decides for what it posts, and others read what a
//! post names. Elsewhere ranks read by single copies ([`super::direct`]). A lender ends its call when all have read, and a
//! reader ends it knowing that nothing was withdrawn meanwhile.

use std::cell::{Cell, OnceCell};

use isthmus_engine::{Board, Step, counters};
use isthmus_twice::twice;

use super::Access;
use crate::error::Result;

/// Ranks in one word.
const BITS: usize = u64::BITS as usize;

/// Memory of the user that is posted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loan {
    /// The last step that it is posted for.
    pub step: Step,
    /// The reader; `None`: all.
    pub(super) reader: Option<usize>,
}

/// Lent memory, until all have read it. When it is dropped before that, it is withdrawn: so it goes before what it lies in.
#[must_use]
pub struct OnLoan<'a>(&'a Access<'a>);

impl OnLoan<'_> {
    /// Those who read it have told that they have.
    pub fn end(self) {
        self.0.lent.set(None);
    }
}

impl Drop for OnLoan<'_> {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

impl Loan {
    /// Have its readers read it?
    pub fn is_read(self, board: &Board) -> bool {
        match self.reader {
            None => board.is_finished(self.step),
            Some(reader) => board.is_finished_by(reader, self.step),
        }
    }
}

impl Access<'_> {
    /// Memory of the user is posted for this step. In one call all such posts have the same readers.
    #[inline]
    pub(super) fn lend(&self, step: Step, reader: Option<usize>) {
        counters::LENT.add_anywhere(1);
        self.lent.set(Some(Loan { step, reader }));
    }

    /// The same, for what lies elsewhere than in memory of the user.
    pub(super) fn on_loan(&self, step: Step) -> OnLoan<'_> {
        self.lend(step, None);
        OnLoan(self)
    }

    /// Nobody may read any more what we have lent, if that is not back.
    #[inline]
    pub(super) fn withdraw(&self) {
        if let Some(loan) = self.lent.take() {
            self.board.withdraw(loan.step);
        }
    }

    /// What a rank has lent is about to be read.
    #[inline]
    pub(super) fn borrow(&self, lender: usize) {
        self.lenders.add(lender, self.board.members());
    }

    /// All is read, and what we have lent was read by all, as soon as that is so. No step comes after this.
    #[twice]
    #[inline]
    pub async fn settle(&self) -> Result<()> {
        if !self.lenders.is_empty() {
            self.check_lenders().await?;
        }
        match self.lent.get() {
            None => Ok(()),
            Some(loan) => self.get_back(loan).await,
        }
    }

    #[twice]
    async fn check_lenders(&self) -> Result<()> {
        let call = Step::first_of(self.call);
        let withdrawn = self
            .lenders
            .take()
            .find(|&member| self.board.has_withdrawn(member, call));
        match withdrawn {
            None => Ok(()),
            Some(member) => Err(self.why_left(member).await),
        }
    }

    #[twice]
    async fn get_back(&self, loan: Loan) -> Result<()> {
        // Those who lend to us wait, too.
        self.tell(loan.step.next());
        self.await_readers(loan).await?;
        self.lent.set(None);
        Ok(())
    }
}

/// The lenders of a call: a set of the ranks of a board. It is empty in most calls, and makes no memory for up to 64 of them.
#[derive(Debug, Default)]
pub(super) struct Lenders {
    first: Cell<u64>,
    /// Of the ranks behind those. One word here: calls are handed about, and long ones take longer.
    others: OnceCell<Box<Others>>,
}

#[derive(Debug)]
struct Others(Box<[Cell<u64>]>);

impl Lenders {
    /// One more, of so many ranks.
    #[inline]
    pub fn add(&self, rank: usize, ranks: usize) {
        let word = match rank.checked_sub(BITS) {
            None => &self.first,
            Some(rank) => &self.others(ranks)[rank / BITS],
        };
        word.set(word.get() | 1 << (rank % BITS));
    }

    #[cold]
    fn others(&self, ranks: usize) -> &[Cell<u64>] {
        let words = ranks.saturating_sub(BITS).div_ceil(BITS);
        let others = || Box::new(Others((0..words).map(|_| Cell::new(0)).collect()));
        &self.others.get_or_init(others).0
    }

    /// Is there none?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.get() == 0 && self.others.get().is_none()
    }

    /// All of them, in order; none is left.
    pub fn take(&self) -> impl Iterator<Item = usize> + use<> {
        let others = self.others.get().map_or(&[][..], |others| &others.0);
        let words: Vec<u64> = std::iter::once(&self.first).chain(others).map(Cell::take).collect();
        let ranks = 0..words.len() * BITS;
        ranks.filter(move |rank| words[rank / BITS] >> (rank % BITS) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_once() {
        let lenders = Lenders::default();
        assert!(lenders.is_empty());
        for rank in [63, 0, 64, 1023, 64, 129] {
            lenders.add(rank, 1024);
            assert!(!lenders.is_empty());
        }
        assert_eq!(lenders.take().collect::<Vec<_>>(), [0, 63, 64, 129, 1023]);
        assert_eq!(lenders.take().count(), 0);
    }
}
