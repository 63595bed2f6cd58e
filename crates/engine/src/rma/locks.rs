//! The lock table of a process, for elements of its memory that atomic instructions do not serve.
//!
//! One per process, in the job's memory, so that every origin uses it by whatever mechanism it reaches the element, the owner
//! included. The stripe is that of the element's first byte, by its address in the owner: 64 stripes, of a page each, in turn.
//! So one element has one lock, in whatever region it is, and nobody ever holds two.

use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use isthmus_shm::stripe::Got;
use isthmus_shm::{Place, Stripe};

use super::{Home, is_dead};
use crate::memory::heap::{self, REGISTRY};
use crate::{Error, Result, counters};

/// Bytes of memory that share a lock, in a row.
pub(super) const SPAN: u64 = 4096;
const STRIPES: usize = 64;
const BYTES: usize = STRIPES * size_of::<Stripe>();

/// A table.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Locks([Stripe; STRIPES]);

/// The table of this process; made at first use.
pub(super) fn own() -> Result<Place> {
    static OWN: Mutex<Option<Place>> = Mutex::new(None);
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(place) = *own {
        return Ok(place);
    }
    let table = heap::allocate(BYTES as u64, 64)?;
    // SAFETY: as many bytes were just allocated, and nobody knows of them.
    unsafe { table.write_bytes(0, BYTES) };
    let place = heap::place_of(table.as_ptr(), BYTES as u64).expect("the heap's memory is mapped by all");
    *own = Some(place);
    Ok(place)
}

/// The table that somebody says lies there.
pub(super) fn at(place: Place) -> Option<&'static Locks> {
    if place.0 == 0 || !place.0.is_multiple_of(64) {
        return None;
    }
    let table: NonNull<Locks> = REGISTRY.at(place, BYTES as u64)?.cast();
    // SAFETY: the bytes were taken from a segment, which stays mapped; a Locks is only atomics, and lies on a line.
    Some(unsafe { table.as_ref() })
}

/// A lock that is held until this is dropped.
#[must_use]
pub(super) struct Held<'a>(&'a Stripe);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.unlock();
    }
}

impl Locks {
    fn stripe(&self, address: u64) -> &Stripe {
        &self.0[(address / SPAN) as usize % STRIPES]
    }

    /// Hold the lock of the elements that begin in the same [`SPAN`] as `address` of the owner. Waits for whoever has it, but not for
    /// the dead.
    #[inline]
    pub fn hold(&self, home: &Home, address: u64) -> Held<'_> {
        let stripe = self.stripe(address);
        if let Got::TakenOver(rank) = stripe.lock(home.me, |rank| is_dead(home.segment, rank)) {
            told_of(home.me, rank);
        }
        Held(stripe)
    }

    /// The same, if nobody has it.
    #[expect(
        dead_code,
        reason = "the target's progress, which must not wait, serves operations under locks with it"
    )]
    pub fn try_hold(&self, home: &Home, address: u64) -> Option<Held<'_>> {
        let stripe = self.stripe(address);
        stripe.try_lock(home.me).then_some(Held(stripe))
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
