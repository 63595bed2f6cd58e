//! Everything that can be measured.

use super::experiment::{Experiment, Floor, Groups, Rows, Run, Value};
use super::process::SILENCE_LIMIT;
use super::quantity::Quantity;
use super::size::{self, Size};
use super::target::{Demand, Target};
use crate::show;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Half round trip between two ranks.
pub fn pingpong(real: bool, sizes: &[Size]) -> Experiment {
    let (name, title) = if real {
        (
            "pingpong-real",
            "half round trip; the buffer is rewritten before and read after each message",
        )
    } else {
        ("pingpong", "half round trip; buffers untouched")
    };
    let options: Vec<String> = real.then(|| "--real".to_owned()).into_iter().collect();
    let targets = if real {
        vec![Target::rows(8 * KIB, 8 * MIB, against_peers(1.1, 0.9))]
    } else {
        vec![
            Target::rows(0, 64, against_peers(1.0, 1.0)),
            Target::rows(0, 64, Demand::AboveFloor(0.06)),
            Target::rows(128, 32 * KIB, against_peers(1.1, 0.9)),
            Target::rows(64 * KIB, 64 * MIB, against_peers(1.5, 1.2)),
        ]
    };
    let default = if real {
        "8,512,2K,8K,32K,128K,512K,1M,2M,4M,8M"
    } else {
        "0,1,8,64,128,512,2K,8K,32K,64K,128K,256K,512K,1M,2M,4M,16M,64M"
    };
    Experiment {
        runs: vec![Run {
            ranks: 2,
            options: options.clone(),
            cells: cells(sizes, default),
        }],
        floor: Floor::LineAnd("memcpy", options),
        targets,
        ..by_size(name, title, "pingpong")
    }
}

/// Many messages at once, one way or both.
pub fn bandwidth(both: bool, sizes: &[Size]) -> Experiment {
    let (name, title) = if both {
        ("bibandwidth", "both ways at once, windows of 64 messages")
    } else {
        ("bandwidth", "one way, windows of 64 messages")
    };
    Experiment {
        quantity: Quantity::Bandwidth,
        runs: vec![Run {
            ranks: 2,
            options: both.then(|| "--both".to_owned()).into_iter().collect(),
            cells: cells(sizes, "1,8,64,512,2K,8K,32K,64K,128K,256K,512K,1M,4M"),
        }],
        floor: Floor::Only("memcpy", vec![]),
        targets: vec![Target::all(against_peers(1.25, 0.9))],
        ..by_size(name, title, "bandwidth")
    }
}

/// Half round trip of sections of arrays.
pub fn strided(of: &[String], sizes: &[Size]) -> Experiment {
    let shapes = chosen(of, &["vector", "2d", "3d"]);
    let title = "half round trip of every second double, of a section of a matrix and of a cube";
    Experiment {
        runs: vec![Run {
            ranks: 2,
            options: vec![],
            cells: products(&shapes, &cells(sizes, "4K,32K,128K,512K,2M,16M")),
        }],
        groups: Groups {
            heading: "shape",
            field: "shape",
            names: shapes,
        },
        floor: Floor::LineAnd("memcpy", vec![]),
        targets: vec![Target::all(against_peers(1.7, 0.0))],
        ..by_size("strided", title, "strided")
    }
}

/// What the side that computes does meanwhile, as `overlap.c` names it.
pub const SIDES: [&str; 10] = [
    "isend",
    "irecv",
    "isend-4",
    "irecv-4",
    "rput",
    "rget",
    "rput-4",
    "rget-4",
    "rput-busy",
    "rget-busy",
];

/// The share of a copy that is hidden behind computation.
pub fn overlap(of: &[String], sizes: &[Size]) -> Experiment {
    let sides = chosen(of, &SIDES);
    let title = "share of a copy hidden behind isend (irecv, Rput, Rget) / compute / wait, the other side inside MPI (-busy: it \
                 computes as well); to compute: as long as 2 copies, or 4";
    Experiment {
        quantity: Quantity::Share,
        value: Value::Field("hidden"),
        runs: vec![Run {
            ranks: 2,
            options: vec![],
            cells: products(&sides, &cells(sizes, "1M,2M,4M,8M,16M")),
        }],
        groups: Groups {
            heading: "side",
            field: "side",
            names: sides,
        },
        targets: vec![Target::all(Demand::AtLeast(90.0))],
        ..by_size("overlap", title, "overlap")
    }
}

