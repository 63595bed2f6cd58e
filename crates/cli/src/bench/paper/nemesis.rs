//! Buntinas, Goglin, Goodell, Mercier, Moreaud: large messages within a node (bench/pingpong.c, collectives.c, nas.c, misses.c).

use super::claim::{Claim, Compared, Counts, Expects, Of, Otherwise, Shown, by};
use super::cma::missing_of_nas;
use super::mechanisms::{
    CHOSEN, CMA_PAIRWISE, CMA_READ, KMOD, KMOD_DMA, KMOD_PAIRWISE, KMOD_THREAD, Nas, RING, RING_PAIRWISE, SORTING,
    VMSPLICE, VMSPLICE_PAIRWISE, WRITEV, and_module, by_variant, hardware_misses, has_module, misses, misses_row, nas,
    nas_of, nas_rows,
};
use super::{Figure, Paper, Shape};
use crate::bench::npb;
use crate::bench::quantity::Quantity;

const K: u64 = 1 << 10;
const M: u64 = 1 << 20;
/// Of Figure 7 and the tables.
const RANKS: u32 = 8;

const MODULE: &str = "KNEM and I/OAT: our module stands for them, as the line kmod where /dev/isthmus is there, and in a virtual machine otherwise (cargo \
                      xtask test --only kmod); CMA stands here for a kernel's single copy. Whether the two ranks share a cache is this machine's: there \
                      is one plot, not two.";
const SIMULATED: &str = "Counted by valgrind's cache simulator, each process with a cache of its own of 4 MiB. It does not see what the kernel copies: a single \
                         copy in user space, between buffers from MPI_Alloc_mem, stands for vmsplice's and KNEM's, and CMA, whose copies it does not see, \
                         for a copy engine's, which no cache sees. Lines that another process has taken are not simulated.";
const OWN_CACHES: Otherwise = Otherwise::Since(
    "each process is simulated with a cache of its own, from which no other process takes lines: what fits is missed nowhere, and both sides' buffers \
     never share one cache",
);
const NO_MODULE: &str = "the kernel module is not loaded here; a page made in its virtual machine has the lines (cargo xtask test --only kmod; \
                         docs/numbers/mechanisms.md has the numbers)";
const ENGINE: &str = "copies by a DMA engine of the machine's: where it has none the module's software channel stands for one, which copies by a thread \
                      of the kernel, too. The engine's copies are never waited for in the call, so the paper's synchronous line with I/OAT is not there.";
const DMA: &str = "no copy engine (I/OAT, DSA)";

