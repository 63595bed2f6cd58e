//! Jin: LiMIC2 with huge pages: bandwidth, latency, all-to-all by page size.

use super::mechanisms::{HUGE_PAGES, SMALL_PAGES, by_way};
use super::{Figure, Paper};
use crate::bench::experiment::Experiment;
use crate::bench::quantity::Quantity;

const MODULE: &str = "LiMIC2 itself: our module has its huge-page aware mapping, and runs in a virtual machine only; cargo xtask test --only kmod prints \
                      its rates with one mapping per huge page and with one per 4 KiB, beside CMA's in the same guest, under software emulation.";

/// Bandwidth, latency and all-to-all.
pub fn paper() -> Paper {
    let ways = [SMALL_PAGES, HUGE_PAGES];
    let us = Quantity::Cost("us");
    Paper {
        name: "limic",
        title: "H.-W. Jin: The LiMIC strikes back (2017)",
        setting: "The paper measured osu_bw, osu_latency and osu_alltoall with buffers in pages of 4 KiB and of 2 MiB, with CMA and with LiMIC2. Here \
                  CMA copies between buffers from malloc, which asks for huge pages in one of the two runs (glibc.malloc.hugetlb); whether it \
                  gets them is the machine's setting of transparent huge pages (isthmus doctor).",
        figures: vec![
            figure(
                "Bandwidth",
                "Huge pages alone give CMA 35 % and LiMIC2 37 % more; mapping each huge page once gives LiMIC2 44 %.",
                by_way(
                    "limic-bandwidth",
                    "bandwidth",
                    Quantity::Bandwidth,
                    &ways,
                    (2, "", "64K,256K,1M,4M"),
                ),
            ),
            figure(
                "Latency",
                "Huge pages with one mapping each take 14 % off the latency of large messages.",
                by_way("limic-latency", "pingpong", us, &ways, (2, "", "64K,256K,1M,4M,16M")),
            ),
            figure(
                "All-to-all on 4 ranks",
                "All-to-all gains as bandwidth does.",
                by_way(
                    "limic-alltoall",
                    "collectives",
                    us,
                    &ways,
                    (4, "alltoall", "64K,256K,1M"),
                ),
            ),
        ],
    }
}

fn figure(title: &'static str, found: &'static str, experiment: Experiment) -> Figure {
    Figure {
        title,
        found,
        experiments: vec![experiment],
        baseline: "pages of 4 KiB",
        missing: Some(MODULE),
    }
}
