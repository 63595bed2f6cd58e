//! What the papers about mechanisms have in common: the same program, told to use one mechanism after the other.

use std::time::Duration;

use crate::bench::carried::Carried;
use crate::bench::catalogue::by_size;
use crate::bench::experiment::{Experiment, Groups, ISTHMUS, Rows, Run, Value, Variant};
use crate::bench::npb;
use crate::bench::quantity::Quantity;
use crate::bench::size;
use crate::show;

/// The variables of one line.
type Environment = &'static [(&'static str, &'static str)];

/// Longer messages are announced, and go by the mechanism that is named.
const LIMIT: u64 = 8192;
const EAGER: (&str, &str) = ("ISTHMUS_EAGER_LIMIT", "8192");

/// Of messages between two ranks, by a mechanism and its counter.
const fn message(name: &'static str, environment: Environment, by: &'static [&'static str]) -> Variant {
    let carried = Carried { eager: LIMIT, by };
    Variant {
        name,
        environment,
        carried,
    }
}

/// What Isthmus chooses.
pub const CHOSEN: Variant = Variant {
    name: "chosen",
    environment: &[],
    carried: Carried::ANYHOW,
};
/// Two copies through shared memory.
pub const RING: Variant = message("ring", &[("ISTHMUS_MECHANISM", "ring"), EAGER], &["ring_bytes"]);
/// The receiver reads.
pub const CMA_READ: Variant = message("cma_read", &[("ISTHMUS_MECHANISM", "cma_read"), EAGER], &["cma_bytes"]);
/// The sender writes.
pub const CMA_WRITE: Variant = message(
    "cma_write",
    &[("ISTHMUS_MECHANISM", "cma_write"), EAGER],
    &["cma_bytes"],
);
/// Both, from the two ends.
pub const CMA_BOTH: Variant = message("cma_both", &[("ISTHMUS_MECHANISM", "cma_both"), EAGER], &["cma_bytes"]);
/// Pages attached to a pipe.
pub const VMSPLICE: Variant = message(
    "vmsplice",
    &[("ISTHMUS_MECHANISM", "vmsplice"), EAGER],
    &["vmsplice_bytes"],
);
/// Two copies through a pipe.
pub const WRITEV: Variant = message("writev", &[("ISTHMUS_MECHANISM", "writev"), EAGER], &["writev_bytes"]);
/// A socket of this host.
pub const LOOPBACK: Variant = message(
    "loopback",
    &[("ISTHMUS_MECHANISM", "loopback"), EAGER],
    &["loopback_bytes"],
);
/// The kernel module.
pub const KMOD: Variant = message("kmod", &[("ISTHMUS_MECHANISM", "kmod"), EAGER], &["kmod_bytes"]);

/// The same by a thread of the kernel, which progress polls.
pub const KMOD_THREAD: Variant = message(
    "kmod_thread",
    &[("ISTHMUS_MECHANISM", "kmod_thread"), EAGER],
    &["kmod_thread_bytes"],
);
/// The same by a DMA engine, or the channel that stands for one.
pub const KMOD_DMA: Variant = message(
    "kmod_dma",
    &[("ISTHMUS_MECHANISM", "kmod_dma"), EAGER],
    &["kmod_dma_bytes"],
);
/// [`LOOPBACK`] at every size: each message is announced, and goes through the socket.
pub const LOOPBACK_ALWAYS: Variant = Variant {
    carried: Carried {
        eager: 0,
        by: &["loopback_bytes"],
    },
    ..message(
        "loopback",
        &[("ISTHMUS_MECHANISM", "loopback"), ("ISTHMUS_EAGER_LIMIT", "0")],
        &[],
    )
};

/// Collectives by messages: from the third call of a communicator on they would go through memory that all ranks map, whatever mechanism is
/// named for messages.
const BY_MESSAGES: (&str, &str) = (
    "ISTHMUS_COLLECTIVES",
    "alltoall:pairwise,alltoallv:pairwise,allgather:ring?,allgatherv:ring?",
);

/// Of pairwise exchanges and of NAS kernels: messages are announced from a shorter length on, since a pairwise exchange of 4 KiB is what the papers
/// have, too.
const SHORT: u64 = 1024;
const SHORT_EAGER: (&str, &str) = ("ISTHMUS_EAGER_LIMIT", "1024");

const fn pairwise(name: &'static str, environment: Environment, by: &'static [&'static str]) -> Variant {
    let carried = Carried { eager: SHORT, by };
    Variant {
        name,
        environment,
        carried,
    }
}

/// [`RING`] in collectives by messages.
pub const RING_PAIRWISE: Variant = pairwise(
    "ring",
    &[("ISTHMUS_MECHANISM", "ring"), SHORT_EAGER, BY_MESSAGES],
    &["ring_bytes"],
);
/// [`VMSPLICE`] in collectives by messages.
pub const VMSPLICE_PAIRWISE: Variant = pairwise(
    "vmsplice",
    &[("ISTHMUS_MECHANISM", "vmsplice"), SHORT_EAGER, BY_MESSAGES],
    &["vmsplice_bytes"],
);
/// [`CMA_READ`] in collectives by messages.
pub const CMA_PAIRWISE: Variant = pairwise(
    "cma_read",
    &[("ISTHMUS_MECHANISM", "cma_read"), SHORT_EAGER, BY_MESSAGES],
    &["cma_bytes"],
);
/// [`KMOD`] in collectives by messages.
pub const KMOD_PAIRWISE: Variant = pairwise(
    "kmod",
    &[("ISTHMUS_MECHANISM", "kmod"), SHORT_EAGER, BY_MESSAGES],
    &["kmod_bytes"],
);

/// Rooted collectives through memory that all ranks map: a copy in and a copy out.
pub const STAGED: Variant = Variant {
    name: "shared memory",
    environment: &[("ISTHMUS_COLLECTIVES", "scatter:shared?,gather:shared?")],
    carried: Carried {
        eager: 0,
        by: &["staged_bytes"],
    },
};
/// The same with a single copy by the kernel: each rank reads at the root, or the root at each rank.
pub const DIRECT: Variant = Variant {
    name: "cma_read",
    environment: &[
        ("ISTHMUS_COLLECTIVES", "scatter:shared_direct?,gather:shared_direct?"),
        ("ISTHMUS_MECHANISM", "cma_read"),
    ],
    carried: Carried {
        eager: 0,
        by: &["cma_bytes"],
    },
};

const ON_SMALL_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0");
const ON_HUGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
const BY_CMA: (&str, &str) = ("ISTHMUS_MECHANISM", "cma_read");
const BY_MODULE: (&str, &str) = ("ISTHMUS_MECHANISM", "kmod");
/// A mapping for each 4 KiB, as LiMIC2 made them before.
const SMALL_MAPPINGS: (&str, &str) = ("ISTHMUS_KMOD", "2");

/// CMA with the program's memory in pages of 4 KiB.
pub const SMALL_PAGES: Variant = message(
    "pages of 4 KiB",
    &[ON_SMALL_PAGES, BY_CMA, EAGER, BY_MESSAGES],
    &["cma_bytes"],
);
/// The same in huge pages, where it can be.
pub const HUGE_PAGES: Variant = message(
    "huge pages",
    &[ON_HUGE_PAGES, BY_CMA, EAGER, BY_MESSAGES],
    &["cma_bytes"],
);
/// The module as LiMIC2 was, with the program's memory in pages of 4 KiB.
pub const LIMIC_SMALL_PAGES: Variant = message(
    "LiMIC2, pages of 4 KiB",
    &[ON_SMALL_PAGES, BY_MODULE, SMALL_MAPPINGS, EAGER, BY_MESSAGES],
    &["kmod_bytes"],
);
/// The same in huge pages.
pub const LIMIC_HUGE_PAGES: Variant = message(
    "LiMIC2, huge pages",
    &[ON_HUGE_PAGES, BY_MODULE, SMALL_MAPPINGS, EAGER, BY_MESSAGES],
    &["kmod_bytes"],
);
/// With a mapping for each huge page.
pub const LIMIC_ENHANCED: Variant = message(
    "enhanced LiMIC2, huge pages",
    &[ON_HUGE_PAGES, BY_MODULE, EAGER, BY_MESSAGES],
    &["kmod_bytes"],
);

/// Has this machine the kernel module?
pub fn has_module() -> bool {
    let device = isthmus_os::kmod::DEVICE.to_str();
    device.is_ok_and(|device| std::path::Path::new(device).exists())
}

/// These ways, and the kernel module where the machine has it.
pub fn and_module(variants: &[Variant], module: Variant) -> Vec<Variant> {
    variants.iter().copied().chain(has_module().then_some(module)).collect()
}

/// One program by each of these ways. `kind` is put before the sizes where the program does several things.
pub fn by_variant(
    name: &str,
    program: &'static str,
    quantity: Quantity,
    variants: &[Variant],
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
        runs: variants
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
            names: variants.iter().map(|variant| variant.name.to_owned()).collect(),
        },
        seconds: 1.0,
        launches: 3,
        model: Some(ISTHMUS),
        variants: variants.to_vec(),
        ..by_size(name, program, program)
    }
}

