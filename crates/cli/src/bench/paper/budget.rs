//! How long the figures of papers take, and how a time in minutes is divided over them.

use std::time::Duration;

use super::Paper;
use crate::bench::experiment::Experiment;

/// Of a launch beside what it measures: start and end of its ranks, checks of data, the look at the machine.
const BESIDE: f64 = 0.6;
/// For each rank of it, where ranks share CPUs.
const BESIDE_RANK: f64 = 0.03;
/// No launch measures for less.
const LEAST: f64 = 0.05;

/// About how long these take.
pub fn estimate(papers: &[Paper]) -> Duration {
    Duration::from_secs_f64(experiments(papers).map(seconds).sum())
}

/// Divide so much time over all launches: each measures for longer or shorter, in the proportions that there were. What does not fit then is left to
/// a launch each.
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
        let factor = (wanted - fixed) / f64::max(scaled, f64::MIN_POSITIVE);
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
        .map(|run| BESIDE + BESIDE_RANK * f64::from(run.ranks));
    measured(experiment) + f64::from(experiment.launches) * beside.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::super::Name;
    use super::*;

    #[test]
    fn a_time_is_divided_over_all() {
        for minutes in [30, 60] {
            let mut papers = Name::All.papers();
            let time = Duration::from_secs(60 * minutes);
            divide(&mut papers, time);
            let takes = estimate(&papers);
            assert!(
                takes <= time.mul_f64(1.05) && takes >= time.mul_f64(0.9),
                "{takes:?} of {time:?}"
            );
        }
    }

    #[test]
    fn what_is_too_short_is_a_launch_each() {
        let mut papers = Name::Cma.papers();
        divide(&mut papers, Duration::from_secs(1));
        assert!(experiments(&papers).all(|experiment| experiment.launches == 1 && experiment.seconds >= LEAST));
    }
}
