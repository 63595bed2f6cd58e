//! Vienne: Cross Memory Attach beside what MVAPICH2 had before (bench/pingpong.c, collectives.c, nas.c).

use super::claim::{Claim, Counts, Expects, Of, Otherwise, Shown, by};
use super::mechanisms::{
    CHOSEN, CMA_BOTH, CMA_PAIRWISE, CMA_READ, CMA_WRITE, DIRECT, KMOD, KMOD_PAIRWISE, LOOPBACK, LOOPBACK_ALWAYS, Nas,
    RING, RING_PAIRWISE, STAGED, and_module, by_variant, nas, nas_rows,
};
use super::{Figure, Paper, Shape};
use crate::bench::experiment::{Experiment, Variant};
use crate::bench::quantity::Quantity;

const US: Quantity = Quantity::Cost("us");
const K: u64 = 1 << 10;
const M: u64 = 1 << 20;
const ALL: (u64, u64) = (0, u64::MAX);

const NAS: &str = "The NAS implementation itself, whose licence keeps it out of here: bench/nas.c has four kernels of our own (FT, IS, CG, MG), from the \
                              specification, whose results are compared with the published ones; CG distributes rows only. isthmus bench --paper NAME --npb DIR \
                              takes the eight kernels of the NAS sources in DIR.";
const ORIGINAL: &str = "Class D, which takes 100 GiB and more.";
const MODULES: &str = "LiMIC and KNEM are kernel modules; ours stands for both, as the line kmod where /dev/isthmus is there, and runs in a virtual machine \
                       otherwise (cargo xtask test --only kmod; docs/numbers/mechanisms.md has its ratios to CMA).";
const SOCKETS: &str = "one run has one placement of ranks, and this machine may have one socket: isthmus bench --paper cma --placement sockets draws \
                       Figures 3 to 6 between two";

