//! What ranks that share CPUs do while other processes use these CPUs, too.
//!
//! A rank that shares CPUs yields to other ranks. If none of them wants a CPU, another process gets it, and keeps it for a time slice of
//! milliseconds. Where so many ranks sleep that the others have a CPU each, such a rank waits as one with a CPU of its own does. Where more of
//! them are awake, but get a small part of the CPUs only, they sleep instead of yielding: a rank that is woken preempts other processes, one that
//! has yielded waits for their slices (docs/decisions/0112). That other processes may be there is known from a yield that lasted so long; one in a
//! few is timed, since reading the clock costs a fraction of a yield.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use isthmus_os::clock;
use isthmus_os::cpu::{self, Ticks};
use isthmus_shm::backoff::{IDLE_PERIOD, LOST_LASTS, OFF_CPU, OTHERS_LAST, OTHERS_PERIOD, UNTIMED_YIELDS, WaitFacts};
use isthmus_shm::{Slot, occupancy};

use crate::engine::Engine;
use crate::progress::{placement, wakes};

/// What this process knows of other processes by its own yields.
struct Others {
    /// Yields until one is timed.
    untimed: AtomicU32,
    /// Until then other processes take what this one yields, in nanoseconds of the clock; 0: as far as is known they do not.
    until: AtomicU64,
    /// Until then ranks sleep instead of yielding, the same.
    lost_until: AtomicU64,
    /// When it was looked last what the CPUs do, the same.
    asked: AtomicU64,
    looks: Mutex<Looks>,
}

/// What the CPUs of this process have done in all.
#[derive(Debug, Clone, Copy)]
struct Done {
    ticks: Ticks,
    /// For how long the ranks of this node have run; `None`: the kernel does not tell.
    ranks: Option<Duration>,
}

/// What they had done at earlier looks, and when: at the last one, and at the last from which on the share of other processes is taken.
struct Looks {
    last: Option<(Duration, Done)>,
    first: Option<(Duration, Done)>,
}

impl Looks {
    /// Parts of the CPUs' time: since the last look, in which they were idle; over [`OTHERS_PERIOD`] or longer, in which they ran other processes than
    /// the ranks. `None`: not known yet.
    fn parts(&mut self, now: Duration, done: Done, cpus: u32) -> (Option<f64>, Option<f64>) {
        let busy = |(_, before): (Duration, Done)| done.ticks.busy_since(before.ticks);
        let idle = self.last.replace((now, done)).and_then(busy).map(|busy| 1.0 - busy);
        let long = self
            .first
            .take_if(|(then, _)| now.saturating_sub(*then) >= OTHERS_PERIOD.time());
        let others = long.and_then(|(then, before)| {
            let ran = done.ranks?.saturating_sub(before.ranks?).as_secs_f64();
            let all = now.saturating_sub(then).as_secs_f64() * f64::from(cpus);
            Some(busy((then, before))? - ran / all)
        });
        self.first.get_or_insert((now, done));
        (idle, others)
    }
}

static OTHERS: Others = Others::none();