/// Half round trip of buffers from `MPI_Alloc_mem`.
pub fn alloc(sizes: &[Size]) -> Experiment {
    let title = "half round trip of buffers from MPI_Alloc_mem; untouched";
    Experiment {
        runs: vec![Run {
            ranks: 2,
            options: vec!["--alloc".to_owned()],
            cells: cells(sizes, "64K,128K,256K,512K,1M"),
        }],
        floor: Floor::Only("memcpy", vec!["--shared".to_owned()]),
        // Ninety percent of the bandwidth of memcpy.
        targets: vec![Target::all(Demand::TimesFloor(1.0 / 0.9))],
        ..by_size("alloc", title, "pingpong")
    }
}

/// Time per message through a queue of posted receives or unexpected messages.
pub fn messagerate(lengths: &[Size]) -> Experiment {
    let places = ["posted", "unexpected"];
    let ways = ["", "-reversed", "-any", "-reversed-any", "-wild"];
    let kinds: Vec<String> = places
        .iter()
        .flat_map(|place| ways.map(|way| format!("{place}{way}")))
        .collect();
    let is_specific = |kind: &str| !kind.ends_with("-any") && !kind.ends_with("-wild");
    let specific = (0..kinds.len()).filter(|kind| is_specific(&kinds[*kind]));
    let mut targets = vec![Target::all(against_peers(1.0, 1.0))];
    targets.extend(specific.map(|kind| Target::rows(16, 4096, Demand::Flat(1.25)).of(kind)));
    Experiment {
        rows: Rows {
            heading: "queue",
            field: "queue",
            label: |length| length.to_string(),
        },
        runs: vec![Run {
            ranks: 2,
            options: vec![],
            cells: products(&kinds, &cells(lengths, "1,16,256,4096")),
        }],
        groups: Groups {
            heading: "kind",
            field: "kind",
            names: kinds,
        },
        seconds: 3.0,
        floor: Floor::Steadiness,
        targets,
        ..by_size(
            "messagerate",
            "time per message of 8 bytes through a queue",
            "messagerate",
        )
    }
}

/// What thread support costs, and how fast several threads send at once.
pub fn threads() -> Vec<Experiment> {
    let latency = |options: &[&str]| Run {
        cells: products(&["latency".to_owned()], &cells(&[], "8,1K,8K,64K")),
        ..alone(2, options)
    };
    let levels = Experiment {
        groups: Groups {
            heading: "level",
            field: "level",
            names: ["single", "multiple"].map(str::to_owned).into(),
        },
        result: "latency",
        runs: vec![latency(&["--single"]), latency(&[])],
        seconds: 1.0,
        floor: Floor::Steadiness,
        targets: vec![Target::all(Demand::TimesGroup(0, 1.1)).of(1)],
        ..by_size(
            "threads-latency",
            "half round trip by the level of thread support",
            "threads",
        )
    };
    let communicators = ["own", "shared"].map(str::to_owned);
    let rate = Experiment {
        rows: Rows {
            heading: "threads",
            field: "threads",
            label: |threads| threads.to_string(),
        },
        result: "rate",
        runs: vec![Run {
            cells: products(&communicators, &cells(&[], "1,2,4")),
            ..alone(2, &[])
        }],
        groups: Groups {
            heading: "communicator",
            field: "communicator",
            names: communicators.into(),
        },
        targets: vec![Target::rows(2, 2, against_peers(1.0, 1.0))],
        ..by_size(
            "threads-rate",
            "time per message of 8 bytes between two ranks of so many threads",
            "threads",
        )
    };
    vec![levels, rate]
}

/// What `--of` may name.
pub const LAYOUTS: [&str; 5] = ["vector", "face2d", "face3d", "indexed", "structs"];

