//! Guiang, Purkayastha, Milfeld: messages beside one-sided operations (bench/rma_sections.c) and ghost updates (bench/ga_ghosts.c).

use super::claim::{Claim, Counts, Expects, Of, Otherwise, Shown, by};
use super::{Figure, Paper, Shape};
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
                  and Global Arrays 3.2B. Here all processes are on one machine, whose network namespaces are the nodes of figures of one process a node. A put is timed until it is complete at the target \
                  (MPI_Win_flush, ARMCI_Fence) and the target has been told by an empty message; in the ring the step ends with \
                  MPI_Win_fence, ARMCI_Barrier or GA_Sync. ARMCI and Global Arrays are Isthmus's own.",
        figures: vec![
            Figure {
                title: "Figure 1: ping-pong on one node, contiguous",
                claims: vec![
                    Claim {
                        says: "ARMCI put is ahead of MPI send/receive above 2 KB",
                        value: "",
                        at: "section 3, Figure 1",
                        quote: "In the case of both contiguous and noncontiguous data transfers, the ARMCI put and get operations outperform the corresponding MPI send/receive operations by a wide margin, except at message lengths at or below 2KB.",
                        shown: by(
                            "armci-put",
                            "sendrecv",
                            (4 << 10, u64::MAX),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("the two are made of the same copies here"),
                        ),
                    },
                    Claim {
                        says: "ARMCI put and get are very close",
                        value: "",
                        at: "section 3, Figure 1",
                        quote: "The pingpong bandwidths for ARMCI put and get are very close in value for contiguous data transfers.",
                        shown: by(
                            "armci-put",
                            "armci-get",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Alike, Counts::Times),
                            Otherwise::Since("launches differ by that much"),
                        ),
                    },
                    Claim {
                        says: "MPI-2 put and get are behind",
                        value: "",
                        at: "section 3, Figure 1",
                        quote: "The MPI-2 get and put operations exhibit poor performance in the pingpong test, and were outperformed by the noncontiguous data transfers using ARMCI and MPI.",
                        shown: by(
                            "put",
                            "sendrecv",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Behind, Counts::Times),
                            Otherwise::Since(
                                "windows are not made of messages here: a put is one copy into memory that both map",
                            ),
                        ),
                    },
                ],
                shape: Shape::Linear,
                experiments: pingpong("contiguous"),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 1: ping-pong on one node, every second double",
                claims: vec![
                    Claim {
                        says: "ARMCI put is ahead of MPI send/receive with a datatype",
                        value: "",
                        at: "section 3, Figure 1",
                        quote: "In the case of both contiguous and noncontiguous data transfers, the ARMCI put and get operations outperform the corresponding MPI send/receive operations by a wide margin, except at message lengths at or below 2KB.",
                        shown: by(
                            "armci-put",
                            "sendrecv",
                            (4 << 10, u64::MAX),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("the two are made of the same copies here"),
                        ),
                    },
                    Claim {
                        says: "ARMCI put outperforms get by a slight margin",
                        value: "",
                        at: "section 3, Figure 1",
                        quote: "For the strided case, ARMCI put outperforms get by a slight margin.",
                        shown: by(
                            "armci-put",
                            "armci-get",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Slightly, Counts::Times),
                            Otherwise::Since("launches differ by that much"),
                        ),
                    },
                ],
                shape: Shape::Linear,
                experiments: pingpong("vector"),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 2: ring exchange with both neighbours on 16 ranks, contiguous",
                claims: vec![
                    Claim {
                        says: "MPI is ahead of ARMCI put below 512 KB",
                        value: "",
                        at: "section 3, Figure 2",
                        quote: "MPI shows better performance than either ARMCI put or get for contiguous data smaller than 512 KB.",
                        shown: by(
                            "sendrecv",
                            "armci-put",
                            (0, (512 << 10) - 1),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("a put is one copy here, and a message two or an announcement"),
                        ),
                    },
                    Claim {
                        says: "ARMCI put is ahead above",
                        value: "",
                        at: "section 3, Figure 2",
                        quote: "At larger data sizes however, the bandwidth associated with ARMCI put and get is significantly higher.",
                        shown: by(
                            "armci-put",
                            "sendrecv",
                            ((512 << 10) + 1, u64::MAX),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("the two are made of the same copies here"),
                        ),
                    },
                ],
                shape: Shape::Linear,
                experiments: ring("contiguous", SIXTEEN),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 2: ring exchange with both neighbours on 16 ranks, every second double",
                claims: vec![
                    Claim {
                        says: "MPI is ahead of strided ARMCI put below 512 KB",
                        value: "",
                        at: "section 3, Figure 2",
                        quote: "MPI outperforms ARMCI put for message sizes below 512 KB and ARMCI get for the entire range of the test.",
                        shown: by(
                            "sendrecv",
                            "armci-put",
                            (0, (512 << 10) - 1),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("a strided put is one copy here"),
                        ),
                    },
                    Claim {
                        says: "MPI is ahead of strided ARMCI get everywhere",
                        value: "",
                        at: "section 3, Figure 2",
                        quote: "MPI outperforms ARMCI put for message sizes below 512 KB and ARMCI get for the entire range of the test.",
                        shown: by(
                            "sendrecv",
                            "armci-get",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("a strided get is one copy here"),
                        ),
                    },
                ],
                shape: Shape::Linear,
                experiments: ring("vector", SIXTEEN),
                baseline: "sendrecv",
                missing: None,
            },
            across_nodes(
                "Figure 3: ping-pong between two nodes, contiguous",
                vec![Claim {
                    says: "ARMCI put peaks at 245 MB/s, MPI send/receive and ARMCI get at 230",
                    value: "245 and 230 MB/s",
                    at: "section 3, Figure 3",
                    quote: "Figure 3 shows a peak pingpong bandwidth of 245 MB/s for ARMCI put, and 230 MB/s for both MPI send/rcv and ARMCI get.",
                    shown: by(
                        "armci-put",
                        "sendrecv",
                        (512 << 10, u64::MAX),
                        Of::Most,
                        (Expects::Factor(245.0 / 230.0), Counts::Times),
                        Otherwise::Since(SERVED),
                    ),
                }],
                ("contiguous", NODES_PAIR),
            ),
            across_nodes(
                "Figure 3: ping-pong between two nodes, every second double",
                vec![Claim {
                    says: "MPI is ahead of strided ARMCI put below 2 MB",
                    value: "",
                    at: "section 3, Figure 3",
                    quote: "For strided data transfers, the performance of ARMCI put/get is lower than MPI send/receive for message sizes below 2 MB.",
                    shown: by(
                        "sendrecv",
                        "armci-put",
                        (0, (2 << 20) - 1),
                        Of::Mean,
                        (Expects::Ahead, Counts::Times),
                        Otherwise::Since(
                            "a put and the message that tells of it leave together, without an answer in between",
                        ),
                    ),
                }],
                ("vector", NODES_PAIR),
            ),
            across_nodes(
                "Figure 4: ring exchange, one process a node, contiguous",
                vec![Claim {
                    says: "MPI gains when all goes through the switch",
                    value: "",
                    at: "section 3, Figure 4",
                    quote: "MPI exhibits noticeable performance improvement for exchange of contiguous data when all communication goes off to the switch fabric.",
                    shown: Shown::Not(NODES_HERE),
                }],
                ("contiguous", NODES_RING),
            ),
            across_nodes(
                "Figure 4: ring exchange, one process a node, every second double",
                vec![Claim {
                    says: "ARMCI strided get almost doubles above 32 KB, strided put loses a quarter",
                    value: "2 times, 25 %",
                    at: "section 3, Figure 4",
                    quote: "the aggregate bandwidth for ARMCI strided get almost doubles in the data range above 32 KB, while the performance of strided put degrades by about 25% at larger message sizes",
                    shown: Shown::Not(NODES_HERE),
                }],
                ("vector", NODES_RING),
            ),
            Figure {
                title: "Figure 5: sections of 2-D arrays, ring of 16 ranks",
                claims: vec![
                    Claim {
                        says: "ARMCI put is ahead of MPI send/receive, 2-D sections",
                        value: "",
                        at: "section 3, Figures 5 and 6",
                        quote: "For both 2D and 3D array sections, the ARMCI put and get operations exhibit superior performance to either MPI send/receive or GA put/get in the entire range of linear dimensions considered in the experiment.",
                        shown: by(
                            "armci-put",
                            "sendrecv",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("the two are made of the same copies here"),
                        ),
                    },
                    Claim {
                        says: "Global Arrays are last, 2-D sections",
                        value: "",
                        at: "section 3, Figures 5 and 6",
                        quote: "GA put/get are the poorest performers",
                        shown: by(
                            "ga-put",
                            "sendrecv",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Behind, Counts::Times),
                            Otherwise::Since("Global Arrays add next to nothing to ARMCI here"),
                        ),
                    },
                ],
                shape: Shape::Linear,
                experiments: with_arrays("2d", SIXTEEN),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 6: sections of 3-D arrays, ring of 16 ranks",
                claims: vec![
                    Claim {
                        says: "ARMCI put is ahead of MPI send/receive, 3-D sections",
                        value: "",
                        at: "section 3, Figures 5 and 6",
                        quote: "For both 2D and 3D array sections, the ARMCI put and get operations exhibit superior performance to either MPI send/receive or GA put/get in the entire range of linear dimensions considered in the experiment.",
                        shown: by(
                            "armci-put",
                            "sendrecv",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("the two are made of the same copies here"),
                        ),
                    },
                    Claim {
                        says: "Global Arrays are last, 3-D sections",
                        value: "",
                        at: "section 3, Figures 5 and 6",
                        quote: "GA put/get are the poorest performers",
                        shown: by(
                            "ga-put",
                            "sendrecv",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Behind, Counts::Times),
                            Otherwise::Since("Global Arrays add next to nothing to ARMCI here"),
                        ),
                    },
                    Claim {
                        says: "GA get outperforms put",
                        value: "",
                        at: "section 3, Figure 6",
                        quote: "GA Get performs the data transfer more efficiently than put in the transfer of 2D array sections, and outperforms put at the entire data range considered when moving 3D array sections.",
                        shown: by(
                            "ga-get",
                            "ga-put",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("both are the same copies here"),
                        ),
                    },
                ],
                shape: Shape::Linear,
                experiments: with_arrays("3d", SIXTEEN),
                baseline: "sendrecv",
                missing: None,
            },
            Figure {
                title: "Figure 7: sections of 2-D arrays, one process a node",
                claims: vec![Claim {
                    says: "without shared memory MPI gains more than 60 % at medium sizes, ARMCI is as before, 2-D sections",
                    value: "60 %",
                    at: "section 3, Figures 7 and 8",
                    quote: "ARMCI performance is largely unaffected whereas MPI exhibits large increases in the data transfer bandwidth (>60%) in the intermediate data range, for both 2D and 3D array transfers.",
                    shown: Shown::Not(NODES_HERE),
                }],
                shape: Shape::Linear,
                experiments: with_arrays("2d", NODES_RING),
                baseline: "sendrecv",
                missing: Some(NAMESPACES),
            },
            Figure {
                title: "Figure 8: sections of 3-D arrays, one process a node",
                claims: vec![Claim {
                    says: "without shared memory MPI gains more than 60 % at medium sizes, ARMCI is as before, 3-D sections",
                    value: "60 %",
                    at: "section 3, Figures 7 and 8",
                    quote: "ARMCI performance is largely unaffected whereas MPI exhibits large increases in the data transfer bandwidth (>60%) in the intermediate data range, for both 2D and 3D array transfers.",
                    shown: Shown::Not(NODES_HERE),
                }],
                shape: Shape::Linear,
                experiments: with_arrays("3d", NODES_RING),
                baseline: "sendrecv",
                missing: Some(NAMESPACES),
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
                "Figure 10: update of ghost cells in 2 dimensions, one process a node",
                ("2", "16,64,256"),
                NODES_RING,
            ),
            ghosts(
                "Figure 10: update of ghost cells in 3 dimensions, one process a node",
                ("3", "16,32,64"),
                NODES_RING,
            ),
            ghosts(
                "Figure 10: update of ghost cells in 4 dimensions, one process a node",
                ("4", "16,24"),
                NODES_RING,
            ),
        ],
    }
}

