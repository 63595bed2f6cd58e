//! What a paper says, as data: beside each claim how this page can show it, and what is made of the numbers.

use crate::bench::quantity::Quantity;
use crate::bench::samples::{Cell, geometric_mean};
use crate::bench::table::Table;
use crate::show;

/// One claim of a paper.
pub struct Claim {
    /// In a few words.
    pub says: &'static str,
    /// Its number, as it is printed there; empty: there is none.
    pub value: &'static str,
    /// Section, figure or table of the words.
    pub at: &'static str,
    /// The words themselves.
    pub quote: &'static str,
    /// How it is looked for here.
    pub shown: Shown,
}

/// How a claim is looked for.
pub enum Shown {
    /// By comparing two lines.
    By(Compared),
    /// It cannot be: why.
    Not(&'static str),
}

/// Two lines of a figure.
pub struct Compared {
    /// The line that the claim is about.
    pub line: &'static str,
    /// What it is compared with, row by row.
    pub with: &'static str,
    /// Rows that are looked at, first and last.
    pub rows: (u64, u64),
    /// Which of them counts.
    pub of: Of,
    /// What must come out.
    pub expects: Expects,
    /// As the paper counts.
    pub counts: Counts,
    /// What explains another result.
    pub otherwise: Otherwise,
}

/// Which of several rows is compared with the paper's number.
#[derive(Clone, Copy, PartialEq)]
pub enum Of {
    /// The one in which the line gains most: "up to".
    Most,
    /// All, in the geometric mean.
    Mean,
}

/// What a paper says of a line against another.
#[derive(Clone, Copy, PartialEq)]
pub enum Expects {
    /// So many times as good.
    Factor(f64),
    /// Better, without a number.
    Ahead,
    /// Worse, without a number.
    Behind,
    /// Neither.
    Alike,
    /// Better, by little.
    Slightly,
}

/// How a factor is written.
#[derive(Clone, Copy, PartialEq)]
pub enum Counts {
    /// `4.0 times`.
    Times,
    /// `24.8 % less time`.
    LessTime,
    /// `25.8 % faster`: the time of the other over its own, less 1; or more bandwidth.
    More,
    /// `45k / 14k`: both numbers of the last row, the other's first.
    Both,
}

/// What a result that is not the paper's is put down to.
#[derive(Clone, Copy, PartialEq)]
pub enum Otherwise {
    /// That a copy by the kernel costs more than one by the process itself; its price is measured in the run.
    KernelCopy,
    /// This.
    Since(&'static str),
}

/// Looked for by comparing `line` with `with`, which need not be in one experiment.
pub const fn by(
    line: &'static str,
    with: &'static str,
    rows: (u64, u64),
    of: Of,
    (expects, counts): (Expects, Counts),
    otherwise: Otherwise,
) -> Shown {
    Shown::By(Compared {
        line,
        with,
        rows,
        of,
        expects,
        counts,
        otherwise,
    })
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The paper's finding, and of its number at least half the gain, as a logarithm.
    Reproduced,
    /// The paper's direction, less of it.
    Less,
    /// Another finding.
    Not,
    /// There are no numbers for it: it cannot be shown here, or the line failed.
    Unknown,
}

impl Outcome {
    /// As programs read it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Reproduced => "reproduced",
            Outcome::Less => "less",
            Outcome::Not => "not reproduced",
            Outcome::Unknown => "unknown",
        }
    }
}

/// The verdict on a claim.
pub struct Verdict {
    /// What became of it.
    pub outcome: Outcome,
    /// The number here, as the paper counts; empty: there is none.
    pub here: String,
    /// Reproduced, or not and why.
    pub text: String,
}

/// So much is no difference.
const ALIKE: f64 = 1.1;
/// More than this is not a little.
const LITTLE: f64 = 1.25;
/// A direction without a number counts from here on.
const AHEAD: f64 = 1.05;

impl Claim {
    /// The verdict by these tables of its figure. `lacked`: what the machine lacks for an experiment of it. `price`: so many times as long as one of
    /// ours a copy by the kernel takes, measured.
    pub fn verdict(&self, tables: &[Table], lacked: Option<&str>, price: Option<f64>) -> Verdict {
        let compared = match &self.shown {
            Shown::Not(why) => {
                return Verdict {
                    outcome: Outcome::Unknown,
                    here: String::new(),
                    text: format!("cannot be shown here: {why}"),
                };
            }
            Shown::By(compared) => compared,
        };
        let Some((factor, pair)) = compared.numbers(tables) else {
            return Verdict {
                outcome: Outcome::Unknown,
                here: String::new(),
                text: match lacked.map(|reason| reason.rsplit(": ").next().unwrap_or(reason)) {
                    Some(reason) => format!("cannot be shown here: {reason}"),
                    None => "no numbers in this run".to_owned(),
                },
            };
        };
        let outcome = compared.expects.judge(factor);
        let since = || match compared.otherwise {
            Otherwise::Since(why) => format!("since {why}"),
            Otherwise::KernelCopy => match price {
                Some(price) => format!(
                    "since a copy by the kernel costs {price:.1} of ours on this machine (measured in this run)"
                ),
                None => "since single copies by the kernel are refused here".to_owned(),
            },
        };
        let text = match outcome {
            Outcome::Reproduced => "reproduced".to_owned(),
            Outcome::Less => format!("the same direction, but less, {}", since()),
            Outcome::Not => format!("not reproduced, {}", since()),
            Outcome::Unknown => String::new(),
        };
        Verdict {
            outcome,
            here: compared.counts.text(factor, pair),
            text,
        }
    }
}

