//! Mietke and others, SHIBA: MPICH2 with shared memory within nodes and InfiniBand between them (bench/exchange.c, collectives.c, wavefront.c).

use super::mechanisms::by_way;
use super::{Figure, Paper};
use crate::bench::experiment::{Experiment, Way};
use crate::bench::quantity::Quantity;

const fn way(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> Way {
    Way { name, environment }
}

/// Long messages within a node go through the ring in records, as they do there.
const RING: (&str, &str) = ("ISTHMUS_MECHANISM", "ring");

const SINGLE: Way = way("single", &[RING, ("ISTHMUS_READING", "single")]);
const CONTIGUOUS: Way = way("contiguous", &[RING, ("ISTHMUS_READING", "contiguous")]);
const PROGRESS_POST: Way = way("progress-post", &[RING, ("ISTHMUS_READING", "progress_post")]);
const IMMEDIATE: Way = way("immediate", &[RING, ("ISTHMUS_READING", "immediate")]);

const SWITCH_8K: Way = way("rendezvous from 8 KiB on", &[("ISTHMUS_EAGER_LIMIT", "8192")]);
const SWITCH_256K: Way = way("rendezvous from 256 KiB on", &[("ISTHMUS_EAGER_LIMIT", "262144")]);
const SWITCH_CHOSEN: Way = way("by cost", &[]);

const ADAPTIVE: Way = way("adaptive", &[("ISTHMUS_PROGRESS_ENGINE", "adaptive")]);
const TOGGLE: Way = way("toggle", &[("ISTHMUS_PROGRESS_ENGINE", "toggle")]);
const ALWAYS: Way = way("always", &[("ISTHMUS_PROGRESS_ENGINE", "always")]);

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
                found: "Shared memory has the lower latency and up to the size of the caches more bandwidth; on the Xeons, with one memory controller \
                        for both processors, the network catches up from 512 KiB on.",
                experiments: vec![
                    sendrecv("shiba-3-node", &[SWITCH_8K_NODE], 0),
                    sendrecv("shiba-3-network", &[SWITCH_8K_NETWORK], 2),
                ],
                baseline: "network",
                missing: None,
            },
            Figure {
                title: "Section 3: MPI_Sendrecv within a node by reading scheme",
                found: "Reading one packet per look lets a window of one packet arise between writer and reader; contiguous, progress-post and immediate \
                        read go on with the message's packets, at the next look or at once.",
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
                found: "A switch of its own for shared memory, at 256 KiB instead of 8 KiB, gives more bandwidth between the two.",
                experiments: vec![sendrecv("shiba-5", &[SWITCH_8K, SWITCH_256K, SWITCH_CHOSEN], 0)],
                baseline: "rendezvous from 8 KiB on",
                missing: None,
            },
            Figure {
                title: "Figure 6: MPI_Bcast on 2 nodes by progress engine",
                found: "Toggle is a little faster than adaptive for long messages, since it calculates less.",
                experiments: vec![bcast("shiba-6", "")],
                baseline: "toggle",
                missing: None,
            },
            Figure {
                title: "The same with links that delay by 200 us and carry 1 Gbit/s",
                found: "Not in the paper.",
                experiments: vec![bcast("shiba-6-slow", "delay 200us rate 1gbit")],
                baseline: "toggle",
                missing: Some("Where tc(8) or the kernel's netem is missing there are no numbers."),
            },
            Figure {
                title: "Figure 7: LU on 2 nodes by progress engine",
                found: "Almost no effect of shared memory on the Xeons, a little gain on the Opterons: LU sends many small messages and some beyond 256 KiB.",
                experiments: vec![Experiment {
                    nodes: 2,
                    ..by_way(
                        "shiba-7",
                        "wavefront",
                        Quantity::Cost("us"),
                        &[ADAPTIVE, TOGGLE, ALWAYS],
                        (4, "", "16,32,64"),
                    )
                }],
                baseline: "toggle",
                missing: Some(
                    "NAS LU itself, whose licence keeps it out of here: a wavefront solver with its pattern of messages stands for it; and more than 2 \
                     nodes of 2 ranks.",
                ),
            },
        ],
    }
}

const SWITCH_8K_NODE: Way = way("shared memory", &[("ISTHMUS_EAGER_LIMIT", "8192")]);
const SWITCH_8K_NETWORK: Way = way("network", &[("ISTHMUS_EAGER_LIMIT", "8192")]);

/// Exchange of two ranks by `MPI_Sendrecv`.
fn sendrecv(name: &str, ways: &[Way], nodes: u32) -> Experiment {
    Experiment {
        nodes,
        ..by_way(name, "exchange", Quantity::Cost("us"), ways, (2, "", SIZES))
    }
}

fn bcast(name: &str, links: &'static str) -> Experiment {
    Experiment {
        nodes: 2,
        links,
        ..by_way(
            name,
            "collectives",
            Quantity::Cost("us"),
            &[ADAPTIVE, TOGGLE, ALWAYS],
            (4, "bcast", SIZES),
        )
    }
}
