//! Tables and plots of pages in docs/numbers, rendered from what `isthmus bench --json FILE` wrote, which is kept in docs/numbers/data.
//!
//! A page has, where a table belongs, `<!-- table neighbours-2.json neighbours-*-2 ... -->`, the table, and `<!-- end of table -->`: a row for each
//! cell, a column for each library, in the experiment's unit, medians of launches. `<!-- means FILE EXPERIMENT ... -->` has a row for each
//! experiment: its mean speed-up and how many of its cells are under 1. `<!-- matrix FILE EXPERIMENT -->` has a row for each operation and a column
//! for each size: *ours / the other, how many times faster we are*. `<!-- plot FILE EXPERIMENT ... -->` is a picture of the speed-ups of these
//! experiments by size, in docs/numbers/plots, a line for each operation.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::Document;

/// Numbers and sizes look as `isthmus bench` shows them.
#[path = "../../../crates/cli/src/show.rs"]
#[allow(dead_code, reason = "isthmus shows more than tables need")]
mod show;

mod picture;
/// Plots, too.
#[path = "../../../crates/cli/src/bench/plot.rs"]
#[allow(dead_code, reason = "the pages of isthmus bench have more kinds of plots")]
mod plot;

const PAGES: &str = "docs/numbers/";
const DATA: &str = "docs/numbers/data";
const PLOTS: &str = "plots";
const END: &str = "<!-- end of table -->";
/// Characters of a line of a table, at most: a longer table is cut into several.
const WIDEST: usize = 158;

/// The tables of a file, in its order.
type Data = Vec<Experiment>;

/// What `isthmus bench --json` wrote, as far as tables need it.
#[derive(Deserialize)]
struct Record {
    experiments: Data,
}

#[derive(Deserialize)]
struct Experiment {
    name: String,
    title: String,
    unit: String,
    groups: Vec<String>,
    rows: String,
    libraries: Vec<Library>,
    /// Of cells, by `operation, size`.
    speed_ups: Vec<(String, f64)>,
}

#[derive(Deserialize)]
struct Library {
    library: String,
    values: Vec<Value>,
}

#[derive(Deserialize)]
struct Value {
    group: usize,
    at: u64,
    launches: Vec<f64>,
}

/// Tables that are not what their data say; with `write` they are written.
pub fn check(root: &Path, documents: &[Document], write: bool) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let pages = documents.iter().filter(|document| document.path.starts_with(PAGES));
    let mut pictures = Vec::new();
    for page in pages {
        let rendered = page_of(&page.text, &mut |file| read(&root.join(DATA).join(file)), &mut pictures)
            .with_context(|| format!("tables of {}", page.path))?;
        if rendered == page.text {
            continue;
        }
        match write {
            true => std::fs::write(root.join(&page.path), rendered)
                .with_context(|| format!("cannot write {}", page.path))?,
            false => wrong.push(format!(
                "{}: a table is not what its data in {DATA} say: cargo xtask check-docs --write",
                page.path
            )),
        }
    }
    for picture in pictures {
        let path = root.join(PAGES).join(&picture.file);
        if std::fs::read_to_string(&path).is_ok_and(|there| there == picture.svg) {
            continue;
        }
        match write {
            true => {
                let folder = root.join(PAGES).join(PLOTS);
                std::fs::create_dir_all(folder).context("cannot make the folder of plots")?;
                std::fs::write(&path, picture.svg).with_context(|| format!("cannot write {}", path.display()))?;
            }
            false => wrong.push(format!(
                "{PAGES}{}: the plot is not what its data in {DATA} say: cargo xtask check-docs --write",
                picture.file
            )),
        }
    }
    Ok(wrong)
}

/// A plot.
struct Picture {
    /// Its name below the folder of pages.
    file: String,
    svg: String,
}

fn read(file: &Path) -> Result<Data> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let record: Record =
        serde_json::from_str(&text).with_context(|| format!("{} is not of isthmus bench --json", file.display()))?;
    Ok(record.experiments)
}

