//! The lock table of a process, for elements of its memory that atomic instructions do not serve.
//!
//! One per process, in the job's memory, so that every origin uses it by whatever mechanism it reaches the element, the owner
//! included. The stripe is that of the element's first byte, by its address in the owner: 64 stripes, of 32 KiB each, in turn.
//! So one element has one lock, in whatever region it is. An operation holds one at a time, or takes several in the order of their stripes: two
//! operations never wait for each other. The holder of a peer's lock must not enter the engine, where it could be asked to take one of its own.
//!
//! Beside the locks lie the phases of the owner's regions, each of which has one of 256, and the sections of every process to any of them
//! ([`isthmus_shm::switchover`]): what is changed by instructions first goes over to locks at the first long accumulate.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use isthmus_os::membarrier::fence_everyone;
use isthmus_shm::stripe::Got;
use isthmus_shm::switchover::{Phase, ReadGuard, ReadSection};
use isthmus_shm::{SharedAddress, Stripe};

use super::{ProcessContext, is_dead};
use crate::memory::heap::{self, REGISTRY};
use crate::{Error, Result, counters};

/// Bytes of memory that share a lock, in a row.
pub(super) const SPAN: u64 = 32 << 10;
const STRIPES: usize = 64;
/// Phases; regions beyond share them.
pub(super) const PHASES: usize = 256;

/// A table. Behind it lies a [`ReadSection`] for each process of the job.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Locks {
    stripes: [Stripe; STRIPES],
    phases: [Phase; PHASES],
    /// Where the owner's mailboxes lie; 0: it has none.
    pub mailboxes: AtomicU64,
}

const _: () = assert!(size_of::<Locks>().is_multiple_of(align_of::<ReadSection>()));

/// Of a table, with the sections.
fn bytes(ranks: u32) -> usize {
    size_of::<Locks>() + ranks as usize * size_of::<ReadSection>()
}

/// The table of this process; made at first use.
pub(super) fn own() -> Result<SharedAddress> {
    static OWN: Mutex<Option<SharedAddress>> = Mutex::new(None);
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(address) = *own {
        return Ok(address);
    }
    let bytes = bytes(super::home()?.segment.ranks());
    let table = heap::allocate(bytes as u64, 64)?;
    // SAFETY: as many bytes were just allocated, and nobody knows of them.
    unsafe { table.write_bytes(0, bytes) };
    let address = heap::shared_address_of(table.as_ptr(), bytes as u64).expect("the heap's memory is mapped by all");
    *own = Some(address);
    Ok(address)
}

/// The table that somebody says lies there.
pub(super) fn at(address: SharedAddress) -> Option<&'static Locks> {
    if address.0 == 0 || !address.0.is_multiple_of(64) {
        return None;
    }
    let ranks = super::home().ok()?.segment.ranks();
    let table: NonNull<Locks> = REGISTRY.at(address, bytes(ranks) as u64)?.cast();
    // SAFETY: the bytes were taken from a segment, which stays mapped; a Locks is only atomics, and lies on a line.
    Some(unsafe { table.as_ref() })
}

/// The kernel does not let this process fence others, and need not be asked again.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// A lock that is held until this is dropped.
#[must_use]
pub(super) struct StripeGuard<'a> {
    stripe: &'a Stripe,
    fence_needed: bool,
}

impl Drop for StripeGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.stripe.unlock(self.fence_needed);
    }
}

/// Several locks that are held until this is dropped.
#[must_use]
pub(super) struct HeldAll<'a> {
    locks: &'a Locks,
    stripes: u64,
    fence_needed: bool,
}

impl Drop for HeldAll<'_> {
    fn drop(&mut self) {
        for stripe in self.locks.each(self.stripes) {
            stripe.unlock(self.fence_needed);
        }
    }
}

/// A bit for each lock of elements that begin between two addresses of the owner, both included.
pub(super) fn stripes(first: u64, last: u64) -> u64 {
    const { assert!(STRIPES == u64::BITS as usize) };
    let (first, last) = (first / SPAN, last / SPAN);
    let count = (last - first + 1).min(STRIPES as u64);
    (u64::MAX >> (STRIPES as u64 - count)).rotate_left((first % STRIPES as u64) as u32)
}