fn pingpong(shape: &'static str) -> Vec<Experiment> {
    let sizes = "8,128,1K,8K,32K,128K,512K,2M,8M";
    let variants = |name: &str, variants: &[&str], model| experiment(name, shape, variants, sizes, PAIR, model);
    vec![
        variants("pingpong", &["sendrecv", "put", "get"], None),
        variants("pingpong-armci", &["armci-put", "armci-get"], Some(ARMCI)),
    ]
}

const RING_SIZES: &str = "128,1K,8K,32K,128K,512K,1M";

/// Which processes there are.
#[derive(Debug, Clone, Copy)]
struct Processes {
    count: u32,
    /// Each on one of so many nodes; 0: all on this machine.
    nodes: u32,
    /// Of experiments' names.
    suffix: &'static str,
    is_ring: bool,
}

const PAIR: Processes = Processes {
    count: 2,
    nodes: 0,
    suffix: "",
    is_ring: false,
};

/// As many as in the paper, which has two on each node.
const SIXTEEN: Processes = Processes {
    count: 16,
    nodes: 0,
    suffix: "",
    is_ring: true,
};

/// Two nodes with a process each.
const NODES_PAIR: Processes = Processes {
    count: 2,
    nodes: 2,
    suffix: "-nodes",
    is_ring: false,
};

