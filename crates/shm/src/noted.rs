//! Facts about the node that one process of the job has found out, and the others take from it: costs that were probed, where CPUs lie.
//!
//! # Layout
//! A state, then words. State 0: nobody knows; 1: somebody writes; 2: known.
//!
//! # Fields (who may touch what, when)
//! The process that moves the state from 0 to 1 writes the words, once. Nobody waits for it: a process that finds another state than 2
//! finds out by itself. A writer that is killed leaves state 1, and each process finds out by itself from then on.
//!
//! # Ordering
//! The words are published by the release store of state 2.
//!
//! # Safety
//! The words are data that any process may have written: their reader checks them.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

const WRITING: u32 = 1;
const KNOWN: u32 = 2;

/// `N` words that are found out once.
#[repr(C)]
#[derive(Debug)]
pub struct Noted<const N: usize> {
    state: AtomicU32,
    words: [AtomicU64; N],
}

impl<const N: usize> Default for Noted<N> {
    fn default() -> Self {
        Self {
            state: AtomicU32::new(0),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl<const N: usize> Noted<N> {
    /// The words that were found; `None`: nobody has told them.
    pub fn told(&self) -> Option<[u64; N]> {
        // SYNC: noted
        let known = self.state.load(Ordering::Acquire) == KNOWN;
        known.then(|| std::array::from_fn(|at| self.words[at].load(Ordering::Relaxed)))
    }

    /// Tell the others, unless somebody has, or does.
    pub fn tell(&self, words: [u64; N]) {
        let claimed = self
            .state
            .compare_exchange(0, WRITING, Ordering::Relaxed, Ordering::Relaxed);
        if claimed.is_err() {
            return;
        }
        for (cell, word) in self.words.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
        // SYNC: noted
        self.state.store(KNOWN, Ordering::Release);
    }
}

/// The notes of a node. The processes that find them out agree on the meaning of the words.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Notes {
    /// Copies by the processor.
    pub copies: Noted<2>,
    /// Copies by the kernel.
    pub kernel_copies: Noted<4>,
    /// Where the CPUs lie that a process may use.
    pub locality: Noted<2>,
    /// The caches of one.
    pub caches: Noted<4>,
}

#[cfg(all(test, loom))]
mod loom_model {
    use super::*;

    /// A reader finds nothing, or all words of one writer.
    #[test]
    fn two_writers_and_a_reader() {
        loom::model(|| {
            let note = loom::sync::Arc::new(Noted::<2>::default());
            let writers = [1, 2].map(|word| {
                let note = loom::sync::Arc::clone(&note);
                loom::thread::spawn(move || note.tell([word, word]))
            });
            assert!(note.told().is_none_or(|[a, b]| a == b && a != 0));
            for writer in writers {
                writer.join().expect("no panic");
            }
            assert!(note.told().is_some_and(|[a, b]| a == b && a != 0));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_tells_is_believed() {
        let note = Noted::<2>::default();
        assert_eq!(note.told(), None);
        note.tell([3, 4]);
        note.tell([5, 6]);
        assert_eq!(note.told(), Some([3, 4]));
    }

    #[test]
    fn a_writer_that_died_is_not_waited_for() {
        let note = Noted::<1>::default();
        note.state.store(WRITING, Ordering::Relaxed);
        note.tell([1]);
        assert_eq!(note.told(), None);
    }

    #[test]
    fn what_others_write_while_it_is_read_is_whole_words() {
        let note = Noted::<2>::default();
        std::thread::scope(|scope| {
            for word in 1..=4 {
                let note = &note;
                scope.spawn(move || {
                    note.tell([word, word]);
                    assert!(note.told().is_none_or(|[a, b]| a == b), "of one writer");
                });
            }
        });
        assert!(note.told().is_some_and(|[a, b]| a == b && (1..=4).contains(&a)));
    }
}
