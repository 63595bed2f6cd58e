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

/// What stands beside the times of [`growth`].
const GROWING: &[&str] = &[
    "kib",
    "eager_sent",
    "in_cells",
    "rendezvous_sent",
    "ring_lines",
    "rings_leased",
    "backlogged",
    "backlog_looks",
    "doorbell_rings",
    "staged_bytes",
    "single_copies",
    "fences",
    "yields",
    "sleeps",
    "wakes",
];

/// How what all ranks do together grows with their number: an experiment for each. `own_cpus`: counted, as if each rank had a CPU.
pub fn growth(own_cpus: bool, ranks: &[u32]) -> Vec<Experiment> {
    const USUAL: &[u32] = &[2, 4, 8, 16, 32, 64, 128, 256];
    let ranks = if ranks.is_empty() { USUAL } else { ranks };
    ranks.iter().map(|ranks| growth_on(own_cpus, *ranks)).collect()
}

fn growth_on(own_cpus: bool, ranks: u32) -> Experiment {
    let kinds = ["start", "barrier", "allreduce", "alltoall", "everyone"].map(str::to_owned);
    let sized = [
        "start:0",
        "barrier:0",
        "allreduce:8",
        "alltoall:8",
        "alltoall:8192",
        "everyone:8",
        "everyone:1024",
        "everyone:2048",
        "everyone:8192",
        "everyone:16384",
        "everyone:32768",
    ];
    let what = "MPI_Init, barrier, all-reduce, all-to-all, and a message from everyone to everyone";
    let (name, title, options) = match own_cpus {
        false => (
            format!("growth-{ranks}"),
            format!("{what}, on {ranks} ranks; KiB and counts a rank"),
            vec![],
        ),
        true => (
            format!("growth-own-cpus-{ranks}"),
            format!("{what}, on {ranks} ranks, counted as if each had a CPU"),
            vec!["--own-cpus".to_owned()],
        ),
    };
    Experiment {
        runs: vec![Run {
            ranks,
            options,
            cells: sized.map(str::to_owned).into(),
        }],
        groups: Groups {
            heading: "what",
            field: "what",
            names: kinds.into(),
        },
        seconds: 6.0,
        launches: if own_cpus { 1 } else { 2 },
        floor: if own_cpus { Floor::None } else { Floor::Steadiness },
        beside: GROWING,
        ..by_size(&name, &title, "growth")
    }
}