/// Figures 2 to 11 and Table 1.
pub fn paper(asked: Nas) -> Paper {
    let variants = and_module(&[RING, LOOPBACK, CMA_READ, CHOSEN], KMOD);
    let short = and_module(&[RING, LOOPBACK_ALWAYS, CMA_READ, CHOSEN], KMOD);
    Paper {
        name: "cma",
        title: "J. Vienne: Benefits of Cross Memory Attach for MPI libraries on HPC clusters (XSEDE'14)",
        setting: "The paper measured nodes of Stampede: two Sandy Bridge processors of 8 cores, and large memory nodes of four such processors, with \
                  MVAPICH2 1.9 and IMB. Here all ranks share this machine's CPUs; shared memory is the ring (two copies), loopback a TCP socket of \
                  this host rather than the network adapter, CMA process_vm_readv by the receiver. Messages up to 8 KiB go at once on every line, as \
                  there, but on loopback's in Figures 3 and 4: each is announced, through shared memory, before it goes through the socket.",
        figures: vec![
            figure(
                "Figure 2: process_vm_readv against process_vm_writev",
                throughput(
                    "cma-2",
                    &[CMA_READ, CMA_WRITE, CMA_BOTH],
                    "",
                    "16K,32K,64K,128K,512K,2M,4M",
                ),
                "cma_read",
                vec![Claim {
                    says: "reading is slightly better than writing",
                    value: "",
                    at: "section 2.3.3, Figure 2",
                    quote: "Using process_vm_readv, performance is slightly better, this is why both MPI implementations use this system call.",
                    shown: by(
                        "cma_read",
                        "cma_write",
                        ALL,
                        Of::Mean,
                        (Expects::Slightly, Counts::Times),
                        Otherwise::Since("the two calls differ by more on this kernel"),
                    ),
                }],
            ),
            figure(
                "Figure 3: throughput of ping-pong, small messages",
                throughput("cma-3", &short, "", "8,64,512,2K,8K"),
                "ring",
                vec![
                    Claim {
                        says: "shared memory, CMA and LiMIC do not differ, since all send small messages through shared memory",
                        value: "",
                        at: "section 3.2.1, Figure 3",
                        quote: "there is no difference between shared memory, CMA and LiMIC. Due to the overhead caused by the kernel level calls, MPI \
                                libraries don't use kernel assisted mechanisms for these message ranges.",
                        shown: by(
                            "cma_read",
                            "ring",
                            ALL,
                            Of::Mean,
                            (Expects::Alike, Counts::Times),
                            Otherwise::Since("launches differ by that much"),
                        ),
                    },
                    Claim {
                        says: "loopback performs poorly",
                        value: "",
                        at: "section 3.2.1, Figure 3",
                        quote: "loopback performs poorly compared to the other mechanisms",
                        shown: by(
                            "loopback",
                            "ring",
                            ALL,
                            Of::Mean,
                            (Expects::Behind, Counts::Times),
                            Otherwise::Since("a socket costs little beside the rest of a message"),
                        ),
                    },
                ],
            ),
            figure(
                "Figure 4: time of ping-pong up to 8 KiB",
                by_variant("cma-4", "pingpong", US, &short, (2, "", "8,1K,2K,4K,8K")),
                "ring",
                vec![Claim {
                    says: "LiMIC is slower than CMA by 0.11 us",
                    value: "0.11 us",
                    at: "section 3.2.1, Figure 4",
                    quote: "LiMIC is always 0.11 microseconds slower than CMA for this range of messages",
                    shown: Shown::Not(
                        "no kernel module takes part in messages up to the eager limit here, so that both are the same",
                    ),
                }],
            ),
            figure(
                "Figure 5: throughput of ping-pong, medium messages",
                throughput("cma-5", &variants, "", "8K,16K,32K,64K"),
                "ring",
                vec![
                    Claim {
                        says: "CMA is two times shared memory after 8 KiB",
                        value: "2 times",
                        at: "section 3.2.1, Figure 5",
                        quote: "After 8 KBytes, the performance of both kernel approaches steeply increase up to the point where they provide a throughput two \
                                times larger than shared memory and four times larger than loopback.",
                        shown: by(
                            "cma_read",
                            "ring",
                            (16 * K, 64 * K),
                            Of::Most,
                            (Expects::Factor(2.0), Counts::Times),
                            Otherwise::KernelCopy,
                        ),
                    },
                    Claim {
                        says: "CMA is four times loopback after 8 KiB",
                        value: "4 times",
                        at: "section 3.2.1, Figure 5; abstract",
                        quote: "Micro-benchmark level evaluations show that CMA can enhance the performance by as much as a factor of four.",
                        shown: by(
                            "cma_read",
                            "loopback",
                            (16 * K, 64 * K),
                            Of::Most,
                            (Expects::Factor(4.0), Counts::Times),
                            Otherwise::KernelCopy,
                        ),
                    },
                ],
            ),
            figure(
                "Figure 6: throughput of ping-pong, large messages",
                throughput("cma-6", &variants, "", "128K,256K,512K,1M,2M,4M"),
                "ring",
                vec![
                    Claim {
                        says: "CMA is ahead of shared memory above 32 KiB",
                        value: "",
                        at: "sections 3.2.1 and 4, Figure 6",
                        quote: "Our evaluation showed that CMA outperforms shared memory for messages higher than 32 KB which corresponds to the rendezvous \
                                protocol message range.",
                        shown: by(
                            "cma_read",
                            "ring",
                            (64 * K, 4 * M),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::KernelCopy,
                        ),
                    },
                    Claim {
                        says: "shared memory is ahead of loopback",
                        value: "",
                        at: "section 3.2.1, Figure 6",
                        quote: "Here again, shared memory performs better than loopback.",
                        shown: by(
                            "ring",
                            "loopback",
                            (64 * K, 4 * M),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::Since("loopback here is no network adapter"),
                        ),
                    },
                ],
            ),
            figure(
                "The same with buffers that are rewritten and read each round",
                throughput("cma-6-real", &variants, "--real", "32K,128K,512K,1M,4M"),
                "ring",
                vec![],
            ),
            Figure {
                experiments: vec![],
                missing: Some(
                    "Two placements in one run, and a node with slower memory; --placement and --cpus say which CPUs the ranks of a run have.",
                ),
                ..figure(
                    "Figures 7 and 8: throughput of ping-pong between two sockets",
                    throughput("cma-7", &variants, "", "8K"),
                    "ring",
                    vec![
                        Claim {
                            says: "CMA hardly depends on the placement of ranks",
                            value: "",
                            at: "sections 3.2.2 and 4, Figure 7",
                            quote: "We saw also that CMA performance does not depend on process placement like shared memory.",
                            shown: Shown::Not(SOCKETS),
                        },
                        Claim {
                            says: "between sockets loopback is sometimes ahead of shared memory",
                            value: "",
                            at: "section 3.2.2, Figures 7 and 8",
                            quote: "Surprisingly, we see that loopback performs sometimes better than shared memory.",
                            shown: Shown::Not(SOCKETS),
                        },
                    ],
                )
            },
            collective(
                "Figure 9: scatter on 32 ranks",
                "scatter",
                vec![Claim {
                    says: "Scatter_Direct with CMA is up to 4 times as fast as shared memory",
                    value: "4 times",
                    at: "section 3.3.1, Figure 9",
                    quote: "It is also up to 4 times faster than shared memory for this operation.",
                    shown: by(
                        "cma_read",
                        "shared memory",
                        ALL,
                        Of::Most,
                        (Expects::Factor(4.0), Counts::Times),
                        Otherwise::KernelCopy,
                    ),
                }],
            ),
            collective(
                "Figure 10: gather on 32 ranks",
                "gather",
                vec![Claim {
                    says: "Gather_Direct with CMA takes 60 to 84 % less time",
                    value: "60 to 84 %",
                    at: "section 3.3.2, Figure 10",
                    quote: "CMA reduce the time from 60-84% compared to shared memory.",
                    shown: by(
                        "cma_read",
                        "shared memory",
                        ALL,
                        Of::Mean,
                        // The middle of the two, as all sizes are compared.
                        (Expects::Factor(1.0 / (1.0 - 0.72)), Counts::LessTime),
                        Otherwise::KernelCopy,
                    ),
                }],
            ),
            Figure {
                experiments: vec![by_variant(
                    "cma-alltoall",
                    "collectives",
                    US,
                    &and_module(&[RING_PAIRWISE, CMA_PAIRWISE, CHOSEN], KMOD_PAIRWISE),
                    (32, "alltoall", collective_sizes()),
                )],
                baseline: "ring",
                ..collective(
                    "Figure 11: all-to-all on 32 ranks, pairwise exchange",
                    "alltoall",
                    vec![Claim {
                        says: "CMA is ahead of shared memory for large messages",
                        value: "",
                        at: "section 3.3.3, Figure 11",
                        quote: "Here again, CMA outperforms shared memory for large messages.",
                        shown: by(
                            "cma_read",
                            "ring",
                            (64 * K, 4 * M),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::KernelCopy,
                        ),
                    }],
                )
            },
            Figure {
                title: "Table 1: NAS parallel benchmarks (there classes C and D on 32 ranks)",
                claims: vec![
                    nas_claim(
                        "FT gains 24.75 % (class C)",
                        "24.75 %",
                        "FT C: 16.04, 12.07, +24.75%",
                        0,
                        16.04 / 12.07,
                    ),
                    nas_claim(
                        "IS gains 24.08 % (class C)",
                        "24.08 %",
                        "IS C: 1.37, 1.04, +24.08%",
                        1,
                        1.37 / 1.04,
                    ),
                    nas_claim(
                        "CG gains 6.12 % (class C)",
                        "6.12 %",
                        "CG C: 10.29, 9.66, +6.12%",
                        2,
                        10.29 / 9.66,
                    ),
                    Claim {
                        says: "FT gains 20.91 % (class D)",
                        value: "20.91 %",
                        at: "section 3.4, Table 1",
                        quote: "FT D: 365.84, 289.32, +20.91%",
                        shown: Shown::Not("class D takes 100 GiB and more"),
                    },
                    Claim {
                        says: "IS gains 19.8 % (class D)",
                        value: "19.8 %",
                        at: "section 3.4, Table 1",
                        quote: "IS D: 26.1, 20.92, +19.8%",
                        shown: Shown::Not("class D takes 100 GiB and more"),
                    },
                    Claim {
                        says: "EP gains nothing",
                        value: "0 %",
                        at: "section 3.4, Table 1",
                        quote: "EP C: 3.89, 3.88, +0%",
                        shown: match asked.is_original {
                            true => by(
                                "cma_read",
                                "ring",
                                nas_rows(4),
                                Of::Mean,
                                (Expects::Factor(1.0), Counts::LessTime),
                                Otherwise::Since("launches differ by that much"),
                            ),
                            false => Shown::Not("EP is not among bench/nas.c's kernels; --npb DIR has it"),
                        },
                    },
                ],
                experiments: vec![nas(
                    "cma-nas",
                    &and_module(&[RING_PAIRWISE, CMA_PAIRWISE, CHOSEN], KMOD_PAIRWISE),
                    4,
                    asked,
                )],
                baseline: "ring",
                missing: Some(missing_of_nas(asked)),
                shape: Shape::Table,
            },
        ],
    }
}