impl Others {
    const fn none() -> Self {
        Self {
            untimed: AtomicU32::new(0),
            until: AtomicU64::new(0),
            lost_until: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            looks: Mutex::new(Looks {
                last: None,
                first: None,
            }),
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

    /// They have most of what ranks yield until `now`. Ranks of the node find out at about the same time, and most yield again at the same one.
    fn have_most(&self, now: Duration, done: Option<Done>) {
        let look = done.map(|done| (now, done));
        *self.looks() = Looks {
            last: look,
            first: look,
        };
        let (now, lasts) = (now.as_nanos() as u64, LOST_LASTS.time().as_nanos() as u64);
        self.asked.store(now, Ordering::Relaxed);
        let until = (now + lasts / 2).next_multiple_of(lasts);
        self.lost_until.store(until, Ordering::Relaxed);
    }

    /// CPUs have done so much until `now`, if it is known. True: other processes must have gone, which is taken to be so.
    fn have_gone(&self, now: Duration, done: Option<Done>, ranks: u32, cpus: u32) -> bool {
        self.asked.store(now.as_nanos() as u64, Ordering::Relaxed);
        let have_gone = done.is_some_and(|done| {
            let (idle, others) = self.looks().parts(now, done, cpus);
            occupancy::have_others_gone(idle, others, ranks, cpus)
        });
        if have_gone {
            self.lost_until.store(now.as_nanos() as u64, Ordering::Relaxed);
        }
        have_gone
    }

    fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is it time to look what the CPUs do?
    fn is_due(&self, now: Duration) -> bool {
        now.saturating_sub(Duration::from_nanos(self.asked.load(Ordering::Relaxed))) >= IDLE_PERIOD.time()
    }

    /// Do they `now`, as far as is known?
    fn still_have_most(&self, now: Duration) -> bool {
        now < self.lost_since()
    }

    /// When ranks yield again, or have done so last.
    fn lost_since(&self) -> Duration {
        Duration::from_nanos(self.lost_until.load(Ordering::Relaxed))
    }
}

/// Does a rank that shares CPUs wait as one with a CPU of its own does, as things are? Does not block.
#[inline]
pub(super) fn has_own_cpu(engine: &Engine) -> bool {
    OTHERS.are_known() && is_few_beside_others(engine)
}

#[cold]
fn is_few_beside_others(engine: &Engine) -> bool {
    let now = clock::now();
    OTHERS.are_there(now) && !OTHERS.still_have_most(now) && are_few_awake(slots(engine), occupancy::cpus())
}

/// What decides how a rank waits, as things are. `oversubscribed`: it shares its CPU. Does not block.
pub(super) fn facts(engine: &Engine, oversubscribed: bool) -> WaitFacts {
    let facts = wakes::facts_now(oversubscribed);
    let are_lost = oversubscribed && OTHERS.lost_until.load(Ordering::Relaxed) != 0 && sleeps_at(engine, clock::now());
    match are_lost {
        true => WaitFacts {
            yield_for: Duration::ZERO,
            ..facts
        },
        false => facts,
    }
}

/// Does a rank that shares CPUs sleep instead of yielding?
#[cold]
fn sleeps_at(engine: &Engine, now: Duration) -> bool {
    if !OTHERS.still_have_most(now) {
        return false;
    }
    let cpus = occupancy::cpus().filter(|_| OTHERS.is_due(now));
    !cpus.is_some_and(|cpus| OTHERS.have_gone(now, done(engine, cpus), engine.segment.ranks_here(), cpus))
}

/// What the CPUs of this process have done. `None`: the kernel does not tell, or a quota leaves it a part of them only, so that they may be idle
/// whatever other processes want.
fn done(engine: &Engine, cpus: u32) -> Option<Done> {
    let mask = cpu::affinity();
    let ticks = (mask.len() <= cpus as usize).then(|| Ticks::of(&mask)).flatten()?;
    let ranks = slots(engine).filter_map(Slot::identity);
    let ran = ranks.map(|rank| cpu::ran_and_waited(rank.pid).map(|(ran, _)| ran));
    Some(Done {
        ticks,
        ranks: ran.sum(),
    })
}

/// How a yield ended.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Yielded {
    /// It was not timed.
    Untimed,
    /// Others had the CPU for long, or for short, until then.
    Long(Duration),
    Short(Duration),
}

/// Yield the CPU to ranks that want it.
pub(super) fn yield_cpu(slot: &Slot) -> Yielded {
    if !OTHERS.is_timed() {
        wakes::yield_cpu(slot);
        return Yielded::Untimed;
    }
    let began = clock::now();
    wakes::yield_cpu(slot);
    let now = clock::now();
    match now.saturating_sub(began) >= OFF_CPU.time() {
        true => Yielded::Long(now),
        false => Yielded::Short(now),
    }
}

/// What a yield tells of other processes. Does not block.
#[inline]
pub(super) fn after(engine: &Engine, yielded: Yielded) {
    match yielded {
        Yielded::Untimed => {}
        Yielded::Long(now) => noticed(engine, now),
        Yielded::Short(now) => placement::keep_turn(now, || slots(engine)),
    }
}

/// A yield took long. If the ranks that are awake have a CPU each, it was another process that took it; else it may have been a rank, and the share
/// of the CPUs' time that ranks have tells. A few system calls; does not block.
#[cold]
fn noticed(engine: &Engine, now: Duration) {
    if are_few_awake(slots(engine), occupancy::cpus()) {
        OTHERS.seen(now);
    }
    OTHERS.untimed.store(0, Ordering::Relaxed);
    if let Some(taken) = occupancy::ask_for_taken(OTHERS.lost_since()) {
        engine.slot().show_taken(taken, now);
    }
    let taken = slots(engine).filter_map(|slot| {
        let taken = slot.taken(now);
        // One that sleeps, and did a second ago, wants none.
        (taken.is_some() || !slot.doorbell().is_armed()).then_some(taken)
    });
    if let Some(cpus) = occupancy::cpus()
        && occupancy::are_yields_lost(taken, engine.segment.ranks_here(), cpus)
    {
        OTHERS.have_most(now, done(engine, cpus));
    }
}

/// Of the ranks of this node.
fn slots(engine: &Engine) -> impl Iterator<Item = &'static Slot> {
    let segment = engine.segment;
    let here = (0..segment.ranks()).filter(|&rank| !segment.is_elsewhere(rank));
    here.map(|rank| segment.slot(rank))
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
    fn ranks_yield_again_at_the_same_time() {
        let (others, later) = (Others::none(), Others::none());
        let seconds = Duration::from_secs_f64;
        others.have_most(seconds(100.3), None);
        later.have_most(seconds(100.45), None);
        assert_eq!(others.lost_since(), later.lost_since());
        assert!(others.still_have_most(seconds(101.9)) && !others.still_have_most(seconds(102.0)));
        others.have_most(seconds(101.9), None);
        assert!(
            others.still_have_most(seconds(103.9)),
            "never for much less than the half"
        );
    }

