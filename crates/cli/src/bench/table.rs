//! Results: one column per library, one row per size or number of ranks, and the floors beside them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::experiment::Experiment;
use super::library::Name;
use crate::show;

/// By row, one number per launch, in the order of the launches.
pub type Samples = BTreeMap<u64, Vec<f64>>;

/// What one experiment gave.
#[derive(Serialize)]
pub struct Table {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    rows_are: &'static str,
    libraries: Vec<Column>,
    /// Copying, by size, in microseconds; empty where there is nothing to copy.
    memcpy: Samples,
    #[serde(skip)]
    label: fn(u64) -> String,
}

/// The numbers of one library.
#[derive(Serialize)]
pub struct Column {
    library: String,
    /// What was measured.
    pub values: Samples,
    /// Hand-over of a cache line just before each launch, in microseconds; empty where it does not matter.
    pub line: Vec<f64>,
}

impl Column {
    /// Without numbers yet.
    pub fn new(library: Name) -> Self {
        Self {
            library: library.to_string(),
            values: Samples::new(),
            line: Vec::new(),
        }
    }

    fn launches(&self, row: u64) -> &[f64] {
        self.values.get(&row).map_or(&[], Vec::as_slice)
    }
}

impl Table {
    /// Put together what was measured; there is at least one column.
    pub fn new(experiment: &Experiment, libraries: Vec<Column>, memcpy: Samples) -> Self {
        Self {
            name: experiment.name,
            title: experiment.title,
            unit: experiment.unit,
            rows_are: experiment.rows,
            libraries,
            memcpy,
            label: experiment.label,
        }
    }

    /// For the terminal.
    pub fn text(&self) -> String {
        let keys: BTreeSet<u64> = self
            .libraries
            .iter()
            .flat_map(|column| column.values.keys().copied())
            .collect();
        let launches = keys
            .iter()
            .map(|row| self.first().launches(*row).len())
            .max()
            .unwrap_or(0);
        let mut rows = vec![self.header()];
        rows.extend(keys.into_iter().map(|row| self.row(row)));
        format!(
            "{}, in {} ({})\n{}{}",
            self.title,
            self.unit,
            if launches == 1 {
                "one launch".to_owned()
            } else {
                format!("median of {launches} launches")
            },
            show::columns(&rows, 0),
            self.notes()
        )
    }

    fn first(&self) -> &Column {
        &self.libraries[0]
    }

    /// The others, if the first is ours.
    fn peers(&self) -> &[Column] {
        if self.first().library == Name::Isthmus.to_string() {
            &self.libraries[1..]
        } else {
            &[]
        }
    }

    fn header(&self) -> Vec<String> {
        let mut cells = vec![self.rows_are.to_owned()];
        cells.extend(self.libraries.iter().map(|column| column.library.clone()));
        if !self.peers().is_empty() {
            cells.push("x best peer".to_owned());
        }
        if !self.first().line.is_empty() {
            cells.push("line".to_owned());
            if !self.memcpy.is_empty() {
                cells.push("memcpy".to_owned());
            }
            cells.push("x floor".to_owned());
        }
        cells
    }

