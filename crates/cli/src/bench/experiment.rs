//! What can be measured: which program runs on how many ranks, and how its output becomes numbers.

use super::process::Finished;
use super::size::Size;
use crate::show;

/// One experiment. Every number in it is better when smaller.
pub struct Experiment {
    /// As on the command line; with `-real` for that variant.
    pub name: &'static str,
    /// What the numbers are.
    pub title: &'static str,
    /// The numbers' unit.
    pub unit: &'static str,
    /// What tells the rows apart.
    pub rows: &'static str,
    /// The C program.
    pub program: &'static str,
    /// Its launches within one round: ranks and arguments.
    pub runs: Vec<(u32, Vec<String>)>,
    /// What the machine itself can do, to measure beside it.
    pub floors: Floors,
    /// The numbers in the output of one launch, by row.
    pub read: fn(&Finished) -> Vec<(u64, f64)>,
    /// How a row is called.
    pub label: fn(u64) -> String,
}

/// The floors of one experiment.
pub enum Floors {
    /// There are none to compare with.
    None,
    /// Hand-over of a cache line.
    Line,
    /// Hand-over of a cache line, and copying; the floors' program takes these arguments.
    LineAndMemcpy(Vec<String>),
}

/// Half round trip, by size.
pub fn pingpong(real: bool, sizes: &[Size]) -> Experiment {
    let mut arguments: Vec<String> = real.then(|| "--real".to_owned()).into_iter().collect();
    arguments.extend(sizes.iter().map(|size| size.0.to_string()));
    Experiment {
        name: if real { "pingpong-real" } else { "pingpong" },
        title: if real {
            "half round trip; the buffer is rewritten before and read after each message"
        } else {
            "half round trip; buffers untouched"
        },
        unit: "us",
        rows: "bytes",
        program: "pingpong",
        runs: vec![(2, arguments.clone())],
        floors: Floors::LineAndMemcpy(arguments),
        read: |output| rows(output, "pingpong", "size", "us"),
        label: show::bytes,
    }
}

/// Wall-clock time of the whole command.
pub fn launch() -> Experiment {
    Experiment {
        name: "launch",
        title: "launch, MPI_Init and MPI_Finalize",
        unit: "ms",
        rows: "ranks",
        program: "launch",
        runs: vec![(4, vec![])],
        floors: Floors::None,
        read: |output| vec![(4, output.took.as_secs_f64() * 1e3)],
        label: |ranks| ranks.to_string(),
    }
}

/// CPU time of a waiting rank.
pub fn blocked() -> Experiment {
    Experiment {
        name: "blocked",
        title: "CPU time of a rank blocked in MPI_Recv for 4 s",
        unit: "ms",
        rows: "ranks",
        program: "blocked",
        runs: vec![(2, vec!["--seconds".to_owned(), "4".to_owned()])],
        floors: Floors::None,
        read: |output| rows(output, "blocked", "ranks", "cpu_ms"),
        label: |ranks| ranks.to_string(),
    }
}

/// Memory of ranks that have all talked.
pub fn memory() -> Experiment {
    Experiment {
        name: "memory",
        title: "proportional set size per rank, after all pairs have talked",
        unit: "KiB",
        rows: "ranks",
        program: "memory",
        runs: vec![(4, vec![])],
        floors: Floors::None,
        read: |output| rows(output, "memory", "ranks", "mean_kib"),
        label: |ranks| ranks.to_string(),
    }
}

/// Barrier, by number of ranks.
pub fn barrier() -> Experiment {
    Experiment {
        name: "barrier",
        title: "MPI_Barrier",
        unit: "us",
        rows: "ranks",
        program: "barrier",
        runs: vec![(2, vec![]), (4, vec![]), (8, vec![])],
        floors: Floors::Line,
        read: |output| rows(output, "barrier", "ranks", "us"),
        label: |ranks| ranks.to_string(),
    }
}

/// The field `value` of every result called `name`, by its field `key`.
fn rows(output: &Finished, name: &str, key: &str, value: &str) -> Vec<(u64, f64)> {
    let results = output.results(name);
    results
        .filter_map(|result| Some((result.field(key)? as u64, result.field(value)?)))
        .collect()
}
