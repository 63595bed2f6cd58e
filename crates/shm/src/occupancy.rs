//! Whether ranks of the job have a CPU each, and how long this thread wanted one and had none.
//!
//! Known when a process joins: how many ranks the node has, and how many CPUs they may use, which is the affinity mask of all of them, cut by
//! the cgroup's quota. Ranks that share CPUs yield them to each other; a rank with a CPU of its own does not yield to other processes
//! (docs/decisions/0112).

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use isthmus_os::{clock, cpu};

use crate::backoff::{IDLE, LOST, OTHERS_LEFT, TAKEN, TAKEN_BY_MANY, TAKEN_PERIOD, TAKEN_SMOOTHING};

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
pub enum PeerActivity {
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

/// Do other processes take CPUs of ranks now and then, as far as was [found](find_others)?
static BESIDE_OTHERS: AtomicBool = AtomicBool::new(false);

/// What a thread knows of its turns on a CPU.
#[derive(Debug, Clone, Copy)]
struct Turns {
    /// When it asked last, and for how long it had run and waited for a CPU then, in all.
    asked: Duration,
    ran: Duration,
    waited: Duration,
    /// Of the time that it wanted a CPU, the part in which it had none, in percent, smoothed. `None`: it has asked once.
    taken: Option<f64>,
}

thread_local! {
    static TURNS: Cell<Option<Turns>> = const { Cell::new(None) };
}

/// Do other processes take CPUs of ranks now and then, but leave most of the time to them?
#[inline]
pub fn is_beside_others() -> bool {
    BESIDE_OTHERS.load(Ordering::Relaxed)
}

/// Find out whether they do, by how long the calling thread wanted a CPU and had none since it last asked; it asks seldom. `of_all`: given the
/// percentage of this thread and the time, answers with those of all ranks of the node that are known. Where the kernel does not tell, there are no
/// others. A few system calls; does not block. True: this was not known before.
#[cold]
pub fn find_others<I: IntoIterator<Item = f64>>(of_all: impl FnOnce(f64, Duration) -> I) -> bool {
    let Some(taken) = ask_for_taken(Duration::ZERO) else {
        return false;
    };
    let found = is_now_and_then(of_all(taken, clock::now()));
    !BESIDE_OTHERS.swap(found, Ordering::Relaxed) && found
}

/// Of the time that the calling thread wanted a CPU, the smoothed percentage in which it had none; what happened between its last call and
/// `since` does not count. `None`: it has asked a short while ago, or asks for the first time, or the kernel does not tell. A few system calls; does
/// not block.
pub fn ask_for_taken(since: Duration) -> Option<f64> {
    let asked = clock::now();
    let last = TURNS.get();
    let counts = last.is_some_and(|turns| turns.asked >= since);
    if counts && last.is_some_and(|turns| asked.saturating_sub(turns.asked) < TAKEN_PERIOD.time()) {
        return None;
    }
    let (ran, waited) = cpu::thread_ran_and_waited()?;
    let taken = match last {
        Some(turns) if counts => Some(turns.taken_until(ran, waited)),
        Some(turns) => turns.taken,
        // What a rank that shares CPUs lost while it joined says little.
        None => is_oversubscribed().then_some(0.0),
    };
    TURNS.set(Some(Turns {
        asked,
        ran,
        waited,
        taken,
    }));
    taken.filter(|_| counts)
}

/// Do ranks that share CPUs get so little of them that other processes must have what they yield? `taken`: the percentage of each rank that wanted a
/// CPU lately, `None` if it is not known: that one may compute.
pub fn are_yields_lost(taken: impl IntoIterator<Item = Option<f64>>, ranks: u32, cpus: u32) -> bool {
    let (mut known, mut had) = (0_u32, 0.0);
    for taken in taken {
        (known, had) = (known + 1, had + 100.0 - taken.unwrap_or(0.0));
    }
    let alone = f64::from(cpus) / f64::from(ranks.max(cpus).max(1));
    known > 0 && had < f64::from(LOST.count()) * alone * f64::from(known)
}

/// Do ranks that sleep since other processes have most of what they yield find that those have gone? Of the CPUs' time since they looked last:
/// the part in which they were idle, and the part that other processes had, 0 to 1, as far as that is known.
pub fn have_others_gone(idle: Option<f64>, others: Option<f64>, ranks: u32, cpus: u32) -> bool {
    let fair = f64::from(cpus) / f64::from((ranks + cpus).max(1));
    idle.is_some_and(|idle| 100.0 * idle >= f64::from(IDLE.count()))
        || others.is_some_and(|others| 100.0 * others < fair * f64::from(OTHERS_LEFT.count()))
}

impl Turns {
    /// The smoothed percentage, when it has run and waited for so long in all.
    fn taken_until(&self, ran: Duration, waited: Duration) -> f64 {
        let (ran, waited) = (ran.saturating_sub(self.ran), waited.saturating_sub(self.waited));
        let wanted = (ran + waited).max(Duration::from_nanos(1));
        let taken = 100.0 * waited.as_secs_f64() / wanted.as_secs_f64();
        let before = self.taken.unwrap_or(taken);
        before + (taken - before) / f64::from(TAKEN_SMOOTHING.count())
    }
}

/// Is more taken from some rank than the kernel itself takes, and from all of them less than on a machine where all CPUs have others to serve?
fn is_now_and_then(of_ranks: impl IntoIterator<Item = f64>) -> bool {
    let (mut ranks, mut sum, mut most) = (0_u32, 0.0, 0.0_f64);
    for taken in of_ranks {
        (ranks, sum, most) = (ranks + 1, sum + taken, most.max(taken));
    }
    most >= f64::from(TAKEN.count()) && sum < f64::from(TAKEN_BY_MANY.count()) * f64::from(ranks)
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

    /// Answers for a thread that is asked ten times a second, and waited for a CPU for so many milliseconds of each tenth.
    fn found(waited: &[u64]) -> Vec<bool> {
        let mut turns = Turns {
            asked: Duration::ZERO,
            ran: Duration::ZERO,
            waited: Duration::ZERO,
            taken: None,
        };
        let mut ask = |waited: &u64| {
            let (ran, waited) = (
                turns.ran + Duration::from_millis(100 - waited),
                turns.waited + Duration::from_millis(*waited),
            );
            let taken = turns.taken_until(ran, waited);
            turns = Turns {
                taken: Some(taken),
                ran,
                waited,
                ..turns
            };
            is_now_and_then([taken])
        };
        waited.iter().map(&mut ask).collect()
    }

    #[test]
    fn others_that_take_a_cpu_now_and_then_are_found_and_forgotten() {
        assert_eq!(found(&[0, 2, 1, 4, 0, 2]), [false; 6], "the kernel itself");
        assert_eq!(found(&[20, 50, 0, 40, 30, 10]), [true; 6], "a loop on one of the CPUs");
        assert_eq!(found(&[50, 46, 51, 49]), [false; 4], "a loop on each");
        let mut gone = vec![30; 4];
        gone.extend([1; 12]);
        assert!(!found(&gone)[15]);
    }

    #[test]
    fn ranks_that_get_a_quarter_of_what_they_would_have_alone_lose_their_yields() {
        let lost = |taken: &[f64], cpus| are_yields_lost(taken.iter().copied().map(Some), taken.len() as u32, cpus);
        assert!(!lost(&[50.0; 4], 2), "nobody else");
        assert!(!lost(&[75.0; 4], 2), "a second job, or a loop");
        assert!(lost(&[97.0; 4], 2) && lost(&[80.0, 95.0, 96.0, 97.0], 2));
        assert!(!lost(&[75.0; 8], 2) && !lost(&[93.0; 8], 2) && lost(&[97.0; 8], 2));
        assert!(
            !are_yields_lost([Some(97.0), Some(97.0), None, None], 4, 2),
            "two that compute have the CPUs"
        );
        assert!(
            are_yields_lost([Some(97.0), Some(97.0)], 4, 2),
            "two that sleep have not"
        );
        assert!(!are_yields_lost([], 4, 2));
    }

    #[test]
    fn ranks_are_counted_together() {
        assert!(is_now_and_then([50.0, 10.0]), "a loop that stays on one CPU");
        assert!(!is_now_and_then([50.0, 48.0]), "a loop on each");
        assert!(!is_now_and_then([1.0, 2.0, 0.5]));
        assert!(
            is_now_and_then(std::iter::repeat_n(0.5, 63).chain([50.0])),
            "each may wait for the last one"
        );
        assert!(!is_now_and_then([]));
    }
}
