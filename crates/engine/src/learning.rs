//! Which of several alternatives that do the same is cheapest here, found out by measurement: each is tried a few times, then the cheapest is
//! taken, and the others are tried again now and then, since the machine may have changed.
//!
//! Receivers of long messages choose a data path so (`protocol/choice/select.rs`), copies to others their instructions
//! (`memory/staging/publish.rs`), and long one-sided operations the side that copies (`rma/long.rs`).
//!
//! Threads may lose each other's measurements; nothing else depends on them.

use std::sync::atomic::{AtomicU32, Ordering};

/// One of several alternatives.
pub(crate) trait Alternative: Copy + PartialEq {
    /// Its number, from 0.
    fn index(self) -> usize;
}

/// When alternatives are tried that are not the cheapest, and how fast estimates follow.
#[derive(Debug)]
pub(crate) struct Exploration {
    /// Each is tried so many times before the first comparison.
    pub trials: u32,
    /// After so many choices another one is tried, for the first time; twice as many each time...
    pub first_retry: u32,
    /// ...up to so many.
    pub retry: u32,
    /// After so many, one that costs more than twice as much as the cheapest.
    pub retry_slower: u32,
    /// It is tried in so many choices in a row at most; fewer, the more it costs.
    pub in_a_row: u32,
    /// One that costs so many times as much as the cheapest is not tried again.
    pub not_tried_from: u32,
    /// An estimate rises by one part in so many of what was measured above it.
    pub rise: u32,
}

#[derive(Debug)]
struct Estimate {
    /// Smoothed; the first trials keep the best, since they also pay for set-up.
    cost: AtomicU32,
    seen: AtomicU32,
}

/// Measurements of up to `N` alternatives.
#[derive(Debug)]
pub(crate) struct Learner<const N: usize> {
    estimates: [Estimate; N],
    /// Choices since another one was tried.
    turns: AtomicU32,
    /// How often others were tried.
    retries: AtomicU32,
    /// The one that is tried, by its number plus one, and in how many choices more.
    tried: AtomicU32,
    left: AtomicU32,
}

