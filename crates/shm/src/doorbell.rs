//! How a rank is told that something waits for it.
//!
//! # Layout
//! A sleep word on lines of its own (senders read it after every record, so it must stay clean in their caches), then a
//! bitmap with one bit per sender whose ring the owner does not look at by itself.
//!
//! # Fields
//! - `word`, the futex word. Its lowest bit, *armed*: raised by the owner before it sleeps, taken down by the thread that wakes it,
//!   and by the owner afterwards. The next one: senders must fence, since the owner cannot for them; it stays. The rest
//!   counts calls from thread to thread within the owner, so that a thread which is about to sleep notices one.
//! - `rung`: when a waker last took the bit down, for the owner to learn what a wake takes. On a line of its own.
//! - bitmap: bits set by senders, taken all at once by the owner.
//!
//! # Ordering
//! The classic store-then-load on both sides: the sender publishes, then looks at the word; the owner raises the bit, then
//! looks once more for records. The owner pays for both: [`Doorbell::prepare_to_sleep`] issues
//! `membarrier(GLOBAL_EXPEDITED)`. A sender whose process is not registered for it must fence itself ([`order`]), and so
//! must all who send to an owner that is refused it.
//!
//! # Threads
//! Several threads of the owner may sleep on the word ([`Doorbell::rest`]), each under a bit of its own. A sender wakes
//! any one of them, which then looks after all; a thread of the owner wakes exactly those whom it [calls](Doorbell::call).
//! A thread rests only while somebody would notice what comes: while the bell is armed, or another thread polls.
//!
//! # Safety
//! A waker killed between taking the bit down and the system call leaves the owner asleep: every sleep is bounded.

use std::time::Duration;

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence, futex};

#[cfg(not(loom))]
const _: () = assert!(size_of::<Doorbell>() == 128);

/// Somebody sleeps, and nobody looks at the rings.
const ARMED: u32 = 1;
/// A ringing process must fence before it looks.
const UNFENCED: u32 = 2;
/// One call from thread to thread.
const CALL: u32 = 4;

/// The sleep word.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Doorbell {
    word: AtomicU32,
    pad: [u32; 15],
    /// In nanoseconds of the clock that all processes share.
    rung: AtomicU64,
}

/// How a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slept {
    /// The time was over, and nobody had rung.
    pub timed_out: bool,
    /// From the waker's beginning to wake until the sleeper ran.
    pub woken_after: Option<Duration>,
}

impl Doorbell {
    /// Called by a sender after publishing a record and [`order`]. True: the owner sleeps, and it is the caller's turn to
    /// [`Self::wake`].
    #[inline]
    pub fn ring(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        if word & (ARMED | UNFENCED) == 0 {
            return false;
        }
        if word & UNFENCED != 0 {
            // SYNC: doorbell
            fence(Ordering::SeqCst);
        }
        self.is_armed() && self.word.fetch_and(!ARMED, Ordering::AcqRel) & ARMED != 0
    }

    /// [Ring](Self::ring), and [wake](Self::wake) the owner if it sleeps: did it? Does not block.
    #[inline]
    pub fn alert(&self) -> bool {
        let sleeps = self.ring();
        if sleeps {
            self.wake();
        }
        sleeps
    }

    /// Is it armed?
    #[inline]
    pub fn is_armed(&self) -> bool {
        self.word.load(Ordering::Relaxed) & ARMED != 0
    }

    /// Has somebody woken the owner less than `within` ago, so that it may not run yet?
    #[cfg(not(loom))]
    pub fn was_rung(&self, within: Duration) -> bool {
        let now = nanoseconds(isthmus_os::clock::now());
        let rung = self.rung.load(Ordering::Relaxed);
        (rung..rung.saturating_add(nanoseconds(within))).contains(&now)
    }

    /// Arm it. The caller then looks for work once more, and sleeps only if there is none; else it calls
    /// [`Self::stay_awake`]. False: the kernel has just begun to refuse membarrier. A sender that has not seen yet that it
    /// must fence may then not see the flag either, and this once the sleep must be short.
    pub fn prepare_to_sleep(&self) -> bool {
        #[cfg(not(loom))]
        return self.arm(isthmus_os::membarrier::fence_everyone);
        #[cfg(loom)]
        self.arm(|| true)
    }

