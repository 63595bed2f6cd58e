//! Copying to where other processes will read, and from there: which instructions pay is learned.
//!
//! Vectors are best while the lines that are written are near. Where they lie in the cache of a distant processor, taking
//! them back costs ten times as much as passing the caches by; and a virtual machine moves between the two while it runs
//! (docs/decisions/0009). Streaming stores make the reader fetch from memory, which it pays for; that is put to their
//! account, since it happens elsewhere.
//!
//! Where ranks take turns on the CPUs, long copies are by strings, which do not read the lines that they overwrite: those have
//! left the nearest caches by the time of the next turn (docs/decisions/0023).
//!
//! A copy in so many is timed, up to the moment when its last store is done. The way that is not in use is tried now and
//! then.

use std::sync::atomic::{AtomicU32, Ordering, fence};

use isthmus_os::clock;
use isthmus_transfer::copy::{Copying, copy, copy_by};

use crate::boot::is_crowded;

/// Shorter copies are not worth a choice.
const FROM: usize = 1 << 10;
/// From this length on ranks that take turns copy by strings.
const STRINGS_FROM: usize = 64 << 10;
/// Size classes, by powers of two from [`FROM`] on; the last has all that is longer.
const CLASSES: usize = 8;
/// One copy in so many is timed.
const TIMED: u32 = 16;
/// One timed copy in so many tries the other way.
const TRIED: u32 = 32;
/// Copies that are timed at first.
const FIRST: u32 = 12;
/// What a reader pays for streaming stores: nanoseconds in all, and per 64 bytes.
const READER: (u32, u32) = (150, 3);

/// What is known of one size class. Threads may lose each other's lessons; nothing else depends on them.
struct Class {
    copies: AtomicU32,
    /// Nanoseconds by the usual way and by streaming.
    took: [AtomicU32; 2],
}

static KNOWN: [Class; CLASSES] = [const {
    Class {
        copies: AtomicU32::new(0),
        took: [AtomicU32::new(0), AtomicU32::new(0)],
    }
}; CLASSES];

/// Copy to memory that other processes will read.
///
/// # Safety
/// As for [`copy`].
#[inline]
pub unsafe fn copy_for_others(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if length < FROM {
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
        if length < FROM {
            copy(from, to, length);
        } else {
            copy_by(usual(from, to, length), from, to, length);
        }
    }
}

/// How to copy where there is nothing to learn.
fn usual(from: *const u8, to: *const u8, length: usize) -> Copying {
    if length >= STRINGS_FROM && is_crowded() && Copying::strings_suit(from, to) {
        return Copying::String;
    }
    Copying::usual()
}

/// # Safety
/// As for [`copy`].
unsafe fn copy_long(from: *const u8, to: *mut u8, length: usize) {
    let class = &KNOWN[((length / FROM).ilog2() as usize).min(CLASSES - 1)];
    let number = class.copies.load(Ordering::Relaxed);
    class.copies.store(number.wrapping_add(1), Ordering::Relaxed);
    let mut streams = class.streams(length);
    let timed = number < FIRST || number.is_multiple_of(TIMED);
    if timed && number < FIRST {
        streams = number % 2 == 1;
    } else if timed && (number / TIMED).is_multiple_of(TRIED) {
        streams = !streams;
    }
    let way = if streams && Copying::Streaming.is_sensible() {
        Copying::Streaming
    } else {
        usual(from, to, length)
    };
    let began = timed.then(clock::now);
    // SAFETY: the caller's promise.
    unsafe { copy_by(way, from, to, length) };
    if let Some(began) = began {
        // Until then stores may only be queued.
        fence(Ordering::SeqCst);
        let took = (clock::now() - began).as_nanos() * FROM as u128 / length as u128;
        class.learn(way == Copying::Streaming, took.min(1 << 24) as u32 + 1);
    }
}

impl Class {
    /// Do streaming stores pay?
    fn streams(&self, length: usize) -> bool {
        let [usual, streaming] = [0, 1].map(|way| self.took[way].load(Ordering::Relaxed));
        // All per `FROM` bytes.
        let reader = READER.0 * FROM as u32 / length as u32 + READER.1 * (FROM / 64) as u32;
        streaming != 0 && usual > streaming + reader
    }

    /// A copy took so long, in nanoseconds per [`FROM`] bytes. What is much longer than before is believed slowly: the CPU
    /// may have been given to somebody else.
    fn learn(&self, streaming: bool, took: u32) {
        let known = &self.took[usize::from(streaming)];
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
    fn the_cheaper_way_is_taken_and_changes_are_followed() {
        let class = Class {
            copies: AtomicU32::new(0),
            took: [AtomicU32::new(0), AtomicU32::new(0)],
        };
        assert!(!class.streams(FROM), "nothing is known");
        class.learn(true, 30);
        class.learn(false, 25);
        assert!(!class.streams(1 << 15));
        for _ in 0..10 {
            class.learn(false, 400);
        }
        assert!(class.streams(1 << 15), "the lines are far now");
        class.learn(false, 1 << 24);
        for _ in 0..10 {
            class.learn(false, 25);
        }
        assert!(!class.streams(1 << 15), "and near again");
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
