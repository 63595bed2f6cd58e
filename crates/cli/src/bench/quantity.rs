//! What the numbers of an experiment are, and which of two is better.

use crate::show;

/// How a program's number becomes what a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// As measured, in this unit; the smaller the better.
    Cost(&'static str),
    /// Measured is the time of one message of so many bytes, in microseconds; shown are bytes per microsecond.
    Bandwidth,
    /// A share in percent; the larger the better, but nothing to take ratios of.
    Share,
}

impl Quantity {
    /// What is shown for `measured` in the row `at`.
    pub fn shown(self, at: u64, measured: f64) -> f64 {
        match self {
            Quantity::Cost(_) | Quantity::Share => measured,
            Quantity::Bandwidth => at as f64 / measured,
        }
    }

    /// The unit of what is shown.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Cost(unit) => unit,
            Quantity::Bandwidth => "MB/s",
            Quantity::Share => "%",
        }
    }

    /// Whether a ratio of two of them says something.
    pub fn has_ratios(self) -> bool {
        self != Quantity::Share
    }

    /// By what factor `ours` is better than `theirs`; above 1 is better.
    pub fn speed_up(self, ours: f64, theirs: f64) -> f64 {
        match self {
            Quantity::Cost(_) => theirs / ours,
            Quantity::Bandwidth | Quantity::Share => ours / theirs,
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
    }

    #[test]
    fn less_time_is_better() {
        assert_eq!(Quantity::Cost("us").shown(1000, 0.5), 0.5);
        assert_eq!(Quantity::Cost("us").speed_up(0.5, 1.0), 2.0);
        assert_eq!(Quantity::Cost("us").better(1.0, 2.0), 1.0);
    }
}
