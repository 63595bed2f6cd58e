//! `isthmus tune`: each algorithm of each collective on this machine, and rules for algorithms that are faster than the default
//! choice.
//!
//! It measures blocking calls on `MPI_COMM_WORLD` with doubles and sums (bench/collectives.c), each rank in turn as root,
//! on so many ranks as the user says. Nothing is claimed for other numbers of ranks: a rule is for the number that was
//! measured.

mod mechanisms;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use isthmus_collective::select::{Case, Collective, Traits, collectives};
use isthmus_engine::MOST_MEMBERS;
use isthmus_os::{cpu, interrupt, topology};

use super::catalogue::COLLECTIVES;
use super::library::Library;
use super::process::{Limits, SILENCE_LIMIT};
use super::workshop::Workshop;
use crate::algorithms;
use crate::prefix::Prefix;
use crate::show;

/// `isthmus tune ...`
#[derive(Args)]
pub struct Arguments {
    /// Numbers of ranks to measure
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "2,4,8", value_parser = clap::value_parser!(u32).range(2..))]
    ranks: Vec<u32>,
    /// These collectives only
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = COLLECTIVES)]
    of: Vec<String>,
    /// Write the rules to FILE, for ISTHMUS_COLLECTIVES=@FILE; else they are printed
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Measure the mechanisms of large messages between two ranks instead, with buffers untouched and rewritten, for ISTHMUS_TUNING=FILE or
    /// ~/.config/isthmus/tuning
    #[arg(long, conflicts_with_all = ["ranks", "of"])]
    mechanisms: bool,
    /// Measure few sizes, once and briefly, only to see that it works
    #[arg(long)]
    quick: bool,
}

/// How thoroughly to measure.
struct Budget {
    sizes: &'static [u64],
    rounds: u32,
    /// For one algorithm in one round.
    seconds: f64,
}

const THOROUGH: Budget = Budget {
    sizes: &[8, 128, 1 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 1 << 20],
    rounds: 3,
    seconds: 1.0,
};
const QUICK: Budget = Budget {
    sizes: &[8, 32 << 10],
    rounds: 1,
    seconds: 0.05,
};
/// A replacement of the choice must be so much faster.
const CLEARLY: f64 = 0.9;

/// The times of one algorithm: microseconds by size.
struct Times {
    algorithm: usize,
    by_size: Vec<f64>,
}

/// Measure, and print or write the rules.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    interrupt::take_note();
    let prefix = Prefix::own()?;
    let workshop = Workshop::new(&prefix, &super::order(None)?, None)?;
    if arguments.mechanisms {
        let text = mechanisms::run(&prefix, &workshop, arguments.quick)?;
        return output(arguments, text);
    }
    let budget = if arguments.quick { &QUICK } else { &THOROUGH };
    let model = topology::model().unwrap_or_else(|| "an unknown processor".to_owned());
    let mut text = format!(
        "# isthmus tune on {model}: the first rule that fits wins. Microseconds, and those of what is chosen without it.\n"
    );
    let known = collectives(2, Traits::IDLE_CPUS)?;
    for &ranks in &arguments.ranks {
        for name in COLLECTIVES {
            let collective = known.iter().map(|one| one.collective).find(|one| one.name == name);
            let wanted = arguments.of.is_empty() || arguments.of.iter().any(|of| of == name);
            let Some(collective) = collective.filter(|_| wanted) else {
                continue;
            };
            eprintln!("{name} on {ranks} ranks");
            let times = measure(collective, ranks, budget, &prefix, &workshop)?;
            text += &rules(collective, ranks, sizes_of(collective, budget), &times);
        }
    }
    output(arguments, text)
}

