//! Files (bench/io.c): collective accesses that interleave, checkpoints, accesses of one rank's own, writes behind computation, opening and
//! closing. The files are in memory, unless `ISTHMUS_BENCH_FOLDER` names a folder.

use super::catalogue::{by_size, cells, products};
use super::experiment::{Experiment, Floor, Groups, Rows, Run, Value};
use super::quantity::Quantity;
use super::size::Size;
use super::target::{Demand, Target};

const TOGETHER: [&str; 7] = [
    "write-blocks",
    "read-blocks",
    "write-4096",
    "read-4096",
    "write-64",
    "read-64",
    "write-checkpoint",
];
const OWN: [&str; 2] = ["own-write", "own-read"];

/// Names of the experiments, after `io-`.
pub const PARTS: [&str; 7] = ["2", "4", "8", "nodes", "own", "hidden", "open"];

/// These parts; all of them, if none is named.
pub fn experiments(of: &[String], sizes: &[Size]) -> Vec<Experiment> {
    let parts = PARTS
        .into_iter()
        .filter(|part| of.is_empty() || of.iter().any(|name| name == part));
    let made = parts.map(|part| match part {
        "nodes" => between_nodes(sizes),
        "own" => own(sizes),
        "hidden" => hidden(sizes),
        "open" => open(),
        ranks => together(ranks.parse().expect("the other parts are numbers of ranks"), sizes),
    });
    made.collect()
}

fn of_kinds(name: &str, title: &str, kinds: &[&str]) -> Experiment {
    Experiment {
        groups: Groups {
            heading: "kind",
            field: "kind",
            names: names(kinds),
        },
        seconds: 6.0,
        launches: 3,
        floor: Floor::Steadiness,
        ..by_size(name, title, "io")
    }
}

fn names(kinds: &[&str]) -> Vec<String> {
    kinds.iter().map(|kind| (*kind).to_owned()).collect()
}

fn together(ranks: u32, sizes: &[Size]) -> Experiment {
    let title = format!(
        "{ranks} ranks, a collective write or read of one file: boxes of a cube of doubles, records in turn, a checkpoint"
    );
    Experiment {
        runs: vec![Run {
            ranks,
            options: vec![],
            cells: products(&names(&TOGETHER), &cells(sizes, "4M,64M")),
        }],
        targets: vec![Target::all(Demand::SpeedUp {
            mean: 1.5,
            least: 1.0,
            but: 0.0,
        })],
        ..of_kinds(&format!("io-{ranks}"), &title, &TOGETHER)
    }
}

fn between_nodes(sizes: &[Size]) -> Experiment {
    Experiment {
        name: "io-nodes".to_owned(),
        title: "2 nodes x 2 ranks, a collective write or read of one file".to_owned(),
        nodes: 2,
        ..together(4, sizes)
    }
}

fn own(sizes: &[Size]) -> Experiment {
    Experiment {
        runs: vec![Run {
            ranks: 2,
            options: vec![],
            cells: products(&names(&OWN), &cells(sizes, "64K,1M,4M,64M")),
        }],
        // Of times: 0.98 of the speed.
        targets: vec![Target::all(Demand::TimesFloor(1.0 / 0.98))],
        floor: Floor::Own("pwrite, pread"),
        ..of_kinds("io-own", "one access of a rank to a file of its own, in a row", &OWN)
    }
}

fn hidden(sizes: &[Size]) -> Experiment {
    let kinds = ["hidden"];
    Experiment {
        quantity: Quantity::Share,
        value: Value::Field("hidden"),
        runs: vec![Run {
            ranks: 1,
            options: vec![],
            cells: products(&names(&kinds), &cells(sizes, "1M,16M,64M")),
        }],
        targets: vec![Target::all(Demand::AtLeast(90.0))],
        ..of_kinds(
            "io-hidden",
            "how much of MPI_File_iwrite_at is hidden behind computation of twice its length, with a CPU left",
            &kinds,
        )
    }
}

fn open() -> Experiment {
    let run = |ranks: u32| Run {
        ranks,
        options: vec![],
        cells: vec![format!("open:{ranks}")],
    };
    Experiment {
        rows: Rows {
            heading: "ranks",
            field: "size",
            label: |ranks| ranks.to_string(),
        },
        runs: [2, 16, 64].map(run).into(),
        targets: vec![Target::all(Demand::SpeedUp {
            mean: 1.0,
            least: 1.0,
            but: 0.0,
        })],
        ..of_kinds(
            "io-open",
            "MPI_File_open and MPI_File_close of one file by all ranks",
            &["open"],
        )
    }
}
