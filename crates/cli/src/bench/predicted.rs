//! `isthmus bench collectives --model`: what the cost model says of each cell, beside what was measured.

use isthmus_collective::select::{ALL, Collective, model};
use isthmus_os::cpu;
use isthmus_transfer::{Shape, mapped};

use super::table::Table;
use crate::algorithms;
use crate::show;

/// What a switch from one process to another takes, in nanoseconds: an all-reduce of 8 bytes on 4 and on 8 ranks of two CPUs.
const SWITCH: f64 = 1400.0;
/// Bytes of which a copy is priced: they stay in a cache.
const COPIED: u64 = 64 << 10;

/// A table of the cells for which there is a model; empty where there is none, or no hand-over was measured.
pub fn text(table: &Table<'_>) -> String {
    let Some(run) = table.experiment().runs.first() else {
        return String::new();
    };
    let Some(line) = table.hand_over() else {
        return String::new();
    };
    let machine = model::MachineCosts {
        cpus: cpu::affinity().len() as u64,
        line: line * 1e3,
        copy: mapped::facts().cost(Shape::contiguous(COPIED)).as_nanos() as f64 / COPIED as f64,
        switch: SWITCH,
    };
    let copies = algorithms::single_copies();
    let mut rows = vec![
        ["collective", "bytes", "algorithm", "model", "measured", "x model"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for cell in table.cells() {
        let name = table.group(cell.group).unwrap_or_default();
        let Some(collective) = ALL.iter().find(|collective: &&&Collective| collective.name == name) else {
            continue;
        };
        let predicted = model::on(collective, u64::from(run.ranks), cell.at, &machine, copies);
        if let (Some((algorithm, predicted)), Some(measured)) = (predicted, table.value(cell)) {
            let predicted = predicted / 1e3;
            rows.push(vec![
                name.to_owned(),
                table.row_label(cell.at),
                algorithm.to_owned(),
                show::significant(predicted),
                show::significant(measured),
                format!("{:.2}", measured / predicted),
            ]);
        }
    }
    format!(
        "the model, in us: a line crosses in {} us, a byte is copied in {} ns, a switch takes {} us\n{}",
        show::significant(line),
        show::significant(machine.copy),
        show::significant(SWITCH / 1e3),
        show::columns(&rows, 1)
    )
}
