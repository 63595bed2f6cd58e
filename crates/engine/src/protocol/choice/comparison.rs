//! At once or announced: which of the two lets messages of a middle size follow one another sooner.
//!
//! A message that goes at once is copied twice, by both sides at the same time, and its lines stay with those who wrote them last; one
//! that is announced is copied once, by the kernel, out of the cache of its writer. Where single copies are cheap, which is faster
//! depends on whether the buffer is rewritten between two messages (docs/decisions/0029), and what each side spends
//! copying does not tell: it is the next write that becomes dearer. So a receiver measures what the program gets: the time that many
//! messages in a row take, with all that lies between them, by one way and by the other, in turn. Then it stays with the better one for
//! longer and longer. It is the receiver's own choice (law 4): the sender goes by a word beside the ring's credit.

/// Messages by whose time a way is judged: twice as many as programs often have under way, so that a row has what they do between, above
/// all their own sends. In longer windows a row may lie between two of them.
const ROW: u32 = 128;
/// Rows by either way, in turn. The middle one counts.
const ROWS: usize = 3;
/// Messages after a change that are left out, since they pay for it; what was under way before them is left out, too.
const SETTLING: u32 = 2;
/// Messages that come in another way than wished before a comparison is given up: more than are under way.
const MOST_UNASKED: u32 = 4096;
/// Messages between two comparisons: the first time and after a change, and at most.
const REST: [u32; 2] = [1024, 16384];
/// The other way must be better than this share, in percent.
const MARGIN: u128 = 95;

/// Between one peer's messages of one size class.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Comparison {
    /// When the last message came, in [`isthmus_os::clock::ticks`]; 0: none has.
    last: u64,
    /// The messages of this row so far, and their time.
    messages: u32,
    took: u64,
    /// Messages as we wish that are not measured, from now on.
    left_out: u32,
    /// Messages meanwhile that came in the other way: they were under way, or their sender cannot do as we wish.
    unasked: u32,
    /// Rows of this comparison so far, and their times: at once, announced.
    rows: usize,
    times: [[u64; ROWS]; 2],
    /// What is better, and what is wished now: announced?
    better: bool,
    wished: bool,
    /// Messages from the last comparison to the next.
    rest: u32,
    /// There is no choice.
    is_over: bool,
}

impl Comparison {
    /// A message came, announced or at once, at `now`. Whether others like it are to be announced from now on; `None`: as before.
    /// Whether announced ones can be fetched by single copies at all, and whether these pay, `can` is asked once.
    #[inline]
    pub fn note(&mut self, announced: bool, now: u64, can: impl FnOnce() -> bool) -> Option<bool> {
        let last = std::mem::replace(&mut self.last, now);
        if self.is_over || last == 0 {
            return None;
        }
        if self.left_out > 0 {
            if announced != self.wished {
                return self.note_stranger();
            }
            self.left_out -= 1;
            return None;
        }
        // From the first one that came as we wish the others are those that cannot. They are in all rows alike.
        self.messages += 1;
        self.took += now.wrapping_sub(last);
        if self.messages < ROW {
            return None;
        }
        self.judge(can)
    }

    #[cold]
    fn note_stranger(&mut self) -> Option<bool> {
        self.unasked = self.unasked.saturating_add(1);
        let is_hopeless = self.wished != self.better && self.unasked == MOST_UNASKED;
        is_hopeless.then(|| self.end_comparison())
    }

    /// A row is complete.
    #[cold]
    fn judge(&mut self, can: impl FnOnce() -> bool) -> Option<bool> {
        if self.rest == 0 && self.rows == 0 && !can() {
            self.is_over = true;
            return None;
        }
        self.times[usize::from(self.wished)][self.rows / 2] = self.took;
        (self.messages, self.took, self.unasked) = (0, 0, 0);
        self.rows += 1;
        if self.rows < 2 * ROWS {
            self.wished = !self.wished;
            self.left_out = SETTLING;
            return Some(self.wished);
        }
        let [at_once, announced] = self.times.map(|mut times| {
            let (_, &mut middle, _) = times.select_nth_unstable(ROWS / 2);
            u128::from(middle)
        });
        let (better, other) = match self.better {
            true => (announced, at_once),
            false => (at_once, announced),
        };
        if other * 100 < better * MARGIN {
            self.better = !self.better;
            self.rest = 0;
        }
        Some(self.end_comparison())
    }

