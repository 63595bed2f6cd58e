//! What operations take while other processes use the CPUs: the same tables beside each kind of neighbour.

use clap::ValueEnum;

use super::catalogue::{against_peers, by_ranks, by_size};
use super::experiment::{Experiment, Groups, Run, Value};
use super::neighbour::Neighbour;
use super::target::Target;

const OPERATIONS: &[&str] = &["pingpong", "allreduce", "alltoall", "put", "fence", "halo"];
const CELLS: &[&str] = &[
    "pingpong:8",
    "pingpong:65536",
    "allreduce:8",
    "alltoall:2048",
    "put:8",
    "fence:8",
    "halo:8",
    "halo:8192",
];
/// Windows of a quarter of a second, and what comes before the first.
const SECONDS_PER_CELL: f64 = 2.0;

/// `isthmus bench neighbours ...`
#[derive(clap::Args)]
pub struct Beside {
    /// Beside these only, instead of all
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    beside: Vec<Neighbour>,
}

/// For each number of ranks and each kind of neighbour an experiment; then what is left of a neighbour.
pub fn neighbours(what: &Beside, ranks: &[u32]) -> Vec<Experiment> {
    let ranks = if ranks.is_empty() { &[2, 4, 8] } else { ranks };
    let all = Neighbour::value_variants();
    let kinds = if what.beside.is_empty() { all } else { &what.beside };
    let pairs = ranks
        .iter()
        .flat_map(|ranks| kinds.iter().map(move |kind| (*ranks, *kind)));
    let mut experiments: Vec<Experiment> = pairs.map(|(ranks, kind)| beside(kind, ranks)).collect();
    let loops = kinds.iter().filter(|kind| kind.is_counted());
    experiments.extend(loops.map(|kind| left_to(*kind, ranks)));
    experiments
}

fn beside(kind: Neighbour, ranks: u32) -> Experiment {
    let title = format!("{} on {ranks} ranks, means over windows of 250 ms", kind.title());
    Experiment {
        runs: vec![Run {
            ranks,
            options: kind.options(),
            cells: CELLS.iter().map(ToString::to_string).collect(),
        }],
        groups: Groups {
            heading: "what",
            field: "what",
            names: OPERATIONS.iter().map(ToString::to_string).collect(),
        },
        seconds: SECONDS_PER_CELL * CELLS.len() as f64,
        launches: 3,
        targets: vec![Target::all(against_peers(1.5, 1.0))],
        neighbour: Some(kind),
        ..by_size(&format!("neighbours-{}-{ranks}", kind.name()), &title, "neighbours")
    }
}

/// What an iteration of the neighbour's loop takes beside a job that exchanges messages all the time.
fn left_to(kind: Neighbour, ranks: &[u32]) -> Experiment {
    let title = format!(
        "an iteration of the loop, {} and an all-reduce without pause",
        kind.title()
    );
    let runs = ranks.iter().map(|&ranks| Run {
        ranks,
        options: vec![],
        cells: vec!["allreduce:8".to_owned()],
    });
    Experiment {
        runs: runs.collect(),
        program: "neighbours",
        result: "neighbour",
        seconds: 4.0,
        launches: 3,
        neighbour: Some(kind),
        ..by_ranks("neighbours-left", &title, "ns", Value::Field("ns"))
    }
    .named(&format!("neighbours-left-{}", kind.name()))
}
