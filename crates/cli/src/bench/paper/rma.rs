//! Guiang, Purkayastha, Milfeld: messages beside one-sided operations (bench/rma_sections.c) and ghost updates (bench/ga_ghosts.c).

use super::{Figure, Paper};
use crate::bench::catalogue::{by_size, cells, products};
use crate::bench::experiment::{ARMCI, Experiment, GA, Groups, Model, Rows, Run};
use crate::bench::quantity::Quantity;

/// Figures 1 to 10.
pub fn paper() -> Paper {
    Paper {
        name: "rma",
        title: "C. S. Guiang, A. Purkayastha, K. F. Milfeld: Remote memory operations on Linux clusters: expressiveness and \
                efficiency of current implementations",
        setting: "The paper measured 16 nodes of two Itanium processors with Myrinet, MPICH-GM 1.2.1.7, LAM-MPI 6.5.6, ARMCI 1.0.6 \
                  and Global Arrays 3.2B. Here all processes are on one machine. A put is timed until it is complete at the target \
                  (MPI_Win_flush, ARMCI_Fence) and the target has been told by an empty message; in the ring the step ends with \
                  MPI_Win_fence, ARMCI_Barrier or GA_Sync. ARMCI and Global Arrays are Isthmus's own.",
        figures: vec![
            Figure {
                title: "Figure 1: ping-pong on one node, contiguous",
                found: "ARMCI put and get are far ahead of MPI send/receive from 2 KB on, and close to each other. MPI-2 put and get \
                        (LAM-MPI, which makes them of messages) are slower than everything else.",
                experiments: pingpong("contiguous"),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 1: ping-pong on one node, every second double",
                found: "ARMCI put and get are ahead of MPI send/receive with a datatype, put a little ahead of get; MPI-2 put and get \
                        are last.",
                experiments: pingpong("vector"),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 2: ring exchange with both neighbours on 16 ranks, contiguous",
                found: "MPI send/receive is ahead of ARMCI put and get below 512 KB, and behind them above.",
                experiments: ring("contiguous"),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 2: ring exchange with both neighbours on 16 ranks, every second double",
                found: "MPI send/receive is ahead of ARMCI put below 512 KB and of ARMCI get everywhere.",
                experiments: ring("vector"),
                baseline: "sendrecv",
                missing: None,
            },
            across_nodes(
                "Figure 3: ping-pong between two nodes, contiguous",
                "ARMCI put reaches 245 MB/s of 250, MPI send/receive and ARMCI get 230; over many sizes ARMCI put is a quarter behind both.",
                ("contiguous", 2),
            ),
            across_nodes(
                "Figure 3: ping-pong between two nodes, every second double",
                "MPI send/receive with a datatype is ahead of ARMCI below 2 MB.",
                ("vector", 2),
            ),
            across_nodes(
                "Figure 4: ring exchange, one process a node, contiguous",
                "ARMCI put is as with two processes a node; MPI send/receive gains when all goes through the switch.",
                ("contiguous", RING_NODES),
            ),
            across_nodes(
                "Figure 4: ring exchange, one process a node, every second double",
                "ARMCI strided get doubles above 32 KB against two processes a node, strided put loses a quarter; MPI send/receive is unchanged.",
                ("vector", RING_NODES),
            ),
            Figure {
                title: "Figure 5: sections of 2-D arrays, ring of 16 ranks",
                found: "ARMCI put and get are ahead of MPI send/receive with datatypes and of Global Arrays at every size; Global Arrays \
                        is last.",
                experiments: with_arrays("2d"),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 6: sections of 3-D arrays, ring of 16 ranks",
                found: "As in two dimensions; Global Arrays' get comes nearer to MPI.",
                experiments: with_arrays("3d"),
                baseline: "sendrecv",
                missing: None,
            },
            across_nodes(
                "Figure 7: sections of 2-D arrays, one process a node",
                "Without shared memory ARMCI and Global Arrays are as before; MPI gains more than 60 % at medium sizes.",
                ("2d", RING_NODES),
            ),
            across_nodes(
                "Figure 8: sections of 3-D arrays, one process a node",
                "As in two dimensions.",
                ("3d", RING_NODES),
            ),
            ghosts(
                "Figure 9: update of ghost cells in 2 dimensions, 16 ranks, by points of each in a dimension",
                "2",
                "16,64,256",
            ),
            ghosts(
                "Figure 9: update of ghost cells in 3 dimensions, 16 ranks",
                "3",
                "16,32,64",
            ),
            ghosts(
                "Figure 9: update of ghost cells in 4 dimensions, 16 ranks",
                "4",
                "16,24",
            ),
            Figure {
                title: "Figure 10: update of ghost cells, one process a node",
                found: "As on shared memory: Global Arrays is behind everywhere.",
                experiments: ghosts_by("2", "16,64,256", "-nodes", RING_NODES),
                baseline: "sendrecv",
                missing: Some(
                    "Global Arrays, which work within one node here; and more than 2 dimensions and 4 nodes: here are MPI's exchanges of margins.",
                ),
            },
        ],
    }
}