/// A ring of nodes with a process each: the paper's were 16, of which each had processors of its own.
const NODES_RING: Processes = Processes {
    count: 4,
    nodes: 4,
    suffix: "-nodes",
    is_ring: true,
};

/// What differs there.
const NAMESPACES: &str = "Machines of their own: nodes are network namespaces of this machine, 2 or 4, over libfabric's tcp, and share its CPUs. Where the \
                          process is not root there are no numbers.";

fn ring(shape: &'static str, processes: Processes) -> Vec<Experiment> {
    let variants =
        |name: &str, variants: &[&str], model| experiment(name, shape, variants, RING_SIZES, processes, model);
    vec![
        variants("ring", &["sendrecv", "put", "get"], None),
        variants("ring-armci", &["armci-put", "armci-get"], Some(ARMCI)),
    ]
}

/// The ring of sections, by Global Arrays too.
fn with_arrays(shape: &'static str, processes: Processes) -> Vec<Experiment> {
    let mut all = ring(shape, processes);
    let variants = ["ga-put", "ga-get"];
    all.push(experiment("ring-ga", shape, &variants, RING_SIZES, processes, Some(GA)));
    all
}

/// `GA_Update_ghosts` beside `MPI_Sendrecv` with datatypes.
fn ghosts(title: &'static str, (dimensions, points): (&'static str, &str), processes: Processes) -> Figure {
    let of = |variant: &str, options: &[&str], model| Experiment {
        groups: Groups {
            heading: "way",
            field: "way",
            names: vec![variant.to_owned()],
        },
        rows: Rows {
            heading: "points",
            field: "size",
            label: |points| points.to_string(),
        },
        quantity: Quantity::Ghosts(dimensions.parse().unwrap_or(2)),
        runs: vec![Run {
            ranks: processes.count,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            cells: products(&[dimensions.to_owned()], &cells(&[], points)),
        }],
        seconds: 3.0,
        launches: 3,
        model,
        nodes: processes.nodes,
        ..by_size(
            &format!("rma-ghosts{}-{dimensions}-{variant}", processes.suffix),
            "update of ghost cells",
            "ga_ghosts",
        )
    };
    Figure {
        title,
        claims: vec![Claim {
            says: match dimensions {
                "2" => "GA_Update_ghosts is behind MPI_Sendrecv with datatypes in 2 dimensions",
                "3" => "GA_Update_ghosts is behind MPI_Sendrecv with datatypes in 3 dimensions",
                _ => "GA_Update_ghosts is behind MPI_Sendrecv with datatypes in 4 dimensions",
            },
            value: "",
            at: "section 3, Figures 9 and 10",
            quote: "Whether shared memory support is enabled or not, the GA implementation for updating ghost cells performs poorly compared to the message \
                    passing implementation across the entire range of data considered for this test.",
            shown: by(
                "ga",
                "sendrecv",
                (0, u64::MAX),
                Of::Mean,
                (Expects::Behind, Counts::Times),
                Otherwise::Since("an update of ghost cells is one copy of strided data by each process here"),
            ),
        }],
        shape: Shape::Linear,
        experiments: vec![of("sendrecv", &["--messages"], None), of("ga", &[], Some(GA))],
        baseline: "sendrecv",
        missing: (processes.nodes > 0).then_some(NAMESPACES),
    }
}

