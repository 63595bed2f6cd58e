//! A lock in shared memory whose holder may die: one stripe of the lock table that guards a process's exposed memory.
//!
//! # Layout
//! Two words on a line of their own.
//!
//! # Fields
//! `word`: 0 while the lock is free, else the holder's rank and one. The holder is a process: of its threads one has the lock, and the
//! others wait like anybody else. `sleepers`: how many may sleep on the word; changed by them, read by the thread that releases the lock.
//!
//! # Ordering
//! Taking the lock acquires and giving it back releases, so what was done under it is seen by the next holder. Giving it back is a store, and
//! then a look at the sleepers, which may pass the store; so who goes to sleep counts itself, fences everybody (`membarrier`), and only
//! then compares the word: either its count is seen, or the word has changed (the same as with [doorbells](crate::doorbell)).
//!
//! # Safety
//! A holder that dies leaves its rank. A waiter looks every so often whether that process is declared dead (its address
//! space is gone then, so it writes no more), and takes the lock over by compare-and-swap. A process that is killed between
//! giving the lock back and waking leaves sleepers behind, whose sleep is bounded. One that is killed in its sleep stays counted: a thread that
//! releases the lock wakes no other then, at the price of a system call.

use std::time::Duration;

#[cfg(not(loom))]
use crate::backoff::ShortWait as Pause;
use crate::backoff::{LONGEST_STRIPE_SLEEP, LOOKS_AT_LOCK, UNORDERED_SLEEP};
use crate::doorbell;
use crate::sync::{AtomicU32, Ordering, futex};

/// The lock.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Stripe {
    word: AtomicU32,
    sleepers: AtomicU32,
}

/// How the lock was got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Got {
    /// It was free.
    Free,
    /// Its holder, this rank, had died with it.
    TakenOver(u32),
}