fn pingpong(shape: &'static str) -> Vec<Experiment> {
    let sizes = "8,128,1K,8K,32K,128K,512K,2M,8M";
    let ways = |name: &str, ways: &[&str], model| experiment(name, shape, ways, sizes, 2, model);
    vec![
        ways("pingpong", &["sendrecv", "put", "get"], None),
        ways("pingpong-armci", &["armci-put", "armci-get"], Some(ARMCI)),
    ]
}

fn ring(shape: &'static str) -> Vec<Experiment> {
    let sizes = "128,1K,8K,32K,128K,512K,1M";
    let ways = |name: &str, ways: &[&str], model| experiment(name, shape, ways, sizes, 16, model);
    vec![
        ways("ring", &["sendrecv", "put", "get"], None),
        ways("ring-armci", &["armci-put", "armci-get"], Some(ARMCI)),
    ]
}

/// The ring of sections, by Global Arrays too.
fn with_arrays(shape: &'static str) -> Vec<Experiment> {
    let sizes = "128,1K,8K,32K,128K,512K,1M";
    let mut all = ring(shape);
    all.push(experiment("ring-ga", shape, &["ga-put", "ga-get"], sizes, 16, Some(GA)));
    all
}

/// `MPI_Sendrecv` with datatypes, and within one node `GA_Update_ghosts` beside it.
fn ghosts_by(dimensions: &'static str, points: &str, suffix: &str, nodes: u32) -> Vec<Experiment> {
    let by = |way: &str, options: &[&str], model| Experiment {
        nodes,
        groups: Groups {
            heading: "way",
            field: "way",
            names: vec![way.to_owned()],
        },
        rows: Rows {
            heading: "points",
            field: "size",
            label: |points| points.to_string(),
        },
        runs: vec![Run {
            ranks: if nodes > 0 { nodes } else { 16 },
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            cells: products(&[dimensions.to_owned()], &cells(&[], points)),
        }],
        seconds: 3.0,
        launches: 3,
        model,
        ..by_size(
            &format!("rma-ghosts-{dimensions}-{way}{suffix}"),
            "update of ghost cells",
            "ga_ghosts",
        )
    };
    let mut all = vec![by("sendrecv", &["--messages"], None)];
    if nodes == 0 {
        all.push(by("ga", &[], Some(GA)));
    }
    all
}

fn ghosts(title: &'static str, dimensions: &'static str, points: &str) -> Figure {
    Figure {
        title,
        found: "GA_Update_ghosts is behind MPI_Sendrecv with datatypes over the whole range of sizes.",
        experiments: ghosts_by(dimensions, points, "", 0),
        baseline: "sendrecv",
        missing: None,
    }
}

fn experiment(
    name: &str,
    shape: &'static str,
    ways: &[&str],
    sizes: &str,
    ranks: u32,
    model: Option<Model>,
) -> Experiment {
    let ways: Vec<String> = ways.iter().map(|way| (*way).to_owned()).collect();
    let mut options = vec!["--shape".to_owned(), shape.to_owned()];
    if ranks > 2 {
        options.push("--ring".to_owned());
    }
    let sizes: Vec<String> = crate::bench::size::list(sizes)
        .iter()
        .map(|size| size.0.to_string())
        .collect();
    Experiment {
        quantity: Quantity::Bandwidth,
        runs: vec![Run {
            ranks,
            options,
            cells: products(&ways, &sizes),
        }],
        groups: Groups {
            heading: "way",
            field: "way",
            names: ways,
        },
        seconds: 4.0,
        launches: 3,
        model,
        ..by_size(&format!("rma-{name}-{shape}"), shape, "rma_sections")
    }
}

/// Nodes of the rings with one process each: the paper's were 16, of which each had processors of its own.
const RING_NODES: u32 = 4;

/// A figure of one process a node. ARMCI and Global Arrays work within one node, so MPI's lines are there alone.
fn across_nodes(title: &'static str, found: &'static str, (shape, nodes): (&'static str, u32)) -> Figure {
    let (name, sizes) = match nodes {
        2 => ("nodes-pingpong", "8,128,1K,8K,32K,128K,512K,2M"),
        _ => ("nodes-ring", "128,1K,8K,32K,128K,512K"),
    };
    Figure {
        title,
        found,
        experiments: vec![Experiment {
            nodes,
            ..experiment(name, shape, &["sendrecv", "put", "get"], sizes, nodes, None)
        }],
        baseline: "sendrecv",
        missing: Some(
            "ARMCI's and Global Arrays' lines, which work within one node here. Nodes are network namespaces of this machine, 2 or 4, over \
             libfabric's tcp. Where the process is not root there are no numbers.",
        ),
    }
}
