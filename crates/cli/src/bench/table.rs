//! Results: one column per library, one row per cell, and the floors beside them.

use std::collections::{BTreeMap, BTreeSet};

use super::experiment::{Experiment, Reading};
use super::library::Name;
use super::samples::{Cell, Samples, geometric_mean, median};
use crate::show;

/// A cell in which we are slower than this against the best peer counts as lost.
pub const LOST: f64 = 0.9;

/// What one experiment gave.
pub struct Table<'a> {
    experiment: &'a Experiment,
    libraries: Vec<Column>,
    /// What the machine can do, by cell without group; empty where there is nothing of the kind.
    pub floor: Samples,
    /// The same of [`Floor::second`](super::experiment::Floor::second).
    pub second: Samples,
}

/// The numbers of one library.
pub struct Column {
    /// Which.
    pub library: Name,
    /// What it calls itself.
    pub version: Option<String>,
    /// The measured value.
    pub values: Samples,
    /// What the programs themselves compared it with.
    pub floor: Samples,
    /// By the indexes of [`Experiment::beside`]; none of what the library does not tell.
    pub beside: BTreeMap<usize, Samples>,
    /// Hand-over of a cache line around each launch, in microseconds; empty where it does not matter.
    pub line: Vec<f64>,
    /// Missing numbers, and why: a cell that failed, or whose bytes went another way than its line is named after.
    pub holes: Vec<Hole>,
    /// Lines and rows for which the time was used up.
    pub late: Vec<String>,
    /// How many numbers were refused, since bytes went another way.
    pub refused: usize,
    /// Rounds in which something else had the CPUs.
    pub disturbed: Vec<usize>,
}

/// A number that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// Of which line and which row.
    pub place: String,
    /// What happened.
    pub why: String,
}

impl Column {
    /// Without numbers yet.
    pub fn new(library: Name) -> Self {
        Self {
            library,
            version: None,
            values: Samples::default(),
            floor: Samples::default(),
            beside: BTreeMap::new(),
            line: Vec::new(),
            holes: Vec::new(),
            late: Vec::new(),
            refused: 0,
            disturbed: Vec::new(),
        }
    }

    /// This is missing; told once.
    pub fn lacks(&mut self, place: String, why: String) {
        if !self.holes.iter().any(|hole| hole.place == place) {
            self.holes.push(Hole { place, why });
        }
    }

    /// What stands beside the number of this cell in this round.
    pub fn note(&mut self, round: usize, reading: &Reading) {
        for (index, value) in reading.beside.iter().enumerate() {
            if let Some(value) = value {
                self.beside.entry(index).or_default().set(reading.cell, round, *value);
            }
        }
    }
}

impl<'a> Table<'a> {
    /// Put together what was measured; there is at least one column.
    pub fn new(experiment: &'a Experiment, libraries: Vec<Column>, floor: Samples) -> Self {
        Self {
            experiment,
            libraries,
            floor,
            second: Samples::default(),
        }
    }