/// Options of the NAS tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nas {
    /// By the original sources, rather than bench/nas.c.
    pub is_original: bool,
    /// On so many ranks, rather than the usual number.
    pub ranks: Option<u32>,
    /// For as long as there is time: larger classes, too.
    pub is_timed: bool,
}

/// Rows of a kernel, by its place in [`npb::KERNELS`], from class A on.
pub const fn nas_rows(kernel: usize) -> (u64, u64) {
    (npb::row(kernel, 2), npb::row(kernel, npb::CLASSES.len() - 1))
}

/// A cell of class B takes a minute where others use the machine.
const LONG: Duration = Duration::from_secs(900);

/// Kernels of NAS, of class W on: four of our own (bench/nas.c) up to class A, or all of the original up to what time and memory allow.
pub fn nas(name: &str, variants: &[Variant], usual_ranks: u32, nas: Nas) -> Experiment {
    let ranks = nas.ranks.unwrap_or(usual_ranks);
    let has_memory = isthmus_os::memory::available() > 12 << 30;
    let (program, kernels, classes) = match (nas.is_original, nas.is_timed) {
        (false, _) => ("nas", &npb::KERNELS[..4], "WA"),
        (true, true) if has_memory => (npb::PROGRAM, &npb::KERNELS[..], "ABC"),
        (true, true) => (npb::PROGRAM, &npb::KERNELS[..], "AB"),
        (true, false) => (npb::PROGRAM, &npb::KERNELS[..], "A"),
    };
    // Small classes first: the time may be used up.
    let cells = classes.chars().flat_map(|class| {
        let kernels = kernels.iter().filter(|kernel| npb::runs_on(kernel, ranks));
        kernels.map(move |kernel| format!("{kernel}:{class}"))
    });
    let cells = cells.collect();
    Experiment {
        title: "time of a kernel, whose result is the published one".to_owned(),
        rows: Rows {
            heading: "kernel",
            field: "row",
            label: |row| {
                let classes = npb::CLASSES.len() as u64;
                let kernel = npb::KERNELS.get((row / classes) as usize).unwrap_or(&"?");
                let class = npb::CLASSES.chars().nth((row % classes) as usize).unwrap_or('?');
                format!("{kernel} {class}")
            },
        },
        result: "nas",
        value: Value::Field("ms"),
        silence_limit: LONG,
        ..of_cells(
            by_variant(name, program, Quantity::Cost("ms"), variants, (ranks, "", "1")),
            cells,
        )
    }
}