/// The page with its tables made anew.
fn page_of(text: &str, data: &mut dyn FnMut(&str) -> Result<Data>, pictures: &mut Vec<Picture>) -> Result<String> {
    let mut page = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        page += line;
        page.push('\n');
        let Some(words) = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->")) else {
            continue;
        };
        let words: Vec<&str> = words.split_whitespace().collect();
        let (kind, file, names) = match words[..] {
            [kind @ ("table" | "means" | "matrix" | "plot"), file, ref names @ ..] if !names.is_empty() => {
                (kind, file, names)
            }
            ["table" | "means" | "matrix" | "plot", ..] => bail!("{line}: a file and experiments are to be named"),
            _ => continue,
        };
        let known = data(file)?;
        let mut experiments = Vec::new();
        for name in names {
            let count = experiments.len();
            experiments.extend(known.iter().filter(|experiment| is_named(experiment, name)));
            ensure!(experiments.len() > count, "{file} has no experiment {name}");
        }
        page += &match kind {
            "table" => table(&experiments),
            "matrix" => experiments.iter().map(|experiment| matrix(experiment)).collect(),
            "plot" => {
                let name = format!("{PLOTS}/{}-{}.svg", file.trim_end_matches(".json"), experiments[0].name);
                let svg = picture::speed_ups(&experiments)?;
                pictures.push(Picture {
                    file: name.clone(),
                    svg,
                });
                format!(
                    "![Speed-up by {}: {}]({name})\n",
                    experiments[0].rows,
                    titles(&experiments)
                )
            }
            _ => means(&experiments),
        };
        if !lines.any(|line| line == END) {
            bail!("{line}: there is no {END} after it");
        }
        page += END;
        page.push('\n');
    }
    Ok(page)
}

/// By its whole name, or by its beginning and end: `neighbours-*-2`.
fn is_named(experiment: &Experiment, name: &str) -> bool {
    match name.split_once('*') {
        Some((first, last)) => experiment.name.starts_with(first) && experiment.name.ends_with(last),
        None => experiment.name == name,
    }
}

/// `beside a busy loop on 2 ranks, means ...`: up to the comma.
fn short(experiment: &Experiment) -> &str {
    experiment.title.split(',').next().unwrap_or_default()
}

/// What a plot of them shows.
fn titles(experiments: &[&Experiment]) -> String {
    let mut titles: Vec<&str> = experiments.iter().map(|experiment| short(experiment)).collect();
    titles.dedup();
    titles.join("; ")
}

fn table(experiments: &[&Experiment]) -> String {
    let libraries: Vec<&str> = match experiments {
        [first, ..] => first.libraries.iter().map(|library| library.library.as_str()).collect(),
        [] => return String::new(),
    };
    let units: Vec<&str> = experiments.iter().map(|experiment| experiment.unit.as_str()).collect();
    let unit = units[0];
    let of_unit = if units.iter().all(|other| *other == unit) {
        unit
    } else {
        ""
    };
    let mut text = format!("| {of_unit} | | {} | speed-up |\n|---|---|", libraries.join(" | "));
    text += &"---|".repeat(libraries.len() + 1);
    text.push('\n');
    for experiment in experiments {
        let mut heading = short(experiment);
        let Some(ours) = experiment.libraries.first() else {
            continue;
        };
        for cell in &ours.values {
            let label = label(experiment, cell);
            let values = libraries.iter().map(|name| {
                let library = experiment.libraries.iter().find(|library| library.library == *name)?;
                let same = |value: &&Value| value.group == cell.group && value.at == cell.at;
                median(&library.values.iter().find(same)?.launches)
            });
            let values: Vec<String> = values
                .map(|value| value.map_or_else(|| "-".to_owned(), show::significant))
                .collect();
            let speed_up = experiment.speed_ups.iter().find(|(known, _)| *known == label);
            let speed_up = speed_up.map_or_else(|| "-".to_owned(), |(_, factor)| format!("{factor:.2}"));
            let _ = writeln!(text, "| {heading} | {label} | {} | {speed_up} |", values.join(" | "));
            heading = "";
        }
    }
    text
}

/// The value of a library, the first or the second, at a cell.
fn value_of(experiment: &Experiment, library: usize, group: usize, at: u64) -> Option<f64> {
    let values = &experiment.libraries.get(library)?.values;
    median(
        &values
            .iter()
            .find(|value| value.group == group && value.at == at)?
            .launches,
    )
}

/// The best value of the libraries beside ours.
fn best_peer(experiment: &Experiment, group: usize, at: u64) -> Option<f64> {
    let peers = (1..experiment.libraries.len()).filter_map(|library| value_of(experiment, library, group, at));
    match experiment.unit.as_str() {
        "MB/s" => peers.reduce(f64::max),
        _ => peers.reduce(f64::min),
    }
}

