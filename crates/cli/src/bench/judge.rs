//! Whether an experiment reached what it must.

use super::samples::{Cell, geometric_mean};
use super::table::Table;
use super::target::{Demand, Target, Verdict};
use crate::show;

/// What became of the targets of the experiment whose numbers these are: those that can be judged.
pub fn verdicts(table: &Table) -> Vec<Verdict> {
    let targets = &table.experiment().targets;
    targets.iter().filter_map(|target| target.judge(table)).collect()
}

/// The same, a line each.
pub fn lines(table: &Table) -> String {
    let line = |verdict: Verdict| {
        let met = if verdict.met { "met" } else { "MISSED" };
        format!("target: {}: {met}\n", verdict.text)
    };
    verdicts(table).into_iter().map(line).collect()
}

impl Target {
    /// Judge the first library of `table`. `None` if nothing was measured that can be judged.
    pub fn judge(&self, table: &Table) -> Option<Verdict> {
        let cells: Vec<Cell> = table.cells().into_iter().filter(|cell| self.covers(*cell)).collect();
        // A cell that a peer has and we have not is a cell we failed in.
        let failed = cells.iter().find(|cell| table.value(**cell).is_none());
        let failed = failed.map(|cell| format!("failed at {}", table.label(*cell)));
        let met = failed.is_none();
        let (is, met) = match (self.reached(table, &cells), failed) {
            (Some((is, enough)), None) => (is, enough),
            (Some((is, _)), Some(failed)) => (format!("{is}, {failed}"), met),
            (None, Some(failed)) => (failed, met),
            (None, None) => return None,
        };
        let text = format!("{}{}: {is}", self.range(table, &cells), self.wanted(table));
        Some(Verdict { text, met })
    }

    fn wanted(&self, table: &Table) -> String {
        let unit = table.unit();
        match self.demand {
            Demand::SpeedUp { mean, least, but } => {
                let each = match (least > 0.0, but > 0.0) {
                    (false, _) => String::new(),
                    (true, false) => format!(", no cell under {least:.2}"),
                    (true, true) => format!(", at most one cell in {:.0} under {least:.2}", 1.0 / but),
                };
                format!("speed-up {mean:.2} in the geometric mean{each}")
            }
            Demand::TimesFloor(times) => format!("at most {times:.2} {}", table.times_floor()),
            Demand::TimesFloorAnd(times, much) => {
                let much = show::significant(much);
                format!("at most {times:.2} {} and {much} {unit}", table.times_floor())
            }
            Demand::AboveFloor(much) => format!("at most {} {unit} above the floor", show::significant(much)),
            Demand::AtLeast(bound) => format!("at least {bound} {unit}"),
            Demand::Under(bound) => format!("under {bound} {unit}"),
            Demand::TimesGroup(group, times) => {
                format!("at most {times:.2} x {}", table.group(group).unwrap_or_default())
            }
            Demand::TimesBest(times) => format!("at most {times:.2} x the best other"),
            Demand::Flat(times) => format!("at most {times:.2} times what it is at {}", table.row_label(self.from)),
        }
    }

    /// The measured value, and whether it is enough.
    fn reached(&self, table: &Table, cells: &[Cell]) -> Option<(String, bool)> {
        let with_unit = |value: f64| format!("{} {}", show::significant(value), table.unit());
        let factor = |value: f64| format!("{value:.2}");
        let at_worst =
            |of: &dyn Fn(Cell) -> Option<f64>, text: &dyn Fn(f64) -> String, enough: &dyn Fn(f64) -> bool| {
                let (cell, worst) = worst(cells, of)?;
                let text = format!("worst {} at {}", text(worst), table.label(cell));
                Some((text, enough(worst)))
            };
        match self.demand {
            Demand::SpeedUp { mean, least, but } => speed_up(table, cells, mean, least, but),
            Demand::TimesFloor(times) => at_worst(&|cell| table.to_floor(cell), &factor, &|value| value <= times),
            Demand::TimesFloorAnd(times, much) => {
                let beyond = |cell| {
                    let value = table.value(cell)?;
                    Some(value - value / table.to_floor(cell)? * times)
                };
                at_worst(&beyond, &with_unit, &|value| value <= much)
            }
            Demand::AboveFloor(much) => at_worst(&|cell| table.above_floor(cell), &with_unit, &|value| value <= much),
            Demand::AtLeast(bound) => at_worst(
                &|cell| table.value(cell).map(|value| -value),
                &|negative| with_unit(-negative),
                &|negative| -negative >= bound,
            ),
            Demand::Under(bound) => at_worst(&|cell| table.value(cell), &with_unit, &|value| value < bound),
            Demand::TimesGroup(group, times) => {
                at_worst(&|cell| table.to_group(cell, group), &factor, &|value| value <= times)
            }
            Demand::TimesBest(times) => at_worst(&|cell| table.to_best(cell), &factor, &|value| value <= times),
            Demand::Flat(times) => at_worst(&|cell| table.to_first_row(cell, self.from), &factor, &|value| {
                value <= times
            }),
        }
    }

    /// `8K to 4M: `, or nothing if all rows are meant.
    fn range(&self, table: &Table, cells: &[Cell]) -> String {
        let all = table.cells().len() == cells.len();
        let group = self.group.and_then(|group| table.group(group));
        let rows = || cells.iter().map(|cell| cell.at);
        match (all, group, rows().min(), rows().max()) {
            (false, None, Some(from), Some(to)) if from == to => format!("{}: ", table.row_label(from)),
            (false, None, Some(from), Some(to)) => {
                format!("{} to {}: ", table.row_label(from), table.row_label(to))
            }
            (false, Some(group), ..) => format!("{group}: "),
            _ => String::new(),
        }
    }
}

fn speed_up(table: &Table, cells: &[Cell], mean: f64, least: f64, but: f64) -> Option<(String, bool)> {
    let cells: Vec<(Cell, f64)> = cells
        .iter()
        .filter_map(|cell| Some((*cell, table.speed_up(*cell)?)))
        .collect();
    let values: Vec<f64> = cells.iter().map(|(_, value)| *value).collect();
    let is_mean = geometric_mean(&values)?;
    let (cell, worst) = cells.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let low = values.iter().filter(|value| **value < least).count();
    let allowed = (values.len() as f64 * but) as usize;
    let under = match low {
        0 => String::new(),
        _ => format!("{low} of {} under, ", values.len()),
    };
    let text = format!("mean {is_mean:.2}, {under}worst {worst:.2} at {}", table.label(*cell));
    Some((text, is_mean >= mean && low <= allowed))
}

/// The cell in which `of` is largest.
fn worst(cells: &[Cell], of: &dyn Fn(Cell) -> Option<f64>) -> Option<(Cell, f64)> {
    let values = cells.iter().filter_map(|cell| Some((*cell, of(*cell)?)));
    values.max_by(|a, b| a.1.total_cmp(&b.1))
}