/// Parts of the NAS benchmarks that are missing.
pub(super) const fn missing_of_nas(asked: Nas) -> &'static str {
    if asked.is_original { ORIGINAL } else { NAS }
}

/// Of this kernel, in class A and above here.
fn nas_claim(says: &'static str, value: &'static str, quote: &'static str, kernel: usize, paper: f64) -> Claim {
    Claim {
        says,
        value,
        at: "section 3.4, Table 1",
        quote,
        shown: by(
            "cma_read",
            "ring",
            nas_rows(kernel),
            Of::Mean,
            (Expects::Factor(paper), Counts::LessTime),
            Otherwise::KernelCopy,
        ),
    }
}

fn throughput(name: &str, variants: &[Variant], option: &str, sizes: &str) -> Experiment {
    by_variant(name, "pingpong", Quantity::Bandwidth, variants, (2, option, sizes))
}

fn figure(title: &'static str, experiment: Experiment, baseline: &'static str, claims: Vec<Claim>) -> Figure {
    Figure {
        title,
        claims,
        experiments: vec![experiment],
        baseline,
        missing: Some(MODULES),
        shape: Shape::Linear,
    }
}

/// The paper's, of which the longest take 8 GiB on 32 ranks.
fn collective_sizes() -> &'static str {
    match isthmus_os::memory::available() > 12 << 30 {
        true => "16K,64K,256K,1M,4M",
        false => "16K,64K,256K,1M",
    }
}

fn collective(title: &'static str, name: &str, claims: Vec<Claim>) -> Figure {
    let experiment = by_variant(
        &format!("cma-{name}"),
        "collectives",
        US,
        &[STAGED, DIRECT, CHOSEN],
        (32, name, collective_sizes()),
    );
    Figure {
        shape: Shape::Logarithmic,
        ..figure(title, experiment, "shared memory", claims)
    }
}
