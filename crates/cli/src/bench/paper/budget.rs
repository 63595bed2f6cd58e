//! How long the figures of papers take, and how a time in minutes is divided over them: by an estimate before, and by the clock as it goes.

use std::time::{Duration, Instant};

use super::Paper;
use crate::bench::experiment::{Experiment, Run};
use crate::bench::npb;
use crate::bench::share::Share;

/// Of a launch beside what it measures: start and end of its ranks, checks of data, the look at the machine.
const BESIDE: f64 = 0.6;
/// For each rank of it, where ranks share CPUs.
const BESIDE_RANK: f64 = 0.03;
/// No launch measures for less.
const LEAST: f64 = 0.05;
/// So often a collective is called in a launch at least: warm-up, checks of data, and one batch.
const CALLS: f64 = 6.0;
/// Bytes per second that ranks copy in collectives, where they share two CPUs.
const COPIED: f64 = 4e9;

/// The time of a run by the clock: what experiments did not need is there for those that come after them.
pub struct Clock {
    end: Option<Instant>,
    /// About how long the experiments take that have not begun, in order, in seconds.
    left: std::vec::IntoIter<f64>,
}

impl Clock {
    /// For all experiments of these papers, in order; without a time they take as long as they take.
    pub fn start(papers: &[Paper], time: Option<Duration>) -> Self {
        let left: Vec<f64> = experiments(papers).map(seconds).collect();
        Self {
            end: time.map(|time| Instant::now() + time),
            left: left.into_iter(),
        }
    }

    /// Of the time that is left, the part of the next experiment.
    pub fn next_share(&mut self) -> Share {
        let all: f64 = self.left.as_slice().iter().sum();
        let (Some(own), Some(end)) = (self.left.next(), self.end) else {
            return Share::UNLIMITED;
        };
        let now = Instant::now();
        Share::until(now + end.saturating_duration_since(now).mul_f64(own / all))
    }
}

/// About how long these take.
pub fn estimate(papers: &[Paper]) -> Duration {
    Duration::from_secs_f64(experiments(papers).map(seconds).sum())
}

/// Divide so much time over all launches: each measures for longer or shorter, in the proportions that there were. Those that do not fit then are left
/// with a launch each.
pub fn divide(papers: &mut [Paper], time: Duration) {
    let wanted = time.as_secs_f64();
    for launches in [3, 2, 1] {
        for experiment in each(papers) {
            experiment.launches = experiment.launches.min(launches);
        }
        let (fixed, scaled) = experiments(papers).fold((0.0, 0.0), |(fixed, scaled), experiment| {
            let measured = measured(experiment);
            (fixed + seconds(experiment) - measured, scaled + measured)
        });
        let mut factor = (wanted - fixed) / f64::max(scaled, f64::MIN_POSITIVE);
        if launches < 3 {
            // Launches rather than longer ones; and what they do besides is guessed.
            factor = factor.min(1.0);
        }
        if factor > 0.1 || launches == 1 {
            for experiment in each(papers) {
                experiment.seconds = (experiment.seconds * factor).max(LEAST);
            }
            return;
        }
    }
}

fn experiments(papers: &[Paper]) -> impl Iterator<Item = &Experiment> {
    papers
        .iter()
        .flat_map(|paper| &paper.figures)
        .flat_map(|figure| &figure.experiments)
}

fn each(papers: &mut [Paper]) -> impl Iterator<Item = &mut Experiment> {
    let figures = papers.iter_mut().flat_map(|paper| &mut paper.figures);
    figures.flat_map(|figure| &mut figure.experiments)
}

/// What its launches measure for.
fn measured(experiment: &Experiment) -> f64 {
    f64::from(experiment.launches) * experiment.runs.len() as f64 * experiment.seconds
}

fn seconds(experiment: &Experiment) -> f64 {
    let beside = experiment
        .runs
        .iter()
        .map(|run| BESIDE + BESIDE_RANK * f64::from(run.ranks) + work(experiment.program, run));
    measured(experiment) + f64::from(experiment.launches) * beside.sum::<f64>()
}

/// What a launch does however short it is to measure for, in seconds.
fn work(program: &str, run: &Run) -> f64 {
    let of = |cell: &String| {
        let (kind, size) = cell.split_once(':').unwrap_or(("", cell));
        match program {
            "collectives" => {
                let pairs = f64::from(run.ranks * (run.ranks - 1));
                CALLS * pairs * size.parse().unwrap_or(0.0) / COPIED
            }
            // Larger classes take what others leave.
            npb::PROGRAM if size != "A" => 2.0,
            "nas" | npb::PROGRAM => match size {
                "S" => 0.05,
                "W" => 0.4,
                "A" => 2.0,
                _ => 40.0,
            },
            "misses" if run.options.iter().any(|option| option == "--hardware") => 1.0,
            // Under the simulator.
            "misses" => match (kind, size) {
                ("alltoall", "4194304") => 25.0,
                ("alltoall", _) => 8.0,
                ("is", "S") => 1.0,
                ("is", "W") => 4.0,
                ("is", "A") => 40.0,
                ("is", _) => 160.0,
                _ => 3.0,
            },
            _ => 0.0,
        }
    };
    run.cells.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::super::{Name, Nas};
    use super::*;

    #[test]
    fn a_time_is_divided_over_all() {
        for minutes in [15, 30, 60] {
            let mut papers = Name::All.papers(Nas::default());
            let time = Duration::from_secs(60 * minutes);
            divide(&mut papers, time);
            let takes = estimate(&papers);
            assert!(
                takes <= time.mul_f64(1.05) && takes >= time.mul_f64(0.6),
                "{takes:?} of {time:?}"
            );
        }
    }

    #[test]
    fn shares_are_parts_of_the_time_that_is_left() {
        let papers = Name::Shiba.papers(Nas::default());
        let time = Duration::from_secs(3600);
        let mut clock = Clock::start(&papers, Some(time));
        let ends: Vec<Instant> = experiments(&papers).filter_map(|_| clock.next_share().end()).collect();
        let parts: Vec<Duration> = ends
            .iter()
            .map(|end| end.saturating_duration_since(Instant::now()))
            .collect();
        // Nothing was used: the last one has all of it, and those before have parts.
        assert!(
            parts.last().is_some_and(|last| *last > time - Duration::from_secs(60)),
            "{parts:?}"
        );
        assert!(parts.first().is_some_and(|first| *first < time / 2), "{parts:?}");
        assert_eq!(Clock::start(&papers, None).next_share().end(), None);
    }

    #[test]
    fn what_is_too_short_is_a_launch_each() {
        let mut papers = Name::Cma.papers(Nas::default());
        divide(&mut papers, Duration::from_secs(1));
        assert!(experiments(&papers).all(|experiment| experiment.launches == 1 && experiment.seconds >= LEAST));
    }
}
