//! Launching the libraries in turn, A B C A B C, so that what disturbs the machine disturbs all of them alike.

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use isthmus_os::interrupt;

use super::experiment::{Experiment, Floors};
use super::library::Library;
use super::table::{Column, Samples, Table};
use super::workshop::Workshop;

/// How long the hand-over of a line is measured before each launch: long enough for its median.
const LINE_SECONDS: &str = "0.05";

/// Run `experiment` `launches` times on each library. One that fails is left out from then on, with a line; it is an
/// error if none is left. Blocks, and shows progress on stderr.
pub fn measure(experiment: &Experiment, libraries: &[Library], workshop: &Workshop, launches: u32) -> Result<Table> {
    let mut columns: Vec<Option<Column>> = libraries
        .iter()
        .map(|library| Some(Column::new(library.name)))
        .collect();
    let mut memcpy = Samples::new();
    for launch in 1..=launches {
        progress(&format!("{} {launch}/{launches}:", experiment.name));
        if let Floors::LineAndMemcpy(arguments) = &experiment.floors {
            progress(" floors");
            for result in workshop.run_floors(arguments)?.results("memcpy") {
                if let (Some(size), Some(us)) = (result.field("size"), result.field("us")) {
                    memcpy.entry(size as u64).or_default().push(us);
                }
            }
        }
        for (library, slot) in libraries.iter().zip(&mut columns) {
            let Some(column) = slot else { continue };
            progress(&format!(" {}", library.name));
            if !matches!(experiment.floors, Floors::None) {
                let finished = workshop.run_floors(&["--seconds".to_owned(), LINE_SECONDS.to_owned()])?;
                column
                    .line
                    .extend(finished.results("line").filter_map(|result| result.field("us")));
            }
            if let Err(error) = one_launch(experiment, library, workshop, &mut column.values) {
                progress("\n");
                if interrupt::noted() {
                    return Err(error);
                }
                progress(&format!("isthmus: {} is left out: {error:#}\n", library.name));
                *slot = None;
            }
        }
        progress("\n");
    }

    let columns: Vec<Column> = columns.into_iter().flatten().collect();
    if columns.is_empty() {
        bail!("no library completed {}", experiment.name);
    }
    Ok(Table::new(experiment, columns, memcpy))
}

fn one_launch(experiment: &Experiment, library: &Library, workshop: &Workshop, samples: &mut Samples) -> Result<()> {
    for (ranks, arguments) in &experiment.runs {
        let finished = workshop
            .run(library, *ranks, experiment.program, arguments)
            .with_context(|| format!("{} on {ranks} ranks", experiment.program))?;
        let rows = (experiment.read)(&finished);
        if rows.is_empty() {
            bail!("{} on {ranks} ranks printed no result", experiment.program);
        }
        for (row, value) in rows {
            samples.entry(row).or_default().push(value);
        }
    }
    Ok(())
}

fn progress(text: &str) {
    let mut stderr = io::stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}
