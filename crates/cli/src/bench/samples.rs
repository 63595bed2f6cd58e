//! The numbers of one library, by cell and by round.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

/// One cell of an experiment: which of its groups, and the size or number of ranks. Sorts as it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Index in the experiment's groups; 0 where there are none.
    pub group: usize,
    /// What tells the rows of a group apart.
    pub at: u64,
}

/// Numbers by cell; for each cell one per round, and none for a round that failed.
#[derive(Debug, Clone, Default)]
pub struct Samples(BTreeMap<Cell, Vec<Option<f64>>>);

impl Samples {
    /// The number of `cell` in `round`, counted from 0.
    pub fn set(&mut self, cell: Cell, round: usize, value: f64) {
        let rounds = self.0.entry(cell).or_default();
        if rounds.len() <= round {
            rounds.resize(round + 1, None);
        }
        rounds[round] = Some(value);
    }

    /// The cells that have numbers.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        self.0.keys().copied()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of `cell` in `round`.
    pub fn at(&self, cell: Cell, round: usize) -> Option<f64> {
        *self.0.get(&cell)?.get(round)?
    }

    /// Median over rounds.
    pub fn median(&self, cell: Cell) -> Option<f64> {
        median(self.0.get(&cell)?.iter().flatten().copied())
    }

    /// Least and most over rounds.
    pub fn ends(&self, cell: Cell) -> Option<(f64, f64)> {
        let values = self.0.get(&cell)?.iter().flatten();
        let ends = values.fold((f64::INFINITY, 0f64), |(least, most), value| {
            (least.min(*value), most.max(*value))
        });
        (ends.0 <= ends.1).then_some(ends)
    }

    /// How many numbers the cell with the most has.
    pub fn rounds(&self) -> usize {
        let counts = self.0.values().map(|rounds| rounds.iter().flatten().count());
        counts.max().unwrap_or(0)
    }

    /// `f` of the numbers of both in the same round, which are neighbours in time; the median over rounds.
    pub fn median_with(&self, other: &Samples, cell: Cell, f: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let (a, b) = (self.0.get(&cell)?, other.0.get(&cell)?);
        median(a.iter().zip(b).filter_map(|(a, b)| Some(f((*a)?, (*b)?))))
    }
}

impl Serialize for Samples {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct CellRecord<'a> {
            group: usize,
            at: u64,
            /// One per round; null where it failed.
            launches: &'a [Option<f64>],
        }
        let mut sequence = serializer.serialize_seq(Some(self.0.len()))?;
        for (cell, launches) in &self.0 {
            sequence.serialize_element(&CellRecord {
                group: cell.group,
                at: cell.at,
                launches,
            })?;
        }
        sequence.end()
    }
}

/// `None` of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 {
        upper
    } else {
        (sorted[middle - 1] + upper) / 2.0
    })
}

/// `None` of nothing.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell = Cell { group: 0, at: 8 };

    #[test]
    fn medians_and_means() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([3.0, 1.0]), Some(2.0));
        assert_eq!(median([]), None);
        assert_eq!(geometric_mean(&[2.0, 8.0]), Some(4.0));
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn rounds_stay_together_when_one_failed() {
        let (mut ours, mut theirs) = (Samples::default(), Samples::default());
        ours.set(CELL, 0, 1.0);
        ours.set(CELL, 2, 3.0);
        theirs.set(CELL, 1, 100.0);
        theirs.set(CELL, 2, 6.0);
        assert_eq!(theirs.median_with(&ours, CELL, |theirs, ours| theirs / ours), Some(2.0));
        assert_eq!(ours.rounds(), 2);
        assert_eq!(ours.median(CELL), Some(2.0));
        let json = serde_json::to_string(&ours).unwrap_or_default();
        assert_eq!(json, r#"[{"group":0,"at":8,"launches":[1.0,null,3.0]}]"#);
    }
}
