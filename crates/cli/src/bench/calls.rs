//! Procedures that programs call in a loop and that no other experiment times.

use super::catalogue::{against_peers, by_size, cells, chosen, products};
use super::experiment::{Experiment, Floor, Groups, Run};
use super::size::Size;
use super::target::Target;

/// Those that move data: timed by size.
const SIZED: [&str; 17] = [
    "issend",
    "persistent",
    "bsend",
    "rsend",
    "probe-any",
    "iprobe",
    "mprobe",
    "test",
    "testall",
    "waitany",
    "burst",
    "struct-sent",
    "partitioned",
    "scan",
    "exscan",
    "neighbor_allgather",
    "neighbor_alltoall",
];

/// Those for which there is no size.
const UNSIZED: [&str; 13] = [
    "maxloc",
    "comm_dup",
    "comm_split",
    "comm_create_group",
    "cart_create",
    "cart_create-reorder",
    "dist_graph_create",
    "type_struct",
    "type_vector",
    "type_indexed",
    "type_subarray",
    "group_incl",
    "info_create",
];

/// What `--of` may name.
pub fn names() -> Vec<&'static str> {
    SIZED.into_iter().chain(UNSIZED).collect()
}

/// An experiment for each number of ranks.
pub fn calls(ranks: &[u32], of: &[String], sizes: &[Size]) -> Vec<Experiment> {
    let ranks = if ranks.is_empty() { &[2, 4, 16] } else { ranks };
    ranks.iter().map(|ranks| calls_on(*ranks, of, sizes)).collect()
}

fn calls_on(ranks: u32, of: &[String], sizes: &[Size]) -> Experiment {
    let mut cells = products(&chosen(of, &SIZED), &cells(sizes, "8,1K"));
    cells.extend(products(&chosen(of, &UNSIZED), &["0".to_owned()]));
    let title = format!("procedures that programs call in a loop, on {ranks} ranks");
    Experiment {
        runs: vec![Run {
            ranks,
            options: vec![],
            cells,
        }],
        groups: Groups {
            heading: "call",
            field: "call",
            names: chosen(of, &names()),
        },
        seconds: 4.0,
        floor: Floor::Steadiness,
        targets: vec![Target::all(against_peers(1.0, 0.95))],
        ..by_size(&format!("calls-{ranks}"), &title, "calls")
    }
}

/// What operations take in the mean, stops included, within whatever quota of CPU time there is: an experiment for each number of ranks.
pub fn quotas(ranks: &[u32]) -> Vec<Experiment> {
    let ranks = if ranks.is_empty() { &[2, 3, 4, 8, 16] } else { ranks };
    ranks.iter().map(|ranks| quotas_on(*ranks)).collect()
}

fn quotas_on(ranks: u32) -> Experiment {
    let title = format!("mean time within the cgroup's quota, stops included, on {ranks} ranks");
    Experiment {
        runs: vec![Run {
            ranks,
            options: vec![],
            cells: ["allreduce:8", "both:8", "both:8192"].map(str::to_owned).into(),
        }],
        groups: Groups {
            heading: "what",
            field: "what",
            names: ["allreduce", "both"].map(str::to_owned).into(),
        },
        seconds: 3.0,
        launches: 2,
        ..by_size(&format!("quotas-{ranks}"), &title, "quotas")
    }
}

/// How what all ranks do together grows with their number: an experiment for each.
pub fn growth(ranks: &[u32]) -> Vec<Experiment> {
    const USUAL: &[u32] = &[2, 4, 8, 16, 32, 64, 128, 256];
    let ranks = if ranks.is_empty() { USUAL } else { ranks };
    ranks.iter().map(|ranks| growth_on(*ranks)).collect()
}

fn growth_on(ranks: u32) -> Experiment {
    let kinds = ["barrier", "allreduce", "alltoall", "everyone"].map(str::to_owned);
    let sized = [
        "barrier:0",
        "allreduce:8",
        "alltoall:8",
        "alltoall:8192",
        "everyone:8",
        "everyone:8192",
    ];
    let title = format!("barrier, all-reduce, all-to-all, and a message from everyone to everyone, on {ranks} ranks");
    Experiment {
        runs: vec![Run {
            ranks,
            options: vec![],
            cells: sized.map(str::to_owned).into(),
        }],
        groups: Groups {
            heading: "what",
            field: "what",
            names: kinds.into(),
        },
        seconds: 3.0,
        launches: 2,
        floor: Floor::Steadiness,
        ..by_size(&format!("growth-{ranks}"), &title, "growth")
    }
}
