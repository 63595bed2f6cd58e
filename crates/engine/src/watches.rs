//! Waits for memory that changes without a bell: how long their sleeps may be.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use isthmus_shm::backoff::{FIRST_WATCHING_SLEEP, LONGEST_SLEEP, LONGEST_WATCHING_SLEEP};

/// How many watch memory.
static WATCHES: AtomicU32 = AtomicU32::new(0);
/// How long the next sleep of those may be.
static NEXT_SLEEP: AtomicU64 = AtomicU64::new(FIRST_WATCHING_SLEEP.value);

/// As long as there is one, waits look at memory that others may change without ringing the doorbell (a plain store): their sleeps are
/// short at first, and grow to 5 ms.
#[derive(Debug)]
pub struct Watch(());

impl Watch {
    /// From now on.
    pub fn begin() -> Self {
        WATCHES.fetch_add(1, Ordering::Relaxed);
        NEXT_SLEEP.store(FIRST_WATCHING_SLEEP.value, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHES.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Does a wait watch memory? Then a sleep that ran into its bound has lost no wake.
pub(crate) fn are_there() -> bool {
    WATCHES.load(Ordering::Relaxed) != 0
}

/// How long the sleep that begins now may be.
pub(crate) fn longest_sleep() -> Duration {
    if !are_there() {
        return LONGEST_SLEEP.time();
    }
    let now = NEXT_SLEEP.load(Ordering::Relaxed);
    NEXT_SLEEP.store((now * 2).min(LONGEST_WATCHING_SLEEP.value), Ordering::Relaxed);
    Duration::from_micros(now)
}
