//! Buntinas, Goglin, Goodell, Mercier, Moreaud: large messages within a node (bench/pingpong.c, collectives.c).

use super::cma::{NAS, missing};
use super::mechanisms::{CHOSEN, CMA_READ, RING, VMSPLICE, WRITEV, by_way, misses, nas};
use super::{Figure, Paper};
use crate::bench::quantity::Quantity;

const MODULE: &str = "KNEM and I/OAT: our module stands for them and runs in a virtual machine only (cargo xtask test --only kmod); CMA stands here \
                      for a kernel's single copy. Whether the two ranks share a cache is this machine's: there is one plot, not two.";

const SIMULATED: &str = "Counted by valgrind's cache simulator, each process with a cache of its own. It does not see what the kernel copies, so neither \
                         vmsplice nor CMA can be counted; a single copy in user space, between buffers from MPI_Alloc_mem, stands for theirs. IS is not \
                         counted. Where valgrind or its headers are missing there are no numbers, and the run says so.";

/// Figures 3 to 7 and the tables.
pub fn paper() -> Paper {
    let us = Quantity::Cost("us");
    let pingpong = |name, option, ways: &[_]| {
        by_way(
            name,
            "pingpong",
            Quantity::Bandwidth,
            ways,
            (2, option, "64K,128K,256K,512K,1M,2M,4M"),
        )
    };
    Paper {
        name: "nemesis",
        title: "D. Buntinas, B. Goglin, D. Goodell, G. Mercier, S. Moreaud: Cache-efficient, intranode, large-message MPI communication with \
                MPICH2-Nemesis (ICPP'09)",
        setting: "The paper measured two quad-core Xeon E5345, where pairs of cores share a cache of 4 MiB. Its default, double buffering through \
                  shared memory, is our ring; vmsplice and writev are the same here as there, in pieces of 64 KiB.",
        figures: vec![
            Figure {
                title: "Figure 3: vmsplice against writev, ping-pong",
                found: "vmsplice is up to twice as fast as writev: one copy instead of two.",
                experiments: vec![pingpong("nemesis-3", "", &[WRITEV, VMSPLICE])],
                baseline: "writev",
                missing: None,
            },
            Figure {
                title: "Figures 4 and 5: ping-pong by mechanism",
                found: "Without a shared cache vmsplice and KNEM beat double buffering at every size, KNEM by up to 3.5 times; with one, double \
                        buffering is close to KNEM and ahead of vmsplice up to 1 MiB.",
                experiments: vec![pingpong("nemesis-4", "", &[RING, VMSPLICE, CMA_READ, CHOSEN])],
                baseline: "ring",
                missing: Some(MODULE),
            },
            Figure {
                title: "The same with buffers that are rewritten and read each round",
                found: "Not in the paper, whose buffers are untouched.",
                experiments: vec![pingpong(
                    "nemesis-4-real",
                    "--real",
                    &[RING, VMSPLICE, CMA_READ, CHOSEN],
                )],
                baseline: "ring",
                missing: None,
            },
            missing(
                "Figure 6: synchronous and asynchronous copies of KNEM",
                "A kernel thread competes with the process that polls its status word, and halves the throughput; I/OAT does not, and wins from \
                 DMAmin = cache / (2 x sharers) on.",
                MODULE,
            ),
            Figure {
                title: "Figure 7: all-to-all on 8 ranks",
                found: "KNEM is up to 5 times as fast near 32 KiB and twice for very large messages; vmsplice gains less.",
                experiments: vec![by_way(
                    "nemesis-7",
                    "collectives",
                    us,
                    &[RING, VMSPLICE, CMA_READ, CHOSEN],
                    (8, "alltoall", "4K,32K,128K,512K"),
                )],
                baseline: "ring",
                missing: Some(MODULE),
            },
            Figure {
                title: "Table 1: NAS parallel benchmarks, classes S, W and A, on 2 ranks",
                found: "IS gains 25.8 % and FT 10.6 %; the others hardly change (class B on 4 and 8 ranks).",
                experiments: vec![nas("nemesis-nas", &[RING, VMSPLICE, CMA_READ, CHOSEN], "SWA", 3)],
                baseline: "ring",
                missing: Some(NAS),
            },
            Figure {
                title: "Table 2: cache misses, last level of 4 MiB, between 2 ranks",
                found: "Single copies miss less: 64 KiB all-to-all 2783 by default, 1266 with vmsplice, 582 with KNEM.",
                experiments: vec![misses("nemesis-misses", 2, "pingpong:65536,pingpong:4194304")],
                baseline: "ring",
                missing: Some(SIMULATED),
            },
            Figure {
                title: "Table 2, all-to-all on 4 ranks",
                found: "As above; there on 8 ranks.",
                experiments: vec![misses("nemesis-misses-4", 4, "alltoall:65536,alltoall:1048576")],
                baseline: "ring",
                missing: Some(SIMULATED),
            },
        ],
    }
}