    fn row(&self, row: u64) -> Vec<String> {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), show::significant);
        let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let mut cells = vec![(self.label)(row)];
        cells.extend(self.libraries.iter().map(|column| number(median(column.launches(row)))));
        if !self.peers().is_empty() {
            cells.push(ratio(self.to_best_peer(row)));
        }
        if !self.first().line.is_empty() {
            cells.push(number(median(&self.first().line)));
            if !self.memcpy.is_empty() {
                cells.push(number(self.memcpy.get(&row).and_then(|copies| median(copies))));
            }
            cells.push(ratio(self.to_floor(row)));
        }
        cells
    }

    /// Ours over theirs, round by round, since a round's launches are neighbours in time; the median over rounds; the
    /// peer against which that is largest.
    fn to_best_peer(&self, row: u64) -> Option<f64> {
        let ours = self.first().launches(row);
        let ratios = self.peers().iter().filter_map(|peer| {
            let theirs = peer.launches(row);
            median(
                &ours
                    .iter()
                    .zip(theirs)
                    .map(|(ours, theirs)| ours / theirs)
                    .collect::<Vec<_>>(),
            )
        });
        ratios.max_by(f64::total_cmp)
    }

    /// The first library over the larger floor of the same round; the median over rounds.
    fn to_floor(&self, row: u64) -> Option<f64> {
        let first = self.first();
        let copies = self.memcpy.get(&row);
        let ratios = first
            .launches(row)
            .iter()
            .zip(&first.line)
            .enumerate()
            .map(|(launch, (value, line))| {
                let copy = copies.and_then(|copies| copies.get(launch)).copied().unwrap_or(0.0);
                value / line.max(copy)
            });
        median(&ratios.collect::<Vec<_>>())
    }

    fn notes(&self) -> String {
        let mut text = String::new();
        if !self.peers().is_empty() {
            text += "x best peer: ours over theirs in the same round, median of rounds\n";
        }
        if !self.first().line.is_empty() {
            text += "line: one hand-over of a cache line between the two CPUs";
            if !self.memcpy.is_empty() {
                text += "; memcpy: copying as much";
            }
            text += &format!("; x floor: {} over the larger\n", self.first().library);
        }
        let lines = || self.libraries.iter().flat_map(|column| column.line.iter().copied());
        let (least, most) = (lines().fold(f64::INFINITY, f64::min), lines().fold(0.0, f64::max));
        // A hypervisor that moves virtual CPUs between cores changes every small number by as much.
        if most > 2.0 * least {
            text += &format!(
                "note: the hand-over itself went from {} to {} us between launches, so this machine does not hold \
                 still; raise --launches, or repeat\n",
                show::significant(least),
                show::significant(most)
            );
        }
        text
    }
}

/// `None` of nothing.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 {
        upper
    } else {
        (sorted[middle - 1] + upper) / 2.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(libraries: &[(Name, [f64; 3])]) -> Table {
        let column = |(name, launches): &(Name, [f64; 3])| Column {
            values: Samples::from([(8, launches.to_vec())]),
            line: vec![0.05, 0.05, 0.1],
            ..Column::new(*name)
        };
        let experiment = super::super::experiment::pingpong(false, &[]);
        let memcpy = Samples::from([(8, vec![0.01, 0.2, 0.01])]);
        Table::new(&experiment, libraries.iter().map(column).collect(), memcpy)
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[3.0, 1.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // Everything is three times slower in the last round, and ours by chance in the second already.
        let table = table(&[
            (Name::Isthmus, [0.1, 0.3, 0.3]),
            (Name::Mpich, [0.8, 0.8, 2.4]),
            (Name::Intel, [0.2, 0.2, 0.6]),
        ]);
        assert_eq!(
            table.row(8),
            ["8", "0.300", "0.800", "0.200", "0.50", "0.050", "0.010", "2.00"]
        );
        assert_eq!(table.header().len(), table.row(8).len());
        assert!(!table.notes().contains("note:"));
    }

    #[test]
    fn alone_there_is_no_best_peer() {
        let table = table(&[(Name::Isthmus, [0.1, 0.1, 0.1])]);
        assert_eq!(table.header(), ["bytes", "isthmus", "line", "memcpy", "x floor"]);
        assert_eq!(table.row(8).len(), 5);
    }

    #[test]
    fn a_peer_alone_has_no_peers() {
        let table = table(&[(Name::Mpich, [0.1, 0.1, 0.1]), (Name::Intel, [0.1, 0.1, 0.1])]);
        assert_eq!(table.header(), ["bytes", "mpich", "intel", "line", "memcpy", "x floor"]);
    }
}