fn experiment(
    name: &str,
    shape: &'static str,
    variants: &[&str],
    sizes: &str,
    processes: Processes,
    model: Option<Model>,
) -> Experiment {
    let variants: Vec<String> = variants.iter().map(|variant| (*variant).to_owned()).collect();
    let mut options = vec!["--shape".to_owned(), shape.to_owned()];
    if processes.is_ring {
        options.push("--ring".to_owned());
    }
    let sizes: Vec<String> = crate::bench::size::list(sizes)
        .iter()
        .map(|size| size.0.to_string())
        .collect();
    Experiment {
        quantity: match (processes.is_ring, shape) {
            // A step moves two messages of each process: all of them in the paper's Figures 2 and 4, of one process in 5 to 8.
            (true, "2d" | "3d") => Quantity::Aggregate(2),
            (true, _) => Quantity::Aggregate(2 * processes.count),
            (false, _) => Quantity::Bandwidth,
        },
        rows: rows_of(shape),
        runs: vec![Run {
            ranks: processes.count,
            options,
            // By size: where the time is used up all ways end at the same size.
            cells: sizes
                .iter()
                .flat_map(|size| variants.iter().map(move |variant| format!("{variant}:{size}")))
                .collect(),
        }],
        groups: Groups {
            heading: "way",
            field: "way",
            names: variants,
        },
        seconds: 4.0,
        launches: 3,
        model,
        nodes: processes.nodes,
        ..by_size(
            &format!("rma-{name}{}-{shape}", processes.suffix),
            shape,
            "rma_sections",
        )
    }
}

