//! What an experiment must reach, and whether it does.

use std::fmt::Write;

use serde::Serialize;

use super::samples::{Cell, geometric_mean};
use super::table::Table;
use crate::show;

/// What some cells of an experiment must reach.
pub struct Target {
    /// Only the group at this index; all, if `None`.
    pub group: Option<usize>,
    /// From this row...
    pub from: u64,
    /// ...to this one, both included.
    pub to: u64,
    /// What.
    pub demand: Demand,
}

/// What is demanded of the first library.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Demand {
    /// Against the best peer of each cell.
    SpeedUp {
        /// Geometric mean over the cells.
        mean: f64,
        /// For each cell...
        least: f64,
        /// ...but for this share of them.
        but: f64,
    },
    /// At most so many times the floor.
    TimesFloor(f64),
    /// At most so much more than the floor, in the experiment's unit.
    AboveFloor(f64),
    /// At least this, as it is shown.
    AtLeast(f64),
    /// Less than this, as it is shown.
    Under(f64),
    /// In each group no row more than so many times the first of these rows.
    Flat(f64),
}

/// How far it is reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// What was demanded, and what is.
    pub text: String,
    /// Whether that is enough.
    pub met: bool,
}

impl Target {
    /// For all cells.
    pub fn all(demand: Demand) -> Self {
        Self::rows(0, u64::MAX, demand)
    }

    /// For the rows `from` to `to` of every group.
    pub fn rows(from: u64, to: u64, demand: Demand) -> Self {
        let group = None;
        Self {
            group,
            from,
            to,
            demand,
        }
    }

    /// For one group only.
    pub fn of(self, group: usize) -> Self {
        let group = Some(group);
        Self { group, ..self }
    }

    /// Whether it is about `cell`.
    pub fn covers(&self, cell: Cell) -> bool {
        self.group.is_none_or(|group| group == cell.group) && (self.from..=self.to).contains(&cell.at)
    }

    /// Judge the first library of `table`. `None` if nothing was measured that can be judged.
    pub fn judge(&self, table: &Table) -> Option<Verdict> {
        let cells: Vec<Cell> = table.cells().into_iter().filter(|cell| self.covers(*cell)).collect();
        // A cell that a peer has and we have not is a cell we failed in.
        let failed = cells.iter().find(|cell| table.value(**cell).is_none());
        let (wanted, mut is, met) = match self.demand {
            Demand::SpeedUp { mean, least, but } => speed_up(table, &cells, mean, least, but)?,
            Demand::TimesFloor(times) => {
                let (cell, worst) = worst(&cells, |cell| table.to_floor(cell))?;
                (
                    format!("at most {times:.2} x floor"),
                    format!("worst {worst:.2} at {}", table.label(cell)),
                    worst <= times,
                )
            }
            Demand::AboveFloor(much) => {
                let (cell, worst) = worst(&cells, |cell| table.above_floor(cell))?;
                let unit = table.unit();
                (
                    format!("at most {} {unit} above the floor", show::significant(much)),
                    format!("worst {} {unit} at {}", show::significant(worst), table.label(cell)),
                    worst <= much,
                )
            }
            Demand::AtLeast(bound) => {
                let (cell, worst) = worst(&cells, |cell| table.value(cell).map(|value| -value))?;
                let unit = table.unit();
                (
                    format!("at least {bound} {unit}"),
                    format!("worst {} {unit} at {}", show::significant(-worst), table.label(cell)),
                    -worst >= bound,
                )
            }
            Demand::Under(bound) => {
                let (cell, worst) = worst(&cells, |cell| table.value(cell))?;
                let unit = table.unit();
                (
                    format!("under {bound} {unit}"),
                    format!("worst {} {unit} at {}", show::significant(worst), table.label(cell)),
                    worst < bound,
                )
            }
            Demand::Flat(times) => {
                let (cell, worst) = worst(&cells, |cell| table.to_first_row(cell, self.from))?;
                (
                    format!("at most {times:.2} times what it is at {}", table.row_label(self.from)),
                    format!("worst {worst:.2} at {}", table.label(cell)),
                    worst <= times,
                )
            }
        };
        if let Some(cell) = failed {
            let _ = write!(is, ", failed at {}", table.label(*cell));
        }
        let met = met && failed.is_none();
        let range = self.range(table, &cells);
        Some(Verdict {
            text: format!("{range}{wanted}: {is}"),
            met,
        })
    }

    /// `8K to 4M: `, or nothing if all rows are meant.
    fn range(&self, table: &Table, cells: &[Cell]) -> String {
        let all = table.cells().len() == cells.len();
        let group = self.group.and_then(|group| table.group(group));
        let rows = || cells.iter().map(|cell| cell.at);
        match (all, group, rows().min(), rows().max()) {
            (false, None, Some(from), Some(to)) => {
                format!("{} to {}: ", table.row_label(from), table.row_label(to))
            }
            (false, Some(group), ..) => format!("{group}: "),
            _ => String::new(),
        }
    }
}

fn speed_up(table: &Table, cells: &[Cell], mean: f64, least: f64, but: f64) -> Option<(String, String, bool)> {
    let cells: Vec<(Cell, f64)> = cells
        .iter()
        .filter_map(|cell| Some((*cell, table.speed_up(*cell)?)))
        .collect();
    let values: Vec<f64> = cells.iter().map(|(_, value)| *value).collect();
    let is_mean = geometric_mean(&values)?;
    let (cell, worst) = cells.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let low = values.iter().filter(|value| **value < least).count();
    let allowed = (values.len() as f64 * but) as usize;
    let each = match (least > 0.0, but > 0.0) {
        (false, _) => String::new(),
        (true, false) => format!(", no cell under {least:.2}"),
        (true, true) => format!(", at most one cell in {:.0} under {least:.2}", 1.0 / but),
    };
    Some((
        format!("speed-up {mean:.2} in the geometric mean{each}"),
        format!(
            "mean {is_mean:.2}, {}worst {worst:.2} at {}",
            if low > 0 {
                format!("{low} of {} under, ", values.len())
            } else {
                String::new()
            },
            table.label(*cell)
        ),
        is_mean >= mean && low <= allowed,
    ))
}

/// The cell in which `of` is largest.
fn worst(cells: &[Cell], of: impl Fn(Cell) -> Option<f64>) -> Option<(Cell, f64)> {
    let values = cells.iter().filter_map(|cell| Some((*cell, of(*cell)?)));
    values.max_by(|a, b| a.1.total_cmp(&b.1))
}
