//! A picture of speed-ups by size, a line for each operation, with a legend below it.

use std::fmt::Write;

use anyhow::Result;
use plotters::style::RGBColor;

use super::plot::{self, Line, Scale};
use super::{Experiment, rows_of, show, speed_up_of, titles};

/// Distinct also for readers who do not see all colours.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 90, 200),
    RGBColor(230, 140, 0),
    RGBColor(0, 150, 110),
    RGBColor(200, 60, 40),
    RGBColor(190, 80, 160),
    RGBColor(90, 180, 230),
    RGBColor(120, 120, 30),
    RGBColor(60, 60, 70),
    RGBColor(120, 70, 200),
    RGBColor(160, 110, 70),
];
/// What a speed-up of 1 is drawn in.
const ONE: RGBColor = RGBColor(120, 124, 132);
const WIDTH: usize = 460;
const HEIGHT: usize = 270;
/// Room for the title.
const TITLE: usize = 22;
/// Height of a line of the legend.
const LEGEND: usize = 18;
/// Names of so many characters stand three in a line of it, longer ones two.
const SHORT_NAME: usize = 18;

/// The picture of these experiments, which have one kind of rows.
pub fn speed_ups(experiments: &[&Experiment]) -> Result<String> {
    let mut rows: Vec<u64> = experiments.iter().flat_map(|experiment| rows_of(experiment)).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut lines = Vec::new();
    let mut names = Vec::new();
    for experiment in experiments {
        for (group, name) in experiment.groups.iter().enumerate() {
            let points = rows
                .iter()
                .filter_map(|at| Some((*at, speed_up_of(experiment, group, *at)?)));
            let points: Vec<(u64, f64)> = points.collect();
            if points.is_empty() {
                continue;
            }
            let colour = COLOURS[names.len() % COLOURS.len()];
            names.push((name.as_str(), colour));
            lines.push(Line::plain(points, colour));
        }
    }
    let one = Line {
        dashed: true,
        ..Line::plain(rows.iter().map(|row| (*row, 1.0)).collect(), ONE)
    };
    lines.insert(0, one);
    let label = match experiments.first().is_some_and(|experiment| experiment.rows == "bytes") {
        true => show::bytes,
        false => |row: u64| row.to_string(),
    };
    let inner = plot::values(&rows, label, Scale::Logarithmic, &lines)?;
    let in_a_line = match names.iter().all(|(name, _)| name.len() <= SHORT_NAME) {
        true => 3,
        false => 2,
    };
    let height = TITLE + HEIGHT + LEGEND * names.len().div_ceil(in_a_line) + 6;
    let text = "font-family=\"sans-serif\" font-size=\"12\" fill=\"#5A5E66\"";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#FFFFFF\"/>\n\
         <text x=\"10\" y=\"15\" {text}>times as fast as the best peer, by {}: {}</text>\n\
         <svg y=\"{TITLE}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">\n{}\n</svg>\n",
        experiments.first().map_or("", |experiment| experiment.rows.as_str()),
        titles(experiments),
        inner.trim_end()
    );
    for (index, (name, RGBColor(red, green, blue))) in names.iter().enumerate() {
        let x = 20 + index % in_a_line * (444 / in_a_line);
        let y = TITLE + HEIGHT + index / in_a_line * LEGEND + 4;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"10\" height=\"10\" fill=\"#{red:02X}{green:02X}{blue:02X}\"/>\
             <text x=\"{}\" y=\"{}\" {text}>{name}</text>",
            x + 15,
            y + 10
        );
    }
    svg += "</svg>\n";
    Ok(svg)
}
