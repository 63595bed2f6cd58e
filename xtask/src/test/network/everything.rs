//! In full: all programs of `tests/programs` that run on two ranks or more, on 2, 3 and 4 nodes. Otherwise a few of them on 4.

use std::path::Path;

use anyhow::{Context, Result};

use super::super::suite::Suite;
use super::{Job, Nodes, RUN};
use crate::process::{quiet, root};

/// Programs that are about one node, and why.
const OF_ONE_NODE: &[(&str, &str)] = &[
    (
        "advertised_at_once",
        "counts messages that are read out of shared memory",
    ),
    ("cancel", "one rank stops another by a signal"),
    ("cells", "counts messages in cells of shared memory"),
    ("communicators", "all ranks share a machine"),
    (
        "computing",
        "ranks talk by a file that all map, and one serves nothing while it computes",
    ),
    ("lent", "counts what is lent in shared memory"),
    ("reorder", "counts bytes between made-up places"),
    ("repeatable", "results depend on which ranks share a node"),
    ("split_type", "counts made-up places"),
    ("wakes", "counts sleeps of ranks that share CPUs"),
    ("win_hints", "windows of shared memory"),
    ("win_memory", "what a window of one node takes"),
];

/// Of the short test.
const FEW: [&str; 3] = ["collectives", "random_collectives", "win_random"];

/// All of them.
pub fn run(suite: &mut Suite, prefix: &Path, full: bool) {
    let programs = match programs() {
        Ok(programs) => programs,
        Err(error) => {
            suite.step("all programs on several nodes", || Err(error));
            return;
        }
    };
    let shapes: &[(u32, usize)] = if full {
        &[(2, 1), (2, 2), (3, 1), (4, 2)]
    } else {
        &[(4, 2)]
    };
    for &(count, share) in shapes {
        let nodes = match Nodes::make(count) {
            Ok(nodes) => nodes,
            Err(error) => return suite.skip("all programs on several nodes", &format!("{error:#}")),
        };
        let job = Job {
            prefix,
            nodes: &nodes,
            full,
        };
        if (count, share) == (2, 1) {
            suite.step("messages of more than 2 GiB between two nodes", || {
                let program = job.compile("bulk")?;
                quiet(job.mpiexec(1).arg(program).args(["2300", "2"]), RUN)?;
                job.nodes.emptied()
            });
        }
        let is_wanted = |program: &&Program| {
            program.ranks.contains(&(count as usize * share)) && (full || FEW.contains(&&*program.name))
        };
        for program in programs.iter().filter(is_wanted) {
            let name = &program.name;
            suite.step(&format!("{name} on {count} nodes x {share}"), || {
                job.program_with(name, share, &program.options)
            });
        }
    }
}

struct Program {
    name: String,
    ranks: Vec<usize>,
    options: Vec<String>,
}

/// As `tests/programs.rs` reads them.
fn programs() -> Result<Vec<Program>> {
    let folder = root().join("tests/programs");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).context("cannot list the programs")? {
        let path = entry.context("cannot list the programs")?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "c")
            || OF_ONE_NODE.iter().any(|(other, _)| *other == name)
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let words = |key: &str| {
            let line = text.lines().take(3).find_map(|line| line.strip_prefix(key));
            line.unwrap_or_default()
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let numbers = [words("// ranks:"), words("// more ranks:")].concat();
        let ranks = numbers.iter().filter_map(|word| word.parse().ok()).collect();
        let options = words("// mpiexec:");
        found.push(Program { name, ranks, options });
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(found)
}
