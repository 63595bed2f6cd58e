//! What an experiment must reach.

use serde::Serialize;

use super::samples::Cell;

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

/// The demand on the first library.
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
    /// Of times: at most so many times the floor, and so much more, in the experiment's unit.
    TimesFloorAnd(f64, f64),
    /// At most so much more than the floor, in the experiment's unit.
    AboveFloor(f64),
    /// At least this, as it is shown.
    AtLeast(f64),
    /// Less than this, as it is shown.
    Under(f64),
    /// At most so many times the value in the same row of the group at this index.
    TimesGroup(usize, f64),
    /// At most so many times the best value in the same row of all other groups.
    TimesBest(f64),
    /// In each group no row more than so many times the first of these rows.
    Flat(f64),
}

/// How far it is reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The demand, and the measured value.
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
}
