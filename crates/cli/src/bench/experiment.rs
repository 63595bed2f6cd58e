//! What an experiment is: which program runs on how many ranks, how its output becomes numbers, and what they must reach.

use std::time::Duration;

use super::carried::Carried;
use super::neighbour::Neighbour;
use super::process::Finished;
use super::quantity::Quantity;
use super::samples::Cell;
use super::target::Target;

/// One experiment: one table.
pub struct Experiment {
    /// As on the command line, with what tells its variants apart.
    pub name: String,
    /// What the numbers are.
    pub title: String,
    /// Their unit, and which is better.
    pub quantity: Quantity,
    /// What tells the groups of rows apart.
    pub groups: Groups,
    /// What tells the rows of a group apart.
    pub rows: Rows,
    /// The C program.
    pub program: &'static str,
    /// The name of its result lines.
    pub result: &'static str,
    /// What of a result line is the number.
    pub value: Value,
    /// The program's launches within one round.
    pub runs: Vec<Run>,
    /// About how long each of them measures.
    pub seconds: f64,
    /// A launch that prints nothing for so long is ended.
    pub silence_limit: Duration,
    /// How often each library is launched, unless said otherwise.
    pub launches: u32,
    /// What to compare with beside the other libraries.
    pub floor: Floor,
    /// What must be reached.
    pub targets: Vec<Target>,
    /// On so many nodes; 0: on this machine.
    pub nodes: u32,
    /// How their links are, as tc-netem(8) says it; empty: as fast as they can be.
    pub links: &'static str,
    /// Which processes run beside it.
    pub neighbour: Option<Neighbour>,
    /// What it needs that only Isthmus has; then the other libraries are left out.
    pub model: Option<Model>,
    /// Fields of the result lines that the table shows beside the numbers, of the first library.
    pub beside: &'static [&'static str],
    /// If there are some: the run with the same index is made in this way, by Isthmus, and is the group with that index.
    pub variants: Vec<Variant>,
}

/// A variant of a run: settings by which Isthmus does something that it would perhaps not choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// Of the line in a plot.
    pub name: &'static str,
    /// Its environment.
    pub environment: &'static [(&'static str, &'static str)],
    /// What it is named after must be where its bytes went.
    pub carried: Carried,
}

/// Nothing that other libraries have not, but something that they cannot be told.
pub const ISTHMUS: Model = Model {
    flags: &[],
    is_for_all: false,
};

/// A programming model beside MPI, as the C programs are compiled for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Flags for the compiler.
    pub flags: &'static [&'static str],
    /// The other libraries run the program, too, compiled without the flags: it then does by MPI what it would do by the model.
    pub is_for_all: bool,
}

impl Model {
    /// Does it need Global Arrays?
    pub fn is_of_global_arrays(&self) -> bool {
        self.flags.contains(&"-lga")
    }
}

/// ARMCI.
pub const ARMCI: Model = Model {
    flags: &["-DWITH_ARMCI", "-larmci"],
    is_for_all: false,
};

/// Global Arrays, and ARMCI beside it.
pub const GA: Model = Model {
    flags: &["-DWITH_GA", "-DWITH_ARMCI", "-lga", "-larmci"],
    is_for_all: false,
};

/// The same beside what the other libraries have in its place.
pub const GA_BESIDE_MPI: Model = Model { is_for_all: true, ..GA };

/// OpenSHMEM.
pub const SHMEM: Model = Model {
    flags: &["-loshmem"],
    is_for_all: false,
};

/// The groups of an experiment's rows.
#[derive(Default)]
pub struct Groups {
    /// Of the column.
    pub heading: &'static str,
    /// The field of a result line that names the group.
    pub field: &'static str,
    /// Their names, in the order in which they are printed; none if the rows are all of one kind.
    pub names: Vec<String>,
}

/// The rows of an experiment.
pub struct Rows {
    /// Of the column.
    pub heading: &'static str,
    /// The field of a result line that holds the row's number.
    pub field: &'static str,
    /// How a row is called.
    pub label: fn(u64) -> String,
}

