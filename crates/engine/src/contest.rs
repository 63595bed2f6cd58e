//! At once or announced: which of the two lets messages of a middle size follow one another sooner.
//!
//! A message that goes at once is copied twice, by both sides at the same time, and its lines stay with those who wrote them last; one
//! that is announced is copied once, by the kernel, out of the cache of its writer. Where single copies are cheap, which is faster
//! depends on whether the buffer is rewritten between two messages (docs/decisions/0029), and what each side spends
//! copying does not tell: it is the next write that becomes dearer. So a receiver measures what the program gets, the time from one
//! message to the next: that of a few rows by one way, of a few by the other, in turn, and then stays with the better one for longer and
//! longer. It is the receiver's own choice (law 4): the sender goes by a word beside the ring's credit.

/// Messages by whose time a way is judged: as many as programs often have under way, so that what they do between is in it, above all
/// their own sends.
const ROW: u32 = 64;
/// Rows by either way, in turn. The quickest counts: nothing makes one quicker than it is.
const ROWS: u8 = 3;
/// Messages after a change that are left out: they were under way, or pay for it.
const SETTLING: u32 = 2;
/// Messages that come in another way than wished before a comparison is given up.
const STRANGERS: u32 = 4 * ROW;
/// Messages between two comparisons: after a change, and at most.
const REST: [u32; 2] = [1024, 16384];
/// The other way must be better than this share, in percent.
const MARGIN: u128 = 95;

/// Between one peer's messages of one size class.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Contest {
    /// When this row began, in [`isthmus_os::clock::ticks`], and its messages so far.
    began: u64,
    messages: u32,
    /// Messages that are not measured.
    left_out: u32,
    strangers: u32,
    /// Rows of this comparison so far, and the quickest: at once, announced.
    rows: u8,
    quickest: [u64; 2],
    /// What is better, and what is wished now: announced?
    better: bool,
    wished: bool,
    /// Messages from the last comparison to the next.
    rest: u32,
    /// There is no choice.
    is_over: bool,
}

impl Contest {
    /// A message came, announced or at once, at `now`. Whether others like it are to be announced from now on; `None`: as before.
    /// Whether announced ones can be fetched by single copies at all, and whether these pay, `can` is asked once.
    #[inline]
    pub fn note(&mut self, announced: bool, now: u64, can: impl FnOnce() -> bool) -> Option<bool> {
        if self.is_over {
            return None;
        }
        if announced != self.wished {
            return self.note_stranger(now);
        }
        if self.left_out > 0 || self.began == 0 {
            self.left_out = self.left_out.saturating_sub(1);
            self.began = now;
            return None;
        }
        self.messages += 1;
        if self.messages < ROW {
            return None;
        }
        let took = now.wrapping_sub(self.began);
        self.begin_row(now);
        self.judge(took, can)
    }

    fn begin_row(&mut self, now: u64) {
        (self.began, self.messages, self.strangers) = (now, 0, 0);
    }

    /// A message came in the other way: it was under way, or its sender cannot do as we wish. Measured is what is all of one kind.
    #[cold]
    fn note_stranger(&mut self, now: u64) -> Option<bool> {
        let strangers = self.strangers + 1;
        self.begin_row(now);
        self.strangers = strangers;
        (self.wished != self.better && strangers == STRANGERS).then(|| self.end_comparison())
    }

    /// A row is complete.
    #[cold]
    fn judge(&mut self, took: u64, can: impl FnOnce() -> bool) -> Option<bool> {
        if self.rows == 0 {
            if self.rest == 0 && !can() {
                self.is_over = true;
                return None;
            }
            self.quickest = [u64::MAX; 2];
        }
        let quickest = &mut self.quickest[usize::from(self.wished)];
        *quickest = took.min(*quickest);
        self.rows += 1;
        if self.rows < 2 * ROWS {
            self.wished = !self.wished;
            self.left_out = SETTLING;
            return Some(self.wished);
        }
        let of = |announced: bool| u128::from(self.quickest[usize::from(announced)]);
        let changes = of(!self.better) * 100 < of(self.better) * MARGIN;
        self.better ^= changes;
        if changes {
            self.rest = 0;
        }
        Some(self.end_comparison())
    }

    fn end_comparison(&mut self) -> bool {
        self.rest = (self.rest * 2).clamp(REST[0], REST[1]);
        self.left_out = self.rest;
        self.rows = 0;
        self.strangers = 0;
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
        let (announced, wished) = run(20_000, true, |announced, _| if announced { 50 } else { 100 });
        assert!(wished && announced > 18_500, "{announced}");
        let (announced, wished) = run(20_000, true, |announced, _| if announced { 100 } else { 50 });
        assert!(!wished && (150..1_500).contains(&announced), "{announced}");
    }

    #[test]
    fn some_that_took_long_change_nothing() {
        let (announced, wished) = run(20_000, true, |announced, number| match number % 500 {
            0 => 100_000,
            _ if announced => 50,
            _ => 100,
        });
        assert!(wished && announced > 18_500, "{announced}");
    }

    #[test]
    fn what_a_program_does_between_its_messages_counts() {
        // What goes at once comes quickly, and is paid for by the sends before.
        let at_once = |number: u64| if number % 64 < 32 { 10 } else { 290 };
        let (_, wished) = run(
            20_000,
            true,
            |announced, number| if announced { 100 } else { at_once(number) },
        );
        assert!(wished);
    }

    #[test]
    fn what_changes_is_noticed() {
        let turned = |announced: bool, number: u64| if announced == (number < 6_000) { 50 } else { 100 };
        let (announced, wished) = run(40_000, true, turned);
        assert!(!wished && announced < 16_000, "{announced}");
    }

    #[test]
    fn a_comparison_ends_where_the_sender_cannot_do_as_is_wished() {
        let mut contest = Contest::default();
        let wishes: Vec<bool> = (0..1_000).filter_map(|now| contest.note(false, now, || true)).collect();
        assert_eq!(wishes, [true, false]);
    }

    #[test]
    fn without_single_copies_nothing_is_announced() {
        assert_eq!(run(10_000, false, |_, _| 1), (0, false));
    }

    #[test]
    fn a_tie_leaves_them_at_once() {
        let (announced, wished) = run(10_000, true, |_, _| 100);
        assert!(!wished && announced < 1_500, "{announced}");
    }
}
