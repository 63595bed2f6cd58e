//! Guiang, Purkayastha, Milfeld: messages beside one-sided operations (bench/rma_sections.c) and ghost updates (bench/ga_ghosts.c).

use super::{Figure, Paper};
use crate::bench::catalogue::{by_size, cells, products};
use crate::bench::experiment::{ARMCI, Experiment, GA, Groups, Model, Rows, Run};
use crate::bench::quantity::Quantity;

/// Figures 1 to 10.
pub fn paper() -> Paper {
    let alone = one_per_cpu();
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
                experiments: ring("contiguous", SIXTEEN),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 2: ring exchange with both neighbours on 16 ranks, every second double",
                found: "MPI send/receive is ahead of ARMCI put below 512 KB and of ARMCI get everywhere.",
                experiments: ring("vector", SIXTEEN),
                baseline: "sendrecv",
                missing: None,
            },
            across_nodes(
                "Figure 3: ping-pong between two nodes, contiguous",
                "ARMCI put reaches 245 MB/s of 250, MPI send/receive and ARMCI get 230; over many sizes ARMCI put is a quarter behind both.",
                ("contiguous", NODES_PAIR),
            ),
            across_nodes(
                "Figure 3: ping-pong between two nodes, every second double",
                "MPI send/receive with a datatype is ahead of ARMCI below 2 MB.",
                ("vector", NODES_PAIR),
            ),
            across_nodes(
                "Figure 4: ring exchange, one process a node, contiguous",
                "ARMCI put is as with two processes a node; MPI send/receive gains when all goes through the switch.",
                ("contiguous", NODES_RING),
            ),
            across_nodes(
                "Figure 4: ring exchange, one process a node, every second double",
                "ARMCI strided get doubles above 32 KB against two processes a node, strided put loses a quarter; MPI send/receive is unchanged.",
                ("vector", NODES_RING),
            ),
            Figure {
                title: "Figure 5: sections of 2-D arrays, ring of 16 ranks",
                found: "ARMCI put and get are ahead of MPI send/receive with datatypes and of Global Arrays at every size; Global Arrays \
                        is last.",
                experiments: with_arrays("2d", SIXTEEN),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 6: sections of 3-D arrays, ring of 16 ranks",
                found: "As in two dimensions; Global Arrays' get comes nearer to MPI.",
                experiments: with_arrays("3d", SIXTEEN),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 7: sections of 2-D arrays, one process a node (here: a CPU)",
                found: "Without shared memory ARMCI and Global Arrays are as before; MPI gains more than 60 % at medium sizes.",
                experiments: with_arrays("2d", alone),
                baseline: "sendrecv",
                missing: Some(A_CPU_FOR_A_NODE),
            },
            Figure {
                title: "Figure 8: sections of 3-D arrays, one process a node (here: a CPU)",
                found: "As in two dimensions.",
                experiments: with_arrays("3d", alone),
                baseline: "sendrecv",
                missing: Some(A_CPU_FOR_A_NODE),
            },
            ghosts(
                "Figure 9: update of ghost cells in 2 dimensions, 16 ranks, by points of each in a dimension",
                ("2", "16,64,256"),
                SIXTEEN,
            ),
            ghosts(
                "Figure 9: update of ghost cells in 3 dimensions, 16 ranks",
                ("3", "16,32,64"),
                SIXTEEN,
            ),
            ghosts(
                "Figure 9: update of ghost cells in 4 dimensions, 16 ranks",
                ("4", "16,24"),
                SIXTEEN,
            ),
            ghosts(
                "Figure 10: update of ghost cells in 2 dimensions, one process a node (here: a CPU)",
                ("2", "16,64,256"),
                alone,
            ),
            ghosts(
                "Figure 10: update of ghost cells in 3 dimensions, one process a node (here: a CPU)",
                ("3", "16,32,64"),
                alone,
            ),
            ghosts(
                "Figure 10: update of ghost cells in 4 dimensions, one process a node (here: a CPU)",
                ("4", "16,24"),
                alone,
            ),
        ],
    }
}

fn pingpong(shape: &'static str) -> Vec<Experiment> {
    let sizes = "8,128,1K,8K,32K,128K,512K,2M,8M";
    let ways = |name: &str, ways: &[&str], model| experiment(name, shape, ways, sizes, PAIR, model);
    vec![
        ways("pingpong", &["sendrecv", "put", "get"], None),
        ways("pingpong-armci", &["armci-put", "armci-get"], Some(ARMCI)),
    ]
}

const RING_SIZES: &str = "128,1K,8K,32K,128K,512K,1M";

/// Which processes there are.
#[derive(Debug, Clone, Copy)]
struct Processes {
    count: u32,
    /// Of experiments' names.
    suffix: &'static str,
    is_ring: bool,
}