    /// Missing numbers of any library.
    pub fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.libraries.iter().flat_map(|column| &column.holes)
    }

    /// Lines and rows of any library for which the time was used up.
    pub fn late(&self) -> impl Iterator<Item = &str> {
        self.libraries
            .iter()
            .flat_map(|column| &column.late)
            .map(String::as_str)
    }

    /// The experiment.
    pub fn experiment(&self) -> &'a Experiment {
        self.experiment
    }

    /// One per library.
    pub fn columns(&self) -> &[Column] {
        &self.libraries
    }

    /// Those that any library has a number for, in order.
    pub fn cells(&self) -> Vec<Cell> {
        let cells = self.libraries.iter().flat_map(|column| column.values.cells());
        cells.collect::<BTreeSet<Cell>>().into_iter().collect()
    }

    /// The numbers alone.
    pub fn numbers(&self) -> String {
        let mut rows = vec![self.header()];
        rows.extend(self.cells().into_iter().map(|cell| self.row(cell)));
        show::columns(&rows, usize::from(self.has_groups()))
    }

    /// For the terminal.
    pub fn text(&self) -> String {
        let launches = match self.rounds() {
            1 => "one launch".to_owned(),
            rounds => format!("median of {rounds} launches"),
        };
        format!(
            "{}: {}, in {} ({launches})\n{}{}",
            self.experiment.name,
            self.experiment.title,
            self.unit(),
            self.numbers(),
            self.notes()
        )
    }

    /// How often what was measured most often was.
    pub fn rounds(&self) -> usize {
        let rounds = self.libraries.iter().map(|column| column.values.rounds());
        rounds.max().unwrap_or(0)
    }

    fn first(&self) -> &Column {
        &self.libraries[0]
    }

    /// The others, if the first is ours.
    pub fn peers(&self) -> &[Column] {
        match self.libraries.as_slice() {
            [first, peers @ ..] if first.library == Name::Isthmus => peers,
            _ => &[],
        }
    }

    /// Whether there is somebody to take ratios to.
    pub fn compares(&self) -> bool {
        !self.peers().is_empty() && self.experiment.quantity.has_ratios()
    }

    /// Of the numbers.
    pub fn unit(&self) -> &'static str {
        self.experiment.quantity.unit()
    }

    /// How a cell is called.
    pub fn label(&self, cell: Cell) -> String {
        self.experiment.label(cell)
    }

    /// How a row is called.
    pub fn row_label(&self, at: u64) -> String {
        (self.experiment.rows.label)(at)
    }

    /// The name of a group.
    pub fn group(&self, group: usize) -> Option<&str> {
        self.experiment.groups.names.get(group).map(String::as_str)
    }

    /// What the first library reached: the median over rounds.
    pub fn value(&self, cell: Cell) -> Option<f64> {
        self.first().values.median(cell)
    }

    /// By what factor we are better than the peer against which that is least; for each peer the median over rounds.
    pub fn speed_up(&self, cell: Cell) -> Option<f64> {
        let quantity = self.experiment.quantity;
        if !self.compares() {
            return None;
        }
        let ours = &self.first().values;
        let peers = self.peers().iter();
        let ratios = peers
            .filter_map(|peer| ours.median_with(&peer.values, cell, |ours, theirs| quantity.speed_up(ours, theirs)));
        ratios.min_by(f64::total_cmp)
    }

    /// The floor by cell: the program's own, or what the machine can do.
    pub fn floor(&self, cell: Cell) -> Option<f64> {
        let own = self.first().floor.median(cell);
        own.or_else(|| self.floor.median(Cell { group: 0, ..cell }))
    }

    /// The median over rounds of the hand-over of a line.
    pub fn line(&self) -> Option<f64> {
        self.experiment.floor.shows_line().then(|| self.hand_over()).flatten()
    }

    /// The same, whether the table shows it or not.
    pub fn hand_over(&self) -> Option<f64> {
        median(self.first().line.iter().copied())
    }

    /// How many times its floor of the same round the first library needs; the median over rounds.
    pub fn to_floor(&self, cell: Cell) -> Option<f64> {
        let quantity = self.experiment.quantity;
        self.against_floor(cell, |value, floor| quantity.speed_up(floor, value))
    }

    /// How much more than its floor of the same round the first library needs; the median over rounds.
    pub fn above_floor(&self, cell: Cell) -> Option<f64> {
        self.against_floor(cell, |value, floor| value - floor)
    }

    /// `f` of value and floor, which is the slower of what there is.
    fn against_floor(&self, cell: Cell, f: impl Fn(f64, f64) -> f64) -> Option<f64> {
        let first = self.first();
        let rounds = (0..self.rounds()).filter_map(|round| {
            let own = first.floor.at(cell, round);
            let machine = self.floor.at(Cell { group: 0, ..cell }, round);
            let line = first.line.get(round).copied();
            let line = line.filter(|_| self.experiment.floor.shows_line());
            let floors = [own, machine, line].into_iter().flatten();
            let slower = floors.reduce(|a, b| {
                if self.experiment.quantity.better(a, b) == a {
                    b
                } else {
                    a
                }
            });
            Some(f(first.values.at(cell, round)?, slower?))
        });
        median(rounds)
    }

    /// The first library's value over that in the row `first` of the same group.
    pub fn to_first_row(&self, cell: Cell, first: u64) -> Option<f64> {
        let base = Cell { at: first, ..cell };
        Some(self.value(cell)? / self.value(base)?)
    }

    /// As a multiple of the best value of the other groups in the same row, for costs.
    pub fn to_best(&self, cell: Cell) -> Option<f64> {
        let others = self
            .cells()
            .into_iter()
            .filter(|other| other.at == cell.at && other.group != cell.group);
        let best = others.filter_map(|other| self.value(other)).min_by(f64::total_cmp)?;
        Some(self.value(cell)? / best)
    }

    /// The first library's value over that in the same row of another group, in the same round; the median over rounds.
    pub fn to_group(&self, cell: Cell, group: usize) -> Option<f64> {
        let values = &self.first().values;
        let base = Cell { group, ..cell };
        let ratios = (0..self.rounds()).filter_map(|round| Some(values.at(cell, round)? / values.at(base, round)?));
        median(ratios)
    }

    fn has_groups(&self) -> bool {
        !self.experiment.groups.names.is_empty()
    }

    fn header(&self) -> Vec<String> {
        let experiment = self.experiment;
        let mut cells = Vec::new();
        if self.has_groups() {
            cells.push(experiment.groups.heading.to_owned());
        }
        cells.push(experiment.rows.heading.to_owned());
        cells.extend(self.libraries.iter().map(|column| column.library.to_string()));
        if self.compares() {
            cells.push("speed-up".to_owned());
        }
        if experiment.floor.shows_line() {
            cells.push("line".to_owned());
        }
        cells.extend(experiment.floor.name().map(str::to_owned));
        if self.has_floor() {
            cells.push(self.times_floor());
        }
        cells.extend(experiment.floor.second().map(str::to_owned));
        let beside = self.first().beside.keys();
        cells.extend(beside.map(|&index| experiment.beside[index].to_owned()));
        cells
    }

    fn row(&self, cell: Cell) -> Vec<String> {
        let quantity = self.experiment.quantity;
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| quantity.text(value));
        let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let mut cells: Vec<String> = self.group(cell.group).map(str::to_owned).into_iter().collect();
        cells.push(self.row_label(cell.at));
        let values = self.libraries.iter().map(|column| column.values.median(cell));
        cells.extend(values.map(number));
        if self.compares() {
            cells.push(ratio(self.speed_up(cell)));
        }
        if self.experiment.floor.shows_line() {
            cells.push(number(self.line()));
        }
        if self.experiment.floor.name().is_some() {
            cells.push(number(self.floor(cell)));
        }
        if self.has_floor() {
            cells.push(ratio(self.to_floor(cell)));
        }
        if self.experiment.floor.second().is_some() {
            cells.push(number(self.second.median(Cell { group: 0, ..cell })));
        }
        let beside = self.first().beside.values();
        cells.extend(beside.map(|samples| samples.median(cell).map_or("-".to_owned(), show::significant)));
        cells
    }

    fn has_floor(&self) -> bool {
        self.experiment.floor.shows_line() || self.experiment.floor.name().is_some()
    }

    /// What a value is so many times of: with a line and something else, the slower of the two is what counts.
    pub fn times_floor(&self) -> String {
        match self.experiment.floor.name() {
            Some(name) if !self.experiment.floor.shows_line() => format!("x {name}"),
            _ => "x floor".to_owned(),
        }
    }

    /// What the columns are, and how it went altogether.
    pub fn notes(&self) -> String {
        let mut text = String::new();
        if self.compares() {
            text += "speed-up: against the best peer of the same round, median of rounds; above 1 is better\n";
        }
        if self.experiment.floor.shows_line() {
            text += "line: one hand-over of a cache line between the two CPUs";
            if let Some(name) = self.experiment.floor.name() {
                text += &format!("; {name}: as much by one CPU");
            }
            text += &format!("; x floor: {} over the slower\n", self.first().library);
        }
        if let Some(unsteady) = self.unsteady() {
            text += &format!("note: {unsteady}\n");
        }
        if let Some(summary) = self.summary() {
            let Summary {
                cells,
                mean,
                lost,
                worst,
            } = summary;
            text += &format!(
                "all {cells} cells: speed-up {mean:.2} in the geometric mean, {lost} under {LOST}, worst {:.2} at {}\n",
                worst.1,
                self.label(worst.0)
            );
        }
        text
    }

    /// How it went against the peers altogether.
    pub fn summary(&self) -> Option<Summary> {
        let cells = self.cells().into_iter();
        let cells: Vec<(Cell, f64)> = cells.filter_map(|cell| Some((cell, self.speed_up(cell)?))).collect();
        let values: Vec<f64> = cells.iter().map(|(_, value)| *value).collect();
        Some(Summary {
            cells: cells.len(),
            mean: geometric_mean(&values)?,
            lost: values.iter().filter(|value| **value < LOST).count(),
            worst: *cells.iter().min_by(|a, b| a.1.total_cmp(&b.1))?,
        })
    }

    /// Whether the machine changed between launches.
    pub fn unsteady(&self) -> Option<String> {
        let lines = || self.libraries.iter().flat_map(|column| column.line.iter().copied());
        let (least, most) = (lines().fold(f64::INFINITY, f64::min), lines().fold(0.0, f64::max));
        // A hypervisor that moves virtual CPUs between cores changes every small number by as much.
        (most > 2.0 * least).then(|| {
            format!(
                "the hand-over of a line itself went from {} to {} us between launches, so this machine does not hold \
                 still; raise --launches, or repeat",
                show::significant(least),
                show::significant(most)
            )
        })
    }
}

