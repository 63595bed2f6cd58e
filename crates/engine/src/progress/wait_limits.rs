//! How long a thread looks in vain before it gives its CPU away, and before it sleeps.
//!
//! Decided from facts, by a pure function ([`Habits::of`]), not from a flag that the user must find. Whoever spins for
//! about as long as a sleep costs never pays much more than somebody who had known before how long the wait would be
//! (Karlin, Li, Manasse, Owicki: "Empirical studies of competitive spinning for a shared-memory multiprocessor", SOSP
//! 1991). What a sleep costs, the wakes of this process themselves tell: who wakes writes down when, who is woken looks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use isthmus_os::{clock, cpu};
use isthmus_shm::{Doorbell, Slot};

use crate::engine::Turn;
use crate::membership::boot;
use crate::membership::cpus::Cpus;
use crate::{counters, tunables};

/// Looks between two readings of the clock.
const LOOKS: u32 = 64;
/// Readings of the clock in one wait after which the CPU is compared with those of other ranks, and again at twice as many.
const FIRST_COMPARISON: u32 = 8;
/// Looks before the CPU is given away, when there are more ranks than CPUs.
pub const LOOKS_OVERSUBSCRIBED: u32 = 4;
/// If an awaited rank has given its own away.
pub const LOOKS_AWAY: u32 = 1;
/// As long as the awaited ranks have CPUs themselves: what they send is nearer than our next turn, and who has waited for more of it
/// gives way less often (docs/decisions/0020).
pub const LOOKS_AT_WORK: u32 = 48;
/// Wakes in one wait after each of which it is looked for a while: as many as there are ranks on large nodes.
const WAKES: u32 = 256;
/// Spinning while no wake has been timed.
const UNKNOWN: Duration = Duration::from_micros(20);
/// A wake costs both sides: the waker's system call, and the time until the sleeper runs.
const SIDES: u32 = 2;
/// The least and the longest spin.
const SPINS: [Duration; 2] = [Duration::from_micros(5), Duration::from_micros(100)];

/// What decides how a rank waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Threads of this node that may want a CPU: its ranks, times the threads that wait in each.
    pub ranks: u32,
    /// CPUs that they may use: the affinity mask, cut by the cgroup's quota.
    pub cpus: u32,
    /// What a wake takes; `None`: not known yet.
    pub wake: Option<Duration>,
}

/// How a rank waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Habits {
    /// Looks in a row before anything else is done.
    pub looks: u32,
    /// How long it goes on looking.
    pub spin: Duration,
    /// How long after the first look that found nothing it sleeps. Until then a rank with a CPU of its own looks, and others yield between looks.
    pub sleep_after: Duration,
}

impl Habits {
    /// From the facts.
    pub fn of(facts: Facts) -> Self {
        let turn = Duration::from_micros(tunables::YIELD_US.get());
        if facts.ranks > facts.cpus {
            // The peer may need our CPU to get anywhere. And all that share ours have their turns before it has come: who slept by then
            // would have to be woken for each message, which takes as long as several turns.
            return Self {
                looks: LOOKS_OVERSUBSCRIBED,
                spin: Duration::ZERO,
                sleep_after: turn * facts.ranks.div_ceil(facts.cpus),
            };
        }
        let spin = match tunables::SPIN_US.get() {
            0 => facts
                .wake
                .map_or(UNKNOWN, |wake| (wake * SIDES).clamp(SPINS[0], SPINS[1])),
            us => Duration::from_micros(us),
        };
        Self {
            looks: LOOKS,
            spin,
            sleep_after: turn,
        }
    }

    /// Those of a rank with a CPU of its own, by what is known now.
    pub(crate) fn exclusive() -> Self {
        Self::of(Facts {
            ranks: 1,
            cpus: 1,
            wake: wake(),
        })
    }
}

/// What a wake of this process takes, in nanoseconds, smoothed; 0: none was timed.
static WAKE: AtomicU64 = AtomicU64::new(0);

