//! Ranks outnumber CPUs, but so many of them sleep that the others have one each, and other processes use CPUs, too.
//!
//! A rank that shares CPUs yields to other ranks. If none of them wants a CPU, another process gets it, and keeps it for a time slice of
//! milliseconds. Such a rank waits as one with a CPU of its own does (docs/decisions/0112). Whether other processes are there is known from a yield
//! that lasted so long; some yields are timed, since reading the clock costs a fraction of one.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use isthmus_os::clock;
use isthmus_shm::backoff::{OFF_CPU, OTHERS_LAST, UNTIMED_YIELDS};
use isthmus_shm::{Slot, occupancy};

use crate::engine::Engine;
use crate::progress::wakes;

/// Yields until one is timed.
static UNTIMED: AtomicU32 = AtomicU32::new(0);
/// Until then other processes take what this one yields, in nanoseconds of the clock; 0: as far as is known they do not.
static OTHERS_UNTIL: AtomicU64 = AtomicU64::new(0);

/// Does a rank that shares CPUs wait as one with a CPU of its own does, as things are? Does not block.
#[inline]
pub(super) fn has_own_cpu(engine: &Engine) -> bool {
    OTHERS_UNTIL.load(Ordering::Relaxed) != 0 && is_still_so(engine)
}

#[cold]
fn is_still_so(engine: &Engine) -> bool {
    if clock::now() >= Duration::from_nanos(OTHERS_UNTIL.load(Ordering::Relaxed)) {
        OTHERS_UNTIL.store(0, Ordering::Relaxed);
        UNTIMED.store(0, Ordering::Relaxed);
        return false;
    }
    are_few_awake(engine)
}

/// Have the ranks of the node that do not sleep a CPU each?
fn are_few_awake(engine: &Engine) -> bool {
    let segment = engine.segment;
    let awake = (0..segment.ranks()).filter(|rank| !segment.slot(*rank).doorbell().is_armed());
    occupancy::cpus().is_some_and(|cpus| awake.count() <= cpus as usize)
}

/// Yield the CPU to ranks that want it. True: it was away for long ([`noticed`]).
#[must_use]
pub(super) fn yield_cpu(slot: &Slot) -> bool {
    let untimed = UNTIMED.load(Ordering::Relaxed);
    if untimed != 0 {
        UNTIMED.store(untimed - 1, Ordering::Relaxed);
        wakes::yield_cpu(slot);
        return false;
    }
    UNTIMED.store(UNTIMED_YIELDS.count(), Ordering::Relaxed);
    let began = clock::now();
    wakes::yield_cpu(slot);
    clock::now().saturating_sub(began) >= OFF_CPU.time()
}

/// A yield took long: if the ranks that are awake have a CPU each, it was another process that took it.
#[cold]
pub(super) fn noticed(engine: &Engine) {
    if are_few_awake(engine) {
        let until = clock::now() + OTHERS_LAST.time();
        OTHERS_UNTIL.store(until.as_nanos() as u64, Ordering::Relaxed);
    }
}