    #[test]
    fn idle_cpus_tell_that_other_processes_have_gone() {
        let others = Others::none();
        let milliseconds = Duration::from_millis;
        let ticks = |busy, all| {
            Some(Done {
                ticks: Ticks { busy, all },
                ranks: None,
            })
        };
        others.have_most(milliseconds(100_300), ticks(1000, 9000));
        assert!(!others.is_due(milliseconds(100_339)) && others.is_due(milliseconds(100_340)));
        assert!(!others.have_gone(milliseconds(100_400), ticks(1019, 9020), 4, 2));
        assert!(others.still_have_most(milliseconds(100_400)));
        assert!(others.have_gone(milliseconds(100_500), ticks(1033, 9040), 4, 2));
        assert!(!others.still_have_most(milliseconds(100_500)));
        others.have_most(milliseconds(102_300), None);
        assert!(
            !others.have_gone(milliseconds(102_400), ticks(1033, 9240), 4, 2),
            "there is nothing to compare with"
        );
        assert!(!others.have_gone(milliseconds(102_500), None, 4, 2));
    }

    /// Ranks that wake each other leave no CPU idle.
    #[test]
    fn cpus_that_ranks_have_tell_it_too() {
        let others = Others::none();
        let milliseconds = Duration::from_millis;
        let done = |busy, all, ran| {
            Some(Done {
                ticks: Ticks { busy, all },
                ranks: Some(milliseconds(ran)),
            })
        };
        others.have_most(milliseconds(100_000), done(1000, 9000, 500));
        assert!(
            !others.have_gone(milliseconds(100_060), done(1012, 9012, 620), 4, 2),
            "too short a time"
        );
        // 240 ms of two CPUs, of which loops have a third beside four ranks.
        assert!(!others.have_gone(milliseconds(100_120), done(1024, 9024, 660), 4, 2));
        assert!(others.have_gone(milliseconds(100_240), done(1048, 9048, 880), 4, 2));
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