/// What a wake takes, as far as it is known.
pub(crate) fn wake() -> Option<Duration> {
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
                if bell.ring() {
                    bell.wake();
                }
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

/// Give the CPU to others that want it. Those who wait for us see it in our slot.
pub(crate) fn give_way(slot: &Slot) {
    give_way_for(slot, cpu::yield_now);
}

fn give_way_for<T>(slot: &Slot, meanwhile: impl FnOnce() -> T) -> T {
    slot.set_away(true);
    let value = meanwhile();
    slot.set_away(false);
    value
}

/// Looks before the CPU is given away, where ranks share CPUs.
fn looks_while(turn: Turn) -> u32 {
    match turn {
        Turn::Away => LOOKS_AWAY,
        Turn::Unknown => LOOKS_OVERSUBSCRIBED,
        Turn::AtWork => LOOKS_AT_WORK,
    }
}

/// What to do when there was nothing to see.
pub(crate) enum Next {
    /// Look again.
    Look,
    /// Leave this CPU if another rank of the job is on it, then look again.
    CompareCpus,
    /// Give the CPU away, then look again.
    Yield,
    /// Sleep.
    Sleep,
}

/// How long a thread has looked in vain.
#[derive(Default)]
pub(crate) struct WaitLimits {
    looks: u32,
    has_yielded: bool,
    /// Readings of the clock that found nothing, by a rank with a CPU of its own.
    readings: u32,
    since: Option<Duration>,
    /// So often it has slept, and was woken for something else.
    wakes: u32,
    /// How often the network had been looked at when this began, or gave way for it.
    network: u32,
}

impl WaitLimits {
    /// The network was looked at so often before.
    pub fn new(network: u32) -> Self {
        Self {
            network,
            ..Self::default()
        }
    }

    /// Something has moved; the network was looked at so often.
    #[inline]
    pub fn renew(&mut self, network: u32) {
        *self = Self::new(network);
    }

    /// It has slept and was woken, and what is awaited has not come. It sleeps again sooner than the first time, but not at once: where it
    /// waits for many, each of whom wakes it, it would sleep as often (docs/decisions/0111). Who is woken over and over does.
    pub fn wake(&mut self) {
        self.wakes = self.wakes.saturating_add(1);
        if self.wakes <= WAKES {
            self.since = None;
        }
    }

    /// Nothing has moved. `oversubscribed`: there are more threads that want a CPU than CPUs; `network`: how often the network was looked at,
    /// which wraps; `turn`: have the awaited ranks got one? For who is inside.
    #[inline]
    pub fn lose(&mut self, oversubscribed: bool, network: u32, turn: impl FnOnce() -> Turn) -> Next {
        self.looks = self.looks.wrapping_add(1);
        // A look at the network is a system call, beside which giving way after a few costs little; and whoever sends may need this CPU
        // without being a rank of this node (docs/decisions/0084). It may take as long as others have the CPU: the clock is read.
        let gives_way = network.wrapping_sub(self.network) >= LOOKS_OVERSUBSCRIBED;
        if gives_way {
            self.network = network;
        }
        if oversubscribed {
            if self.looks < looks_while(turn()) {
                return Next::Look;
            }
            self.looks = self.looks.min(LOOKS_OVERSUBSCRIBED);
            // Most have something to do after the first time: the clock is read from the second on. Who is to sleep at once does.
            if !self.has_yielded && tunables::YIELD_US.get() > 0 {
                self.has_yielded = true;
                counters::YIELDS.add(1);
                return Next::Yield;
            }
        } else if !gives_way && !self.looks.is_multiple_of(LOOKS) {
            return Next::Look;
        }
        let now = clock::now();
        let idle = now - *self.since.get_or_insert(now);
        let habits = Habits::of(Facts {
            ranks: if oversubscribed {
                boot::ranks_per_cpu().max(2)
            } else {
                1
            },
            cpus: 1,
            wake: wake(),
        });
        let sleep_after = match self.wakes {
            0 => habits.sleep_after,
            _ => Duration::from_micros(tunables::YIELD_US.get()),
        };
        if idle >= habits.spin.max(sleep_after) {
            return Next::Sleep;
        }
        if oversubscribed || gives_way {
            counters::YIELDS.add(1);
            return Next::Yield;
        }
        // No rank needs this CPU, unless one is on it: what else wants it gets it from the kernel (docs/decisions/0112).
        counters::SPINS.add(1);
        self.readings = self.readings.saturating_add(1);
        match self.readings >= FIRST_COMPARISON && self.readings.is_power_of_two() {
            true => Next::CompareCpus,
            false => Next::Look,
        }
    }
}

/// Up to so many ranks on these CPUs it is not asked whether the awaited ones have one (docs/decisions/0030).
pub fn most_that_do_not_ask(cpus: u32) -> u32 {
    Cpus::most_partly_shared(cpus)
}

/// The facts of a job of so many ranks on this machine.
pub fn facts_of(ranks: u32, wake: Option<Duration>) -> Facts {
    Facts {
        ranks,
        cpus: boot::known_cpus().unwrap_or(cpu::usable() as u32),
        wake,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spin(ranks: u32, cpus: u32, wake_us: Option<u64>) -> Duration {
        let wake = wake_us.map(Duration::from_micros);
        Habits::of(Facts { ranks, cpus, wake }).spin
    }

    #[test]
    fn spinning_is_for_those_who_have_a_cpu_and_as_long_as_a_sleep_costs() {
        assert_eq!(spin(3, 2, Some(10)), Duration::ZERO);
        assert_eq!(spin(2, 2, Some(10)), Duration::from_micros(20));
        assert_eq!(spin(2, 8, Some(30)), Duration::from_micros(60));
        assert_eq!(spin(2, 8, None), UNKNOWN);
        assert_eq!(spin(2, 8, Some(0)), SPINS[0], "a machine where nothing costs anything");
        assert_eq!(spin(2, 8, Some(5000)), SPINS[1], "one whose CPUs sleep deeply");
    }

    #[test]
    fn who_shares_a_cpu_with_many_sleeps_later() {
        let after = |ranks, cpus| {
            Habits::of(Facts {
                ranks,
                cpus,
                wake: None,
            })
            .sleep_after
        };
        let one = after(2, 2);
        assert_eq!(
            [after(3, 2), after(4, 2), after(64, 2), after(64, 64)],
            [one * 2, one * 2, one * 32, one]
        );
    }

    /// Looks until the CPU is given away.
    fn looks(limits: &mut WaitLimits, turn: Turn) -> u32 {
        let mut looks = 1;
        while matches!(limits.lose(true, 0, || turn), Next::Look) {
            looks += 1;
        }
        looks
    }

    #[test]
    fn who_shares_a_cpu_gives_it_away_soon_and_later_if_the_awaited_ranks_have_one() {
        let mut limits = WaitLimits::default();
        assert_eq!(looks(&mut limits, Turn::Unknown), LOOKS_OVERSUBSCRIBED);
        assert_eq!(looks(&mut limits, Turn::Unknown), 1, "nothing has come meanwhile");
        assert_eq!(looks(&mut limits, Turn::AtWork), LOOKS_AT_WORK - LOOKS_OVERSUBSCRIBED);
        limits.renew(0);
        assert_eq!(looks(&mut limits, Turn::AtWork), LOOKS_AT_WORK);
        limits.renew(0);
        assert_eq!(looks(&mut limits, Turn::Away), LOOKS_AWAY);
    }

    #[test]
    fn who_was_woken_for_something_else_does_not_sleep_at_once() {
        let mut limits = WaitLimits::default();
        let lose = |limits: &mut WaitLimits| limits.lose(true, 0, || Turn::Away);
        while !matches!(lose(&mut limits), Next::Sleep) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(lose(&mut limits), Next::Sleep), "nobody has woken it");
        limits.wake();
        assert!(matches!(lose(&mut limits), Next::Yield));
        std::thread::sleep(Duration::from_micros(tunables::YIELD_US.get()));
        assert!(matches!(lose(&mut limits), Next::Sleep));
        (1..WAKES).for_each(|_| limits.wake());
        while !matches!(lose(&mut limits), Next::Sleep) {
            std::thread::sleep(Duration::from_millis(1));
        }
        limits.wake();
        assert!(matches!(lose(&mut limits), Next::Sleep), "it was woken too often");
    }

    #[test]
    fn who_shares_a_cpu_sleeps_in_the_end() {
        let mut limits = WaitLimits::default();
        let mut yields = 0;
        while !matches!(limits.lose(true, 0, || Turn::Away), Next::Sleep) {
            yields += 1;
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(yields > 1, "{yields}");
    }

    #[test]
    fn a_rank_with_its_own_cpu_never_yields_and_compares_cpus_now_and_then() {
        let mut limits = WaitLimits::default();
        let (mut looks, mut comparisons) = (0_u32, 0);
        loop {
            match limits.lose(false, 0, || Turn::Unknown) {
                Next::Look => looks += 1,
                Next::CompareCpus => comparisons += 1,
                Next::Yield => panic!("it gave its CPU to another process"),
                Next::Sleep => break,
            }
        }
        assert!(
            looks >= LOOKS * FIRST_COMPARISON && (1..=u32::BITS).contains(&comparisons),
            "{looks} {comparisons}"
        );
    }

    #[test]
    fn who_looks_at_the_network_gives_way_after_a_few_looks() {
        let mut limits = WaitLimits::new(7);
        let mut network = 7;
        for _ in 0..3 {
            let looks = (1..).find(|_| {
                network += 1;
                !matches!(limits.lose(false, network, || Turn::Unknown), Next::Look)
            });
            assert_eq!(looks, Some(LOOKS_OVERSUBSCRIBED));
        }
        // Not after looks at the node.
        for _ in 1..LOOKS_OVERSUBSCRIBED {
            assert!(matches!(limits.lose(false, network, || Turn::Unknown), Next::Look));
        }
    }

    #[test]
    fn who_looks_at_the_network_sleeps_in_time_however_long_a_look_takes() {
        let after = Habits::exclusive().sleep_after;
        let mut limits = WaitLimits::new(0);
        let (mut network, mut yields) = (0, 0);
        loop {
            network += 1;
            match limits.lose(false, network, || Turn::Unknown) {
                Next::Look | Next::CompareCpus => {}
                // Others have the CPU for so long.
                Next::Yield => {
                    yields += 1;
                    std::thread::sleep(after / 4);
                }
                Next::Sleep => break,
            }
        }
        assert!((1..=4).contains(&yields), "{yields} yields");
    }

    #[test]
    fn who_gives_its_cpu_away_shows_it() {
        let slot = Slot::default();
        assert!(slot.is_at_work());
        let during = give_way_for(&slot, || slot.is_at_work());
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
