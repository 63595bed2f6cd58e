//! Jin: LiMIC2 with huge pages: bandwidth, latency, all-to-all by page size, and what the parts of a copy take (bench/breakdown.c).

use super::claim::{Claim, Counts, Expects, Of, Otherwise, Shown, by};
use super::mechanisms::{
    HUGE_PAGES, LIMIC_ENHANCED, LIMIC_HUGE_PAGES, LIMIC_SMALL_PAGES, SMALL_PAGES, by_variant, has_module,
};
use super::{Figure, Paper, Shape};
use crate::bench::catalogue::by_size;
use crate::bench::experiment::{Experiment, Groups, ISTHMUS, Rows, Run};
use crate::bench::quantity::Quantity;
use crate::show;

const MODULE: &str = "LiMIC2: our module has its mappings, one per 4 KiB and one per huge page, and is not loaded here; a page made in its virtual machine \
                      has the lines (cargo xtask test --only kmod; docs/numbers/mechanisms.md has the numbers).";
const NO_MODULE: &str =
    "our kernel module stands for LiMIC2, and is not loaded here; the page made in its virtual machine has its lines";
const PAGES: Otherwise =
    Otherwise::Since("transparent huge pages were not given, or the copy is not bound by translations on this machine");
const TRANSLATIONS: Otherwise = Otherwise::Since(
    "mappings and translations are a small part of a copy on this machine (the breakdown below); an emulated one has no translation caches",
);
const ALL: (u64, u64) = (0, u64::MAX);

/// Bandwidth, latency, all-to-all, and the parts of a copy.
pub fn paper() -> Paper {
    let mut variants = vec![SMALL_PAGES, HUGE_PAGES];
    if has_module() {
        variants.extend([LIMIC_SMALL_PAGES, LIMIC_HUGE_PAGES, LIMIC_ENHANCED]);
    }
    let us = Quantity::Cost("us");
    Paper {
        name: "limic",
        title: "H.-W. Jin: The LiMIC strikes back (2017)",
        setting: "The paper measured osu_bw, osu_latency and osu_alltoall on a Xeon Phi 7210 with buffers in pages of 4 KiB and of 2 MiB, with CMA and \
                  with LiMIC2. Here CMA (process_vm_readv), and our kernel module where it is loaded, copy between buffers from malloc, which asks \
                  for huge pages in one of the two runs (glibc.malloc.hugetlb); whether it gets them is the machine's setting of transparent huge \
                  pages (isthmus doctor).",
        figures: vec![
            figure(
                "Bandwidth",
                by_variant(
                    "limic-bandwidth",
                    "bandwidth",
                    Quantity::Bandwidth,
                    &variants,
                    (2, "", "64K,256K,1M,4M"),
                ),
                Shape::Linear,
                vec![
                    Claim {
                        says: "LiMIC2 and CMA are almost alike",
                        value: "",
                        at: "slide No More Significant Performance Optimizations?",
                        quote: "LiMIC2 and CMA show almost the same performance",
                        shown: by_module(
                            ("LiMIC2, pages of 4 KiB", "pages of 4 KiB"),
                            Of::Mean,
                            (Expects::Alike, Counts::Times),
                            Otherwise::Since("launches differ by that much"),
                        ),
                    },
                    Claim {
                        says: "huge pages alone give CMA up to 35 % more bandwidth",
                        value: "35 %",
                        at: "slide Current Implementations",
                        quote: PAGES_ALONE,
                        shown: by(
                            "huge pages",
                            "pages of 4 KiB",
                            ALL,
                            Of::Most,
                            (Expects::Factor(1.35), Counts::More),
                            PAGES,
                        ),
                    },
                    Claim {
                        says: "huge pages alone give LiMIC2 up to 37 % more bandwidth",
                        value: "37 %",
                        at: "slide Current Implementations",
                        quote: PAGES_ALONE,
                        shown: by_module(
                            ("LiMIC2, huge pages", "LiMIC2, pages of 4 KiB"),
                            Of::Most,
                            (Expects::Factor(1.37), Counts::More),
                            PAGES,
                        ),
                    },
                    Claim {
                        says: "mapping each huge page once gives LiMIC2 up to 44 % more bandwidth",
                        value: "44 %",
                        at: "slide Point-to-Point Bandwidth",
                        quote: "Enhanced LiMIC2 could improve the bandwidth up to 44% with huge pages",
                        shown: enhanced(Expects::Factor(1.44), Counts::More),
                    },
                ],
            ),
            figure(
                "Latency",
                by_variant(
                    "limic-latency",
                    "pingpong",
                    us,
                    &variants,
                    (2, "", "64K,256K,1M,4M,16M"),
                ),
                Shape::Logarithmic,
                vec![Claim {
                    says: "mapping each huge page once takes up to 14 % off the latency",
                    value: "14 %",
                    at: "slide Point-to-Point Latency",
                    quote: "Enhanced LiMIC2 could reduce the latency up to 14% with huge pages",
                    shown: enhanced(Expects::Factor(1.0 / 0.86), Counts::LessTime),
                }],
            ),
            figure(
                "All-to-all on 4 ranks",
                by_variant(
                    "limic-alltoall",
                    "collectives",
                    us,
                    &variants,
                    (4, "alltoall", "64K,256K,1M"),
                ),
                Shape::Logarithmic,
                vec![Claim {
                    says: "mapping each huge page once takes up to 14 % off an all-to-all",
                    value: "14 %",
                    at: "slide All-to-All Collective",
                    quote: "Enhanced LiMIC2 could reduce the collective latency up to 14% with huge pages",
                    shown: enhanced(Expects::Factor(1.0 / 0.86), Counts::LessTime),
                }],
            ),
            Figure {
                // Parts are compared with nothing.
                baseline: "",
                ..figure(
                    "Overhead breakdown: the parts of a copy by the module's own clock",
                    breakdown(),
                    Shape::Table,
                    vec![Claim {
                        says: "what the overhead of a copy is made of",
                        value: "",
                        at: "slide Overhead Breakdown",
                        quote: "Overhead Breakdown",
                        shown: Shown::Not(
                            "the slide's numbers are in its picture, which the text that was read does not have; the parts here are in the table",
                        ),
                    }],
                )
            },
        ],
    }
}