    fn end_comparison(&mut self) -> bool {
        self.rest = (self.rest * 2).clamp(REST[0], REST[1]);
        self.left_out = self.rest;
        (self.messages, self.took, self.unasked, self.rows) = (0, 0, 0, 0);
        self.wished = self.better;
        self.wished
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many messages, which take as long as `took` says, by whether they are announced and how many came before. How many were
    /// announced, and whether the next one is to be.
    fn run(count: u64, can: bool, took: impl Fn(bool, u64) -> u64) -> (u64, bool) {
        let mut comparison = Comparison::default();
        let (mut now, mut announced, mut wished) = (0, 0, false);
        for number in 0..count {
            now += took(wished, number);
            announced += u64::from(wished);
            if let Some(wish) = comparison.note(wished, now, || can) {
                wished = wish;
            }
        }
        (announced, wished)
    }

    #[test]
    fn the_better_one_wins_and_the_other_is_seldom_tried() {
        let (announced, wished) = run(20_000, true, |announced, _| if announced { 50 } else { 100 });
        assert!(wished && announced > 17_500, "{announced}");
        let (announced, wished) = run(20_000, true, |announced, _| if announced { 100 } else { 50 });
        assert!(!wished && (300..2_500).contains(&announced), "{announced}");
    }

    #[test]
    fn some_that_took_long_change_nothing() {
        let (announced, wished) = run(20_000, true, |announced, number| match number % 2_000 {
            0 => 100_000,
            _ if announced => 50,
            _ => 100,
        });
        assert!(wished && announced > 17_500, "{announced}");
    }

    #[test]
    fn what_a_program_does_between_its_messages_counts() {
        for window in [16, 64, 128] {
            // What goes at once comes quickly, and is paid for by the sends before.
            let at_once = |number: u64| match number % window {
                0 => 150 * window,
                _ => 10,
            };
            let (_, wished) = run(
                20_000,
                true,
                |announced, number| if announced { 100 } else { at_once(number) },
            );
            assert!(wished, "{window}");
        }
    }

    #[test]
    fn some_that_cannot_be_announced_do_not_matter() {
        // Every so many messages one that goes at once in any case, and takes long.
        for (every, announced, at_once) in [(50, 50, 100), (50, 100, 50), (2, 150, 100)] {
            let better = announced < at_once;
            let mut comparison = Comparison::default();
            let (mut now, mut wished, mut in_other) = (1, false, 0);
            for number in 0..40_000 {
                let can = number % every != 0;
                in_other += u32::from(wished != better);
                now += match (can, can && wished) {
                    (false, _) => 300,
                    (_, true) => announced,
                    (_, false) => at_once,
                };
                wished = comparison.note(can && wished, now, || true).unwrap_or(wished);
            }
            assert!(in_other < 5_000, "{every} {announced} {at_once}: {in_other}");
        }
    }

    #[test]
    fn what_changes_is_noticed() {
        let turned = |announced: bool, number: u64| if announced == (number < 6_000) { 50 } else { 100 };
        let (announced, wished) = run(40_000, true, turned);
        assert!(!wished && announced < 16_000, "{announced}");
    }

    #[test]
    fn a_comparison_ends_where_the_sender_cannot_do_as_is_wished() {
        let mut comparison = Comparison::default();
        let wishes: Vec<bool> = (1..5_000)
            .filter_map(|now| comparison.note(false, now, || true))
            .collect();
        assert_eq!(wishes, [true, false]);
    }

    #[test]
    fn a_little_better_is_not_enough() {
        for (announced, wins) in [(96, false), (94, true)] {
            let (_, wished) = run(
                5_000,
                true,
                |is_announced, _| if is_announced { announced } else { 100 },
            );
            assert_eq!(wished, wins, "{announced}");
        }
    }

    #[test]
    fn without_single_copies_nothing_is_announced() {
        assert_eq!(run(10_000, false, |_, _| 1), (0, false));
    }

    #[test]
    fn a_tie_leaves_them_at_once() {
        let (announced, wished) = run(9_000, true, |_, _| 100);
        assert!(!wished && announced < 2_000, "{announced}");
    }
}
