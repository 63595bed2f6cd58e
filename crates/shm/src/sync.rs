//! Atomics and futexes, swapped for loom's when the model checker runs (`RUSTFLAGS="--cfg loom"`).

#[cfg(not(loom))]
pub use isthmus_os::futex;
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

/// Futexes as loom can explore them. Time never runs out, so a wake that is lost is a deadlock, which loom reports.
#[cfg(loom)]
pub mod futex {
    use std::time::Duration;

    use loom::sync::{Condvar, Mutex};

    use super::{AtomicU32, Ordering};

    /// Why [`wait_as`] came back.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[allow(missing_docs)] // As in isthmus_os.
    pub enum Woken {
        Maybe,
        Changed,
        TimedOut,
    }

    /// The sleepers on each word and their bits, longest first.
    #[derive(Default)]
    struct Sleepers {
        asleep: Vec<(u64, usize, u32)>,
        next: u64,
    }

    loom::lazy_static! {
        static ref SLEEPERS: (Mutex<Sleepers>, Condvar) = (Mutex::new(Sleepers::default()), Condvar::new());
    }

    /// As in isthmus_os, without the deadline.
    pub fn wait_as(word: &AtomicU32, expected: u32, bits: u32, _deadline: Duration) -> Woken {
        let (lock, changed) = &*SLEEPERS;
        let mut sleepers = lock.lock().unwrap();
        if word.load(Ordering::SeqCst) != expected {
            return Woken::Changed;
        }
        let me = sleepers.next;
        sleepers.next += 1;
        sleepers.asleep.push((me, std::ptr::from_ref(word).addr(), bits));
        while sleepers.asleep.iter().any(|(other, ..)| *other == me) {
            sleepers = changed.wait(sleepers).unwrap();
        }
        Woken::Maybe
    }

    /// As in isthmus_os.
    pub fn wake(word: &AtomicU32) {
        let (lock, changed) = &*SLEEPERS;
        let mut sleepers = lock.lock().unwrap();
        let address = std::ptr::from_ref(word).addr();
        let first = sleepers.asleep.iter().position(|(_, on, _)| *on == address);
        if let Some(first) = first {
            sleepers.asleep.remove(first);
            changed.notify_all();
        }
    }

    /// As in isthmus_os.
    pub fn wake_those(word: &AtomicU32, bits: u32) {
        let (lock, changed) = &*SLEEPERS;
        let address = std::ptr::from_ref(word).addr();
        let mut sleepers = lock.lock().unwrap();
        sleepers.asleep.retain(|(_, on, own)| *on != address || own & bits == 0);
        changed.notify_all();
    }
}
