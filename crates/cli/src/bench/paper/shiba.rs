//! Mietke and others, SHIBA: MPICH2 with shared memory within nodes and InfiniBand between them (bench/exchange.c, collectives.c, wavefront.c).

use super::claim::{Claim, Counts, Expects, Of, Otherwise, Shown, by};
use super::mechanisms::by_variant;
use super::{Figure, Paper, Shape};
use crate::bench::carried::Carried;
use crate::bench::experiment::{Experiment, Rows, Variant};
use crate::bench::quantity::Quantity;

/// A line within a node; `eager`: the limit that it sets.
const fn variant(
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
    carried: Carried,
) -> Variant {
    Variant {
        name,
        environment,
        carried,
    }
}

/// Records in a ring, sent at once or streamed.
const IN_RING: Carried = Carried {
    eager: 0,
    by: &["eager_bytes", "ring_bytes"],
};
/// Whatever rendezvous takes beyond this limit.
const fn announced(eager: u64) -> Carried {
    Carried {
        eager,
        by: &["ring_bytes", "cma_bytes", "kmod_bytes", "mapped_bytes"],
    }
}

/// Long messages within a node go through the ring in records, as they do there.
const RING: (&str, &str) = ("ISTHMUS_MECHANISM", "ring");

const SINGLE: Variant = variant("single", &[RING, ("ISTHMUS_READING", "single")], IN_RING);
const CONTIGUOUS: Variant = variant("contiguous", &[RING, ("ISTHMUS_READING", "contiguous")], IN_RING);
const PROGRESS_POST: Variant = variant("progress-post", &[RING, ("ISTHMUS_READING", "progress_post")], IN_RING);
const IMMEDIATE: Variant = variant("immediate", &[RING, ("ISTHMUS_READING", "immediate")], IN_RING);

const SWITCH_8K: Variant = variant(
    "rendezvous from 8 KiB on",
    &[("ISTHMUS_EAGER_LIMIT", "8192")],
    announced(8192),
);
const SWITCH_256K: Variant = variant(
    "rendezvous from 256 KiB on",
    &[("ISTHMUS_EAGER_LIMIT", "262144")],
    announced(262_144),
);
const SWITCH_CHOSEN: Variant = variant("by cost", &[], Carried::ANYHOW);

const ADAPTIVE: Variant = variant("adaptive", &[("ISTHMUS_PROGRESS_ENGINE", "adaptive")], Carried::ANYHOW);
const TOGGLE: Variant = variant("toggle", &[("ISTHMUS_PROGRESS_ENGINE", "toggle")], Carried::ANYHOW);
const ALWAYS: Variant = variant("always", &[("ISTHMUS_PROGRESS_ENGINE", "always")], Carried::ANYHOW);

const SIZES: &str = "8,512,4K,16K,64K,256K,512K,1M";

