//! Whether ranks of the job have a CPU each, and how long this thread wanted one and had none.
//!
//! Known when a process joins: how many ranks the node has, and how many CPUs they may use, which is the affinity mask of all of them, cut by
//! the cgroup's quota. Ranks that share CPUs yield them to each other; a rank with a CPU of its own does not yield to other processes
//! (docs/decisions/0112).

use std::sync::atomic::{AtomicU32, Ordering};

static RANKS: AtomicU32 = AtomicU32::new(1);
static CPUS: AtomicU32 = AtomicU32::new(u32::MAX);

/// Whether ranks have CPUs of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cpus {
    /// Each rank has one.
    Own,
    /// More ranks than CPUs, but at most three to two: some CPUs serve one rank, others two.
    PartlyShared,
    /// More ranks than that.
    Shared,
}

impl Cpus {
    /// Of so many ranks on so many CPUs.
    pub fn of(ranks: u32, cpus: u32) -> Self {
        match () {
            () if ranks <= cpus => Self::Own,
            () if ranks <= Self::most_partly_shared(cpus) => Self::PartlyShared,
            () => Self::Shared,
        }
    }

    /// Up to so many ranks not all of these CPUs are shared: three to two.
    pub fn most_partly_shared(cpus: u32) -> u32 {
        cpus.saturating_add(cpus / 2)
    }
}

/// Where ranks share CPUs: have the ranks that are awaited got one, as far as they know themselves?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// One of them has yielded, or sleeps.
    Away,
    /// All of them have.
    AtWork,
    /// It is not known which ranks are awaited, or it is not asked.
    Unknown,
}

/// This process is one of so many ranks of the node, which may use so many CPUs.
pub fn settle(ranks: u32, cpus: u32) {
    RANKS.store(ranks, Ordering::Relaxed);
    CPUS.store(cpus, Ordering::Relaxed);
}

/// CPUs that the ranks of the node may use; `None` before there is a job.
pub fn cpus() -> Option<u32> {
    let cpus = CPUS.load(Ordering::Relaxed);
    (cpus != u32::MAX).then_some(cpus)
}

/// Do the ranks of this node outnumber the CPUs that they may use?
#[inline]
pub fn is_oversubscribed() -> bool {
    is_oversubscribed_by(1)
}

/// Would they, with so many threads each?
#[inline]
pub fn is_oversubscribed_by(threads: u32) -> bool {
    RANKS.load(Ordering::Relaxed).saturating_mul(threads) > CPUS.load(Ordering::Relaxed)
}

/// How many ranks of this node there are to a CPU, rounded up; 1 before there is a job.
pub fn ranks_per_cpu() -> u32 {
    let (ranks, cpus) = (RANKS.load(Ordering::Relaxed), CPUS.load(Ordering::Relaxed));
    ranks.div_ceil(cpus.max(1)).max(1)
}

/// Do the ranks of this node share CPUs?
#[inline]
pub fn sharing() -> Cpus {
    Cpus::of(RANKS.load(Ordering::Relaxed), CPUS.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_cpus() {
        let grid = [
            (1, 1),
            (2, 2),
            (3, 2),
            (4, 2),
            (3, 3),
            (4, 3),
            (5, 3),
            (6, 4),
            (7, 4),
            (8, 2),
            (1, u32::MAX),
        ];
        use Cpus::{Own, PartlyShared, Shared};
        let expected = [
            Own,
            Own,
            PartlyShared,
            Shared,
            Own,
            PartlyShared,
            Shared,
            PartlyShared,
            Shared,
            Shared,
            Own,
        ];
        assert_eq!(grid.map(|(ranks, cpus)| Cpus::of(ranks, cpus)), expected);
    }
}