/// By bytes, or by the linear dimension of a section, as in the paper.
fn rows_of(shape: &str) -> Rows {
    let (heading, label): (_, fn(u64) -> String) = match shape {
        "2d" => ("linear dimension", |bytes| {
            format!("{:.0}", (bytes as f64 / 8.0).sqrt())
        }),
        "3d" => ("linear dimension", |bytes| {
            format!("{:.0}", (bytes as f64 / 8.0).cbrt())
        }),
        _ => ("bytes", crate::show::bytes),
    };
    Rows {
        heading,
        field: "size",
        label,
    }
}

/// Why a gain by going without shared memory is not looked for.
const NODES_HERE: &str = "the paper compares runs with and without shared memory; nodes are namespaces of one machine here, and their network, over TCP, is \
                          slower than shared memory";
/// Why a put is not ahead of a message there.
const SERVED: &str =
    "libfabric's tcp has no remote memory access of its own: the target executes a put here as it does a message";

/// A figure of one process a node.
fn across_nodes(title: &'static str, claims: Vec<Claim>, (shape, processes): (&'static str, Processes)) -> Figure {
    let (name, sizes) = match processes.is_ring {
        false => ("pingpong", "8,128,1K,8K,32K,128K,512K,2M"),
        true => ("ring", "128,1K,8K,32K,128K,512K"),
    };
    let of = |name: &str, variants: &[&str], model| experiment(name, shape, variants, sizes, processes, model);
    Figure {
        title,
        claims,
        shape: Shape::Linear,
        experiments: vec![
            of(name, &["sendrecv", "put", "get"], None),
            of(&format!("{name}-armci"), &["armci-put", "armci-get"], Some(ARMCI)),
        ],
        baseline: "sendrecv",
        missing: Some(NAMESPACES),
    }
}
