//! Global Arrays: patches beside ARMCI, ghost cells beside `MPI_Sendrecv`, and what all processes do at once.

use super::catalogue::{against_peers, alone, by_size, cells, products};
use super::experiment::{Experiment, Floor, GA, GA_BESIDE_MPI, Groups, Rows, Run};
use super::target::{Demand, Target};

/// Of `isthmus bench ga`.
pub fn ga() -> Vec<Experiment> {
    let mut all = vec![patches()];
    all.extend([2, 4].map(ghosts));
    all.extend([2, 4, 8].map(together));
    all.push(gemm());
    all
}

fn groups(heading: &'static str, field: &'static str, names: &[&str]) -> Groups {
    Groups {
        heading,
        field,
        names: owned(names),
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn patches() -> Experiment {
    let kinds = ["put2", "get2", "acc2", "put3", "get3", "acc3", "put2own", "get2own"];
    Experiment {
        groups: groups("operation", "operation", &kinds),
        runs: vec![Run {
            cells: products(&owned(&kinds), &cells(&[], "4K,64K,1M,16M")),
            ..alone(2, &[])
        }],
        floor: Floor::Own("ARMCI"),
        targets: vec![
            Target::all(Demand::TimesFloor(1.1)),
            Target::all(against_peers(2.0, 2.0)),
        ],
        model: Some(GA_BESIDE_MPI),
        seconds: 6.0,
        launches: 3,
        ..by_size(
            "ga-patches",
            "patches of Global Arrays, beside the same sections by ARMCI; the other libraries: windows and MPI_Win_flush",
            "ga_patches",
        )
    }
}

fn ghosts(ranks: u32) -> Experiment {
    let points = [("2", "16,64,256"), ("3", "16,32,64"), ("4", "16,24")];
    let of = |(dimensions, sizes): (&str, &str)| products(&owned(&[dimensions]), &cells(&[], sizes));
    Experiment {
        groups: groups("dimensions", "dimensions", &["2", "3", "4"]),
        rows: Rows {
            heading: "points",
            field: "size",
            label: |points| points.to_string(),
        },
        runs: vec![Run {
            cells: points.into_iter().flat_map(of).collect(),
            ..alone(ranks, &[])
        }],
        floor: Floor::Own("MPI_Sendrecv"),
        targets: vec![
            Target::all(Demand::TimesFloor(1.0 / 1.5)),
            Target::all(against_peers(1.5, 1.5)),
        ],
        model: Some(GA_BESIDE_MPI),
        seconds: 3.0,
        launches: 3,
        ..by_size(
            &format!("ga-ghosts-{ranks}"),
            &format!(
                "GA_Update_ghosts of {ranks} processes, by points of each in a dimension, beside MPI_Sendrecv with datatypes, \
                 which is what the other libraries do"
            ),
            "ga_ghosts",
        )
    }
}

fn gemm() -> Experiment {
    Experiment {
        rows: Rows {
            heading: "rows",
            field: "size",
            label: |rows| rows.to_string(),
        },
        runs: vec![Run {
            cells: cells(&[], "64,2048"),
            ..alone(2, &[])
        }],
        floor: Floor::Own("BLAS"),
        targets: vec![Target::rows(2048, 2048, Demand::TimesFloor(1.0 / 0.9))],
        model: Some(GA),
        seconds: 20.0,
        launches: 3,
        ..by_size(
            "ga-dgemm",
            "GA_Dgemm of 2 processes, beside the BLAS on one of them with both CPUs",
            "ga_gemm",
        )
    }
}

fn together(ranks: u32) -> Experiment {
    let kinds = ["readinc", "sync", "create"];
    let mut targets = vec![
        Target::all(Demand::TimesFloor(1.2)).of(0),
        Target::all(Demand::AboveFloor(1.0)).of(1),
    ];
    if ranks == 2 {
        targets.push(Target::all(Demand::Under(20.0)).of(2));
    }
    Experiment {
        groups: groups("operation", "operation", &kinds),
        runs: vec![Run {
            cells: owned(&["readinc:8", "sync:8", "create:8"]),
            ..alone(ranks, &[])
        }],
        floor: Floor::Own("CPU/barrier"),
        targets,
        model: Some(GA_BESIDE_MPI),
        seconds: 1.5,
        launches: 3,
        ..by_size(
            &format!("ga-together-{ranks}"),
            &format!(
                "what {ranks} processes do at once: beside the CPU's instruction, and MPI_Barrier; the other libraries: \
                 MPI_Fetch_and_op, MPI_Barrier, MPI_Win_allocate"
            ),
            "ga_together",
        )
    }
}