impl Stripe {
    /// Take the lock for rank `me` if it is free. Does not block.
    #[inline]
    pub fn try_lock(&self, me: u32) -> bool {
        // SYNC: stripe
        self.word
            .compare_exchange(0, me + 1, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Take the lock for rank `me`. `is_dead` says whether a rank is declared dead. Blocks while somebody alive has it.
    #[inline]
    pub fn lock(&self, me: u32, is_dead: impl Fn(u32) -> bool) -> Got {
        if self.try_lock(me) {
            return Got::Free;
        }
        self.lock_slowly(me, is_dead)
    }

    #[cold]
    fn lock_slowly(&self, me: u32, is_dead: impl Fn(u32) -> bool) -> Got {
        let mut wait = Pause::default();
        loop {
            let word = self.word.load(Ordering::Relaxed);
            if word == 0 {
                if self.try_lock(me) {
                    return Got::Free;
                }
                continue;
            }
            if wait.looks() < LOOKS_AT_LOCK.count() {
                wait.pause();
                continue;
            }
            if is_dead(word - 1) {
                // SYNC: stripe
                let taken = self
                    .word
                    .compare_exchange(word, me + 1, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_ok() {
                    return Got::TakenOver(word - 1);
                }
                continue;
            }
            self.sleep(word);
        }
    }

    /// Until the lock is given back by its holder, or for a while. Wakes that come to nothing are possible.
    fn sleep(&self, held: u32) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // SYNC: stripe-sleepers
        let longest = if fence_all() {
            LONGEST_STRIPE_SLEEP
        } else {
            UNORDERED_SLEEP
        };
        wait(&self.word, held, longest.time());
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Give the lock back, by its holder. `fence_needed`: nobody can fence for us. Does not block.
    #[inline]
    pub fn unlock(&self, fence_needed: bool) {
        // SYNC: stripe
        self.word.store(0, Ordering::Release);
        // SYNC: stripe-sleepers
        doorbell::order(fence_needed);
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            futex::wake(&self.word);
        }
    }

    /// The holder.
    pub fn holder(&self) -> Option<u32> {
        self.word.load(Ordering::Relaxed).checked_sub(1)
    }
}

#[cfg(not(loom))]
fn wait(word: &AtomicU32, held: u32, longest: Duration) {
    futex::wait(word, held, longest);
}

#[cfg(not(loom))]
fn fence_all() -> bool {
    isthmus_os::membarrier::fence_everyone()
}

#[cfg(loom)]
#[derive(Default)]
struct Pause(u32);

#[cfg(loom)]
impl Pause {
    fn pause(&mut self) {
        self.0 += 1;
        loom::thread::yield_now();
    }

    fn looks(&self) -> u32 {
        self.0
    }
}

#[cfg(loom)]
fn wait(word: &AtomicU32, held: u32, longest: Duration) {
    futex::wait_as(word, held, u32::MAX, longest);
}

#[cfg(loom)]
fn fence_all() -> bool {
    crate::sync::fence(Ordering::SeqCst);
    true
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64 as Plain;

    #[test]
    fn one_holder_at_a_time() {
        let lock = Stripe::default();
        let sum = Plain::new(0);
        std::thread::scope(|scope| {
            for me in 0..4 {
                let (lock, sum) = (&lock, &sum);
                scope.spawn(move || {
                    for _ in 0..2000 {
                        assert_eq!(lock.lock(me, |_| false), Got::Free);
                        assert_eq!(lock.holder(), Some(me));
                        sum.store(sum.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                        lock.unlock(true);
                    }
                });
            }
        });
        assert_eq!((sum.into_inner(), lock.holder()), (8000, None));
    }

    #[test]
    fn what_the_dead_held_is_taken_over() {
        let lock = Stripe::default();
        assert!(lock.try_lock(7));
        assert!(!lock.try_lock(3));
        assert_eq!(lock.lock(3, |rank| rank == 7), Got::TakenOver(7));
        assert_eq!(lock.holder(), Some(3));
        lock.unlock(true);
        assert!(lock.try_lock(7));
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct Shared {
        lock: Stripe,
        value: UnsafeCell<u32>,
    }

    // SAFETY: the value is touched under the lock only, which is what the model checks.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    fn add(shared: &Shared, me: u32) {
        while !shared.lock.try_lock(me) {
            loom::thread::yield_now();
        }
        // SAFETY: under the lock.
        shared.value.with_mut(|value| unsafe { *value += 1 });
        shared.lock.unlock(true);
    }

    #[test]
    fn loom_under_the_lock_nobody_else_touches() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                lock: Stripe::default(),
                value: UnsafeCell::new(0),
            });
            let theirs = shared.clone();
            let other = loom::thread::spawn(move || add(&theirs, 1));
            add(&shared, 0);
            other.join().expect("ends");
            // SAFETY: the other has ended.
            assert_eq!(shared.value.with(|value| unsafe { *value }), 2);
        });
    }

    /// The holder is dead; of two that wait one takes the lock over, and the other gets it when that one gives it back.
    #[test]
    fn loom_one_takes_over() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                lock: Stripe::default(),
                value: UnsafeCell::new(0),
            });
            assert!(shared.lock.try_lock(9));
            let run = |shared: &Shared, me| {
                let word = shared.lock.word.load(Ordering::Relaxed);
                let taken = word == 10
                    && shared
                        .lock
                        .word
                        .compare_exchange(word, me + 1, Ordering::Acquire, Ordering::Relaxed)
                        .is_ok();
                if taken {
                    // SAFETY: under the lock.
                    shared.value.with_mut(|value| unsafe { *value += 1 });
                    shared.lock.unlock(true);
                } else {
                    add(shared, me);
                }
            };
            let theirs = shared.clone();
            let other = loom::thread::spawn(move || run(&theirs, 1));
            run(&shared, 0);
            other.join().expect("ends");
            // SAFETY: the other has ended.
            assert_eq!(shared.value.with(|value| unsafe { *value }), 2);
        });
    }

    /// A sleeper is woken when the lock is released.
    #[test]
    fn loom_no_wake_is_missed() {
        loom::model(|| {
            let lock = Arc::new(Stripe::default());
            assert!(lock.try_lock(1));
            let theirs = lock.clone();
            let holder = loom::thread::spawn(move || theirs.unlock(true));
            while !lock.try_lock(0) {
                lock.sleep(2);
            }
            holder.join().expect("ends");
            assert_eq!(lock.holder(), Some(0));
        });
    }
}
