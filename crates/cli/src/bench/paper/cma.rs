//! Vienne: Cross Memory Attach beside what MVAPICH2 had before (bench/pingpong.c, bandwidth.c, collectives.c).

use super::mechanisms::{CHOSEN, CMA_BOTH, CMA_READ, CMA_WRITE, LOOPBACK, RING, by_way, nas};
use super::{Figure, Paper};
use crate::bench::experiment::{Experiment, Way};
use crate::bench::quantity::Quantity;

const US: Quantity = Quantity::Cost("us");
pub(super) const NAS: &str = "The NAS implementation itself: bench/nas.c has kernels of our own, from the specification, whose results are compared with the \
                              published ones; CG distributes rows only. The paper had classes C and D on 64 and more ranks, and repeats only the gains.";
const MODULES: &str = "LiMIC and KNEM are kernel modules; ours runs in a virtual machine only (cargo xtask test --only kmod), and its ratios to CMA \
                       there are in docs/numbers/mechanisms.md.";

/// Figures 2 to 11 and Table 1.
pub fn paper() -> Paper {
    let ways = [RING, LOOPBACK, CMA_READ, CHOSEN];
    Paper {
        name: "cma",
        title: "J. Vienne: Benefits of Cross Memory Attach for MPI libraries on HPC clusters (XSEDE'14)",
        setting: "The paper measured nodes of Stampede: two Sandy Bridge processors of 8 cores, MVAPICH2, IMB. Here all ranks share this machine's \
                  CPUs; shared memory is the ring, loopback a TCP socket of this host rather than the network adapter, CMA process_vm_readv by the \
                  receiver.",
        figures: vec![
            figure(
                "Figure 2: process_vm_readv against process_vm_writev",
                "Reading and writing take the same time; the library uses the read.",
                pingpong("cma-2", &[CMA_READ, CMA_WRITE, CMA_BOTH], "", "8K,32K,128K,512K,2M,4M"),
                "cma_read",
            ),
            figure(
                "Figures 3 to 5: latency of ping-pong, small to large",
                "Up to 8 KiB all but loopback are the same, since they are sent eagerly through shared memory; beyond, single copies win, and \
                 CMA is as good as the modules from 32 KiB on.",
                pingpong("cma-3", &ways, "", "8,1K,8K,32K,128K,512K,1M,4M"),
                "ring",
            ),
            figure(
                "The same with buffers that are rewritten and read each round",
                "Not in the paper, whose buffers are untouched.",
                pingpong("cma-3-real", &ways, "--real", "8K,32K,128K,512K,1M,4M"),
                "ring",
            ),
            figure(
                "Figures 6 to 8: bandwidth, small to large",
                "CMA gives up to 1.5 times the bandwidth of shared memory for large messages.",
                by_way(
                    "cma-6",
                    "bandwidth",
                    Quantity::Bandwidth,
                    &ways,
                    (2, "", "8,1K,8K,32K,128K,512K,1M,4M"),
                ),
                "ring",
            ),
            collective(
                "Figure 9: scatter on 32 ranks",
                "scatter",
                "Scatter_Direct with CMA is up to 4 times as fast as shared memory.",
            ),
            collective(
                "Figure 10: gather on 32 ranks",
                "gather",
                "Gather_Direct with CMA takes 60 to 84 % less time.",
            ),
            collective(
                "Figure 11: all-to-all on 32 ranks",
                "alltoall",
                "Pairwise exchange with CMA is up to twice as fast.",
            ),
            Figure {
                title: "Table 1: NAS parallel benchmarks, classes S, W and A, on 2 ranks",
                found: "With CMA, FT (class D) takes 24.75 % less time and IS 24.08 %; CG and MG gain little.",
                experiments: vec![nas("cma-nas", &[RING, CMA_READ, CHOSEN], "SWA", 3)],
                baseline: "ring",
                missing: Some(NAS),
            },
            Figure {
                title: "The same, class B",
                found: "Not in the paper, which has classes C and D.",
                experiments: vec![nas("cma-nas-b", &[RING, CMA_READ, CHOSEN], "B", 1)],
                baseline: "ring",
                missing: Some(NAS),
            },
        ],
    }
}

fn pingpong(name: &str, ways: &[Way], option: &str, sizes: &str) -> Experiment {
    by_way(name, "pingpong", US, ways, (2, option, sizes))
}

fn figure(title: &'static str, found: &'static str, experiment: Experiment, baseline: &'static str) -> Figure {
    Figure {
        title,
        found,
        experiments: vec![experiment],
        baseline,
        missing: Some(MODULES),
    }
}

fn collective(title: &'static str, name: &str, found: &'static str) -> Figure {
    let ways = [RING, CMA_READ, CHOSEN];
    let experiment = by_way(
        &format!("cma-{name}"),
        "collectives",
        US,
        &ways,
        (32, name, "4K,16K,64K,256K"),
    );
    figure(title, found, experiment, "ring")
}

/// What is not measured, and why.
pub(super) fn missing(title: &'static str, found: &'static str, why: &'static str) -> Figure {
    Figure {
        title,
        found,
        experiments: vec![],
        baseline: "",
        missing: Some(why),
    }
}
