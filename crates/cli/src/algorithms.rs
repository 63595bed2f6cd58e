//! `isthmus info --collectives`: which algorithm does which collective, and why.

use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::Result;
use isthmus_collective::select::{self, Explained, Step, Traits};
use isthmus_os::{cma_probe, cpu};

use crate::show;

/// Print what is chosen for `ranks` ranks, and what else there is.
pub fn run(ranks: Option<u64>) -> Result<ExitCode> {
    let cpus = cpu::affinity().len() as u64;
    let ranks = ranks.unwrap_or(cpus.max(2));
    let copies = single_copies();
    let all = select::collectives(ranks, Traits::IDLE_CPUS.when(ranks <= cpus) | copies)?;
    print!("{}", text(ranks, cpus, copies, &all));
    Ok(ExitCode::SUCCESS)
}

/// What ranks of a job on this machine find out about single copies: tried and timed at first use.
pub fn single_copies() -> Traits {
    static FOUND: OnceLock<Traits> = OnceLock::new();
    *FOUND.get_or_init(|| match cma_probe::siblings() {
        Err(_) => Traits::NONE,
        Ok(()) => {
            Traits::SINGLE_COPIES
                | Traits::CHEAP_COPIES.when(isthmus_engine::single_copies_pay())
                | Traits::FAIR_COPIES.when(isthmus_engine::single_copies_pay_beyond_caches())
        }
    })
}

fn text(ranks: u64, cpus: u64, copies: Traits, all: &[Explained]) -> String {
    let copies = match copies {
        Traits::NONE => String::new(),
        copies => format!("{copies}, "),
    };
    let mut text = format!("{ranks} ranks on {cpus} CPUs, {copies}elements without gaps, an operation that commutes\n");
    for explained in all {
        let collective = explained.collective;
        text += &format!("\n{} (by {})\n", collective.name, collective.bytes);
        let mut rows = Vec::new();
        match explained.with_board == explained.without_board {
            true => rows.extend(steps("always", &explained.without_board)),
            false => {
                rows.extend(steps("with a board", &explained.with_board));
                rows.extend(steps("without", &explained.without_board));
            }
        }
        text += &show::columns(&rows, 4);
        let algorithms = collective.algorithms.iter().map(|algorithm| {
            let needs = match algorithm.needs {
                Traits::NONE => String::new(),
                needs => format!("; needs {needs}"),
            };
            vec![
                format!("    {}", algorithm.name),
                format!("{}{needs} ({})", algorithm.cost, algorithm.source),
            ]
        });
        text += "  there are\n";
        text += &show::columns(&algorithms.collect::<Vec<_>>(), 2);
    }
    text += "\nA board is shared memory: calls on up to 1024 ranks of one node have one from the third on, but for persistent ones. p: ranks, n: bytes.\n";
    text += "ISTHMUS_COLLECTIVES=allreduce:sliced,bcast[3-8]@64K-:binomial? (or mpiexec --set collectives=...) wants others; with a\n";
    text += "question mark only where they can be. @FILE reads such rules from a file.\n";
    text
}

fn steps(label: &str, steps: &[Step]) -> Vec<Vec<String>> {
    let row = |(at, step): (usize, &Step)| {
        vec![
            if at == 0 { format!("  {label}") } else { String::new() },
            match step.from {
                0 => String::new(),
                bytes => format!("from {}", show::bytes(bytes)),
            },
            step.algorithm.to_owned(),
            step.why.to_owned(),
        ]
    };
    steps.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_is_shown_with_its_source() {
        let all = select::collectives(8, Traits::NONE).expect("no rules of the user's");
        let text = text(8, 2, Traits::NONE, &all);
        for explained in &all {
            for algorithm in explained.collective.algorithms {
                assert!(text.contains(&format!("    {} ", algorithm.name)), "{}", algorithm.name);
                assert!(text.contains(algorithm.source), "{}", algorithm.name);
            }
        }
        assert!(text.contains("  with a board             shared_flat"), "{text}");
        assert!(text.contains("                from 8193  shared_sliced"), "{text}");
    }
}
