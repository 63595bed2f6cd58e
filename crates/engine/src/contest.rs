//! At once or announced: which of the two lets messages of a middle size follow one another sooner.
//!
//! A message that goes at once is copied twice, by both sides at the same time, and its lines stay with those who wrote them last; one
//! that is announced is copied once, by the kernel, out of the cache of its writer. Where single copies are cheap, which is faster
//! depends on whether the buffer is rewritten between two messages (docs/decisions/0029), and what each side spends
//! copying does not tell: it is the next write that becomes dearer. So a receiver measures what the program gets, the time from one
//! message to the next: the median of a few by one way, of a few by the other, and then stays with the better one for longer and
//! longer. It is the receiver's own choice (law 4): the sender goes by a word beside the ring's credit.

/// Messages in a row by which a way is judged.
const ROW: usize = 15;
/// Messages after a change that are left out: they were under way, or pay for it.
const SETTLING: u8 = 2;
/// Messages between two comparisons: the first time, and at most.
const REST: [u32; 2] = [32, 4096];
/// The other way must be better than this share, in percent.
const MARGIN: u64 = 95;

/// Between one peer's messages of one size class.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Contest {
    /// When the last one came, in [`isthmus_os::clock::ticks`].
    last: u64,
    times: [u32; ROW],
    measured: u8,
    settling: u8,
    /// What is better, and what is wished now: announced?
    better: bool,
    wished: bool,
    /// The time between two by the better way.
    median: u32,
    /// Messages until the next comparison, and then until the one after.
    rest: u32,
    next_rest: u32,
    /// There is no choice.
    is_over: bool,
}

impl Contest {
    /// A message came, announced or at once, at `now`. Whether others like it are to be announced from now on; `None`: as before.
    /// Whether announced ones can be fetched by single copies at all, and whether these pay, `can` is asked once.
    #[inline]
    pub fn note(&mut self, announced: bool, now: u64, can: impl FnOnce() -> bool) -> Option<bool> {
        let took = now.wrapping_sub(std::mem::replace(&mut self.last, now));
        if self.is_over || announced != self.wished {
            return None;
        }
        if self.settling > 0 {
            self.settling -= 1;
            return None;
        }
        if self.rest > ROW as u32 {
            self.rest -= 1;
            return None;
        }
        self.times[usize::from(self.measured)] = took.min(u64::from(u32::MAX)) as u32;
        self.measured += 1;
        if usize::from(self.measured) < ROW {
            return None;
        }
        self.measured = 0;
        self.judge(can)
    }

    /// A row is complete.
    #[cold]
    fn judge(&mut self, can: impl FnOnce() -> bool) -> Option<bool> {
        let mut times = self.times;
        let (_, &mut median, _) = times.select_nth_unstable(ROW / 2);
        let before = self.wished;
        if self.wished == self.better {
            // The first row, and only that, is before any comparison.
            if self.next_rest == 0 && !can() {
                self.is_over = true;
                return None;
            }
            self.median = median;
            self.wished = !self.better;
        } else {
            let changes = u64::from(median) * 100 < u64::from(self.median) * MARGIN;
            self.better ^= changes;
            self.wished = self.better;
            self.next_rest = match changes || self.next_rest == 0 {
                true => REST[0],
                false => (self.next_rest * 2).min(REST[1]),
            };
            self.rest = self.next_rest;
        }
        if self.wished == before {
            return None;
        }
        self.settling = SETTLING;
        Some(self.wished)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many messages, which take as long as `took` says, by whether they are announced and how many came before. How many were
    /// announced, and whether the next one is to be.
    fn run(count: u64, can: bool, took: impl Fn(bool, u64) -> u64) -> (u64, bool) {
        let mut contest = Contest::default();
        let (mut now, mut announced, mut wished) = (0, 0, false);
        for number in 0..count {
            now += took(wished, number);
            announced += u64::from(wished);
            if let Some(wish) = contest.note(wished, now, || can) {
                wished = wish;
            }
        }
        (announced, wished)
    }

    #[test]
    fn the_better_one_wins_and_the_other_is_seldom_tried() {
        let (announced, wished) = run(10_000, true, |announced, _| if announced { 50 } else { 100 });
        assert!(wished && announced > 9_800, "{announced}");
        let (announced, wished) = run(10_000, true, |announced, _| if announced { 100 } else { 50 });
        assert!(!wished && (15..200).contains(&announced), "{announced}");
    }

    #[test]
    fn some_that_took_long_change_nothing() {
        let (announced, wished) = run(10_000, true, |announced, number| match number % 3 {
            0 => 100_000,
            _ if announced => 50,
            _ => 100,
        });
        assert!(wished && announced > 9_800, "{announced}");
    }

    #[test]
    fn what_changes_is_noticed() {
        let turned = |announced: bool, number: u64| if announced == (number < 3_000) { 50 } else { 100 };
        let (announced, wished) = run(20_000, true, turned);
        assert!(!wished && announced < 8_000, "{announced}");
    }

    #[test]
    fn without_single_copies_nothing_is_announced() {
        assert_eq!(run(10_000, false, |_, _| 1), (0, false));
    }

    #[test]
    fn a_tie_leaves_them_at_once() {
        let (announced, wished) = run(10_000, true, |_, _| 100);
        assert!(!wished && announced < 200, "{announced}");
    }
}