/// By which factor ours is better at a cell.
fn speed_up_of(experiment: &Experiment, group: usize, at: u64) -> Option<f64> {
    let cell = Value {
        group,
        at,
        launches: Vec::new(),
    };
    let label = label(experiment, &cell);
    let found = experiment.speed_ups.iter().find(|(known, _)| *known == label);
    found.map(|(_, factor)| *factor)
}

/// All rows of an experiment.
fn rows_of(experiment: &Experiment) -> Vec<u64> {
    let values = experiment.libraries.iter().flat_map(|library| &library.values);
    let rows: BTreeSet<u64> = values.map(|value| value.at).collect();
    rows.into_iter().collect()
}

fn matrix(experiment: &Experiment) -> String {
    let groups = 0..experiment.groups.len();
    let mut columns: Vec<Vec<String>> = Vec::new();
    for at in rows_of(experiment) {
        let mut column = vec![row_label(experiment, at)];
        column.extend(groups.clone().map(|group| {
            let both = value_of(experiment, 0, group, at).zip(best_peer(experiment, group, at));
            let (Some((ours, other)), speed_up) = (both, speed_up_of(experiment, group, at)) else {
                return String::new();
            };
            let speed_up = speed_up.map_or_else(String::new, |factor| format!(", {factor:.2}"));
            format!("{} / {}{speed_up}", show::significant(ours), show::significant(other))
        }));
        columns.push(column);
    }
    let mut first = vec![experiment.unit.clone()];
    first.extend(experiment.groups.iter().cloned());
    let width = |column: &[String]| column.iter().map(|cell| cell.len() + 3).max().unwrap_or(0);
    let room = WIDEST - width(&first);
    let mut tables: Vec<&[Vec<String>]> = Vec::new();
    let (mut begin, mut taken) = (0, 0);
    // Tables of about one width.
    let total: usize = columns.iter().map(|column| width(column)).sum();
    let share = total / total.div_ceil(room).max(1) + columns.iter().map(|column| width(column)).max().unwrap_or(0) / 2;
    for (index, column) in columns.iter().enumerate() {
        if taken + width(column) > room.min(share) && index > begin {
            tables.push(&columns[begin..index]);
            (begin, taken) = (index, 0);
        }
        taken += width(column);
    }
    tables.push(&columns[begin..]);
    let mut texts = Vec::new();
    for table in tables {
        let mut text = String::new();
        for line in 0..first.len() {
            let cells: Vec<&str> = table.iter().map(|column| column[line].as_str()).collect();
            let _ = writeln!(text, "| {} | {} |", first[line], cells.join(" | "));
            if line == 0 {
                let _ = writeln!(text, "|---|{}", "---|".repeat(table.len()));
            }
        }
        texts.push(text);
    }
    texts.join("\n")
}

fn means(experiments: &[&Experiment]) -> String {
    let mut text = String::from("| | mean speed-up | least | cells under 1 |\n|---|---|---|---|\n");
    for experiment in experiments {
        let factors: Vec<f64> = experiment.speed_ups.iter().map(|(_, factor)| *factor).collect();
        let mean = (factors.iter().map(|factor| factor.ln()).sum::<f64>() / factors.len().max(1) as f64).exp();
        let least = factors.iter().copied().fold(f64::INFINITY, f64::min);
        let under = factors.iter().filter(|factor| **factor < 0.995).count();
        let _ = writeln!(
            text,
            "| {} | {mean:.2} | {least:.2} | {under} of {} |",
            short(experiment),
            factors.len()
        );
    }
    text
}

/// As `speed_ups` names the cell: `pingpong, 64K`; without the operation where there is one only.
fn label(experiment: &Experiment, cell: &Value) -> String {
    let size = row_label(experiment, cell.at);
    match experiment
        .groups
        .get(cell.group)
        .filter(|_| experiment.groups.len() > 1)
    {
        Some(group) => format!("{group}, {size}"),
        None => size,
    }
}

/// A size, or a number of ranks and the like.
fn row_label(experiment: &Experiment, at: u64) -> String {
    match experiment.rows.as_str() {
        "bytes" => show::bytes(at),
        _ => at.to_string(),
    }
}

