//! The blocks of global memory that this process knows, by address: so a pointer that leads elsewhere is found out before
//! anything is touched.
//!
//! Looked at in every operation, so each thread remembers the block that it used last of some processes.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// A block, as mapped here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedBlock {
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Its owner.
    pub owner: usize,
    /// Blocks of one collective call have one number.
    pub allocation: u64,
}

impl MappedBlock {
    fn holds(&self, owner: usize, start: u64, end: u64) -> bool {
        self.owner == owner && start >= self.start && end <= self.start + self.length
    }
}

/// By address; they do not overlap.
static BLOCKS: RwLock<Vec<MappedBlock>> = RwLock::new(Vec::new());
/// Changes whenever blocks go.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// Processes whose last block a thread remembers.
const REMEMBERED: usize = 8;

#[derive(Debug, Clone, Copy)]
struct RememberedBlock {
    generation: u64,
    block: MappedBlock,
}

const NOTHING: RememberedBlock = RememberedBlock {
    generation: 0,
    block: MappedBlock {
        start: 0,
        length: 0,
        owner: 0,
        allocation: 0,
    },
};

thread_local! {
    static LAST: [Cell<RememberedBlock>; REMEMBERED] = const { [const { Cell::new(NOTHING) }; REMEMBERED] };
}

/// Do the bytes from `start` to `end` belong to one block of `owner`?
#[inline]
pub fn knows(owner: usize, start: u64, end: u64) -> bool {
    LAST.with(|last| {
        let slot = &last[owner % REMEMBERED];
        let memory = slot.get();
        if memory.generation == GENERATION.load(Ordering::Acquire) && memory.block.holds(owner, start, end) {
            return true;
        }
        let Some(memory) = find(owner, start, end) else {
            return false;
        };
        slot.set(memory);
        true
    })
}

#[cold]
fn find(owner: usize, start: u64, end: u64) -> Option<RememberedBlock> {
    let blocks = BLOCKS.read().unwrap_or_else(PoisonError::into_inner);
    let generation = GENERATION.load(Ordering::Acquire);
    let at = blocks.partition_point(|block| block.start <= start);
    let block = *blocks.get(at.checked_sub(1)?)?;
    block
        .holds(owner, start, end)
        .then_some(RememberedBlock { generation, block })
}

/// Know these blocks.
pub fn add(new: impl IntoIterator<Item = MappedBlock>) {
    let mut blocks = BLOCKS.write().unwrap_or_else(PoisonError::into_inner);
    for block in new {
        let at = blocks.partition_point(|other| other.start < block.start);
        blocks.insert(at, block);
    }
}

/// The allocation of which a block begins here.
pub fn allocation_at(start: u64) -> Option<u64> {
    let blocks = BLOCKS.read().unwrap_or_else(PoisonError::into_inner);
    let at = blocks.binary_search_by_key(&start, |block| block.start).ok()?;
    Some(blocks[at].allocation)
}

/// Forget the blocks of an allocation.
pub fn forget(allocation: u64) {
    let mut blocks = BLOCKS.write().unwrap_or_else(PoisonError::into_inner);
    blocks.retain(|block| block.allocation != allocation);
    GENERATION.fetch_add(1, Ordering::Release);
}

/// Forget everything.
pub fn forget_all() {
    let mut blocks = BLOCKS.write().unwrap_or_else(PoisonError::into_inner);
    blocks.clear();
    GENERATION.fetch_add(1, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ranges_of_the_right_owner_are_known() {
        let block = |start, length, owner, allocation| MappedBlock {
            start,
            length,
            owner,
            allocation,
        };
        add([block(1000, 100, 1, 7), block(1100, 50, 2, 7), block(500, 10, 1, 8)]);
        assert!(knows(1, 1000, 1100) && knows(1, 1099, 1100) && knows(2, 1100, 1150) && knows(1, 500, 510));
        assert!(!knows(2, 1000, 1008), "another's");
        assert!(!knows(1, 1090, 1101), "across the end");
        assert!(!knows(1, 999, 1001) && !knows(1, 510, 511) && !knows(3, 1000, 1001));
        assert_eq!(allocation_at(1100), Some(7));
        assert_eq!(allocation_at(1101), None);
        forget(7);
        assert!(!knows(1, 1000, 1008), "freed");
        assert!(knows(1, 500, 510));
        forget_all();
        assert!(!knows(1, 500, 510));
    }
}