/// The speed-ups of a table.
#[derive(Debug, PartialEq)]
pub struct Summary {
    /// How many there are.
    pub cells: usize,
    /// Geometric mean.
    pub mean: f64,
    /// How many are lost.
    pub lost: usize,
    /// The least.
    pub worst: (Cell, f64),
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::super::experiment::Floor;
    use super::super::judge::verdicts;
    use super::super::target::{Demand, Target};
    use super::*;

    const CELL: Cell = Cell { group: 0, at: 8 };

    fn samples(values: [f64; 3]) -> Samples {
        let mut samples = Samples::default();
        for (round, value) in values.into_iter().enumerate() {
            samples.set(CELL, round, value);
        }
        samples
    }

    fn check(targets: Vec<Target>, libraries: &[(Name, [f64; 3])], look: impl Fn(&Table)) {
        let column = |(name, launches): &(Name, [f64; 3])| Column {
            values: samples(*launches),
            line: vec![0.05, 0.05, 0.1],
            ..Column::new(*name)
        };
        let mut experiment = catalogue::pingpong(false, &[]);
        experiment.targets = targets;
        let columns = libraries.iter().map(column).collect();
        look(&Table::new(&experiment, columns, samples([0.01, 0.2, 0.01])));
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // Everything is three times slower in the last round, and ours by chance in the second already.
        let numbers = [
            (Name::Isthmus, [0.1, 0.3, 0.3]),
            (Name::Mpich, [0.8, 0.8, 2.4]),
            (Name::Intel, [0.2, 0.2, 0.6]),
        ];
        check(vec![], &numbers, |table| {
            assert_eq!(
                table.row(CELL),
                ["8", "0.300", "0.800", "0.200", "2.00", "0.050", "0.010", "2.00"]
            );
            assert_eq!(table.header().len(), table.row(CELL).len());
            assert!(!table.notes().contains("note:"));
        });
    }