/// Pack and unpack, beside loops.
pub fn datatypes(of: &[String], sizes: &[Size]) -> Experiment {
    let layouts = chosen(of, &LAYOUTS);
    let ways = layouts
        .iter()
        .flat_map(|layout| ["pack", "unpack"].map(|way| format!("{way}-{layout}")));
    let ways: Vec<String> = ways.collect();
    Experiment {
        runs: vec![Run {
            ranks: 1,
            options: vec![],
            cells: products(&ways, &cells(sizes, "1K,8K,64K,512K,4M")),
        }],
        groups: Groups {
            heading: "layout",
            field: "layout",
            names: ways,
        },
        seconds: 4.0,
        floor: Floor::Own("loop"),
        // 0.8 of the speed of a loop.
        targets: vec![
            Target::all(Demand::TimesFloor(1.25)),
            Target::all(against_peers(1.0, 1.0)),
        ],
        ..by_size(
            "datatypes",
            "MPI_Pack and MPI_Unpack beside a loop by hand",
            "datatypes",
        )
    }
}

/// What `--of` may name.
pub const COLLECTIVES: [&str; 9] = [
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "scatter",
    "gather",
    "reduce_scatter",
];

/// Collectives, an experiment for each number of ranks.
pub fn collectives(nonblocking: bool, ranks: &[u32], of: &[String], sizes: &[Size]) -> Vec<Experiment> {
    let ranks = if ranks.is_empty() { &[2, 3, 4, 8] } else { ranks };
    let on = |ranks: &u32| collectives_on(*ranks, nonblocking, of, sizes);
    ranks.iter().map(on).collect()
}

fn collectives_on(ranks: u32, nonblocking: bool, of: &[String], sizes: &[Size]) -> Experiment {
    let of = chosen(of, &COLLECTIVES);
    let (barrier, sized): (Vec<String>, Vec<String>) = of.iter().cloned().partition(|name| name == "barrier");
    let mut cells: Vec<String> = barrier.iter().map(|name| format!("{name}:0")).collect();
    cells.extend(products(&sized, &self::cells(sizes, usual_sizes(ranks))));
    let (name, title, options) = if nonblocking {
        let title = format!("non-blocking collectives and MPI_Wait on {ranks} ranks, roots in turn");
        (
            format!("collectives-nonblocking-{ranks}"),
            title,
            vec!["--nonblocking".to_owned()],
        )
    } else {
        let title = format!("collectives on {ranks} ranks, roots in turn");
        (format!("collectives-{ranks}"), title, vec![])
    };
    Experiment {
        runs: vec![Run { ranks, options, cells }],
        groups: Groups {
            heading: "collective",
            field: "collective",
            names: of,
        },
        seconds: 4.0,
        // From here on a launch takes longer than what it measures.
        launches: if ranks >= 64 { 2 } else { 3 },
        floor: if nonblocking {
            Floor::Own("blocking")
        } else {
            Floor::Steadiness
        },
        targets: if nonblocking {
            vec![
                Target::rows(0, 4 * KIB - 1, Demand::AboveFloor(0.15)),
                Target::rows(4 * KIB, u64::MAX, Demand::TimesFloor(1.15)),
            ]
        } else {
            vec![Target::all(Demand::SpeedUp {
                mean: if ranks == 2 { 1.3 } else { 1.4 },
                least: 0.9,
                but: 0.05,
            })]
        },
        ..by_size(&name, &title, "collectives")
    }
}

/// Of a collective: such that all ranks' blocks for all ranks fit into memory.
fn usual_sizes(ranks: u32) -> &'static str {
    match ranks {
        0..=8 => "8,1K,32K,128K,512K,1M",
        9..=32 => "8,128,2K,8K,32K,128K",
        _ => "8,128,2K,8K,32K",
    }
}

/// Barrier, by number of ranks.
pub fn barrier() -> Experiment {
    Experiment {
        runs: [2, 4, 8].map(|ranks| alone(ranks, &[])).into(),
        seconds: 1.0,
        floor: Floor::Line,
        ..by_ranks("barrier", "MPI_Barrier", "us", Value::Field("us"))
    }
}

/// Wall-clock time of the whole command.
pub fn launch(ranks: &[u32]) -> Experiment {
    let title = "launch, MPI_Init and MPI_Finalize";
    let ranks = if ranks.is_empty() { &[4] } else { ranks };
    Experiment {
        runs: ranks.iter().map(|ranks| alone(*ranks, &[])).collect(),
        ..by_ranks("launch", title, "ms", Value::Command)
    }
}