    fn arm(&self, fence_everyone: impl FnOnce() -> bool) -> bool {
        self.word.fetch_or(ARMED, Ordering::Relaxed);
        // SYNC: doorbell
        let ordered = fence_everyone() || self.word.fetch_or(UNFENCED, Ordering::Relaxed) & UNFENCED != 0;
        fence(Ordering::SeqCst);
        ordered
    }

    /// Take the bit down without sleeping.
    pub fn stay_awake(&self) {
        self.word.fetch_and(!ARMED, Ordering::Relaxed);
    }

    /// Wake the owner: one of its threads, if several sleep. Does not block.
    pub fn wake(&self) {
        #[cfg(not(loom))]
        self.rung
            .store(nanoseconds(isthmus_os::clock::now()), Ordering::Relaxed);
        futex::wake(&self.word);
    }

    /// Sleep until woken or until `limit` is over. Blocks.
    #[cfg(not(loom))]
    pub fn sleep(&self, limit: Duration) -> Slept {
        let began = nanoseconds(isthmus_os::clock::now());
        let word = self.word.load(Ordering::Relaxed);
        let woken = if word & ARMED == 0 {
            futex::Woken::Changed
        } else {
            futex::wait(&self.word, word, limit)
        };
        let rang = self.word.fetch_and(!ARMED, Ordering::Relaxed) & ARMED == 0;
        let ended = nanoseconds(isthmus_os::clock::now());
        // What a peer wrote is data: it counts if it lies within the sleep.
        let rung = self.rung.load(Ordering::Relaxed);
        let is_timed = woken == futex::Woken::Maybe && (began..=ended).contains(&rung);
        Slept {
            timed_out: woken == futex::Woken::TimedOut && !rang,
            woken_after: is_timed.then(|| Duration::from_nanos(ended - rung)),
        }
    }

    /// Sleep, one thread of several, until `done`, or until nobody looks after what comes, or until `deadline`. Wakes for
    /// those who call any of `bits`, which is not 0. Blocks. True: the time was over.
    ///
    /// `polled` says whether another thread looks. The last thread that polled takes it down when the bell is armed, or before it
    /// [calls](Self::call) somebody to look instead.
    pub fn rest(&self, bits: u32, done: &AtomicBool, polled: &AtomicBool, deadline: Duration) -> bool {
        loop {
            // Before all else that is looked at: what changes later changes the word, or wakes.
            // SYNC: doorbell-call
            let word = self.word.load(Ordering::Acquire);
            if done.load(Ordering::Acquire) || (word & ARMED == 0 && !polled.load(Ordering::Acquire)) {
                return false;
            }
            if futex::wait_as(&self.word, word, bits, deadline) == futex::Woken::TimedOut {
                return true;
            }
        }
    }

    /// Wake the threads that rest under any of `bits`, if there are any bits, and if `someone` one thread whichever. What
    /// was written before, they see. Does not block.
    pub fn call(&self, bits: u32, someone: bool) {
        // SYNC: doorbell-call
        self.word.fetch_add(CALL, Ordering::Release);
        if bits != 0 {
            futex::wake_those(&self.word, bits);
        }
        if someone {
            futex::wake(&self.word);
        }
    }
}

#[cfg(not(loom))]
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
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

    /// Nor if it cannot fence for a sender that does not fence by itself, from its second sleep on.
    #[test]
    fn loom_no_lost_wake_without_membarrier() {
        loom::model(|| {
            let shared = Arc::new((Doorbell::default(), AtomicU32::new(0)));
            assert!(!shared.0.arm(|| false), "the first one is short");
            shared.0.stay_awake();
            let theirs = shared.clone();
            let sender = loom::thread::spawn(move || {
                theirs.1.store(1, Ordering::Release);
                order(false);
                theirs.0.ring()
            });
            assert!(shared.0.arm(|| false));
            let seen = shared.1.load(Ordering::Acquire) == 1;
            let woken = sender.join().expect("ends");
            assert!(seen || woken);
        });
    }
}
