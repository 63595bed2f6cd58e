//! Jin: LiMIC2 with huge pages: bandwidth, latency, all-to-all by page size.

use super::claim::{Claim, Counts, Expects, Of, Otherwise, Shown, by};
use super::mechanisms::{HUGE_PAGES, SMALL_PAGES, by_way};
use super::{Figure, Paper, Shape};
use crate::bench::experiment::Experiment;
use crate::bench::quantity::Quantity;

const MODULE: &str = "LiMIC2 itself: our module has its huge-page aware mapping, and runs in a virtual machine only; cargo xtask test --only kmod prints \
                      its rates with one mapping per huge page and with one per 4 KiB, beside CMA's in the same guest, under software emulation. The \
                      breakdown of a copy (pin, map, copy) is not there.";
const AWARE: &str = "the huge-page aware mapping is the kernel module's; an emulated machine has no translation caches that it could spare";
const PAGES: Otherwise =
    Otherwise::Since("transparent huge pages were not given, or the copy is not bound by translations on this machine");

/// Bandwidth, latency and all-to-all.
pub fn paper() -> Paper {
    let ways = [SMALL_PAGES, HUGE_PAGES];
    let us = Quantity::Cost("us");
    Paper {
        name: "limic",
        title: "H.-W. Jin: The LiMIC strikes back (2017)",
        setting: "The paper measured osu_bw, osu_latency and osu_alltoall on a Xeon Phi 7210 with buffers in pages of 4 KiB and of 2 MiB, with CMA and \
                  with LiMIC2. Here CMA (process_vm_readv) copies between buffers from malloc, which asks for huge pages in one of the two runs \
                  (glibc.malloc.hugetlb); whether it gets them is the machine's setting of transparent huge pages (isthmus doctor).",
        figures: vec![
            figure(
                "Bandwidth",
                by_way(
                    "limic-bandwidth",
                    "bandwidth",
                    Quantity::Bandwidth,
                    &ways,
                    (2, "", "64K,256K,1M,4M"),
                ),
                Shape::Linear,
                vec![
                    Claim {
                        says: "huge pages alone give CMA up to 35 % more bandwidth",
                        value: "35 %",
                        at: "slide Current Implementations",
                        quote: "Using huge pages improves the bandwidth up to 37% with LiMIC2 and 35% with CMA, respectively",
                        shown: by(
                            "huge pages",
                            "pages of 4 KiB",
                            (0, u64::MAX),
                            Of::Most,
                            (Expects::Factor(1.35), Counts::More),
                            PAGES,
                        ),
                    },
                    Claim {
                        says: "mapping each huge page once gives LiMIC2 up to 44 % more bandwidth",
                        value: "44 %",
                        at: "slide Point-to-Point Bandwidth",
                        quote: "Enhanced LiMIC2 could improve the bandwidth up to 44% with huge pages",
                        shown: Shown::Not(AWARE),
                    },
                ],
            ),
            figure(
                "Latency",
                by_way("limic-latency", "pingpong", us, &ways, (2, "", "64K,256K,1M,4M,16M")),
                Shape::Logarithmic,
                vec![Claim {
                    says: "mapping each huge page once takes up to 14 % off the latency",
                    value: "14 %",
                    at: "slide Point-to-Point Latency",
                    quote: "Enhanced LiMIC2 could reduce the latency up to 14% with huge pages",
                    shown: Shown::Not(AWARE),
                }],
            ),
            figure(
                "All-to-all on 4 ranks",
                by_way(
                    "limic-alltoall",
                    "collectives",
                    us,
                    &ways,
                    (4, "alltoall", "64K,256K,1M"),
                ),
                Shape::Logarithmic,
                vec![Claim {
                    says: "mapping each huge page once takes up to 14 % off an all-to-all",
                    value: "14 %",
                    at: "slide All-to-All Collective",
                    quote: "Enhanced LiMIC2 could reduce the collective latency up to 14% with huge pages",
                    shown: Shown::Not(AWARE),
                }],
            ),
        ],
    }
}

fn figure(title: &'static str, experiment: Experiment, shape: Shape, claims: Vec<Claim>) -> Figure {
    Figure {
        title,
        claims,
        experiments: vec![experiment],
        baseline: "pages of 4 KiB",
        missing: Some(MODULE),
        shape,
    }
}
