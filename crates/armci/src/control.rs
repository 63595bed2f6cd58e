//! What each process shows the others, in shared memory: the locks under which its memory is accumulated to, and the
//! counters of notifications.
//!
//! # Layout
//! `STRIPES` [`ShortLock`]s, then a counter (u64) per process that may notify this one.
//!
//! # Safety
//! The block is zeroed before its address is told, and freed with all global memory, after a barrier.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use isthmus_engine::heap::{self, SharedAddress};

use crate::error::{Error, Result};
use crate::link::Link;
use crate::lock::ShortLock;
use crate::memory;

/// Locks of a process's memory.
const STRIPES: usize = 64;
/// Neighbouring bytes under one lock: a page.
const STRIPE_BITS: u32 = 12;

/// The blocks of all processes, mapped here.
#[derive(Debug)]
pub struct Controls {
    blocks: Vec<NonNull<u8>>,
    /// Notifications of each process that were waited for.
    waited: Vec<AtomicU32>,
}

// SAFETY: the pointers lead to atomics in memory that stays mapped until the process exits.
unsafe impl Send for Controls {}
// SAFETY: as above.
unsafe impl Sync for Controls {}

impl Controls {
    /// Make ours, tell the others, learn of theirs. Collective.
    pub(crate) fn exchange(link: &Link<'_>) -> Result<Self> {
        let bytes = STRIPES * size_of::<ShortLock>() + link.size() * size_of::<AtomicU64>();
        let (_, blocks) = memory::exchange(link, bytes as u64)?;
        let blocks: Option<Vec<_>> = blocks.iter().map(|block| NonNull::new(block.address)).collect();
        Ok(Self {
            blocks: blocks.ok_or_else(|| Error::Memory {
                bytes: bytes as u64,
                why: "a process showed none".into(),
            })?,
            waited: (0..link.size()).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    /// Which lock the byte at `address` of a process is under. The same for everybody, wherever they map it.
    #[inline]
    pub fn stripe_of(address: u64) -> u64 {
        let SharedAddress(shared) = heap::shared_address_of(std::ptr::without_provenance(address as usize), 1)
            .unwrap_or(SharedAddress(address));
        shared >> STRIPE_BITS
    }

    /// Bytes of a stripe, which are under one lock.
    #[inline]
    pub fn stripe_bytes() -> u64 {
        1 << STRIPE_BITS
    }

    /// The lock of a stripe of a process's memory.
    #[inline]
    pub fn lock(&self, owner: usize, stripe: u64) -> &ShortLock {
        // SAFETY: the block begins with STRIPES locks, zeroed before it was told.
        unsafe {
            &*self.blocks[owner]
                .cast::<ShortLock>()
                .as_ptr()
                .add(stripe as usize % STRIPES)
        }
    }

    /// The address of [`Self::notifications`], where the target is on another node.
    pub fn address_of_notifications(&self, target: usize, origin: usize) -> u64 {
        let first = self.blocks[target].as_ptr().addr() + STRIPES * size_of::<ShortLock>();
        (first + origin * size_of::<AtomicU64>()) as u64
    }

    /// The counter at `target`, a process of this node, of notifications by `origin`.
    #[inline]
    pub fn notifications(&self, target: usize, origin: usize) -> &AtomicU64 {
        // SAFETY: behind the locks there is a counter for each process.
        unsafe {
            let counters = self.blocks[target].as_ptr().add(STRIPES * size_of::<ShortLock>());
            &*counters.cast::<AtomicU64>().add(origin)
        }
    }

    /// One more notification of `origin` is waited for: which, counted from 1.
    pub fn wait_for_next(&self, origin: usize) -> u32 {
        self.waited[origin].fetch_add(1, Ordering::Relaxed) + 1
    }
}