const PAIR: Processes = Processes {
    count: 2,
    suffix: "",
    is_ring: false,
};

/// As many as in the paper, which has two on each node.
const SIXTEEN: Processes = Processes {
    count: 16,
    suffix: "",
    is_ring: true,
};

/// For the paper's figures with one process a node, what one machine has in its place: nobody shares a CPU, as far as CPUs go in twos.
fn one_per_cpu() -> Processes {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
    Processes {
        count: 1 << cpus.clamp(PAIR.count, SIXTEEN.count).ilog2(),
        suffix: "-per-cpu",
        is_ring: true,
    }
}

/// What differs there.
const A_CPU_FOR_A_NODE: &str = "processes on nodes of their own: ARMCI and Global Arrays work within one node. What is left of the paper's setting \
                                is that nobody shares the CPU of another (as many processes as there are CPUs, 2, 4, 8 or 16); all share its memory.";

fn ring(shape: &'static str, processes: Processes) -> Vec<Experiment> {
    let ways = |name: &str, ways: &[&str], model| experiment(name, shape, ways, RING_SIZES, processes, model);
    vec![
        ways("ring", &["sendrecv", "put", "get"], None),
        ways("ring-armci", &["armci-put", "armci-get"], Some(ARMCI)),
    ]
}

/// The ring of sections, by Global Arrays too.
fn with_arrays(shape: &'static str, processes: Processes) -> Vec<Experiment> {
    let mut all = ring(shape, processes);
    let ways = ["ga-put", "ga-get"];
    all.push(experiment("ring-ga", shape, &ways, RING_SIZES, processes, Some(GA)));
    all
}

/// `GA_Update_ghosts` beside `MPI_Sendrecv` with datatypes.
fn ghosts(title: &'static str, (dimensions, points): (&'static str, &str), processes: Processes) -> Figure {
    let by = |way: &str, options: &[&str], model| Experiment {
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
            ranks: processes.count,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            cells: products(&[dimensions.to_owned()], &cells(&[], points)),
        }],
        seconds: 3.0,
        launches: 3,
        model,
        ..by_size(
            &format!("rma-ghosts{}-{dimensions}-{way}", processes.suffix),
            "update of ghost cells",
            "ga_ghosts",
        )
    };
    Figure {
        title,
        found: "GA_Update_ghosts is behind MPI_Sendrecv with datatypes over the whole range of sizes.",
        experiments: vec![by("sendrecv", &["--messages"], None), by("ga", &[], Some(GA))],
        baseline: "sendrecv",
        missing: (!processes.suffix.is_empty()).then_some(A_CPU_FOR_A_NODE),
    }
}

fn experiment(
    name: &str,
    shape: &'static str,
    ways: &[&str],
    sizes: &str,
    processes: Processes,
    model: Option<Model>,
) -> Experiment {
    let ways: Vec<String> = ways.iter().map(|way| (*way).to_owned()).collect();
    let mut options = vec!["--shape".to_owned(), shape.to_owned()];
    if processes.is_ring {
        options.push("--ring".to_owned());
    }
    let sizes: Vec<String> = crate::bench::size::list(sizes)
        .iter()
        .map(|size| size.0.to_string())
        .collect();
    Experiment {
        quantity: Quantity::Bandwidth,
        runs: vec![Run {
            ranks: processes.count,
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
        ..by_size(
            &format!("rma-{name}{}-{shape}", processes.suffix),
            shape,
            "rma_sections",
        )
    }
}

/// Two nodes with a process each.
const NODES_PAIR: Processes = Processes {
    count: 2,
    suffix: "-nodes",
    is_ring: false,
};

/// A ring of nodes with a process each: the paper's were 16, of which each had processors of its own.
const NODES_RING: Processes = Processes {
    count: 4,
    suffix: "-nodes",
    is_ring: true,
};

/// A figure of one process a node. ARMCI works within one node, so MPI's lines are there alone.
fn across_nodes(title: &'static str, found: &'static str, (shape, processes): (&'static str, Processes)) -> Figure {
    let (name, sizes) = match processes.is_ring {
        false => ("pingpong", "8,128,1K,8K,32K,128K,512K,2M"),
        true => ("ring", "128,1K,8K,32K,128K,512K"),
    };
    Figure {
        title,
        found,
        experiments: vec![Experiment {
            nodes: processes.count,
            ..experiment(name, shape, &["sendrecv", "put", "get"], sizes, processes, None)
        }],
        baseline: "sendrecv",
        missing: Some(
            "ARMCI's lines, which work within one node here. Nodes are network namespaces of this machine, 2 or 4, over libfabric's tcp. Where \
             the process is not root there are no numbers.",
        ),
    }
}
