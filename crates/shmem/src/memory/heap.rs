//! The allocator of the symmetric heap: every PE runs it with the same requests, so that all give the same offsets.
//!
//! What it knows lies in private memory, where no program that writes beyond its arrays reaches it, and depends on the requests
//! alone. The smallest free block that is large enough is taken, the first of equals.

use std::collections::{BTreeMap, BTreeSet};

/// Objects begin on a line of their own, as what other PEs write should.
const LINE: u64 = 64;

/// Blocks of a heap, by offset.
#[derive(Debug)]
pub struct Heap {
    free: BTreeMap<u64, u64>,
    /// (length, offset)
    by_size: BTreeSet<(u64, u64)>,
    live: BTreeMap<u64, Live>,
    used: u64,
}

/// An allocation.
#[derive(Debug, Clone, Copy)]
struct Live {
    length: u64,
    wanted: u64,
}

impl Heap {
    /// `length` bytes, all free.
    pub fn new(length: u64) -> Self {
        let mut heap = Self {
            free: BTreeMap::new(),
            by_size: BTreeSet::new(),
            live: BTreeMap::new(),
            used: 0,
        };
        heap.insert(0, length / LINE * LINE);
        heap
    }

    /// Bytes that programs have.
    #[cfg(test)]
    pub fn used(&self) -> u64 {
        self.used
    }

    fn insert(&mut self, at: u64, length: u64) {
        if length > 0 {
            self.free.insert(at, length);
            self.by_size.insert((length, at));
        }
    }

    fn remove(&mut self, at: u64, length: u64) {
        self.free.remove(&at);
        self.by_size.remove(&(length, at));
    }

    /// `wanted` bytes at a multiple of `alignment`, a power of two: their offset. `None`: there is no block for them.
    pub fn allocate(&mut self, wanted: u64, alignment: u64) -> Option<u64> {
        let length = wanted.max(1).checked_next_multiple_of(LINE)?;
        let alignment = alignment.max(LINE);
        let &(size, at) = self
            .by_size
            .range((length, 0)..)
            .find(|&&(size, at)| at.next_multiple_of(alignment) - at <= size - length)?;
        let first = at.next_multiple_of(alignment);
        self.remove(at, size);
        self.insert(at, first - at);
        self.insert(first + length, at + size - first - length);
        self.live.insert(first, Live { length, wanted });
        self.used += length;
        Some(first)
    }

    /// Give back what begins at `at`: its length. `None`: nothing does.
    pub fn release(&mut self, at: u64) -> Option<u64> {
        let Live { length, .. } = self.live.remove(&at)?;
        self.used -= length;
        let (mut first, mut end) = (at, at + length);
        if let Some((&before, &its)) = self.free.range(..at).next_back()
            && before + its == at
        {
            self.remove(before, its);
            first = before;
        }
        if let Some(&its) = self.free.get(&end) {
            self.remove(end, its);
            end += its;
        }
        self.insert(first, end - first);
        Some(length)
    }

    /// The bytes that were asked for what begins at `at`.
    pub fn wanted(&self, at: u64) -> Option<u64> {
        self.live.get(&at).map(|live| live.wanted)
    }

    /// Make what begins at `at` shorter, or longer if it has room: true if it stays where it is.
    pub fn resize(&mut self, at: u64, wanted: u64) -> bool {
        let Some(live) = self.live.get_mut(&at) else {
            return false;
        };
        if wanted > live.length {
            return false;
        }
        live.wanted = wanted;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_disjoint_aligned_and_joined_again() {
        let mut heap = Heap::new(1 << 20);
        let mut live: Vec<(u64, u64)> = Vec::new();
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..5000 {
            if live.len() > 40 || (!live.is_empty() && random(3) == 0) {
                let (at, _) = live.swap_remove(random(live.len() as u64) as usize);
                assert!(heap.release(at).is_some());
                assert!(heap.release(at).is_none(), "once");
            } else {
                let (wanted, alignment) = (1 + random(9000), 1 << random(13));
                if let Some(at) = heap.allocate(wanted, alignment) {
                    assert!(at.is_multiple_of(alignment));
                    assert!(
                        live.iter()
                            .all(|&(other, length)| at + wanted <= other || other + length <= at)
                    );
                    live.push((at, wanted));
                }
            }
        }
        for (at, _) in live {
            heap.release(at);
        }
        assert_eq!((heap.used(), heap.free.len(), heap.by_size.len()), (0, 1, 1));
        assert_eq!(heap.allocate(1 << 20, 1), Some(0));
        assert_eq!(heap.allocate(1, 1), None);
        assert_eq!(Heap::new(1 << 20).allocate(u64::MAX, 1), None);
    }
}
