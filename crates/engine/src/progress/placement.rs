//! Two ranks of a job that could have a CPU each do not share one.
//!
//! Beside other processes the kernel puts two ranks on one CPU now and then: a rank that is woken starts on the CPU of the rank that woke it,
//! and a rank that waits for its turn is pulled to a CPU on which a peer has just gone to sleep. Then one polls for what the other could only
//! send from the same CPU, until it sleeps, for each message. So a rank that has polled for some microseconds compares its CPU with those that
//! the others show in their slots, and moves if one that does not sleep shows the same (docs/decisions/0112). The affinity mask is what it was
//! afterwards: the kernel may move the rank, and threads that the program starts inherit nothing.
//!
//! Ranks that outnumber the CPUs begin by turns on each, and return there while no other process wants a CPU. The kernel places them in any order, so
//! that ranks which exchange share a CPU while another pair has two, and exchanges two of them now and then.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use isthmus_os::cpu;
use isthmus_shm::backoff::TURN_PERIOD;
use isthmus_shm::{Segment, Slot};

use crate::counters;
use crate::engine::Engine;

/// Show on which CPU the calling thread runs. Does not block.
pub(super) fn show(slot: &Slot) {
    if let Some(cpu) = cpu::current() {
        slot.set_cpu(cpu as u32);
    }
}

/// Where the ranks of the node outnumber the CPUs, and all may use all of them: start on the one whose turn it is, if each takes the next. Does not block.
pub(crate) fn take_turn(segment: &Segment, me: u32) {
    let (cpus, ranks) = (cpu::at_start(), segment.ranks_here() as usize);
    if cpus.len() < segment.cpus() as usize {
        return; // Somebody has bound it.
    }
    let before = (0..me).filter(|&rank| !segment.is_elsewhere(rank)).count();
    if let Some(cpu) = turn(before, ranks, cpus)
        && run_on(&[cpu], cpus)
        && ranks.is_multiple_of(cpus.len())
    {
        TURN.store(cpu as u32, Ordering::Relaxed);
    }
}

/// The CPU to which this rank returns; `u32::MAX`: there is none. Where the CPUs would serve different numbers of ranks the kernel changes that now and
/// then, so that all ranks have the same share in the mean.
static TURN: AtomicU32 = AtomicU32::new(u32::MAX);
/// When this process last looked whether it runs there, in nanoseconds of the clock.
static LOOKED: AtomicU64 = AtomicU64::new(0);

/// Return to the CPU whose turn it is, if the calling thread runs on another one, none of the `ranks` of the node sleeps, and none knows of other
/// processes: then the kernel has no reason to move any. Seldom looked at. Does not block.
#[inline]
pub(super) fn keep_turn<'a, I: Iterator<Item = &'a Slot>>(now: Duration, ranks: impl FnOnce() -> I) {
    let turn = TURN.load(Ordering::Relaxed);
    let looked = Duration::from_nanos(LOOKED.load(Ordering::Relaxed));
    if turn != u32::MAX && now.saturating_sub(looked) >= TURN_PERIOD.time() {
        LOOKED.store(now.as_nanos() as u64, Ordering::Relaxed);
        return_to(turn as usize, now, ranks());
    }
}

#[cold]
fn return_to<'a>(turn: usize, now: Duration, ranks: impl Iterator<Item = &'a Slot>) {
    if cpu::current() != Some(turn) && are_undisturbed(now, ranks) {
        let usable = cpu::affinity();
        if usable.contains(&turn) && run_on(&[turn], &usable) {
            counters::MOVES.add(1);
        }
    }
}

/// Do all of these ranks want a CPU, and has none been without one for long lately?
fn are_undisturbed<'a>(now: Duration, mut ranks: impl Iterator<Item = &'a Slot>) -> bool {
    ranks.all(|rank| !rank.doorbell().is_armed() && rank.taken(now).is_none())
}

/// The CPU that comes after those of so many ranks `before`, of all `ranks`; `None`: there is a CPU for each, or but one.
fn turn(before: usize, ranks: usize, cpus: &[usize]) -> Option<usize> {
    (cpus.len() > 1 && ranks > cpus.len()).then(|| cpus[before % cpus.len()])
}

/// Have the kernel move the calling thread to one of `cpus`, and leave it free to use all that are `usable`. False: it may not.
fn run_on(cpus: &[usize], usable: &[usize]) -> bool {
    if usable.iter().any(|cpu| *cpu >= cpu::MOST) || cpu::bind(cpus).is_err() {
        return false;
    }
    // The mask was in force a moment ago, and that at the start is another one if the machine has changed meanwhile.
    cpu::bind(usable).or_else(|_| cpu::bind(cpu::at_start())).is_ok()
}

/// Move to a CPU that no rank shows, if another rank that does not sleep shows the one on which the calling thread runs. Does not block.
#[cold]
pub(super) fn leave_shared_cpu(engine: &mut Engine) {
    let slot = engine.slot();
    show(slot);
    let Some(here) = slot.cpu() else { return };
    let (me, segment) = (engine.me, engine.segment);
    let others = || {
        (0..segment.ranks())
            .filter(|rank| *rank != me)
            .map(|rank| segment.slot(rank))
    };
    let awake = || {
        others()
            .filter(|other| !other.doorbell().is_armed())
            .filter_map(Slot::cpu)
    };
    if !awake().any(|cpu| cpu == here) {
        return;
    }
    let taken: Vec<usize> = awake().map(|cpu| cpu as usize).collect();
    let usable = cpu::affinity();
    let free: Vec<usize> = usable
        .iter()
        .copied()
        .filter(|cpu| *cpu != here as usize && !taken.contains(cpu))
        .collect();
    if !free.is_empty() && run_on(&free, &usable) {
        counters::MOVES.add(1);
        show(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_outnumber_cpus_take_turns() {
        let cpus = [2, 3, 7];
        let turns = |ranks| (0..ranks).map(|before| turn(before, ranks, &cpus)).collect::<Vec<_>>();
        assert_eq!(turns(4), [Some(2), Some(3), Some(7), Some(2)]);
        assert_eq!(turns(3), [None; 3]);
        assert_eq!(turn(1, 2, &[5]), None);
    }

    #[test]
    fn ranks_return_while_all_of_them_run_undisturbed() {
        let ranks: [Slot; 3] = Default::default();
        let now = Duration::from_secs(100);
        let are = |now| are_undisturbed(now, ranks.iter());
        assert!(are(now));
        ranks[1].doorbell().prepare_to_sleep();
        assert!(!are(now), "the others may have its CPU");
        ranks[1].doorbell().stay_awake();
        ranks[2].show_taken(60.0, now);
        assert!(!are(now), "another process may have that of the third");
        assert!(are(now + Duration::from_secs(5)));
    }
}
