//! Ranks outnumber CPUs, but so many of them sleep that the others have one each, and other processes use CPUs, too.
//!
//! A rank that shares CPUs yields to other ranks. If none of them wants a CPU, another process gets it, and keeps it for a time slice of
//! milliseconds. Such a rank waits as one with a CPU of its own does (docs/decisions/0112). Whether other processes are there is known from a yield
//! that lasted so long; one in a few is timed, since reading the clock costs a fraction of a yield.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use isthmus_os::clock;
use isthmus_shm::backoff::{OFF_CPU, OTHERS_LAST, UNTIMED_YIELDS};
use isthmus_shm::{Slot, occupancy};

use crate::engine::Engine;
use crate::progress::wakes;

/// What this process knows of other processes by its own yields.
struct Others {
    /// Yields until one is timed.
    untimed: AtomicU32,
    /// Until then other processes take what this one yields, in nanoseconds of the clock; 0: as far as is known they do not.
    until: AtomicU64,
}

static OTHERS: Others = Others::none();

impl Others {
    const fn none() -> Self {
        Self {
            untimed: AtomicU32::new(0),
            until: AtomicU64::new(0),
        }
    }

    /// Is the yield that comes now timed?
    fn is_timed(&self) -> bool {
        let untimed = self.untimed.load(Ordering::Relaxed);
        self.untimed.store(
            untimed.checked_sub(1).unwrap_or(UNTIMED_YIELDS.count()),
            Ordering::Relaxed,
        );
        untimed == 0
    }

    #[inline]
    fn are_known(&self) -> bool {
        self.until.load(Ordering::Relaxed) != 0
    }

    /// Are they still there, as far as is known `now`? When that is no longer known the next yield is timed.
    fn are_there(&self, now: Duration) -> bool {
        let is_known = now < Duration::from_nanos(self.until.load(Ordering::Relaxed));
        if !is_known {
            self.until.store(0, Ordering::Relaxed);
            self.untimed.store(0, Ordering::Relaxed);
        }
        is_known
    }

    /// One of them has had what was yielded until `now`.
    fn seen(&self, now: Duration) {
        self.until
            .store((now + OTHERS_LAST.time()).as_nanos() as u64, Ordering::Relaxed);
    }
}

/// Does a rank that shares CPUs wait as one with a CPU of its own does, as things are? Does not block.
#[inline]
pub(super) fn has_own_cpu(engine: &Engine) -> bool {
    OTHERS.are_known() && is_few_beside_others(engine)
}

#[cold]
fn is_few_beside_others(engine: &Engine) -> bool {
    OTHERS.are_there(clock::now()) && are_few_awake(slots(engine), occupancy::cpus())
}

/// Yield the CPU to ranks that want it. True: it was away for long ([`noticed`]).
#[must_use]
pub(super) fn yield_cpu(slot: &Slot) -> bool {
    if !OTHERS.is_timed() {
        wakes::yield_cpu(slot);
        return false;
    }
    let began = clock::now();
    wakes::yield_cpu(slot);
    clock::now().saturating_sub(began) >= OFF_CPU.time()
}

/// A yield took long: if the ranks that are awake have a CPU each, it was another process that took it.
#[cold]
pub(super) fn noticed(engine: &Engine) {
    if are_few_awake(slots(engine), occupancy::cpus()) {
        OTHERS.seen(clock::now());
    }
}

fn slots(engine: &Engine) -> impl Iterator<Item = &'static Slot> {
    let segment = engine.segment;
    (0..segment.ranks()).map(|rank| segment.slot(rank))
}

/// Have the ranks that do not sleep a CPU each?
fn are_few_awake<'a>(slots: impl Iterator<Item = &'a Slot>, cpus: Option<u32>) -> bool {
    let awake = slots.filter(|slot| !slot.doorbell().is_armed()).count();
    cpus.is_some_and(|cpus| awake <= cpus as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_sleep_want_no_cpu() {
        let ranks: [Slot; 4] = Default::default();
        let are_few = |cpus| are_few_awake(ranks.iter(), Some(cpus));
        assert!(!are_few(2) && are_few(4));
        ranks[1].doorbell().prepare_to_sleep();
        assert!(!are_few(2) && are_few(3));
        ranks[3].doorbell().prepare_to_sleep();
        assert!(are_few(2) && !are_few(1));
        ranks[3].doorbell().stay_awake();
        assert!(!are_few(2), "one that wakes wants one again");
        assert!(!are_few_awake(ranks.iter(), None), "there is no job yet");
    }

    #[test]
    fn other_processes_are_looked_for_again_when_they_may_have_gone() {
        let others = Others::none();
        let timed: Vec<bool> = (0..2 * UNTIMED_YIELDS.count() + 3).map(|_| others.is_timed()).collect();
        let often = timed.iter().filter(|is_timed| **is_timed).count();
        assert!(timed[0] && often == 3, "{timed:?}");
        assert!(!others.are_known());
        let now = Duration::from_secs(100);
        others.seen(now);
        assert!(others.are_known() && others.are_there(now));
        assert!(others.are_there(now + OTHERS_LAST.time() - Duration::from_nanos(1)));
        assert!(!others.is_timed());
        assert!(!others.are_there(now + OTHERS_LAST.time()) && !others.are_known());
        assert!(others.is_timed(), "the next yield tells");
    }
}