fn output(arguments: &Arguments, text: String) -> Result<ExitCode> {
    match &arguments.output {
        None => print!("{text}"),
        Some(file) => fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn sizes_of(collective: &Collective, budget: &Budget) -> &'static [u64] {
    match collective.name {
        "barrier" => &[0],
        _ => budget.sizes,
    }
}

/// A call as it is measured.
fn case(ranks: u32, bytes: u64) -> Case {
    let cpus = cpu::affinity().len();
    let offers = Traits::BOARD.when(ranks as usize <= MOST_MEMBERS)
        | Traits::PLAIN
        | Traits::COMMUTATIVE
        | Traits::ELEMENT_EACH.when(bytes >= 8 * u64::from(ranks))
        | Traits::IDLE_CPUS.when(ranks as usize <= cpus)
        | algorithms::single_copies();
    Case {
        ranks: u64::from(ranks),
        bytes,
        offers,
    }
}

/// Each algorithm that can do all sizes, or those that it can do; round by round, so that what changes on the machine changes for
/// all.
fn measure(
    collective: &'static Collective,
    ranks: u32,
    budget: &Budget,
    prefix: &Prefix,
    workshop: &Workshop,
) -> Result<Vec<Times>> {
    let sizes = sizes_of(collective, budget);
    let can = |algorithm: usize, bytes: u64| collective.algorithms[algorithm].needs.are_in(case(ranks, bytes).offers);
    let algorithms = (0..collective.algorithms.len()).filter(|&one| sizes.iter().any(|&bytes| can(one, bytes)));
    let mut samples: Vec<(usize, Vec<Vec<f64>>)> = algorithms.map(|one| (one, vec![Vec::new(); sizes.len()])).collect();
    for _ in 0..budget.rounds {
        for (algorithm, by_size) in &mut samples {
            let doable: Vec<usize> = (0..sizes.len()).filter(|&at| can(*algorithm, sizes[at])).collect();
            let mut options = vec!["--seconds".to_owned(), budget.seconds.to_string()];
            options.extend(doable.iter().map(|&at| format!("{}:{}", collective.name, sizes[at])));
            let wish = format!("{}:{}?", collective.name, collective.algorithms[*algorithm].name);
            let library = Library::isthmus(prefix).with("ISTHMUS_COLLECTIVES", &wish);
            let finished = workshop
                .run(
                    &library,
                    ranks,
                    "collectives",
                    None,
                    &options,
                    Limits::silence(SILENCE_LIMIT),
                )?
                .well()?;
            for (line, at) in finished.results("collectives").zip(doable) {
                by_size[at].extend(line.field("us"));
            }
        }
    }
    let times = |(algorithm, by_size): (usize, Vec<Vec<f64>>)| Times {
        algorithm,
        by_size: by_size.into_iter().map(median).collect(),
    };
    Ok(samples.into_iter().map(times).collect())
}

/// Infinite if there is none.
fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::INFINITY)
}

/// A rule for each run of sizes in which the same algorithm is clearly faster than what would be chosen.
fn rules(collective: &'static Collective, ranks: u32, sizes: &[u64], times: &[Times]) -> String {
    let took = |algorithm: usize, at: usize| {
        let of = times.iter().find(|times| times.algorithm == algorithm);
        of.map_or(f64::INFINITY, |times| times.by_size[at])
    };
    let better = |at: usize| {
        let chosen = took(collective.chosen(&case(ranks, sizes[at])).algorithm, at);
        let best = times.iter().min_by(|a, b| a.by_size[at].total_cmp(&b.by_size[at]))?;
        (best.by_size[at] < CLEARLY * chosen).then_some((best.algorithm, best.by_size[at], chosen))
    };
    let mut text = String::new();
    let mut at = 0;
    while at < sizes.len() {
        let Some((algorithm, us, instead)) = better(at) else {
            at += 1;
            continue;
        };
        let next = (at..sizes.len()).find(|&at| better(at).map(|(one, ..)| one) != Some(algorithm));
        // From here up to where something else was measured to be as good.
        let range = match next {
            _ if sizes.len() == 1 => String::new(),
            None => format!("@{}-", show::bytes(sizes[at])),
            Some(next) => format!("@{}-{}", show::bytes(sizes[at]), sizes[next] - 1),
        };
        let name = collective.algorithms[algorithm].name;
        let rule = format!("{}[{ranks}]{range}:{name}?", collective.name);
        text += &format!("{rule:<50} # {us:.2}, not {instead:.2}\n");
        at = next.unwrap_or(sizes.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_offered_to_as_many_ranks_as_they_can_have() {
        let has_board = |ranks| Traits::BOARD.are_in(case(ranks, 8).offers);
        let most = MOST_MEMBERS as u32;
        assert!([2, 33, 64, most].into_iter().all(has_board));
        assert!(!has_board(most + 1));
    }

    #[test]
    fn rules_are_for_what_is_clearly_faster() {
        let known = collectives(4, Traits::NONE).expect("no rules of the user's");
        let collective = known.iter().map(|one| one.collective).find(|one| one.name == "bcast");
        let collective = collective.expect("bcast");
        let place = |name: &str| collective.algorithms.iter().position(|one| one.name == name);
        let times = |name: &str, by_size: [f64; 4]| Times {
            algorithm: place(name).expect("an algorithm"),
            by_size: by_size.to_vec(),
        };
        let measured = [
            times("shared", [1.0, 2.0, 30.0, 90.0]),
            times("binomial", [2.0, 1.95, 20.0, 80.0]),
            times("scatter_allgather", [9.0, 9.0, 25.0, 50.0]),
        ];
        let text = rules(collective, 4, &[8, 1 << 10, 64 << 10, 1 << 20], &measured);
        let rules: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(
            rules,
            ["bcast[4]@64K-1048575:binomial?", "bcast[4]@1M-:scatter_allgather?"]
        );
        assert!(text.contains("# 20.00, not 30.00"), "{text}");
    }
}
