//! How a rank is told that something waits for it.
//!
//! # Layout
//! A sleep word on lines of its own (senders read it after every record, so it must stay clean in their caches), then a
//! bitmap with one bit per sender whose ring the owner does not look at by itself.
//!
//! # Fields
//! - `asleep`: 1 written by the owner before it sleeps, 0 by whoever wakes it, and by the owner afterwards; the futex
//!   word.
//! - bitmap: bits set by senders, taken all at once by the owner.
//!
//! # Ordering
//! The classic store-then-load on both sides: the sender publishes, then looks at `asleep`; the owner raises `asleep`,
//! then looks once more for records. The owner pays for both: [`Doorbell::prepare_to_sleep`] issues
//! `membarrier(GLOBAL_EXPEDITED)`. A sender whose process is not registered for it must fence itself
//! ([`order`]).
//!
//! # Safety
//! A waker killed between clearing `asleep` and the system call leaves the owner asleep: every sleep is bounded.

use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

#[cfg(not(loom))]
const _: () = assert!(size_of::<Doorbell>() == 128);

/// The sleep word.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Doorbell {
    asleep: AtomicU32,
}

impl Doorbell {
    /// Called by a sender after publishing a record and [`order`]. True: the owner sleeps, and it is the caller's turn to
    /// [`Self::wake`].
    #[inline]
    pub fn ring(&self) -> bool {
        self.asleep.load(Ordering::Relaxed) != 0 && self.asleep.swap(0, Ordering::AcqRel) != 0
    }

    /// Raise the flag. The caller then looks for work once more, and calls [`Self::sleep`] only if there is none, else
    /// [`Self::stay_awake`]. False: the kernel refuses membarrier, so a sender that does not fence may not see the flag,
    /// and the sleep must be short.
    pub fn prepare_to_sleep(&self) -> bool {
        self.asleep.store(1, Ordering::Relaxed);
        // SYNC: doorbell
        #[cfg(not(loom))]
        let seen = isthmus_os::membarrier::fence_everyone();
        #[cfg(loom)]
        let seen = true;
        fence(Ordering::SeqCst);
        seen
    }

    /// Take the flag down without sleeping.
    pub fn stay_awake(&self) {
        self.asleep.store(0, Ordering::Relaxed);
    }

    /// Wake the owner. Does not block.
    #[cfg(not(loom))]
    pub fn wake(&self) {
        isthmus_os::futex::wake(&self.asleep);
    }

    /// Sleep until woken or until `limit` is over. Blocks. True: the time was over.
    #[cfg(not(loom))]
    pub fn sleep(&self, limit: std::time::Duration) -> bool {
        let woken = isthmus_os::futex::wait(&self.asleep, 1, limit);
        self.asleep.store(0, Ordering::Relaxed);
        woken == isthmus_os::futex::Woken::TimedOut
    }
}

/// Between publishing something and looking whether its receiver must be told: a fence if this process is not registered
/// with membarrier. If it is, the receiver's membarrier drains the store, and only the compiler must keep the order.
#[inline]
pub fn order(fence_needed: bool) {
    if fence_needed {
        // SYNC: doorbell, ring-polled
        fence(Ordering::SeqCst);
    } else {
        #[cfg(not(loom))]
        std::sync::atomic::compiler_fence(Ordering::SeqCst);
    }
}

/// Set bit `index` of a bitmap. A full fence.
#[inline]
pub fn set_bit(bitmap: &[AtomicU64], index: u32) {
    bitmap[index as usize / 64].fetch_or(1 << (index % 64), Ordering::SeqCst);
}

/// Take all bits of one word. One load if there are none.
#[inline]
pub fn take_word(word: &AtomicU64) -> u64 {
    if word.load(Ordering::Relaxed) == 0 {
        0
    } else {
        word.swap(0, Ordering::SeqCst)
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    /// The sleeper never goes to sleep on a record: either it sees the record, or the sender sees the flag.
    #[test]
    fn loom_no_lost_wake() {
        loom::model(|| {
            let shared = Arc::new((Doorbell::default(), AtomicU32::new(0)));
            let theirs = shared.clone();
            let sender = loom::thread::spawn(move || {
                theirs.1.store(1, Ordering::Release);
                order(true);
                theirs.0.ring()
            });
            shared.0.prepare_to_sleep();
            let seen = shared.1.load(Ordering::Acquire) == 1;
            let woken = sender.join().expect("ends");
            assert!(seen || woken);
        });
    }
}
