//! Copying to where other processes will read, and from there: which instructions pay is learned.
//!
//! Vectors are best while the lines that are written are near. Where they lie in the cache of a distant processor, taking
//! them back costs ten times as much as passing the caches by; and a virtual machine moves between the two while it runs
//! (docs/decisions/0009). Streaming stores make the reader fetch from memory, which it pays for; that is put to their
//! account, since it happens elsewhere. `rep movsb` takes the lines without what is in them, which pays for long distances and
//! long copies.
//!
//! Where ranks take turns on the CPUs, long copies are by `rep movsb`, which does not read the lines that it overwrites: those have
//! left the nearest caches by the time of the next turn (docs/decisions/0009).
//!
//! A copy in so many is timed, up to the moment when its last store is done ([`crate::learning`]).

use std::sync::atomic::{AtomicU32, Ordering, fence};

use isthmus_os::clock;
use isthmus_transfer::copy::{COPYINGS, Copying, copy, copy_by};

use crate::learning::{Alternative, Exploration, Learner};
use crate::limits::{
    CHOSEN_FROM, COPIES_TIMED, COPIES_TIMED_FIRST, COPIES_TRIED, COPY_COST_RISES, PAST_CACHES_READER,
    PAST_CACHES_READER_LINE, REP_MOVSB_FROM, REP_MOVSB_TRIED_FROM,
};
use crate::rules::Rule;
use isthmus_shm::occupancy::is_oversubscribed;

/// Size classes, by powers of two from [`CHOSEN_FROM`] on; the last has all that is longer.
const CLASSES: usize = 8;

/// Measurements of one size class: nanoseconds per [`CHOSEN_FROM`] bytes.
struct Class {
    copies: AtomicU32,
    learner: Learner<COPYINGS>,
}

static KNOWN: [Class; CLASSES] = [const {
    Class {
        copies: AtomicU32::new(0),
        learner: Learner::new(),
    }
}; CLASSES];

/// How instructions are explored, in copies that are timed.
const EXPLORATION: Exploration = Exploration {
    trials: COPIES_TIMED_FIRST / COPYINGS as u32,
    first_retry: COPIES_TRIED,
    retry: COPIES_TRIED,
    retry_slower: 0,
    in_a_row: 1,
    not_tried_from: u32::MAX,
    rise: COPY_COST_RISES,
};

impl Alternative for Copying {
    fn index(self) -> usize {
        self as usize
    }
}

/// Do ranks share CPUs?
pub(super) fn ranks_take_turns() -> bool {
    is_oversubscribed()
}

/// Copy to memory that other processes will read.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub unsafe fn copy_for_others(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if length < CHOSEN_FROM {
            copy(from, to, length);
        } else {
            copy_long(from, to, length);
        }
    }
}

/// Copy from memory that another process has written.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub unsafe fn copy_from_others(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if length < CHOSEN_FROM {
            copy(from, to, length);
        } else {
            copy_by(usual(from, to, length), from, to, length);
        }
    }
}

/// The same, to where it will not be in a cache when it is needed.
///
/// # Safety
/// As for [`copy`].
pub unsafe fn copy_past_caches(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy_by(Copying::Streaming, from, to, length) };
}

/// How to copy where there is nothing to learn.
fn usual(from: *const u8, to: *const u8, length: usize) -> Copying {
    if length >= REP_MOVSB_FROM && is_oversubscribed() && Rule::RepMovsb.holds() && Copying::rep_movsb_suits(from, to) {
        return Copying::RepMovsb;
    }
    Copying::usual()
}

/// # Safety
/// As for [`copy`].
unsafe fn copy_long(from: *const u8, to: *mut u8, length: usize) {
    let class = &KNOWN[((length / CHOSEN_FROM).ilog2() as usize).min(CLASSES - 1)];
    let number = class.copies.load(Ordering::Relaxed);
    class.copies.store(number.wrapping_add(1), Ordering::Relaxed);
    let usual = usual(from, to, length);
    let others = [Copying::Streaming, Copying::RepMovsb].into_iter();
    let others = others.filter(|&copying| copying != usual && is_sensible(copying, from, to, length));
    let open = std::iter::once(usual).chain(others);
    let timed = number < COPIES_TIMED_FIRST || number.is_multiple_of(COPIES_TIMED);
    if !timed {
        // SAFETY: the caller's promise.
        return unsafe { copy_by(class.learner.best(open), from, to, length) };
    }
    let copying = class.learner.choose(open, &EXPLORATION);
    let began = clock::now();
    // SAFETY: the caller's promise.
    unsafe { copy_by(copying, from, to, length) };
    // Until then stores may only be queued.
    fence(Ordering::SeqCst);
    let took = (clock::now() - began).as_nanos() as u64 + reader_pays(copying, length);
    class
        .learner
        .learn(copying, took * CHOSEN_FROM as u64 / length as u64, &EXPLORATION);
}

/// What the reader pays for such a copy, in nanoseconds.
fn reader_pays(copying: Copying, length: usize) -> u64 {
    match copying {
        Copying::Streaming => PAST_CACHES_READER + PAST_CACHES_READER_LINE * (length as u64 / 64),
        _ => 0,
    }
}

/// Is it worth a try for this copy? (Where ranks take turns, times tell nothing about `rep movsb`: it was tried.)
fn is_sensible(copying: Copying, from: *const u8, to: *const u8, length: usize) -> bool {
    if !Rule::Instructions.holds() {
        return false;
    }
    match copying {
        Copying::RepMovsb => {
            length >= REP_MOVSB_TRIED_FROM && !is_oversubscribed() && Copying::rep_movsb_suits(from, to)
        }
        other => other.is_sensible(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_bytes_arrive() {
        let source: Vec<u8> = (0..70_000u32).map(|i| (i * 7) as u8).collect();
        for length in [0, 1, 1023, 1024, 5000, 70_000] {
            for _ in 0..20 {
                let mut target = vec![0; length];
                // SAFETY: both have the length.
                unsafe { copy_for_others(source.as_ptr(), target.as_mut_ptr(), length) };
                assert_eq!(target, source[..length]);
            }
        }
    }
}