/// Memory of ranks that have all talked.
pub fn memory() -> Experiment {
    let title = "proportional set size per rank, after all pairs have talked";
    Experiment {
        runs: vec![alone(4, &[])],
        ..by_ranks("memory", title, "KiB", Value::Field("mean_kib"))
    }
}

/// CPU time of a waiting rank.
pub fn blocked() -> Experiment {
    let title = "CPU time of a rank blocked in MPI_Recv for 4 s";
    Experiment {
        runs: vec![alone(2, &[])],
        seconds: 4.0,
        // One percent.
        targets: vec![Target::all(Demand::Under(40.0))],
        ..by_ranks("blocked", title, "ms", Value::Field("cpu_ms"))
    }
}

/// How long a waiting rank takes to wake.
pub fn wake() -> Experiment {
    Experiment {
        rows: Rows {
            heading: "asleep ms",
            field: "ms",
            label: |ms| ms.to_string(),
        },
        result: "wake",
        runs: vec![Run {
            ranks: 2,
            options: vec![],
            cells: ["2", "20", "100"].map(str::to_owned).into(),
        }],
        floor: Floor::Only("futex", vec!["--wake".to_owned()]),
        targets: vec![Target::all(Demand::TimesFloor(1.5))],
        ..by_size(
            "wake",
            "from MPI_Send until a rank that was blocked has the message",
            "blocked",
        )
    }
}

/// A row per size, in microseconds: what most experiments are.
pub(super) fn by_size(name: &str, title: &str, program: &'static str) -> Experiment {
    Experiment {
        name: name.to_owned(),
        title: title.to_owned(),
        quantity: Quantity::Cost("us"),
        groups: Groups::default(),
        rows: Rows {
            heading: "bytes",
            field: "size",
            label: show::bytes,
        },
        program,
        result: program,
        value: Value::Field("us"),
        runs: vec![],
        seconds: 2.0,
        silence_limit: SILENCE_LIMIT,
        launches: 5,
        floor: Floor::None,
        targets: vec![],
        nodes: 0,
        links: "",
        neighbour: None,
        model: None,
        beside: &[],
        variants: vec![],
    }
}

/// A row per number of ranks.
pub(super) fn by_ranks(name: &'static str, title: &str, unit: &'static str, value: Value) -> Experiment {
    Experiment {
        quantity: Quantity::Cost(unit),
        rows: Rows {
            heading: "ranks",
            field: "ranks",
            label: |ranks| ranks.to_string(),
        },
        value,
        ..by_size(name, title, name)
    }
}

/// A launch of a program that has no cells.
pub(super) fn alone(ranks: u32, options: &[&str]) -> Run {
    Run {
        ranks,
        options: options.iter().map(|option| (*option).to_owned()).collect(),
        cells: vec![],
    }
}

/// The sizes that were asked for, or else these.
pub(super) fn cells(sizes: &[Size], default: &str) -> Vec<String> {
    let sizes = if sizes.is_empty() { &size::list(default) } else { sizes };
    sizes.iter().map(|size| size.0.to_string()).collect()
}

/// Of the kinds that there are those that were asked for; all, if none was.
pub(super) fn chosen(of: &[String], all: &[&str]) -> Vec<String> {
    let all = all.iter().map(|kind| (*kind).to_owned());
    all.filter(|kind| of.is_empty() || of.contains(kind)).collect()
}

/// Every kind with every size.
pub(super) fn products(kinds: &[String], sizes: &[String]) -> Vec<String> {
    let of_kind = |kind| sizes.iter().map(move |size| format!("{kind}:{size}"));
    kinds.iter().flat_map(of_kind).collect()
}

pub(super) fn against_peers(mean: f64, least: f64) -> Demand {
    Demand::SpeedUp { mean, least, but: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_asked_for_or_the_usual() {
        assert_eq!(cells(&size::list("8,2K"), "1"), ["8", "2048"]);
        assert_eq!(cells(&[], "1,4M"), ["1", "4194304"]);
        let kinds = chosen(&["b".to_owned()], &["a", "b"]);
        assert_eq!(products(&kinds, &cells(&[], "1,2")), ["b:1", "b:2"]);
    }
}