fn median(launches: &[f64]) -> Option<f64> {
    let mut sorted = launches.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = r#"{"version": "1", "cpus": "0", "experiments": [{"name": "a", "title": "beside nobody, means", "unit": "us",
        "groups": ["pingpong", "put"], "rows": "bytes",
        "libraries": [{"library": "isthmus", "values": [{"group": 0, "at": 65536, "launches": [3.0, 1.0, 2.0]}, {"group": 1, "at": 8, "launches": []}]},
                      {"library": "mpich", "values": [{"group": 0, "at": 65536, "launches": [4.0]}]}],
        "speed_ups": [["pingpong, 64K", 2.0]]}]}"#;

    fn rendered(page: &str) -> Result<String> {
        with_pictures(page).map(|(page, _)| page)
    }

    fn with_pictures(page: &str) -> Result<(String, Vec<Picture>)> {
        let mut data = |_: &str| {
            let record: Record = serde_json::from_str(DATA)?;
            Ok(record.experiments)
        };
        let mut pictures = Vec::new();
        let page = page_of(page, &mut data, &mut pictures)?;
        Ok((page, pictures))
    }

    #[test]
    fn a_table_has_a_row_for_each_cell_and_is_not_written_twice() -> Result<()> {
        let page = rendered("before\n<!-- table x.json a -->\nold\n<!-- end of table -->\nafter\n")?;
        assert_eq!(
            page,
            "before\n<!-- table x.json a -->\n| us | | isthmus | mpich | speed-up |\n|---|---|---|---|---|\n\
             | beside nobody | pingpong, 64K | 2.00 | 4.00 | 2.00 |\n|  | put, 8 | - | - | - |\n<!-- end of table -->\nafter\n"
        );
        assert_eq!(rendered(&page)?, page);
        assert_eq!(
            rendered(&page.replace(" a -->", " *a -->"))?,
            page.replace(" a -->", " *a -->")
        );
        Ok(())
    }

    #[test]
    fn means_count_cells_that_are_behind() -> Result<()> {
        let page = rendered("<!-- means x.json a -->\n<!-- end of table -->\n")?;
        assert!(page.contains("| beside nobody | 2.00 | 2.00 | 0 of 1 |"), "{page}");
        Ok(())
    }

    #[test]
    fn a_matrix_has_a_column_for_each_size_and_no_line_is_too_long() -> Result<()> {
        let page = rendered("<!-- matrix x.json a -->\n<!-- end of table -->\n")?;
        assert!(
            page.contains("| us | 8 | 64K |\n|---|---|---|\n| pingpong |  | 2.00 / 4.00, 2.00 |\n"),
            "{page}"
        );
        let values = |ours: u32| {
            let values = (0..30).map(|at| format!(r#"{{"group": 0, "at": {}, "launches": [{ours}]}}"#, 1_u64 << at));
            values.collect::<Vec<_>>().join(", ")
        };
        let long = format!(
            r#"{{"name": "a", "title": "a", "unit": "us", "groups": ["put"], "rows": "bytes", "speed_ups": [],
                "libraries": [{{"library": "isthmus", "values": [{}]}}, {{"library": "mpich", "values": [{}]}}]}}"#,
            values(1),
            values(2)
        );
        let matrix = matrix(&serde_json::from_str(&long)?);
        assert!(matrix.lines().all(|line| line.len() <= WIDEST), "{matrix}");
        assert_eq!(matrix.matches("1.00 / 2.00").count(), 30);
        Ok(())
    }

    #[test]
    fn a_plot_is_a_file_and_the_same_each_time() -> Result<()> {
        let (page, pictures) = with_pictures("<!-- plot x.json a -->\n<!-- end of table -->\n")?;
        assert!(
            page.contains("![Speed-up by bytes: beside nobody](plots/x-a.svg)"),
            "{page}"
        );
        assert_eq!(pictures.len(), 1);
        assert!(pictures[0].svg.starts_with("<svg") && pictures[0].svg.contains(">pingpong<"));
        assert_eq!(with_pictures(&page)?.1[0].svg, pictures[0].svg);
        Ok(())
    }

    #[test]
    fn an_unknown_experiment_or_a_table_without_end_is_an_error() {
        assert!(rendered("<!-- table x.json b -->\n<!-- end of table -->\n").is_err());
        assert!(rendered("<!-- table x.json a -->\n").is_err());
        assert!(rendered("<!-- means x.json -->\n<!-- end of table -->\n").is_err());
        assert_eq!(rendered("<!-- a note -->\n").ok().as_deref(), Some("<!-- a note -->\n"));
    }
}
