//! Which way a long put or get takes to ordinary memory of a target that attends: two copies, of which the target makes one, or a single copy by
//! the kernel. The first is faster as long as lines cross between near CPUs, and slower where they are far; so each origin learns it.

use std::sync::atomic::{AtomicU32, Ordering};

/// From here on it is worth a look at the clock.
pub(super) const LONG: u64 = 64 << 10;
/// Of so many operations...
const PERIOD: u32 = 64;
/// ...each way has so many, whatever was learned.
const CHANCES: u32 = 2;

/// Who copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Both, in pieces.
    Target,
    Kernel,
}

/// What was learned of one target.
#[derive(Debug, Default)]
pub(super) struct Long {
    turn: AtomicU32,
    /// By each way, in [`isthmus_os::clock::ticks`] per KiB, smoothed; 0: not known.
    costs: [AtomicU32; 2],
}

impl Long {
    /// The way for the next one.
    pub fn choose(&self) -> By {
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn.store(turn.wrapping_add(1), Ordering::Relaxed);
        let [target, kernel] = [By::Target, By::Kernel].map(|by| self.costs[by as usize].load(Ordering::Relaxed));
        match turn % PERIOD {
            turn if turn < CHANCES => By::Target,
            turn if turn < 2 * CHANCES => By::Kernel,
            _ if kernel < target && kernel > 0 => By::Kernel,
            _ => By::Target,
        }
    }

    /// So many bytes took so long.
    pub fn learn(&self, by: By, bytes: u64, took: u64) {
        let cost = (took.saturating_mul(1024) / bytes.max(1)).clamp(1, u32::MAX.into());
        let old = u64::from(self.costs[by as usize].load(Ordering::Relaxed));
        let new = match old {
            0 => cost,
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
            long.learn(by, LONG, took);
            by == By::Kernel
        });
        by_kernel.count()
    }

    #[test]
    fn the_faster_way_is_taken_and_found_again() {
        let long = Long::default();
        assert!((10..40).contains(&run(&long, 1000, 3000)));
        assert!(run(&long, 9000, 3000) > 500);
        assert!(run(&long, 1000, 3000) < 150);
    }
}