impl Expects {
    fn judge(self, factor: f64) -> Outcome {
        let when = |is_so: bool| if is_so { Outcome::Reproduced } else { Outcome::Not };
        match self {
            Expects::Ahead => when(factor >= AHEAD),
            Expects::Behind => when(factor <= 1.0 / AHEAD),
            Expects::Alike => when((1.0 / ALIKE..=ALIKE).contains(&factor)),
            Expects::Slightly => when((1.0..=LITTLE).contains(&factor)),
            Expects::Factor(paper) if (1.0 / AHEAD..=AHEAD).contains(&paper) => Expects::Alike.judge(factor),
            Expects::Factor(paper) => {
                let share = factor.ln() / paper.ln();
                let is_seen = factor.ln().abs() >= AHEAD.ln();
                match () {
                    () if share >= 0.5 => Outcome::Reproduced,
                    () if share > 0.0 && is_seen => Outcome::Less,
                    () => Outcome::Not,
                }
            }
        }
    }
}

impl Counts {
    /// A factor, and the number of the line and that of the other, as the paper writes them.
    pub fn text(self, factor: f64, (line, other): (f64, f64)) -> String {
        match self {
            Counts::Both => format!("{} / {}", show::count(other), show::count(line)),
            Counts::Times => format!("{} times", show::significant(factor)),
            Counts::LessTime if factor < 1.0 => format!("{:.1} % more time", 100.0 * (1.0 / factor - 1.0)),
            Counts::LessTime => format!("{:.1} % less time", 100.0 * (1.0 - 1.0 / factor)),
            Counts::More => format!("{:+.1} %", 100.0 * (factor - 1.0)),
        }
    }
}

impl Compared {
    /// By what factor the line is better, in our library's numbers, and the numbers of the last row that counts: its own, and the other's.
    fn numbers(&self, tables: &[Table]) -> Option<(f64, (f64, f64))> {
        let (line, quantity) = points(tables, self.line)?;
        let (with, _) = points(tables, self.with)?;
        let rows = line.iter().filter(|(row, _)| (self.rows.0..=self.rows.1).contains(row));
        let pairs: Vec<(f64, f64)> = rows
            .filter_map(|(row, value)| {
                let (_, other) = with.iter().find(|(other, _)| other == row)?;
                Some((*value, *other))
            })
            .collect();
        let last = *pairs.last()?;
        // The verdict is on the numbers beside it.
        let judged = if self.counts == Counts::Both {
            &[last][..]
        } else {
            &pairs
        };
        let factors = judged.iter().map(|(value, other)| quantity.speed_up(*value, *other));
        let factor = match self.of {
            Of::Most => factors.max_by(f64::total_cmp),
            Of::Mean => geometric_mean(&factors.collect::<Vec<f64>>()),
        };
        Some((factor?, last))
    }
}

/// The medians of the first library's line with this name, by row.
fn points(tables: &[Table], name: &str) -> Option<(Vec<(u64, f64)>, Quantity)> {
    tables.iter().find_map(|table| {
        let names = &table.experiment().groups.names;
        let group = names.iter().position(|known| known == name)?;
        let cells = table.cells().into_iter().filter(|cell| cell.group == group);
        let points = cells.filter_map(|cell: Cell| Some((cell.at, table.value(cell)?)));
        Some((points.collect(), table.experiment().quantity))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_gain_is_enough() {
        assert_eq!(Expects::Factor(4.0).judge(2.0), Outcome::Reproduced);
        assert_eq!(Expects::Factor(4.0).judge(1.5), Outcome::Less);
        assert_eq!(Expects::Factor(4.0).judge(1.0), Outcome::Not);
        assert_eq!(Expects::Factor(4.0).judge(0.5), Outcome::Not);
        assert_eq!(Expects::Factor(0.5).judge(0.6), Outcome::Reproduced);
        assert_eq!(Expects::Factor(0.978).judge(1.02), Outcome::Reproduced);
        assert_eq!(Expects::Ahead.judge(1.02), Outcome::Not);
        assert_eq!(Expects::Alike.judge(1.2), Outcome::Not);
        assert_eq!(
            [0.99, 1.02, 1.5].map(|factor| Expects::Slightly.judge(factor)),
            [Outcome::Not, Outcome::Reproduced, Outcome::Not]
        );
    }

    #[test]
    fn factors_are_written_as_the_paper_writes_them() {
        assert_eq!(Counts::LessTime.text(16.04 / 12.07, (0.0, 0.0)), "24.8 % less time");
        assert_eq!(Counts::LessTime.text(0.8, (0.0, 0.0)), "25.0 % more time");
        assert_eq!(Counts::More.text(2.34 / 1.86, (0.0, 0.0)), "+25.8 %");
        assert_eq!(Counts::Both.text(3.2, (14_000.0, 44_960.0)), "45.0k / 14.0k");
        assert_eq!(Counts::Times.text(4.0, (0.0, 0.0)), "4.00 times");
    }
}
