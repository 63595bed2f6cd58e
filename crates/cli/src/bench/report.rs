//! The report as one HTML file that needs no network.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use isthmus_os::topology;
use plotters::style::RGBColor;

use super::judge;
use super::library::Name;
use super::plot::{self, Line, Scale};
use super::quantity::Quantity;
use super::samples::Cell;
use super::table::{LOST, Table};

const FLOOR: RGBColor = RGBColor(96, 100, 108);
const LINE_FLOOR: RGBColor = RGBColor(178, 182, 190);

/// The page of `tables`, measured on `cpus`.
pub fn page(tables: &[Table], cpus: &str) -> Result<String> {
    let mut body = String::new();
    let _ = write!(
        body,
        "<header><h1>Isthmus beside other MPI libraries</h1>{}</header>\n{}",
        facts(tables, cpus),
        overview(tables)
    );
    for table in tables {
        body += &section(table)?;
    }
    Ok(frame("Isthmus bench", &body))
}

/// A page that needs nothing else.
pub(super) fn frame(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{}</title><style>{}</style></head>\n<body>{body}</body></html>\n",
        escaped(title),
        include_str!("report.css")
    )
}

/// So many rows are a plot; fewer are bars.
const FEW: usize = 3;

/// When, on what, and which libraries.
pub(super) fn facts<'a>(tables: impl IntoIterator<Item = &'a Table<'a>>, cpus: &str) -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let machine = topology::model().unwrap_or_else(|| "unknown processor".to_owned());
    let kernel = topology::kernel().unwrap_or_else(|| "unknown kernel".to_owned());
    let mut text = format!(
        "<p>{}, CPUs {cpus}, {}, {} UTC</p><ul class=\"libraries\">",
        escaped(&machine),
        escaped(&kernel),
        time(seconds)
    );
    let mut seen: Vec<Name> = Vec::new();
    for column in tables.into_iter().flat_map(Table::columns) {
        if let (false, Some(version)) = (seen.contains(&column.library), &column.version) {
            seen.push(column.library);
            let _ = write!(text, "<li>{} {}</li>", swatch(column.library), escaped(version));
        }
    }
    text + "</ul>"
}

/// A line per experiment.
fn overview(tables: &[Table]) -> String {
    let mut text = "<table class=\"overview\"><thead><tr><th>experiment</th><th>what</th>\
                    <th class=\"number\">speed-up</th><th class=\"number\">cells lost</th><th>targets</th></tr></thead><tbody>"
        .to_owned();
    for table in tables {
        let experiment = table.experiment();
        let summary = table.summary();
        let (mean, lost) = summary.as_ref().map_or(("-".to_owned(), "-".to_owned()), |summary| {
            (
                format!("{:.2}", summary.mean),
                format!("{} of {}", summary.lost, summary.cells),
            )
        });
        let badges: String = judge::verdicts(table)
            .iter()
            .map(|verdict| badge(verdict.met))
            .collect();
        let _ = write!(
            text,
            "<tr><td><a href=\"#{name}\">{name}</a></td><td>{}</td><td class=\"number\">{mean}</td>\
             <td class=\"number\">{lost}</td><td>{badges}</td></tr>",
            escaped(&experiment.title),
            name = experiment.name,
        );
    }
    text + "</tbody></table>\n<p class=\"note\">Speed-up: geometric mean over cells, each against the best peer of that \
            cell, launches of the same round compared; above 1 is better. Lost: under 0.9.</p>\n"
}

/// One experiment: its targets, its plots, its numbers.
fn section(table: &Table) -> Result<String> {
    let experiment = table.experiment();
    let mut text = format!(
        "<section id=\"{}\"><h2>{}</h2><p>{}, in {}; median of {} launch{}</p>",
        experiment.name,
        experiment.name,
        escaped(&experiment.title),
        table.unit(),
        table.rounds(),
        if table.rounds() == 1 { "" } else { "es" }
    );
    let verdicts = judge::verdicts(table);
    if !verdicts.is_empty() {
        text += "<ul class=\"targets\">";
        for verdict in verdicts {
            let _ = write!(text, "<li>{} {}</li>", badge(verdict.met), escaped(&verdict.text));
        }
        text += "</ul>";
    }
    text += &legend(table);
    let groups = experiment.groups.names.len();
    let numbers = format!("<pre>{}</pre>", escaped(&table.numbers()));
    if groups == 0 && table.cells().len() < FEW {
        text += &bars(table, &table.cells());
    } else if groups == 0 {
        // There is room beside a plot that is alone.
        let _ = write!(text, "<div class=\"beside\">{}{numbers}</div>", plots(table)?);
        return Ok(text + "</section>\n");
    } else {
        text += &plots(table)?;
    }
    let _ = writeln!(text, "<details><summary>numbers</summary>{numbers}</details></section>");
    Ok(text)
}

fn legend(table: &Table) -> String {
    let mut text = "<p class=\"legend\">".to_owned();
    for column in table.columns() {
        let _ = write!(text, "<span>{} {}</span>", swatch(column.library), column.library);
    }
    let floor = &table.experiment().floor;
    let line = floor.shows_line().then_some(("hand-over of a line", LINE_FLOOR));
    let other = floor.name().map(|name| (name, FLOOR));
    for (name, colour) in line.into_iter().chain(other) {
        let colour = css(colour);
        let _ = write!(
            text,
            "<span><i class=\"floor\" style=\"border-color:{colour}\"></i> {name}</span>"
        );
    }
    text + "</p>"
}

