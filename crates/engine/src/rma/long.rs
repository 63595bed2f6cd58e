//! Which way a long operation on ordinary memory of a target that makes progress takes: two copies, of which the target makes one, or single copies by
//! the kernel, of which the target makes some. The first is faster as long as lines cross between near CPUs, and slower where they are far; so
//! each origin learns it of each peer.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use isthmus_os::clock;

use super::home;
use super::mailbox::Outcome;
use crate::Result;
use crate::limits::{LONG_FIRST, LONG_PERIOD, LONG_SELDOM, LONG_SPEEDS_UP, LONG_TRIED};
use crate::types::Peer;

/// The copying side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// Both, in pieces.
    Target,
    Kernel,
}

/// Measurements of one peer.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// Of puts and gets.
    pub copies: Long,
    /// Of accumulates.
    pub sums: Long,
    /// The peer could not copy from or to our memory, for whatever reason: it is not asked again, since the other ways do the same.
    is_closed: AtomicBool,
}

impl Learned {
    /// Was the peer found to be unable to copy from or to our memory?
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// It is.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

/// Of a process of this node.
///
/// # Errors
/// This process has not joined a job.
pub(super) fn of(peer: Peer) -> Result<&'static Learned> {
    static ALL: OnceLock<Box<[Learned]>> = OnceLock::new();
    let ranks = home()?.segment.ranks();
    let all = ALL.get_or_init(|| (0..ranks).map(|_| Learned::default()).collect());
    Ok(&all[peer.0 as usize])
}

impl Outcome {
    /// Of an operation by the target that took so long: how long others will. `None`: it was not done.
    fn teaches(self, took: u64) -> Option<u64> {
        match self {
            Self::Not => None,
            Self::Done => Some(took),
            Self::DoneSlowly(costs) => Some(took.saturating_sub(costs) / LONG_SPEEDS_UP),
        }
    }
}

/// Measurements of one kind of operation.
#[derive(Debug, Default)]
pub(super) struct Long {
    turn: AtomicU32,
    /// By each way, in [`clock::ticks`] per KiB, smoothed; 0: not known.
    costs: [AtomicU32; 2],
}

impl Long {
    /// Do an operation on so many bytes by the way that is chosen for it, by the kernel if the target is not there.
    ///
    /// # Errors
    /// Those of the two.
    pub fn go(
        &self,
        bytes: u64,
        by_target: impl FnOnce() -> Result<Outcome>,
        by_kernel: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut begun = clock::ticks();
        if self.choose() == By::Target {
            let outcome = by_target()?;
            let now = clock::ticks();
            if let Some(took) = outcome.teaches(now.wrapping_sub(begun)) {
                self.learn(By::Target, bytes, took);
                return Ok(());
            }
            begun = now;
        }
        by_kernel()?;
        self.learn(By::Kernel, bytes, clock::ticks().wrapping_sub(begun));
        Ok(())
    }

    /// The way for the next one.
    fn choose(&self) -> By {
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn.store(turn.wrapping_add(1), Ordering::Relaxed);
        let [target, kernel] = [By::Target, By::Kernel].map(|by| self.costs[by as usize].load(Ordering::Relaxed));
        let has_chance = |cost: u32, other: u32| other == 0 || cost / 2 <= other || turn % LONG_SELDOM < LONG_PERIOD;
        if turn < LONG_FIRST {
            return if turn.is_multiple_of(2) { By::Target } else { By::Kernel };
        }
        let chance = turn % LONG_PERIOD;
        match () {
            () if turn >= LONG_PERIOD && chance < LONG_TRIED && has_chance(target, kernel) => By::Target,
            () if turn >= LONG_PERIOD
                && (LONG_TRIED..2 * LONG_TRIED).contains(&chance)
                && has_chance(kernel, target) =>
            {
                By::Kernel
            }
            () if kernel < target && kernel > 0 => By::Kernel,
            () => By::Target,
        }
    }

    /// So many bytes took so long.
    fn learn(&self, by: By, bytes: u64, took: u64) {
        let cost = (took.saturating_mul(1024) / bytes.max(1)).clamp(1, u32::MAX.into());
        let old = u64::from(self.costs[by as usize].load(Ordering::Relaxed));
        let new = match old {
            0 => cost,
            _ if self.turn.load(Ordering::Relaxed) <= LONG_FIRST => cost.min(old),
            // It can do that: what was slower before had another reason.
            _ if cost < old => (old + cost) / 2,
            _ => (old * 3 + cost.min(old * 2)) / 4,
        };
        self.costs[by as usize].store(new.min(u32::MAX.into()) as u32, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(long: &Long, target: u64, kernel: u64) -> usize {
        let by_kernel = (0..640).filter(|_| {
            let by = long.choose();
            let took = if by == By::Kernel { kernel } else { target };
            long.learn(by, 1024, took);
            by == By::Kernel
        });
        by_kernel.count()
    }

    #[test]
    fn the_faster_way_is_taken_and_found_again() {
        let long = Long::default();
        assert!((10..60).contains(&run(&long, 1000, 1500)));
        assert!(run(&long, 3000, 1500) > 500);
        assert!(run(&long, 1000, 1500) < 150);
    }

    #[test]
    fn what_costs_much_more_is_tried_seldom() {
        let long = Long::default();
        assert!((2..=12).contains(&run(&long, 1000, 5000)));
        assert!(run(&long, 9000, 3000) > 300, "found within some hundred");
        assert!(run(&long, 9000, 3000) >= 632);
        assert!(run(&long, 1000, 3000) < 600);
        assert!(run(&long, 1000, 3000) < 20);
    }

    #[test]
    fn what_is_slow_at_first_is_expected_to_become_faster() {
        assert_eq!(Outcome::Done.teaches(400), Some(400));
        assert_eq!(Outcome::DoneSlowly(100).teaches(400), Some(100));
        assert_eq!(Outcome::DoneSlowly(500).teaches(400), Some(0));
        assert_eq!(Outcome::Not.teaches(400), None);
    }
}