    #[test]
    fn alone_there_is_no_best_peer() {
        check(vec![], &[(Name::Isthmus, [0.1, 0.1, 0.1])], |table| {
            assert_eq!(table.header(), ["bytes", "isthmus", "line", "memcpy", "x floor"]);
            assert_eq!(table.row(CELL).len(), 5);
            assert_eq!(table.summary(), None);
        });
    }

    #[test]
    fn a_peer_alone_has_no_peers() {
        let numbers = [(Name::Mpich, [0.1, 0.1, 0.1]), (Name::Intel, [0.1, 0.1, 0.1])];
        check(vec![], &numbers, |table| {
            assert_eq!(table.header(), ["bytes", "mpich", "intel", "line", "memcpy", "x floor"]);
        });
    }

    #[test]
    fn targets_are_judged_and_what_cannot_be_judged_is_left_out() {
        let speed_up = Demand::SpeedUp {
            mean: 1.5,
            least: 0.9,
            but: 0.0,
        };
        let targets = || {
            vec![
                Target::all(speed_up),
                Target::all(Demand::AboveFloor(0.06)),
                Target::all(Demand::Under(0.05)),
                Target::rows(1000, 2000, speed_up),
            ]
        };
        let numbers = [(Name::Isthmus, [0.1, 0.1, 0.1]), (Name::Intel, [0.2, 0.2, 0.2])];
        check(targets(), &numbers, |table| {
            let met: Vec<bool> = verdicts(table).iter().map(|verdict| verdict.met).collect();
            assert_eq!(met, [true, true, false]);
        });
        check(targets(), &numbers[..1], |table| assert_eq!(verdicts(table).len(), 2));
    }

    #[test]
    fn a_cell_that_only_a_peer_has_is_missed() {
        let mut peer = Column::new(Name::Mpich);
        peer.values = samples([1.0, 1.0, 1.0]);
        let other = Cell { group: 0, at: 16 };
        peer.values.set(other, 0, 1.0);
        let mut ours = Column::new(Name::Isthmus);
        ours.values = samples([0.5, 0.5, 0.5]);
        let mut experiment = catalogue::pingpong(false, &[]);
        experiment.floor = Floor::None;
        experiment.targets = vec![Target::all(Demand::SpeedUp {
            mean: 1.0,
            least: 1.0,
            but: 0.0,
        })];
        let table = Table::new(&experiment, vec![ours, peer], Samples::default());
        assert_eq!(table.row(other), ["16", "-", "1.00", "-"]);
        let judged = verdicts(&table);
        assert!(!judged[0].met && judged[0].text.contains("failed at 16"), "{judged:?}");
        // Also where nothing is left that could be judged.
        experiment.floor = Floor::None;
        experiment.targets = vec![Target::rows(16, 16, Demand::Under(1.0))];
        let mut peer = Column::new(Name::Mpich);
        peer.values.set(other, 0, 1.0);
        let columns = vec![Column::new(Name::Isthmus), peer];
        let judged = verdicts(&Table::new(&experiment, columns, Samples::default()));
        assert!(judged.len() == 1 && !judged[0].met, "{judged:?}");
    }
}