/// A plot per group, with the strip of speed-ups below it.
fn plots(table: &Table) -> Result<String> {
    let experiment = table.experiment();
    let groups = experiment.groups.names.len().max(1);
    let mut text = "<div class=\"plots\">".to_owned();
    for group in 0..groups {
        let cells: Vec<Cell> = table.cells().into_iter().filter(|cell| cell.group == group).collect();
        let rows: Vec<u64> = cells.iter().map(|cell| cell.at).collect();
        if rows.is_empty() {
            continue;
        }
        let scale = match experiment.quantity {
            Quantity::Share => Scale::Percent,
            _ => Scale::Logarithmic,
        };
        let mut lines = Vec::new();
        if let (Some(line), true) = (table.line(), rows.len() > 1) {
            lines.push(floor_line(LINE_FLOOR, rows.iter().map(|row| (*row, line)).collect()));
        }
        let floor = cells.iter().filter_map(|cell| Some((cell.at, table.floor(*cell)?)));
        lines.push(floor_line(FLOOR, floor.collect()));
        // Ours last, on top.
        for column in table.columns().iter().rev() {
            let values = cells
                .iter()
                .filter_map(|cell| Some((cell.at, column.values.median(*cell)?)));
            lines.push(Line {
                strong: column.library == Name::Isthmus,
                ..Line::plain(values.collect(), colour(column.library))
            });
        }
        text += "<figure>";
        if let Some(name) = table.group(group) {
            let ranks = if experiment.groups.heading == "ranks" {
                " ranks"
            } else {
                ""
            };
            let _ = write!(text, "<figcaption>{}{ranks}</figcaption>", escaped(name));
        }
        if rows.len() < FEW {
            let _ = write!(text, "{}</figure>", bars(table, &cells));
            continue;
        }
        let _ = write!(text, "<small>{} by {}</small>", table.unit(), experiment.rows.heading);
        text += &plot::values(&rows, experiment.rows.label, scale, &lines)?;
        if table.compares() {
            let speed_ups = cells.iter().filter_map(|cell| Some((cell.at, table.speed_up(*cell)?)));
            let speed_ups: Vec<(u64, f64)> = speed_ups.collect();
            text += "<small>speed-up against the best peer</small>";
            text += &plot::speed_ups(&rows, experiment.rows.label, &speed_ups, LOST)?;
        }
        text += "</figure>";
    }
    Ok(text + "</div>")
}

fn floor_line(colour: RGBColor, points: Vec<(u64, f64)>) -> Line {
    Line {
        dashed: true,
        ..Line::plain(points, colour)
    }
}

/// Bars, for what has a row or two.
fn bars(table: &Table, cells: &[Cell]) -> String {
    let quantity = table.experiment().quantity;
    let mut text = String::new();
    for cell in cells.iter().copied() {
        let values = table
            .columns()
            .iter()
            .map(|column| (column.library, column.values.median(cell)));
        let values: Vec<(Name, Option<f64>)> = values.collect();
        let most = values.iter().filter_map(|(_, value)| *value).fold(0.0, f64::max);
        let heading = table.experiment().rows.heading;
        let _ = write!(
            text,
            "<table class=\"bars\"><caption>{} {heading}</caption>",
            table.row_label(cell.at)
        );
        for (library, value) in values {
            let width = value.map_or(0.0, |value| 100.0 * value / most.max(f64::MIN_POSITIVE));
            let shown = value.map_or("-".to_owned(), |value| quantity.text(value));
            let _ = write!(
                text,
                "<tr><th>{library}</th><td><i style=\"width:{width:.1}%;background:{}\"></i></td>\
                 <td class=\"number\">{shown} {}</td></tr>",
                css(colour(library)),
                quantity.unit()
            );
        }
        text += "</table>";
    }
    text
}

fn badge(met: bool) -> String {
    let (class, text) = if met { ("met", "met") } else { ("missed", "missed") };
    format!("<b class=\"{class}\">{text}</b> ")
}

fn swatch(library: Name) -> String {
    format!("<i style=\"background:{}\"></i>", css(colour(library)))
}

pub(super) fn css(colour: RGBColor) -> String {
    format!("rgb({},{},{})", colour.0, colour.1, colour.2)
}

/// Distinct also for colour-blind readers.
fn colour(library: Name) -> RGBColor {
    match library {
        Name::Isthmus => RGBColor(0, 90, 200),
        Name::Mpich => RGBColor(230, 140, 0),
        Name::Intel => RGBColor(0, 150, 110),
        Name::Openmpi => RGBColor(190, 80, 160),
        Name::Upstream => RGBColor(120, 120, 120),
    }
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// `2026-01-31 12:00`, in UTC. The calendar is computed as in Howard Hinnant's "chrono-compatible low-level date
/// algorithms" (howardhinnant.github.io/date_algorithms.html): years begin in March, eras have 400 of them.
fn time(seconds: u64) -> String {
    let days = seconds / 86400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let minutes = seconds / 60;
    format!(
        "{year}-{month:02}-{day:02} {:02}:{:02}",
        minutes / 60 % 24,
        minutes % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(time(0), "1970-01-01 00:00");
        assert_eq!(time(951_827_696), "2000-02-29 12:34");
        assert_eq!(time(1_767_225_599), "2025-12-31 23:59");
    }

    #[test]
    fn what_others_say_is_text() {
        assert_eq!(escaped("a<b> & \"c\""), "a&lt;b&gt; &amp; &quot;c&quot;");
    }
}