/// Of NAS kernels these only.
pub fn nas_of(mut experiment: Experiment, kernels: &[&str]) -> Experiment {
    for run in &mut experiment.runs {
        run.cells
            .retain(|cell| kernels.iter().any(|kernel| cell.split(':').next() == Some(kernel)));
    }
    experiment
}

/// The row of an operation with so many bytes.
pub const fn misses_row(is_alltoall: bool, bytes: u64) -> u64 {
    (is_alltoall as u64) << 32 | bytes
}

/// The rows of IS from class A on.
pub const SORTING: (u64, u64) = (2 << 32 | 2, 3 << 32);

/// Lines that all ranks together miss in an operation, by a simulator (bench/misses.c), which sees copies in user space only.
pub fn misses(name: &str, ranks: u32, cells: &str) -> Experiment {
    /// One copy in user space.
    const SINGLE: Variant = pairwise(
        "single copy",
        &[("ISTHMUS_MECHANISM", "mapped"), SHORT_EAGER, BY_MESSAGES],
        &["mapped_bytes"],
    );
    /// A copy that the simulator does not see.
    const ENGINE: Variant = Variant {
        name: "copy engine",
        ..CMA_PAIRWISE
    };
    let mut experiment = misses_by(name, &[RING_PAIRWISE, SINGLE, ENGINE], ranks, cells);
    experiment.runs[1].options.push("--alloc".to_owned());
    experiment
}

/// The same by the processor's counters, which see what the kernel copies, too.
pub fn hardware_misses(name: &str, variants: &[Variant], ranks: u32, cells: &str) -> Experiment {
    let mut experiment = misses_by(name, variants, ranks, cells);
    for run in &mut experiment.runs {
        run.options.push("--hardware".to_owned());
    }
    experiment
}

fn misses_by(name: &str, variants: &[Variant], ranks: u32, cells: &str) -> Experiment {
    let cells = cells.split(',').map(str::to_owned).collect();
    Experiment {
        title: "lines missed in the last-level cache per operation (IS: ten iterations), by all ranks".to_owned(),
        rows: Rows {
            heading: "operation",
            field: "row",
            label: |row| {
                let (operation, of) = (row >> 32, row & 0xffff_ffff);
                match operation {
                    0 => format!("ping-pong {}", show::bytes(of)),
                    1 => format!("all-to-all {}", show::bytes(of)),
                    _ => format!("IS {}", npb::CLASSES.chars().nth(of as usize).unwrap_or('?')),
                }
            },
        },
        value: Value::Field("misses"),
        launches: 1,
        silence_limit: LONG,
        ..of_cells(
            by_variant(name, "misses", Quantity::Cost("lines"), variants, (ranks, "", "1")),
            cells,
        )
    }
}

fn of_cells(mut experiment: Experiment, cells: Vec<String>) -> Experiment {
    for run in &mut experiment.runs {
        run.cells.clone_from(&cells);
    }
    experiment
}
