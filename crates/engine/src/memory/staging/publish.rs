//! Copying to where other processes will read, and from there: which instructions pay is learned.
//!
//! Vectors are best while the lines that are written are near. Where they lie in the cache of a distant processor, taking
//! them back costs ten times as much as passing the caches by; and a virtual machine moves between the two while it runs
//! (docs/decisions/0009). Streaming stores make the reader fetch from memory, which it pays for; that is put to their
//! account, since it happens elsewhere. String copies take the lines without what is in them, which pays for long distances and
//! long copies.
//!
//! Where ranks take turns on the CPUs, long copies are by strings, which do not read the lines that they overwrite: those have
//! left the nearest caches by the time of the next turn (docs/decisions/0009).
//!
//! A copy in so many is timed, up to the moment when its last store is done. The ways that are not in use are tried now and
//! then.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use isthmus_os::clock;
use isthmus_transfer::copy::{COPYINGS, Copying, copy, copy_by};

use crate::limits::{
    CHOSEN_FROM, COPIES_TIMED, COPIES_TIMED_FIRST, COPIES_TRIED, PAST_CACHES_READER, PAST_CACHES_READER_LINE,
    REP_MOVSB_FROM, REP_MOVSB_TRIED_FROM,
};
use crate::rules::Rule;
use isthmus_shm::occupancy::is_oversubscribed;

/// Size classes, by powers of two from [`CHOSEN_FROM`] on; the last has all that is longer.
const CLASSES: usize = 8;

/// Measurements of one size class. Threads may lose each other's measurements; nothing else depends on them.
struct Class {
    copies: AtomicU32,
    /// Nanoseconds by the number of the [`Copying`]; 0: not known.
    took: [AtomicU32; COPYINGS],
}

static KNOWN: [Class; CLASSES] = [const {
    Class {
        copies: AtomicU32::new(0),
        took: [const { AtomicU32::new(0) }; COPYINGS],
    }
}; CLASSES];

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
    let timed = number < COPIES_TIMED_FIRST || number.is_multiple_of(COPIES_TIMED);
    let turn = match number < COPIES_TIMED_FIRST {
        true => Some(number),
        false => (timed && (number / COPIES_TIMED).is_multiple_of(COPIES_TRIED))
            .then_some(number / COPIES_TIMED / COPIES_TRIED),
    };
    let copying = match turn {
        Some(turn) => {
            let all = 1 + others.clone().count() as u32;
            let mut all_ways = std::iter::once(usual).chain(others);
            all_ways.nth((turn % all) as usize).unwrap_or(usual)
        }
        None => class.best(usual, others, length),
    };
    let began = timed.then(clock::now);
    // SAFETY: the caller's promise.
    unsafe { copy_by(copying, from, to, length) };
    if let Some(began) = began {
        // Until then stores may only be queued.
        fence(Ordering::SeqCst);
        let took = (clock::now() - began).as_nanos() * CHOSEN_FROM as u128 / length as u128;
        class.learn(copying, took.min(1 << 24) as u32 + 1);
    }
}

/// Is it worth a try for this copy? (Where ranks take turns, times tell nothing about strings: it was tried.)
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

impl Class {
    /// The way that takes least, as far as that is known.
    fn best(&self, usual: Copying, others: impl Iterator<Item = Copying>, length: usize) -> Copying {
        let took = |copying: Copying| {
            let took = self.took[copying as usize].load(Ordering::Relaxed);
            // All per `CHOSEN_FROM` bytes.
            let reader = match copying {
                Copying::Streaming => {
                    PAST_CACHES_READER * CHOSEN_FROM as u32 / length as u32
                        + PAST_CACHES_READER_LINE * (CHOSEN_FROM / 64) as u32
                }
                _ => 0,
            };
            if took == 0 { u32::MAX } else { took + reader }
        };
        others.fold(
            usual,
            |best, copying| if took(copying) < took(best) { copying } else { best },
        )
    }

    /// A copy took so long, in nanoseconds per [`CHOSEN_FROM`] bytes. What is much longer than before is believed slowly: the CPU
    /// may have been given to another process.
    fn learn(&self, copying: Copying, took: u32) {
        let known = &self.took[copying as usize];
        let before = known.load(Ordering::Relaxed);
        let now = match before {
            0 => took,
            _ if took < before => before - (before - took) / 2,
            _ => before + (took.min(4 * before) - before) / 4 + 1,
        };
        known.store(now, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_way_is_taken_and_changes_are_followed() {
        let class = Class {
            copies: AtomicU32::new(0),
            took: [const { AtomicU32::new(0) }; COPYINGS],
        };
        let best = || {
            class.best(
                Copying::Vector,
                [Copying::Streaming, Copying::RepMovsb].into_iter(),
                1 << 15,
            )
        };
        assert_eq!(best(), Copying::Vector, "nothing is known");
        class.learn(Copying::Streaming, 30);
        class.learn(Copying::Vector, 25);
        assert_eq!(best(), Copying::Vector, "the reader pays for the other");
        for _ in 0..10 {
            class.learn(Copying::Vector, 400);
        }
        assert_eq!(best(), Copying::Streaming, "the lines are far now");
        class.learn(Copying::RepMovsb, 60);
        assert_eq!(best(), Copying::RepMovsb);
        class.learn(Copying::Vector, 1 << 24);
        for _ in 0..10 {
            class.learn(Copying::Vector, 25);
        }
        assert_eq!(best(), Copying::Vector, "and near again");
    }

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