const PAGES_ALONE: &str =
    "Using huge pages improves the bandwidth up to 37% with LiMIC2 and 35% with CMA, respectively";

/// Shown where the module is loaded.
fn by_module(
    (line, with): (&'static str, &'static str),
    of: Of,
    what: (Expects, Counts),
    otherwise: Otherwise,
) -> Shown {
    match has_module() {
        true => by(line, with, ALL, of, what, otherwise),
        false => Shown::Not(NO_MODULE),
    }
}

fn enhanced(expects: Expects, counts: Counts) -> Shown {
    by_module(
        ("enhanced LiMIC2, huge pages", "LiMIC2, huge pages"),
        Of::Most,
        (expects, counts),
        TRANSLATIONS,
    )
}

/// Kinds of pages and mappings, as bench/breakdown.c numbers them.
const KINDS: [&str; 3] = [
    "pages of 4 KiB, a mapping each",
    "huge pages, a mapping per 4 KiB",
    "huge pages, a mapping each",
];

/// Pinning, mapping and copying beside the whole call; the kernel's clock is read for the parts only.
fn breakdown() -> Experiment {
    let parts = ["pin", "map", "copy", "call"].map(str::to_owned);
    Experiment {
        title: "what pinning, mapping and copying take of one copy, beside a call that measures no parts".to_owned(),
        groups: Groups {
            heading: "part",
            field: "part",
            names: parts.to_vec(),
        },
        rows: Rows {
            heading: "bytes, pages",
            field: "row",
            label: |row| {
                let kind = KINDS.get((row >> 32) as usize).unwrap_or(&"?");
                format!("{}, {kind}", show::bytes(row & 0xffff_ffff))
            },
        },
        runs: vec![Run {
            ranks: 2,
            options: vec![],
            cells: ["65536", "1048576", "4194304"].map(str::to_owned).to_vec(),
        }],
        seconds: 1.0,
        launches: 3,
        model: Some(ISTHMUS),
        ..by_size("limic-breakdown", "", "breakdown")
    }
}

fn figure(title: &'static str, experiment: Experiment, shape: Shape, claims: Vec<Claim>) -> Figure {
    Figure {
        title,
        claims,
        experiments: vec![experiment],
        baseline: "pages of 4 KiB",
        missing: (!has_module()).then_some(MODULE),
        shape,
    }
}