impl<const N: usize> Default for Learner<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Learner<N> {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self {
            estimates: [const {
                Estimate {
                    cost: AtomicU32::new(u32::MAX),
                    seen: AtomicU32::new(0),
                }
            }; N],
            turns: AtomicU32::new(0),
            retries: AtomicU32::new(0),
            tried: AtomicU32::new(0),
            left: AtomicU32::new(0),
        }
    }

    fn cost(&self, of: impl Alternative) -> u32 {
        self.estimates[of.index()].cost.load(Ordering::Relaxed)
    }

    fn seen(&self, of: impl Alternative) -> u32 {
        self.estimates[of.index()].seen.load(Ordering::Relaxed)
    }

    /// The cheapest of the open ones, of which there is at least one, as far as that is known: the first of those of which it is not.
    #[inline]
    pub fn best<A: Alternative>(&self, open: impl Iterator<Item = A>) -> A {
        let best = open.min_by_key(|one| self.cost(*one));
        best.expect("one alternative is always open")
    }

    /// The one to take, of the open ones, of which there is at least one. What it costs is to be [learned](Self::learn).
    pub fn choose<A: Alternative>(&self, open: impl Iterator<Item = A> + Clone, how: &Exploration) -> A {
        if let Some(untried) = open.clone().find(|one| self.seen(*one) < how.trials) {
            return untried;
        }
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            let tried = self.tried.load(Ordering::Relaxed) as usize;
            if let Some(tried) = open.clone().find(|one| one.index() == tried) {
                self.left.store(left - 1, Ordering::Relaxed);
                return tried;
            }
        }
        let best = self.best(open.clone());
        let turns = self.turns.load(Ordering::Relaxed).saturating_add(1);
        self.turns.store(turns, Ordering::Relaxed);
        let retries = self.retries.load(Ordering::Relaxed);
        if turns < (how.first_retry << retries.min(8)).min(how.retry) {
            return best;
        }
        // The one that was not heard of for longest: whatever it was, the machine may have changed.
        let cost = self.cost(best);
        let limit = cost.saturating_mul(how.not_tried_from);
        let others = open.filter(|one| *one != best && self.cost(*one) < limit);
        let other = others.min_by_key(|one| self.seen(*one));
        if turns < how.retry_slower && other.is_some_and(|other| self.cost(other) / 2 > cost) {
            return best;
        }
        self.turns.store(0, Ordering::Relaxed);
        self.retries.store(retries.saturating_add(1), Ordering::Relaxed);
        let Some(other) = other else { return best };
        let row = u64::from(2 * how.in_a_row) * u64::from(cost) / u64::from(self.cost(other).max(1));
        let row = row.min(how.in_a_row.into()) as u32;
        self.tried.store(other.index() as u32, Ordering::Relaxed);
        self.left.store(row.saturating_sub(1), Ordering::Relaxed);
        other
    }

    /// This one has cost so much, in any unit that is always the same.
    pub fn learn(&self, of: impl Alternative, cost: u64, how: &Exploration) {
        let new = cost.min(u64::from(u32::MAX - 1)) as u32;
        let Estimate { cost, seen } = &self.estimates[of.index()];
        let (old, times) = (cost.load(Ordering::Relaxed), seen.load(Ordering::Relaxed));
        let next = match times {
            0 => new,
            times if times < how.trials => old.min(new),
            // It can do that: what was slower before had another reason.
            _ if new < old => old - (old - new).div_ceil(2),
            // One that waited for a descheduled process says little.
            _ => old + (new.min(old.saturating_mul(2)) - old).div_ceil(how.rise),
        };
        cost.store(next, Ordering::Relaxed);
        seen.store(times.saturating_add(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Alternative for usize {
        fn index(self) -> usize {
            self
        }
    }

    const HOW: Exploration = Exploration {
        trials: 3,
        first_retry: 32,
        retry: 512,
        retry_slower: 0,
        in_a_row: 8,
        not_tried_from: 16,
        rise: 8,
    };

    /// How often the second one is chosen in so many rounds, where the two cost so much.
    fn run(learner: &Learner<2>, costs: [u64; 2], rounds: u32, how: &Exploration) -> usize {
        let second = (0..rounds).filter(|_| {
            let one: usize = learner.choose([0, 1].into_iter(), how);
            learner.learn(one, costs[one], how);
            one == 1
        });
        second.count()
    }

    #[test]
    fn the_cheapest_is_taken_and_the_other_is_tried_again() {
        let learner = Learner::default();
        assert!((10..50).contains(&run(&learner, [10_000, 20_000], 1000, &HOW)));
        assert_eq!(learner.best([1, 0].into_iter()), 0);
        let learner = Learner::default();
        assert!((950..990).contains(&run(&learner, [20_000, 10_000], 1000, &HOW)));
    }

    #[test]
    fn one_that_costs_far_too_much_is_tried_no_more() {
        assert_eq!(run(&Learner::default(), [10, 1000], 2000, &HOW), HOW.trials as usize);
    }

    #[test]
    fn a_slower_one_is_tried_in_fewer_choices_in_a_row() {
        let learner: Learner<2> = Learner::default();
        let mut rows = Vec::new();
        for _ in 0..600 {
            let one: usize = learner.choose([0, 1].into_iter(), &HOW);
            learner.learn(one, [100, 800][one], &HOW);
            rows.push(one == 1);
        }
        let longest = rows[HOW.trials as usize..].split(|second| !second).map(<[bool]>::len);
        assert_eq!(longest.skip(1).max(), Some(2));
    }

    #[test]
    fn changes_are_followed() {
        let often = Exploration {
            first_retry: 64,
            retry: 64,
            retry_slower: 512,
            in_a_row: 3,
            not_tried_from: u32::MAX,
            rise: 4,
            ..HOW
        };
        let learner = Learner::default();
        assert!((10..60).contains(&run(&learner, [1000, 1500], 640, &often)));
        assert!(run(&learner, [3000, 1500], 640, &often) > 500);
        assert!(run(&learner, [1000, 1500], 640, &often) < 150);
        let learner = Learner::default();
        assert!((2..=12).contains(&run(&learner, [1000, 5000], 640, &often)));
        assert!(
            run(&learner, [9000, 3000], 640, &often) > 300,
            "found within some hundred"
        );
        assert!(run(&learner, [9000, 3000], 640, &often) >= 632);
    }

    #[test]
    fn one_that_is_not_open_is_not_chosen() {
        let learner: Learner<2> = Learner::default();
        assert_eq!(learner.best([1, 0].into_iter()), 1, "nothing is known");
        for _ in 0..100 {
            let one: usize = learner.choose([1].into_iter(), &HOW);
            learner.learn(one, 100, &HOW);
            assert_eq!(one, 1);
        }
    }
}