impl Locks {
    fn stripe(&self, address: u64) -> &Stripe {
        &self.stripes[(address / SPAN) as usize % STRIPES]
    }

    /// Hold the lock of the elements that begin in the same [`SPAN`] as `address` of the owner. Waits for its holder, but not for
    /// the dead.
    #[inline]
    pub fn hold(&self, home: &ProcessContext, address: u64) -> StripeGuard<'_> {
        let stripe = self.stripe(address);
        lock(home, stripe);
        StripeGuard {
            stripe,
            fence_needed: home.fence_needed,
        }
    }

    /// Hold all locks of a set ([`stripes`]), as [`Self::hold`] does one. The caller holds none.
    pub fn hold_all(&self, home: &ProcessContext, stripes: u64) -> HeldAll<'_> {
        // Always in the same order: see the top of the file.
        for stripe in self.each(stripes) {
            lock(home, stripe);
        }
        HeldAll {
            locks: self,
            stripes,
            fence_needed: home.fence_needed,
        }
    }

    fn each(&self, stripes: u64) -> impl Iterator<Item = &Stripe> {
        let all = self.stripes.iter().enumerate();
        all.filter(move |(index, _)| stripes >> index & 1 != 0)
            .map(|(_, stripe)| stripe)
    }

    /// The phase with this number.
    #[inline]
    pub fn phase(&self, number: u8) -> &Phase {
        &self.phases[usize::from(number)]
    }

    fn read_sections(&self) -> *const ReadSection {
        std::ptr::from_ref(self).wrapping_add(1).cast()
    }

    /// Change elements of a region with this phase by instructions, until the answer is dropped; `None`: they need locks. `of_several`: other
    /// threads of this process may do so, too.
    #[inline]
    pub fn enter_section(&self, home: &ProcessContext, number: u8, of_several: bool) -> Option<ReadGuard<'_>> {
        // SAFETY: the table has a section for each process, in memory that stays mapped.
        let section = unsafe { &*self.read_sections().wrapping_add(home.me as usize) };
        section.begin(self.phase(number), home.fence_needed, of_several)
    }

    /// From now on, if that can be, the elements of regions with this phase are changed under locks only.
    #[cold]
    pub fn go_over(&self, home: &ProcessContext, number: u8) {
        if IS_REFUSED.load(Ordering::Relaxed) {
            return;
        }
        let fence_all = || {
            let is_done = fence_everyone();
            if !is_done {
                IS_REFUSED.store(true, Ordering::Relaxed);
            }
            is_done
        };
        let living = (0..home.segment.ranks()).filter(|rank| !is_dead(home.segment, *rank));
        // SAFETY: as above.
        let sections = living.map(|rank| unsafe { &*self.read_sections().wrapping_add(rank as usize) });
        if self.phase(number).lock(fence_all, sections) {
            counters::RMA_LOCKED_REGIONS.add_anywhere(1);
        }
    }
}

#[inline]
fn lock(home: &ProcessContext, stripe: &Stripe) {
    if let Got::TakenOver(rank) = stripe.lock(home.me, |rank| is_dead(home.segment, rank)) {
        told_of(home.me, rank);
    }
}

#[cold]
fn told_of(me: u32, dead: u32) {
    counters::LOCKS_TAKEN_OVER.add_anywhere(1);
    isthmus_os::process::say(&format!(
        "isthmus: rank {me}: rank {dead} died in the middle of an accumulate; its lock is taken over, and the element that it was \
         changing holds its old or its new value"
    ));
}

/// Of an address that would wrap.
pub(super) fn address(base: u64, at: u64) -> Result<u64> {
    base.checked_add(at).ok_or(Error::Mismatch("an address beyond the end"))
}

#[cfg(test)]
mod tests {
    use super::{SPAN, stripes};

    #[test]
    fn elements_have_the_locks_of_the_spans_that_they_begin_in() {
        assert_eq!(stripes(0, 0), 1);
        assert_eq!(stripes(SPAN - 1, SPAN), 0b11);
        assert_eq!(stripes(63 * SPAN, 65 * SPAN), 1 << 63 | 0b11);
        assert_eq!(stripes(7 * SPAN, 70 * SPAN), u64::MAX);
        assert_eq!(stripes(7 * SPAN, 1000 * SPAN), u64::MAX);
    }
}
