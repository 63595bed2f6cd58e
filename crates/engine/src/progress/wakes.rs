//! What a wake takes on this machine, as the wakes of this process themselves tell (the waker writes down when, the woken rank looks), and the
//! facts that decide how a rank waits ([`isthmus_shm::backoff`]).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use isthmus_os::cpu;
use isthmus_shm::backoff::{Limits, WaitFacts};
use isthmus_shm::{Doorbell, Slot, occupancy};

use crate::membership::own;
use crate::tunables;

/// What a wake of this process takes, in nanoseconds, smoothed; 0: none was timed.
static WAKE: AtomicU64 = AtomicU64::new(0);

/// What a wake takes, as far as it is known.
fn wake() -> Option<Duration> {
    match WAKE.load(Ordering::Relaxed) {
        0 => None,
        nanoseconds => Some(Duration::from_nanos(nanoseconds)),
    }
}

/// A wake took so long.
pub(crate) fn learn_wake(took: Duration) {
    WAKE.store(smoothed(WAKE.load(Ordering::Relaxed), took), Ordering::Relaxed);
}

/// A CPU that was busy with something else says little about what a wake takes, so one is never more than twice the last.
fn smoothed(before: u64, took: Duration) -> u64 {
    let took = took.as_nanos().clamp(1, u128::from(u32::MAX)) as u64;
    match before {
        0 => took,
        _ => (before * 7 + took.min(before * 2)).div_ceil(8),
    }
}

/// Time some wakes from thread to thread: what the ranks of a job will find, more or less. Takes some milliseconds; `None`
/// if there is no second thread to be had.
pub fn measure_wake() -> Option<Duration> {
    const WAKES: usize = 15;
    const ASLEEP: Duration = Duration::from_micros(200);
    let (bell, over) = (Doorbell::default(), AtomicBool::new(false));
    let mut took = Vec::new();
    std::thread::scope(|scope| {
        let waker = || {
            while !over.load(Ordering::Relaxed) {
                std::thread::sleep(ASLEEP);
                bell.alert();
            }
        };
        std::thread::Builder::new().spawn_scoped(scope, waker).ok()?;
        for _ in 0..WAKES {
            bell.prepare_to_sleep();
            took.extend(bell.sleep(Duration::from_millis(100)).woken_after);
        }
        over.store(true, Ordering::Relaxed);
        Some(())
    })?;
    took.sort();
    took.get(took.len() / 2).copied()
}

/// Yield the CPU to others that want it. The ranks that wait for this one see it in its slot.
pub(crate) fn yield_cpu(slot: &Slot) {
    yield_while(slot, cpu::yield_now);
}

fn yield_while<T>(slot: &Slot, meanwhile: impl FnOnce() -> T) -> T {
    slot.set_away(true);
    let value = meanwhile();
    slot.set_away(false);
    value
}

/// The facts of so many ranks on so many CPUs.
fn facts(ranks: u32, cpus: u32, wake: Option<Duration>) -> WaitFacts {
    WaitFacts {
        ranks,
        cpus,
        wake,
        spin: Duration::from_micros(tunables::SPIN_US.get()),
        yield_for: Duration::from_micros(tunables::YIELD_US.get()),
        beside_others: occupancy::is_beside_others(),
    }
}

/// Those of a wait of this process. `oversubscribed`: the threads that wait outnumber the CPUs.
pub(crate) fn facts_now(oversubscribed: bool) -> WaitFacts {
    let ranks = if oversubscribed {
        occupancy::ranks_per_cpu().max(2)
    } else {
        1
    };
    facts(ranks, 1, wake())
}

/// How long a thread with a CPU of its own spins, by what is known now.
pub(crate) fn spin() -> Duration {
    Limits::of(facts_now(false)).spin
}

/// The facts of a job of so many ranks on this machine.
pub fn facts_of(ranks: u32, wake: Option<Duration>) -> WaitFacts {
    facts(ranks, own::known_cpus().unwrap_or(cpu::usable() as u32), wake)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_yields_its_cpu_shows_it() {
        let slot = Slot::default();
        assert!(slot.is_at_work());
        let during = yield_while(&slot, || slot.is_at_work());
        assert!(!during && slot.is_at_work());
        slot.doorbell().prepare_to_sleep();
        assert!(!slot.is_at_work());
    }

    #[test]
    fn outliers_move_the_estimate_a_little() {
        let mut known = smoothed(0, Duration::from_micros(10));
        assert_eq!(known, 10_000);
        known = smoothed(known, Duration::from_millis(50));
        assert!((11_000..12_000).contains(&known), "{known}");
        for _ in 0..100 {
            known = smoothed(known, Duration::from_micros(4));
        }
        assert!((4_000..4_100).contains(&known), "{known}");
    }

    #[test]
    fn wakes_can_be_timed() {
        let took = measure_wake().expect("a second thread");
        assert!(took > Duration::ZERO && took < Duration::from_secs(1), "{took:?}");
    }
}
