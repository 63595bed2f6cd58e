//! What the papers about mechanisms have in common: the same program, told to use one mechanism after the other.

use crate::bench::catalogue::by_size;
use crate::bench::experiment::{Experiment, Groups, ISTHMUS, Rows, Run, Value, Way};
use crate::bench::quantity::Quantity;
use crate::bench::size;
use crate::show;

const fn way(name: &'static str, environment: &'static [(&'static str, &'static str)]) -> Way {
    Way { name, environment }
}

/// Longer messages are announced, and go by the mechanism that is named.
const EAGER: (&str, &str) = ("ISTHMUS_EAGER_LIMIT", "8192");

/// What Isthmus chooses.
pub const CHOSEN: Way = way("chosen", &[]);
/// Two copies through shared memory.
pub const RING: Way = way("ring", &[("ISTHMUS_MECHANISM", "ring"), EAGER]);
/// The receiver reads.
pub const CMA_READ: Way = way("cma_read", &[("ISTHMUS_MECHANISM", "cma_read"), EAGER]);
/// The sender writes.
pub const CMA_WRITE: Way = way("cma_write", &[("ISTHMUS_MECHANISM", "cma_write"), EAGER]);
/// Both, from the two ends.
pub const CMA_BOTH: Way = way("cma_both", &[("ISTHMUS_MECHANISM", "cma_both"), EAGER]);
/// Pages attached to a pipe.
pub const VMSPLICE: Way = way("vmsplice", &[("ISTHMUS_MECHANISM", "vmsplice"), EAGER]);
/// Two copies through a pipe.
pub const WRITEV: Way = way("writev", &[("ISTHMUS_MECHANISM", "writev"), EAGER]);
/// A socket of this host.
pub const LOOPBACK: Way = way("loopback", &[("ISTHMUS_MECHANISM", "loopback"), EAGER]);
/// The program's memory in pages of 4 KiB, and in huge ones where it can be.
pub const SMALL_PAGES: Way = way("pages of 4 KiB", &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0")]);
/// As [`SMALL_PAGES`].
pub const HUGE_PAGES: Way = way("huge pages", &[("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")]);

/// One program by each of these ways. `kind` is put before the sizes where the program does several things.
pub fn by_way(
    name: &str,
    program: &'static str,
    quantity: Quantity,
    ways: &[Way],
    (ranks, kind, sizes): (u32, &str, &str),
) -> Experiment {
    let prefix = if kind.is_empty() || kind.starts_with("--") {
        String::new()
    } else {
        format!("{kind}:")
    };
    let options: Vec<String> = kind.starts_with("--").then(|| kind.to_owned()).into_iter().collect();
    let cells: Vec<String> = size::list(sizes)
        .iter()
        .map(|size| format!("{prefix}{}", size.0))
        .collect();
    Experiment {
        quantity,
        runs: ways
            .iter()
            .map(|_| Run {
                ranks,
                options: options.clone(),
                cells: cells.clone(),
            })
            .collect(),
        groups: Groups {
            heading: "mechanism",
            field: "",
            names: ways.iter().map(|way| way.name.to_owned()).collect(),
        },
        seconds: 1.0,
        launches: 3,
        model: Some(ISTHMUS),
        ways: ways.to_vec(),
        ..by_size(name, name, program)
    }
}

const KERNELS: [&str; 4] = ["ft", "is", "cg", "mg"];
const CLASSES: &str = "SWAB";

/// Kernels of NAS (bench/nas.c) on 2 ranks, in these classes.
pub fn nas(name: &str, ways: &[Way], classes: &str, launches: u32) -> Experiment {
    let cells = KERNELS
        .iter()
        .flat_map(|kernel| classes.chars().map(move |class| format!("{kernel}:{class}")))
        .collect();
    Experiment {
        title: "time of a kernel, whose result is the published one".to_owned(),
        rows: Rows {
            heading: "kernel",
            field: "row",
            label: |row| {
                let kernel = KERNELS.get(row as usize / CLASSES.len()).unwrap_or(&"?");
                let class = CLASSES.chars().nth(row as usize % CLASSES.len()).unwrap_or('?');
                format!("{kernel} {class}")
            },
        },
        value: Value::Field("ms"),
        launches,
        ..of_cells(by_way(name, "nas", Quantity::Cost("ms"), ways, (2, "", "1")), cells)
    }
}

/// Lines that all ranks together miss in an operation, by a simulator (bench/misses.c).
pub fn misses(name: &str, ranks: u32, cells: &str) -> Experiment {
    /// One copy in user space.
    const SINGLE: Way = way("single copy", &[("ISTHMUS_MECHANISM", "mapped"), EAGER]);
    let cells = cells.split(',').map(str::to_owned).collect();
    let mut experiment = Experiment {
        title: "lines missed in the last-level cache per operation, by all ranks".to_owned(),
        rows: Rows {
            heading: "operation",
            field: "row",
            label: |row| {
                let operation = if row >> 32 == 0 { "ping-pong" } else { "all-to-all" };
                format!("{operation} {}", show::bytes(row & 0xffff_ffff))
            },
        },
        value: Value::Field("misses"),
        launches: 1,
        ..of_cells(
            by_way(
                name,
                "misses",
                Quantity::Cost("lines"),
                &[RING, SINGLE],
                (ranks, "", "1"),
            ),
            cells,
        )
    };
    experiment.runs[1].options.push("--alloc".to_owned());
    experiment
}

fn of_cells(mut experiment: Experiment, cells: Vec<String>) -> Experiment {
    for run in &mut experiment.runs {
        run.cells.clone_from(&cells);
    }
    experiment
}
