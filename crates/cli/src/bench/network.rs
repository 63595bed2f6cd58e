//! Between two nodes, which are network namespaces of this machine: what `isthmus bench network` measures.

use super::catalogue::{against_peers, alone, by_ranks, by_size, cells, products};
use super::experiment::{Experiment, Floor, Groups, ISTHMUS, Rows, Run, Value};
use super::quantity::Quantity;
use super::size::Size;
use super::target::{Demand, Target};

/// Nodes of every experiment.
const NODES: u32 = 2;

/// A bare loop on the provider that we use, and one on a TCP socket.
const FLOORS: [&str; 2] = ["libfabric", "socket"];

/// The experiments, without what all their names begin with.
pub const PARTS: [&str; 11] = [
    "pingpong",
    "bandwidth",
    "idle",
    "collectives",
    "rma",
    "rma-elements",
    "puts",
    "gets",
    "launch",
    "memory",
    "memory-4",
];

/// Half round trip, bandwidth, one-sided operations, collectives, start, memory; all where `of` is empty.
pub fn network(of: &[String], sizes: &[Size]) -> Vec<Experiment> {
    let mut all = experiments(sizes);
    let is_named = |name: &str| {
        of.iter()
            .any(|part| name.strip_prefix("network-") == Some(part.as_str()))
    };
    all.retain(|experiment| of.is_empty() || is_named(&experiment.name));
    all
}

fn experiments(sizes: &[Size]) -> Vec<Experiment> {
    vec![
        Experiment {
            floor: Floor::Two(FLOORS, vec![]),
            // The bare provider, 15 % and 1 us; and the best of the others.
            targets: vec![
                Target::all(Demand::TimesFloorAnd(1.15, 1.0)),
                Target::all(against_peers(1.0, 1.0)),
            ],
            ..on_nodes(
                "network-pingpong",
                "half round trip between two nodes",
                "pingpong",
                run(2, cells(sizes, "8,4K,64K,128K,512K,1M")),
            )
        },
        Experiment {
            quantity: Quantity::Bandwidth,
            floor: Floor::Two(FLOORS, vec!["--stream".to_owned()]),
            targets: vec![
                Target::all(Demand::TimesFloor(1.0 / 0.95)),
                Target::all(against_peers(1.0, 1.0)),
            ],
            ..on_nodes(
                "network-bandwidth",
                "one way between two nodes, windows of 64 messages",
                "bandwidth",
                run(2, cells(sizes, "64K,256K,1M,4M")),
            )
        },
        on_nodes(
            "network-idle",
            "half round trip within a node, of a job whose other node is connected and silent",
            "pingpong",
            run(4, cells(sizes, "8,4K")),
        ),
        collectives(sizes),
        transfers(sizes),
        elements(),
        bursts(
            "network-puts",
            "MPI_Put between two nodes, 64 with one flush",
            "--put",
            sizes,
        ),
        bursts(
            "network-gets",
            "MPI_Get between two nodes, 64 with one flush",
            "--get",
            sizes,
        ),
        Experiment {
            nodes: NODES,
            runs: vec![alone(4, &[])],
            targets: vec![Target::all(Demand::Under(150.0))],
            ..by_ranks(
                "network-launch",
                "launch, MPI_Init and MPI_Finalize of 2 nodes x 2 ranks",
                "ms",
                Value::Command,
            )
        }
        .running("launch"),
        Experiment {
            nodes: NODES,
            runs: vec![alone(4, &[]), alone(16, &[])],
            ..by_ranks(
                "network-memory",
                "proportional set size per rank of 2 nodes, after all pairs have talked",
                "KiB",
                Value::Field("mean_kib"),
            )
        }
        .running("memory"),
        Experiment {
            nodes: 4,
            runs: vec![alone(64, &[])],
            // 3 MiB, and 32 KiB for each of the 48 ranks of other nodes.
            targets: vec![Target::all(Demand::Under(4608.0))],
            model: Some(ISTHMUS),
            ..by_ranks(
                "network-memory-4",
                "proportional set size per rank of 4 nodes, after all pairs have talked",
                "KiB",
                Value::Field("mean_kib"),
            )
        }
        .running("memory"),
    ]
}

fn collectives(sizes: &[Size]) -> Experiment {
    let kinds = ["allreduce", "alltoall"].map(str::to_owned);
    Experiment {
        groups: Groups {
            heading: "collective",
            field: "collective",
            names: kinds.to_vec(),
        },
        targets: vec![Target::all(against_peers(1.0, 1.0))],
        ..on_nodes(
            "network-collectives",
            "collectives on 2 nodes x 2 ranks",
            "collectives",
            run(4, products(&kinds, &cells(sizes, "8,4K,64K"))),
        )
    }
}

/// By size, with the flush that completes each.
fn transfers(sizes: &[Size]) -> Experiment {
    let kinds = ["put-allocate", "get-allocate", "acc-allocate"].map(str::to_owned);
    Experiment {
        groups: Groups {
            heading: "kind",
            field: "kind",
            names: kinds.to_vec(),
        },
        targets: vec![Target::all(against_peers(1.0, 1.0))],
        ..on_nodes(
            "network-rma",
            "MPI_Put, MPI_Get and MPI_Accumulate and their flush between two nodes",
            "rma",
            run(2, products(&kinds, &cells(sizes, "8,4K,64K,256K,1M,4M"))),
        )
    }
}

/// Bandwidth, beside the bare provider.
fn bursts(name: &str, title: &str, option: &str, sizes: &[Size]) -> Experiment {
    Experiment {
        quantity: Quantity::Bandwidth,
        floor: Floor::Two(FLOORS, vec![option.to_owned()]),
        targets: vec![Target::all(Demand::TimesFloor(1.0 / 0.95))],
        ..on_nodes(
            name,
            title,
            "rma",
            Run {
                options: vec![option.to_owned()],
                ..run(2, cells(sizes, "4K,16K,64K,256K,1M,4M"))
            },
        )
    }
}

/// On an element, of one rank.
fn elements() -> Experiment {
    let kinds = ["accumulate", "fetch", "compare"].map(str::to_owned);
    Experiment {
        groups: Groups {
            heading: "kind",
            field: "kind",
            names: kinds.to_vec(),
        },
        rows: Rows {
            heading: "origins",
            field: "origins",
            label: |origins| origins.to_string(),
        },
        targets: vec![Target::all(against_peers(1.0, 1.0))],
        ..on_nodes(
            "network-rma-elements",
            "MPI_Accumulate, MPI_Fetch_and_op and MPI_Compare_and_swap of 8 bytes and their flush between two nodes",
            "rma",
            run(2, products(&kinds, &["1".to_owned()])),
        )
    }
}

fn run(ranks: u32, cells: Vec<String>) -> Run {
    Run {
        ranks,
        options: vec![],
        cells,
    }
}

fn on_nodes(name: &str, title: &str, program: &'static str, run: Run) -> Experiment {
    Experiment {
        nodes: NODES,
        runs: vec![run],
        launches: 3,
        ..by_size(name, title, program)
    }
}