/// Figures 3 to 7.
pub fn paper() -> Paper {
    Paper {
        name: "shiba",
        title: "F. Mietke, M. Steiger, T. Mehlan, T. Höfler, W. Rehm: SHIBA, shared memory support for the InfiniBand MPICH2 device",
        setting: "The paper measured 32 nodes of two Opterons and of two Xeons, joined by InfiniBand. Here nodes are two network namespaces of this \
                  machine, each with IPC, PID and mount namespaces of its own, joined by a bridge: libfabric's tcp stands for InfiniBand, and all \
                  ranks share the machine's CPUs.",
        figures: vec![
            Figure {
                title: "Figures 3 and 4: MPI_Sendrecv between nodes and within one",
                claims: vec![Claim {
                    says: "shared memory is ahead of the network up to 512 KiB",
                    value: "",
                    at: "section 4.2, Figures 3 and 4",
                    quote: "Despite this the bandwidth and latency numbers of the shared memory communication are much better than the one of PCI-X InfiniBand except for packets bigger than 512 Kilobyte on the Xeon architecture.",
                    shown: by(
                        "shared memory",
                        "network",
                        (0, u64::MAX),
                        Of::Mean,
                        (Expects::Ahead, Counts::Times),
                        Otherwise::Since("the network is a bridge of this machine"),
                    ),
                }],
                shape: Shape::Logarithmic,
                experiments: vec![
                    sendrecv("shiba-3-node", &[SWITCH_8K_NODE], 0),
                    sendrecv("shiba-3-network", &[SWITCH_8K_NETWORK], 2),
                ],
                baseline: "network",
                missing: None,
            },
            Figure {
                title: "Section 3: MPI_Sendrecv within a node by reading scheme",
                claims: vec![Claim {
                    says: "reading on at once is faster than one packet a look",
                    value: "",
                    at: "section 3",
                    quote: "Therefore a one-shmem-packet-window can arise, i.e. the reader reads and releases one shmem packet and the writer fills this packet again and waits for the next available shmem packet.",
                    shown: by(
                        "immediate",
                        "single",
                        (16 << 10, u64::MAX),
                        Of::Mean,
                        (Expects::Ahead, Counts::Times),
                        Otherwise::Since("a ring of records holds more than a packet here"),
                    ),
                }],
                shape: Shape::Linear,
                experiments: vec![sendrecv(
                    "shiba-reading",
                    &[SINGLE, CONTIGUOUS, PROGRESS_POST, IMMEDIATE],
                    0,
                )],
                baseline: "single",
                missing: None,
            },
            Figure {
                title: "Figure 5: MPI_Sendrecv within a node by the switch from eager to rendezvous",
                claims: vec![Claim {
                    says: "a later switch for shared memory is better",
                    value: "",
                    at: "section 4.2, Figure 5",
                    quote: "One can see in diagram 5 that a better performance is achieved with a different handling of the protocol change for shared memory.",
                    shown: by(
                        "rendezvous from 256 KiB on",
                        "rendezvous from 8 KiB on",
                        (16 << 10, 256 << 10),
                        Of::Mean,
                        (Expects::Ahead, Counts::Times),
                        Otherwise::Since("rendezvous takes one copy less here"),
                    ),
                }],
                shape: Shape::Linear,
                experiments: vec![sendrecv("shiba-5", &[SWITCH_8K, SWITCH_256K, SWITCH_CHOSEN], 0)],
                baseline: "rendezvous from 8 KiB on",
                missing: None,
            },
            Figure {
                title: "Figure 6: MPI_Bcast on 2 nodes by progress engine",
                claims: vec![Claim {
                    says: "toggle is ahead of adaptive for long messages",
                    value: "",
                    at: "section 4.2, Figure 6",
                    quote: "For bigger packet sizes the toggle progress shows a better performance than the adaptive progress.",
                    shown: by(
                        "toggle",
                        "adaptive",
                        (64 << 10, u64::MAX),
                        Of::Mean,
                        (Expects::Ahead, Counts::Times),
                        Otherwise::Since(
                            "the calculation that adaptive progress makes is small beside a call of the network",
                        ),
                    ),
                }],
                shape: Shape::Logarithmic,
                experiments: vec![bcast("shiba-6", "")],
                baseline: "toggle",
                missing: None,
            },
            Figure {
                title: "The same with links that delay by 200 us and carry 1 Gbit/s",
                claims: vec![],
                shape: Shape::Logarithmic,
                experiments: vec![bcast("shiba-6-slow", "delay 200us rate 1gbit")],
                baseline: "toggle",
                missing: Some("Where tc(8) or the kernel's netem is missing there are no numbers."),
            },
            Figure {
                title: "Figure 7: LU with and without shared memory",
                claims: vec![
                    Claim {
                        says: "shared memory gains a little on the Opterons",
                        value: "",
                        at: "section 4.3, Figure 7",
                        quote: "While there are almost no effects on the Xeon cluster using the shared memory approach, a little performance gain can be \
                                achieved on the Opteron architecture.",
                        shown: by(
                            "2 nodes of 2 ranks",
                            "4 nodes of 1 rank",
                            (0, u64::MAX),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("all nodes are on one machine, whose network is a bridge in memory"),
                        ),
                    },
                    Claim {
                        says: "and has almost no effect on the Xeons",
                        value: "",
                        at: "section 4.3, Figure 7",
                        quote: "While there are almost no effects on the Xeon cluster using the shared memory approach, a little performance gain can be \
                                achieved on the Opteron architecture.",
                        shown: Shown::Not("one machine cannot show two architectures"),
                    },
                ],
                shape: Shape::Logarithmic,
                experiments: vec![lu("shiba-7-network", &[APART], 4), lu("shiba-7-shared", &[TOGETHER], 2)],
                baseline: "4 nodes of 1 rank",
                missing: Some(LU),
            },
            Figure {
                title: "Figure 7's program on 2 nodes by progress engine",
                claims: vec![],
                shape: Shape::Logarithmic,
                experiments: vec![lu("shiba-7", &[ADAPTIVE, TOGGLE, ALWAYS], 2)],
                baseline: "toggle",
                missing: Some(LU),
            },
        ],
    }
}

const SWITCH_8K_NODE: Variant = variant("shared memory", &[("ISTHMUS_EAGER_LIMIT", "8192")], announced(8192));
const SWITCH_8K_NETWORK: Variant = variant("network", &[("ISTHMUS_EAGER_LIMIT", "8192")], Carried::ANYHOW);

/// Exchange of two ranks by `MPI_Sendrecv`.
fn sendrecv(name: &str, variants: &[Variant], nodes: u32) -> Experiment {
    Experiment {
        nodes,
        ..by_variant(name, "exchange", Quantity::Bandwidth, variants, (2, "", SIZES))
    }
}

const LU: &str = "NAS LU itself, whose licence keeps it out of here: a wavefront solver with its pattern of messages stands for it; more than 4 nodes; and the other \
                  MPI libraries of that time.";
const APART: Variant = variant("4 nodes of 1 rank", &[], Carried::ANYHOW);
const TOGETHER: Variant = variant("2 nodes of 2 ranks", &[], Carried::ANYHOW);

/// The wavefront solver on 4 ranks, on so many nodes.
fn lu(name: &str, variants: &[Variant], nodes: u32) -> Experiment {
    Experiment {
        nodes,
        rows: Rows {
            heading: "points along an edge",
            field: "size",
            label: |points| points.to_string(),
        },
        ..by_variant(name, "wavefront", Quantity::Cost("us"), variants, (4, "", "16,32,64"))
    }
}

fn bcast(name: &str, links: &'static str) -> Experiment {
    Experiment {
        nodes: 2,
        links,
        ..by_variant(
            name,
            "collectives",
            Quantity::Cost("us"),
            &[ADAPTIVE, TOGGLE, ALWAYS],
            (4, "bcast", SIZES),
        )
    }
}
