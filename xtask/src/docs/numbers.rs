//! Tables of pages in docs/numbers, rendered from what `isthmus bench --json FILE` wrote, which is kept in docs/numbers/data.
//!
//! A page has, where a table belongs, `<!-- table neighbours-2.json neighbours-*-2 ... -->`, the table, and `<!-- end of table -->`: a row for each
//! cell, a column for each library, in the experiment's unit, medians of launches. `<!-- means FILE EXPERIMENT ... -->` has a row for each
//! experiment: its mean speed-up and how many of its cells are under 1.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::Document;

/// Numbers and sizes look as `isthmus bench` shows them.
#[path = "../../../crates/cli/src/show.rs"]
#[allow(dead_code, reason = "isthmus shows more than tables need")]
mod show;

const PAGES: &str = "docs/numbers/";
const DATA: &str = "docs/numbers/data";
const END: &str = "<!-- end of table -->";

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
    for page in pages {
        let rendered = page_of(&page.text, &mut |file| read(&root.join(DATA).join(file)))
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
    Ok(wrong)
}

fn read(file: &Path) -> Result<Data> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let record: Record =
        serde_json::from_str(&text).with_context(|| format!("{} is not of isthmus bench --json", file.display()))?;
    Ok(record.experiments)
}

/// The page with its tables made anew.
fn page_of(text: &str, data: &mut dyn FnMut(&str) -> Result<Data>) -> Result<String> {
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
            [kind @ ("table" | "means"), file, ref names @ ..] if !names.is_empty() => (kind, file, names),
            ["table" | "means", ..] => bail!("{line}: a file and experiments are to be named"),
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
    let size = match experiment.rows.as_str() {
        "bytes" => show::bytes(cell.at),
        _ => cell.at.to_string(),
    };
    match experiment
        .groups
        .get(cell.group)
        .filter(|_| experiment.groups.len() > 1)
    {
        Some(group) => format!("{group}, {size}"),
        None => size,
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
        page_of(page, &mut |_| {
            let record: Record = serde_json::from_str(DATA)?;
            Ok(record.experiments)
        })
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
    fn an_unknown_experiment_or_a_table_without_end_is_an_error() {
        assert!(rendered("<!-- table x.json b -->\n<!-- end of table -->\n").is_err());
        assert!(rendered("<!-- table x.json a -->\n").is_err());
        assert!(rendered("<!-- means x.json -->\n<!-- end of table -->\n").is_err());
        assert_eq!(rendered("<!-- a note -->\n").ok().as_deref(), Some("<!-- a note -->\n"));
    }
}