/// Figures 3 to 7 and the tables.
pub fn paper(asked: Nas) -> Paper {
    let pingpong = |name, option, variants: &[_]| {
        by_variant(
            name,
            "pingpong",
            Quantity::Bandwidth,
            variants,
            (2, option, "64K,128K,256K,512K,1M,2M,4M"),
        )
    };
    let all = and_module(&[RING, VMSPLICE, CMA_READ, CHOSEN], KMOD);
    let pairwise = and_module(&[RING_PAIRWISE, VMSPLICE_PAIRWISE, CMA_PAIRWISE, CHOSEN], KMOD_PAIRWISE);
    // On 8 ranks BT and SP do not run.
    let on_four = Nas {
        ranks: Some(asked.ranks.unwrap_or(4)),
        ..asked
    };
    let on_four_ranks = nas_of(nas("nemesis-nas-4", &pairwise, 4, on_four), &["bt", "ep", "sp"]);
    let has_cells = on_four_ranks.runs.iter().any(|run| !run.cells.is_empty());
    let on_four_ranks: Vec<_> = has_cells.then_some(on_four_ranks).into_iter().collect();
    Paper {
        name: "nemesis",
        title: "D. Buntinas, B. Goglin, D. Goodell, G. Mercier, S. Moreaud: Cache-efficient, intranode, large-message MPI communication with \
                MPICH2-Nemesis (ICPP'09)",
        setting: "The paper measured two quad-core Xeon E5345, where pairs of cores share a cache of 4 MiB. Its default, double buffering through \
                  shared memory, is our ring; vmsplice and writev are the same here as there, in pieces of 64 KiB.",
        figures: vec![
            Figure {
                title: "Figure 3: vmsplice against writev, ping-pong",
                claims: vec![Claim {
                    says: "vmsplice is up to twice as fast as writev",
                    value: "2 times",
                    at: "section 4.1, Figure 3",
                    quote: "removing the copy on the send side by using vmsplice instead of writenv dramatically increases performance, up to a factor of 2 here",
                    shown: by(
                        "vmsplice",
                        "writev",
                        (64 * K, 4 * M),
                        Of::Most,
                        (Expects::Factor(2.0), Counts::Times),
                        Otherwise::Since(
                            "this kernel copies what is spliced, or memory is faster than pages are attached",
                        ),
                    ),
                }],
                experiments: vec![pingpong("nemesis-3", "", &[WRITEV, VMSPLICE])],
                baseline: "writev",
                missing: None,
                shape: Shape::Linear,
            },
            Figure {
                title: "Figures 4 and 5: ping-pong by mechanism",
                claims: vec![
                    Claim {
                        says: "without a shared cache KNEM is more than three times as fast as the default",
                        value: "3 times",
                        at: "section 4.2, Figure 5",
                        quote: "If no cache is shared between the processing cores, KNEM is more than three times faster than NEMESIS and twice as fast as \
                                vmsplice, reaching up to 3.5 GB/s.",
                        shown: by(
                            "cma_read",
                            "ring",
                            (64 * K, 4 * M),
                            Of::Most,
                            (Expects::Factor(3.0), Counts::Times),
                            Otherwise::KernelCopy,
                        ),
                    },
                    Claim {
                        says: "without a shared cache KNEM is twice as fast as vmsplice",
                        value: "2 times",
                        at: "section 4.2, Figure 5",
                        quote: "KNEM is more than three times faster than NEMESIS and twice as fast as vmsplice",
                        shown: by(
                            "cma_read",
                            "vmsplice",
                            (64 * K, 4 * M),
                            Of::Most,
                            (Expects::Factor(2.0), Counts::Times),
                            Otherwise::KernelCopy,
                        ),
                    },
                    Claim {
                        says: "for very large messages I/OAT is 2.5 times as fast as the default",
                        value: "2.5 times",
                        at: "section 4.2",
                        quote: "I/OAT reduces the CPU consumption and cache pollution and thus improves the overall performance, by a factor of 2.5 over NEMESIS",
                        shown: Shown::Not(DMA),
                    },
                ],
                experiments: vec![pingpong("nemesis-4", "", &all)],
                baseline: "ring",
                missing: Some(MODULE),
                shape: Shape::Linear,
            },
            Figure {
                title: "The same with buffers that are rewritten and read each round",
                claims: vec![],
                experiments: vec![pingpong("nemesis-4-real", "--real", &all)],
                baseline: "ring",
                missing: None,
                shape: Shape::Linear,
            },
            Figure {
                title: "Figure 6: synchronous and asynchronous copies of KNEM",
                claims: vec![
                    Claim {
                        says: "a copy by a kernel thread significantly reduces the throughput",
                        value: "",
                        at: "section 4.3, Figure 6",
                        quote: "offloading regular copies into a kernel thread in the non-I/OAT case significantly reduces the overall throughput since the \
                                user-level process competes with the kernel thread for the CPU",
                        shown: match has_module() {
                            true => by(
                                "kmod_thread",
                                "kmod",
                                (64 * K, 4 * M),
                                Of::Mean,
                                (Expects::Behind, Counts::Times),
                                Otherwise::Since("the thread runs on a CPU that no rank needs"),
                            ),
                            false => Shown::Not(NO_MODULE),
                        },
                    },
                    Claim {
                        says: "with I/OAT the asynchronous model is better than the synchronous one",
                        value: "",
                        at: "section 4.3, Figure 6",
                        quote: "However, the I/OAT model is improved by the asynchronous model because the work is performed by a dedicated hardware in the \
                                background.",
                        shown: Shown::Not(DMA),
                    },
                ],
                experiments: match has_module() {
                    true => vec![pingpong("nemesis-6", "", &[KMOD, KMOD_THREAD, KMOD_DMA])],
                    false => vec![],
                },
                baseline: if has_module() { "kmod" } else { "" },
                missing: Some(if has_module() { ENGINE } else { NO_MODULE }),
                shape: Shape::Linear,
            },
            Figure {
                title: "Figure 7: all-to-all on 8 ranks, aggregated throughput",
                claims: vec![
                    Claim {
                        says: "KNEM's throughput is up to five times higher near 32 KiB",
                        value: "5 times",
                        at: "section 4.4, Figure 7",
                        quote: "The throughput is up to five times higher for medium messages (near 32 KiB) and twice as high for very large messages thanks to \
                                I/OAT copy offload.",
                        shown: by(
                            "cma_read",
                            "ring",
                            (16 * K, 64 * K),
                            Of::Most,
                            (Expects::Factor(5.0), Counts::Times),
                            Otherwise::KernelCopy,
                        ),
                    },
                    Claim {
                        says: "vmsplice gains less, but gains",
                        value: "",
                        at: "section 4.4, Figure 7",
                        quote: "vmsplice provides a smaller but still worthwhile improvement",
                        shown: by(
                            "vmsplice",
                            "ring",
                            (16 * K, 64 * K),
                            Of::Mean,
                            (Expects::Ahead, Counts::Times),
                            Otherwise::KernelCopy,
                        ),
                    },
                    Claim {
                        says: "very large messages are twice as fast by I/OAT",
                        value: "2 times",
                        at: "section 4.4, Figure 7",
                        quote: "twice as high for very large messages thanks to I/OAT copy offload",
                        shown: Shown::Not(DMA),
                    },
                ],
                experiments: vec![by_variant(
                    "nemesis-7",
                    "collectives",
                    Quantity::Aggregate(RANKS * (RANKS - 1)),
                    &pairwise,
                    (RANKS, "alltoall", "4K,16K,32K,64K,128K,512K,2M"),
                )],
                baseline: "ring",
                missing: Some(MODULE),
                shape: Shape::Linear,
            },
            Figure {
                title: "Table 1: NAS parallel benchmarks on 8 ranks (there class B)",
                claims: vec![
                    nas_claim(
                        "IS gains 25.8 % by KNEM with I/OAT",
                        "25.8 %",
                        "is.B.8: 2.34 s, 1.95 s, 1.92 s, 1.86 s, +25.8%",
                        1,
                        2.34 / 1.86,
                    ),
                    nas_claim(
                        "FT gains 10.6 % by KNEM with I/OAT",
                        "10.6 %",
                        "ft.B.8: 39.25 s, 37.00 s, 36.40 s, 35.50 s, +10.6%",
                        0,
                        39.25 / 35.50,
                    ),
                    nas_claim(
                        "CG gains nothing",
                        "-2.2 %",
                        "cg.B.8: 60.26 s, 61.87 s, 60.72 s, 61.59 s, -2.2%",
                        2,
                        60.26 / 61.59,
                    ),
                    nas_claim(
                        "MG gains nothing",
                        "-2.1 %",
                        "mg.B.8: 7.81 s, hang, 7.89 s, 7.98 s, -2.1%",
                        3,
                        7.81 / 7.98,
                    ),
                    original_claim(
                        asked,
                        "LU gains nothing",
                        "-2.9 %",
                        "lu.B.8: 85.83 s, 87.45 s, 86.09 s, 88.32 s, - 2.9%",
                        5,
                        85.83 / 88.32,
                    ),
                ],
                experiments: vec![nas("nemesis-nas", &pairwise, RANKS, asked)],
                baseline: "ring",
                missing: Some(missing_of_nas(asked)),
                shape: Shape::Table,
            },
            Figure {
                title: "Table 1, kernels on 4 ranks: as BT and EP there (class B)",
                claims: vec![
                    original_claim(
                        on_four,
                        "BT gains nothing",
                        "0.4 %",
                        "bt.B.4: 454.3 s, 452.1 s, 453.6 s, 452.3 s, + 0.4%",
                        6,
                        454.3 / 452.3,
                    ),
                    original_claim(
                        on_four,
                        "EP gains nothing",
                        "-0.9 %",
                        "ep.B.4: 30.45 s, 30.94 s, 32.40 s, 30.72 s, - 0.9%",
                        4,
                        30.45 / 30.72,
                    ),
                    original_claim(
                        on_four,
                        "SP gains nothing",
                        "0.9 %",
                        "sp.B.8: 302.0 s, 311.4 s, 298.9 s, 299.4 s, + 0.9%",
                        7,
                        302.0 / 299.4,
                    ),
                ],
                baseline: if on_four_ranks.is_empty() { "" } else { "ring" },
                experiments: on_four_ranks,
                missing: Some(missing_of_nas(asked)),
                shape: Shape::Table,
            },
            Figure {
                title: "Table 2: cache misses, last level of 4 MiB, between 2 ranks",
                claims: vec![
                    misses_claim(
                        "64 KiB ping-pong misses less by KNEM: 91 and 52",
                        "91 / 52",
                        "64KiB Pingpong: 91, 166, 52, 92",
                        ("single copy", 91.0 / 52.0),
                        of_row(misses_row(false, 64 * K)),
                    ),
                    misses_claim(
                        "4 MiB ping-pong misses less by KNEM: 45k and 14k",
                        "45k / 14k",
                        "4MiB Pingpong: 45k, 17k, 14k, 3.7k",
                        ("single copy", 45.0 / 14.0),
                        of_row(misses_row(false, 4 * M)),
                    ),
                    misses_claim(
                        "4 MiB ping-pong misses least with I/OAT: 45k and 3.7k",
                        "45k / 3.7k",
                        "4MiB Pingpong: 45k, 17k, 14k, 3.7k",
                        ("copy engine", 45.0 / 3.7),
                        of_row(misses_row(false, 4 * M)),
                    ),
                ],
                experiments: vec![misses("nemesis-misses", 2, "pingpong:65536,pingpong:4194304")],
                baseline: "ring",
                missing: Some(SIMULATED),
                shape: Shape::Table,
            },
            Figure {
                title: "Table 2: all-to-all and IS on 8 ranks (IS there class B)",
                claims: vec![
                    misses_claim(
                        "64 KiB all-to-all misses less by KNEM: 2783 and 582",
                        "2783 / 582",
                        "64KiB Alltoall: 2783, 1266, 582, 833",
                        ("single copy", 2783.0 / 582.0),
                        of_row(misses_row(true, 64 * K)),
                    ),
                    misses_claim(
                        "4 MiB all-to-all misses less by KNEM: 624k and 262k",
                        "624k / 262k",
                        "4MiB Alltoall: 624k, 124k, 262k, 131k",
                        ("single copy", 624.0 / 262.0),
                        of_row(misses_row(true, 4 * M)),
                    ),
                    misses_claim(
                        "4 MiB all-to-all misses less with I/OAT: 624k and 131k",
                        "624k / 131k",
                        "4MiB Alltoall: 624k, 124k, 262k, 131k",
                        ("copy engine", 624.0 / 131.0),
                        of_row(misses_row(true, 4 * M)),
                    ),
                    misses_claim(
                        "IS misses less by KNEM: 11.25M and 9.50M",
                        "11.25M / 9.50M",
                        "is.B.8: 11.25M, 9.41M, 9.50M, 8.92M",
                        ("single copy", 11.25 / 9.5),
                        SORTING,
                    ),
                    misses_claim(
                        "IS misses less by KNEM with I/OAT: 11.25M and 8.92M",
                        "11.25M / 8.92M",
                        "is.B.8: 11.25M, 9.41M, 9.50M, 8.92M",
                        ("copy engine", 11.25 / 8.92),
                        SORTING,
                    ),
                ],
                experiments: vec![misses("nemesis-misses-8", RANKS, on_eight(asked))],
                baseline: "ring",
                missing: Some(SIMULATED),
                shape: Shape::Table,
            },
            Figure {
                title: "Table 2 by the processor's counters",
                claims: vec![
                    hardware_claim(
                        "the processor counts fewer misses of 4 MiB ping-pong by KNEM: 45k and 14k",
                        "45k / 14k",
                        "4MiB Pingpong: 45k, 17k, 14k, 3.7k",
                        misses_row(false, 4 * M),
                        45.0 / 14.0,
                    ),
                    hardware_claim(
                        "the processor counts fewer misses of 64 KiB all-to-all by KNEM: 2783 and 582",
                        "2783 / 582",
                        "64KiB Alltoall: 2783, 1266, 582, 833",
                        misses_row(true, 64 * K),
                        2783.0 / 582.0,
                    ),
                ],
                experiments: vec![hardware_misses(
                    "nemesis-misses-hardware",
                    &and_module(&[RING_PAIRWISE, VMSPLICE_PAIRWISE, CMA_PAIRWISE], KMOD_PAIRWISE),
                    RANKS,
                    "pingpong:65536,pingpong:4194304,alltoall:65536,alltoall:4194304,is:W,is:A,is:B",
                )],
                baseline: "ring",
                missing: None,
                shape: Shape::Table,
            },
        ],
    }
}

