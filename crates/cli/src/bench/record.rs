//! What `--json` writes.

use std::collections::BTreeMap;

use serde::Serialize;

use super::judge;
use super::samples::Samples;
use super::table::Table;
use super::target::Verdict;

/// All of it.
#[derive(Serialize)]
pub struct Record<'a> {
    version: &'static str,
    cpus: &'a str,
    experiments: Vec<TableRecord<'a>>,
}

/// A table.
#[derive(Serialize)]
pub struct TableRecord<'a> {
    name: &'a str,
    title: &'a str,
    unit: &'static str,
    /// What `group` in the numbers is an index of.
    groups: &'a [String],
    /// What `at` in the numbers is.
    rows: &'static str,
    libraries: Vec<Numbers<'a>>,
    floor: &'a Samples,
    second_floor: &'a Samples,
    speed_ups: Vec<(String, f64)>,
    targets: Vec<Verdict>,
}

#[derive(Serialize)]
struct Numbers<'a> {
    library: String,
    version: &'a Option<String>,
    values: &'a Samples,
    floor: &'a Samples,
    /// By the names of what else the program told.
    beside: BTreeMap<&'static str, &'a Samples>,
    /// Hand-over of a cache line before each launch, in microseconds.
    line: &'a [f64],
}

impl<'a> Record<'a> {
    /// Of `tables`, measured on `cpus`.
    pub fn new(tables: &'a [Table], cpus: &'a str) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            cpus,
            experiments: tables.iter().map(TableRecord::of).collect(),
        }
    }
}

impl<'a> TableRecord<'a> {
    /// What this table has.
    pub fn of(table: &'a Table) -> Self {
        let experiment = table.experiment();
        let libraries = table.columns().iter().map(|column| Numbers {
            library: column.library.to_string(),
            version: &column.version,
            values: &column.values,
            floor: &column.floor,
            beside: column
                .beside
                .iter()
                .map(|(&index, samples)| (experiment.beside[index], samples))
                .collect(),
            line: &column.line,
        });
        let cells = table.cells().into_iter();
        let speed_ups = cells.filter_map(|cell| Some((table.label(cell), table.speed_up(cell)?)));
        Self {
            name: &experiment.name,
            title: &experiment.title,
            unit: table.unit(),
            groups: &experiment.groups.names,
            rows: experiment.rows.heading,
            libraries: libraries.collect(),
            floor: &table.floor,
            second_floor: &table.second,
            speed_ups: speed_ups.collect(),
            targets: judge::verdicts(table),
        }
    }
}
