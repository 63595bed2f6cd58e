//! The lenders of a call: a set of ranks, which is empty in most calls, and makes no memory for up to 64 of them.

use std::cell::{Cell, OnceCell};

/// Ranks in one word.
const BITS: usize = u64::BITS as usize;

/// A set of the ranks of a board.
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