/// Where the number is.
pub enum Value {
    /// In this field of the result line.
    Field(&'static str),
    /// It is the time of the whole command, in milliseconds, whose only row is the number of ranks.
    Command,
}

/// One launch of the program.
pub struct Run {
    /// On so many ranks.
    pub ranks: u32,
    /// With these options.
    pub options: Vec<String>,
    /// For these cells, one result line each. Where there are none the program prints one line.
    pub cells: Vec<String>,
}

/// What to compare with.
pub enum Floor {
    /// Nothing.
    None,
    /// Hand-over of a cache line.
    Line,
    /// Nothing, but say whether the machine held still.
    Steadiness,
    /// Hand-over of a cache line, and what the floors' program makes of these options and the cells: NAME.
    LineAnd(&'static str, Vec<String>),
    /// What the floors' program makes of these options and the cells: NAME.
    Only(&'static str, Vec<String>),
    /// What two programs for two nodes make of these options and the cells: NAMES. The first is what is compared with, if it can be had.
    Two([&'static str; 2], Vec<String>),
    /// The field `floor` of the program's own result lines: NAME.
    Own(&'static str),
}

impl Floor {
    /// Whether the hand-over of a line is measured before each launch.
    pub fn has_line(&self) -> bool {
        matches!(self, Floor::Line | Floor::LineAnd(..) | Floor::Steadiness)
    }

    /// Whether it is a number to compare with.
    pub fn shows_line(&self) -> bool {
        matches!(self, Floor::Line | Floor::LineAnd(..))
    }

    /// How the floor by cell is called.
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Floor::LineAnd(name, _) | Floor::Only(name, _) | Floor::Own(name) | Floor::Two([name, _], _) => Some(name),
            Floor::None | Floor::Line | Floor::Steadiness => None,
        }
    }

    /// The second of two.
    pub fn second(&self) -> Option<&'static str> {
        match self {
            Floor::Two([_, second], _) => Some(second),
            _ => None,
        }
    }
}

/// What one result line says.
pub struct Reading {
    /// Of this cell.
    pub cell: Cell,
    /// The quantity, as it is shown.
    pub value: f64,
    /// What the program itself compares it with.
    pub floor: Option<f64>,
    /// By the indexes of [`Experiment::beside`].
    pub beside: Vec<Option<f64>>,
    /// The bytes did not go the way that the line is named after, so that this is no measurement of it: where they went.
    pub refused: Option<String>,
}

impl Experiment {
    /// The same by another name.
    pub fn named(self, name: &str) -> Self {
        let name = name.to_owned();
        Self { name, ..self }
    }

    /// The numbers in the output of one launch of the run with this index.
    pub fn read(&self, output: &Finished, index: usize) -> Vec<Reading> {
        let run = &self.runs[index];
        let field = match self.value {
            Value::Field(field) => field,
            Value::Command => {
                return vec![Reading {
                    cell: Cell {
                        group: 0,
                        at: u64::from(run.ranks),
                    },
                    value: output.took.as_secs_f64() * 1e3,
                    floor: None,
                    beside: vec![],
                    refused: None,
                }];
            }
        };
        let lines = output.results(self.result);
        let readings = lines.filter_map(|line| {
            let group = match self.groups.names.as_slice() {
                _ if !self.variants.is_empty() => index,
                [] => 0,
                names => {
                    let name = line.word(self.groups.field)?;
                    names.iter().position(|known| known == name)?
                }
            };
            let at = line.field(self.rows.field)? as u64;
            Some(Reading {
                cell: Cell { group, at },
                value: self.quantity.shown(at, line.field(field)?),
                floor: line.field("floor").map(|floor| self.quantity.shown(at, floor)),
                beside: self.beside.iter().map(|field| line.field(field)).collect(),
                refused: self
                    .variants
                    .get(index)
                    .and_then(|variant| variant.carried.check(&line).err()),
            })
        });
        readings.collect()
    }

    /// How a cell is called, alone.
    pub fn label(&self, cell: Cell) -> String {
        let row = (self.rows.label)(cell.at);
        match self.groups.names.get(cell.group) {
            Some(ranks) if self.groups.heading == "ranks" => format!("{ranks} ranks, {row}"),
            Some(group) => format!("{group}, {row}"),
            None => row,
        }
    }

    /// By this program, whose result lines have its name.
    pub fn running(mut self, program: &'static str) -> Self {
        (self.program, self.result) = (program, program);
        self
    }

    /// A few cells and little time: to see that it works.
    pub fn quick(mut self) -> Self {
        self.seconds /= 40.0;
        self.launches = 1;
        for run in &mut self.runs {
            run.cells = few(&run.cells);
        }
        self
    }
}

/// Of each kind of cell the first, and the last that is not large.
fn few(cells: &[String]) -> Vec<String> {
    const LARGE: u64 = 256 << 10;
    // Texts come after all numbers, in their order.
    let split = |(at, cell): (usize, &String)| -> (String, u64) {
        let (kind, size) = cell.rsplit_once(':').unwrap_or(("", cell));
        (
            kind.to_owned(),
            size.parse().unwrap_or(u64::MAX - cells.len() as u64 + at as u64),
        )
    };
    let cells: Vec<_> = cells.iter().zip(cells.iter().enumerate().map(split)).collect();
    let chosen = cells.iter().filter(|(_, (kind, size))| {
        let sizes = || {
            let of_kind = cells.iter().filter(|(_, (other, _))| other == kind);
            of_kind.map(|(_, (_, size))| *size)
        };
        sizes().next() == Some(*size) || sizes().rfind(|size| *size <= LARGE) == Some(*size)
    });
    chosen.map(|(cell, _)| (*cell).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_is_first_and_last_but_not_large() {
        let cells = ["a:1", "a:2", "a:4096", "a:4194304", "b:8"].map(str::to_owned);
        assert_eq!(few(&cells), ["a:1", "a:4096", "b:8"]);
        assert_eq!(few(&["1048576".to_owned(), "4194304".to_owned()]), ["1048576"]);
        assert_eq!(few(&["ft:S", "ft:A", "is:S"].map(str::to_owned)), ["ft:S", "is:S"]);
        assert!(few(&[]).is_empty());
    }
}
