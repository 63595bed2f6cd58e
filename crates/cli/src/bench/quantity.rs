//! What the numbers of an experiment are, and which of two is better.

use crate::show;

/// How a program's number becomes what a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// As measured, in this unit; the smaller the better.
    Cost(&'static str),
    /// Measured is the time of one message of so many bytes, in microseconds; shown are bytes per microsecond.
    Bandwidth,
    /// As [`Self::Bandwidth`], of a step that moves so many times the bytes of the row.
    Aggregate(u32),
    /// As [`Self::Bandwidth`], of a step that sends both layers of ghost cells of a cube of doubles with so many dimensions, of the row's length.
    Ghosts(u32),
    /// A share in percent; the larger the better, but nothing to take ratios of.
    Share,
}

impl Quantity {
    /// The text for `measured` in the row `at`.
    pub fn shown(self, at: u64, measured: f64) -> f64 {
        match self {
            Quantity::Cost(_) | Quantity::Share => measured,
            Quantity::Bandwidth => at as f64 / measured,
            Quantity::Aggregate(times) => at as f64 * f64::from(times) / measured,
            Quantity::Ghosts(dimensions) => {
                let face = (at as f64).powi(dimensions as i32 - 1);
                2.0 * f64::from(dimensions) * face * size_of::<f64>() as f64 / measured
            }
        }
    }

    /// The unit of what is shown.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Cost(unit) => unit,
            Quantity::Bandwidth | Quantity::Aggregate(_) | Quantity::Ghosts(_) => "MB/s",
            Quantity::Share => "%",
        }
    }

    /// Whether a ratio of two of them says something.
    pub fn has_ratios(self) -> bool {
        self != Quantity::Share
    }

    /// By what factor `ours` is better than `theirs`; above 1 is better. Infinite where ours costs nothing; of two that cost nothing none is better.
    pub fn speed_up(self, ours: f64, theirs: f64) -> f64 {
        match self {
            _ if ours == theirs => 1.0,
            Quantity::Cost(_) => theirs / ours,
            Quantity::Bandwidth | Quantity::Aggregate(_) | Quantity::Ghosts(_) | Quantity::Share => ours / theirs,
        }
    }

    /// Of two values the better.
    pub fn better(self, a: f64, b: f64) -> f64 {
        if self.speed_up(a, b) >= 1.0 { a } else { b }
    }

    /// A value as text, without its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Quantity::Share => format!("{value:.0}"),
            _ => show::significant(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidth_is_bytes_over_time_and_more_is_better() {
        assert_eq!(Quantity::Bandwidth.shown(1000, 0.5), 2000.0);
        assert_eq!(Quantity::Bandwidth.speed_up(2000.0, 1000.0), 2.0);
        assert_eq!(Quantity::Bandwidth.better(1.0, 2.0), 2.0);
        assert_eq!(Quantity::Aggregate(56).shown(1000, 56.0), 1000.0);
        // Four edges of ten doubles, in a microsecond.
        assert_eq!(Quantity::Ghosts(2).shown(10, 1.0), 320.0);
    }

    #[test]
    fn less_time_is_better() {
        assert_eq!(Quantity::Cost("us").shown(1000, 0.5), 0.5);
        assert_eq!(Quantity::Cost("us").speed_up(0.5, 1.0), 2.0);
        assert_eq!(Quantity::Cost("lines").speed_up(0.0, 0.0), 1.0);
        assert_eq!(Quantity::Cost("us").better(1.0, 2.0), 1.0);
    }
}