/// Of this kernel, in class A and above here.
fn nas_claim(says: &'static str, value: &'static str, quote: &'static str, kernel: usize, paper: f64) -> Claim {
    Claim {
        says,
        value,
        at: "section 4.5, Table 1",
        quote,
        shown: by(
            "cma_read",
            "ring",
            nas_rows(kernel),
            Of::Mean,
            (Expects::Factor(paper), Counts::More),
            Otherwise::KernelCopy,
        ),
    }
}

/// Of a kernel that bench/nas.c does not have.
fn original_claim(
    asked: Nas,
    says: &'static str,
    value: &'static str,
    quote: &'static str,
    kernel: usize,
    paper: f64,
) -> Claim {
    let claim = nas_claim(says, value, quote, kernel, paper);
    match (
        asked.is_original,
        npb::runs_on(npb::KERNELS[kernel], asked.ranks.unwrap_or(RANKS)),
    ) {
        (true, true) => claim,
        (true, false) => Claim {
            shown: Shown::Not("this kernel does not run on so many ranks (--ranks 4)"),
            ..claim
        },
        (false, _) => Claim {
            shown: Shown::Not("this kernel is not among bench/nas.c's; --npb DIR has it"),
            ..claim
        },
    }
}

/// Of a line against the ring, in these rows.
fn misses_claim(
    says: &'static str,
    value: &'static str,
    quote: &'static str,
    (line, paper): (&'static str, f64),
    rows: (u64, u64),
) -> Claim {
    Claim {
        says,
        value,
        at: "section 4.5, Table 2",
        quote,
        shown: by(
            line,
            "ring",
            rows,
            Of::Mean,
            (Expects::Factor(paper), Counts::Both),
            OWN_CACHES,
        ),
    }
}

/// As the paper counted them: by the processor, which sees the kernel's copies, too.
fn hardware_claim(says: &'static str, value: &'static str, quote: &'static str, row: u64, paper: f64) -> Claim {
    let claim = misses_claim(says, value, quote, ("cma_read", paper), of_row(row));
    match claim.shown {
        Shown::By(compared) => Claim {
            shown: Shown::By(Compared {
                otherwise: Otherwise::Since("caches of this machine are larger, and shared by other cores than there"),
                ..compared
            }),
            ..claim
        },
        Shown::Not(_) => claim,
    }
}

const fn of_row(row: u64) -> (u64, u64) {
    (row, row)
}

/// Cells of Table 2 on eight ranks: the paper's as far as memory and time go.
fn on_eight(asked: Nas) -> &'static str {
    match (isthmus_os::memory::available() > 4 << 30, asked.is_timed) {
        (false, _) => "alltoall:65536,is:W,is:A",
        (true, false) => "alltoall:65536,alltoall:4194304,is:W,is:A",
        (true, true) => "alltoall:65536,alltoall:4194304,is:W,is:A,is:B",
    }
}
