//! Whether ranks of the job have a CPU each, and how long this thread wanted one and had none.
//!
//! Known when a process joins: how many ranks the node has, and how many CPUs they may use, which is the affinity mask of all of them, cut by
//! the cgroup's quota. Ranks that share CPUs yield them to each other; a rank with a CPU of its own does not yield to other processes
//! (docs/decisions/0112).

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use isthmus_os::{clock, cpu};

use crate::backoff::{TAKEN, TAKEN_PERIOD};

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

/// Do other processes take the CPUs of this one's threads, as far as was [found](find_others)?
static BESIDE_OTHERS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// When this thread asked last for how long it had wanted a CPU and had none, and the answer.
    static ASKED: Cell<Option<(Duration, Duration)>> = const { Cell::new(None) };
}

/// Do other processes take the CPUs of this one's threads?
#[inline]
pub fn is_beside_others() -> bool {
    BESIDE_OTHERS.load(Ordering::Relaxed)
}

/// Find out whether they do, by how long this thread wanted a CPU and had none since it last asked; it asks seldom. Where the kernel does not
/// tell there are none. A few system calls; does not block. True: this was not known before.
#[cold]
pub fn find_others() -> bool {
    let now = clock::now();
    let last = ASKED.get();
    if last.is_some_and(|(asked, _)| now.saturating_sub(asked) < TAKEN_PERIOD.time()) {
        return false;
    }
    let Some((_, waited)) = cpu::thread_ran_and_waited() else {
        return false;
    };
    ASKED.set(Some((now, waited)));
    let Some((asked, waited_then)) = last else {
        return false;
    };
    let found = is_much(waited.saturating_sub(waited_then), now.saturating_sub(asked));
    let before = BESIDE_OTHERS.swap(found, Ordering::Relaxed);
    found && !before
}

/// Of so long, was the CPU taken from a thread for so long by other processes, and not by what the kernel itself has to do now and then?
fn is_much(waited: Duration, of: Duration) -> bool {
    waited * 100 >= of * TAKEN.count()
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

    #[test]
    fn a_kernel_thread_now_and_then_is_no_other_process() {
        let second = Duration::from_secs(1);
        assert!(!is_much(Duration::from_millis(5), second));
        assert!(is_much(Duration::from_millis(50), second), "a loop at nice 10");
    }
}
