//! `isthmus bench --paper NAME`: the experiments of one paper, figure by figure, as one page with plots like the paper's and, beneath
//! each, what the paper saw and what is seen here.
//!
//! A paper is one file beside this one, and a line in [`Name`].

mod cma;
mod limic;
pub(super) mod mechanisms;
mod nemesis;
mod rma;
mod shiba;

use std::fmt::Write;

use anyhow::Result;
use clap::ValueEnum;
use plotters::style::RGBColor;

use super::experiment::Experiment;
use super::plot::{self, Line, Scale};
use super::report::{css, escaped, facts, frame};
use super::samples::{Cell, geometric_mean};
use super::table::Table;

/// The papers whose experiments there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Name {
    /// Remote memory operations on Linux clusters (ARMCI, MPI-2 one-sided, Global Arrays)
    Rma,
    /// Intra-node communication with Cross Memory Attach
    Cma,
    /// Large messages with vmsplice and KNEM (MPICH2-Nemesis)
    Nemesis,
    /// Kernel-assisted MPI with huge pages (LiMIC2)
    Limic,
    /// Shared memory and a network in one device (MPICH2)
    Shiba,
}

impl Name {
    /// The page, before anything is measured.
    pub fn paper(self) -> Paper {
        match self {
            Name::Rma => rma::paper(),
            Name::Cma => cma::paper(),
            Name::Nemesis => nemesis::paper(),
            Name::Limic => limic::paper(),
            Name::Shiba => shiba::paper(),
        }
    }
}

/// A paper's experiments.
pub struct Paper {
    /// As on the command line.
    pub name: &'static str,
    /// Authors and title.
    pub title: &'static str,
    /// What was measured there, on what, and what differs here.
    pub setting: &'static str,
    /// In the paper's order.
    pub figures: Vec<Figure>,
}

/// One figure or table.
pub struct Figure {
    /// Its number there, and what it shows.
    pub title: &'static str,
    /// What the paper saw.
    pub found: &'static str,
    /// What is measured, drawn together. Their groups are the lines of the plot; there is a plot for each library.
    pub experiments: Vec<Experiment>,
    /// The group that the others are compared with.
    pub baseline: &'static str,
    /// What of the figure is not measured here, and why.
    pub missing: Option<&'static str>,
}

/// Colours of lines, told apart also by those who do not see all colours.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 90, 200),
    RGBColor(230, 140, 0),
    RGBColor(0, 150, 110),
    RGBColor(190, 80, 160),
    RGBColor(90, 180, 230),
    RGBColor(200, 60, 40),
    RGBColor(120, 120, 30),
    RGBColor(60, 60, 70),
];

/// The page of what was measured: for each figure that has begun a table per experiment.
pub fn page(paper: &Paper, figures: &[(&Figure, Vec<Table>)], cpus: &str) -> Result<String> {
    let tables = || figures.iter().flat_map(|(_, tables)| tables);
    let mut body = format!(
        "<header><h1>{}</h1>{}<p>{}</p></header>\n",
        escaped(paper.title),
        facts(tables(), cpus),
        escaped(paper.setting)
    );
    for (figure, tables) in figures {
        body += &section(figure, tables)?;
    }
    for figure in &paper.figures[figures.len()..] {
        let _ = write!(
            body,
            "<section><h2>{}</h2><p>Not measured yet.</p></section>",
            escaped(figure.title)
        );
    }
    Ok(frame(&format!("Isthmus: experiments of {}", paper.name), &body))
}

/// A line of a plot: a group of one experiment, on one library.
struct Way<'a> {
    name: &'a str,
    table: &'a Table<'a>,
    group: usize,
}

impl Way<'_> {
    /// The medians of a library, by row.
    fn points(&self, library: super::library::Name) -> Vec<(u64, f64)> {
        let columns = self.table.columns().iter();
        let Some(column) = columns.into_iter().find(|column| column.library == library) else {
            return Vec::new();
        };
        let cells = self.table.cells().into_iter().filter(|cell| cell.group == self.group);
        cells
            .filter_map(|cell: Cell| Some((cell.at, column.values.median(cell)?)))
            .collect()
    }
}

fn section(figure: &Figure, tables: &[Table]) -> Result<String> {
    let mut text = format!("<section><h2>{}</h2>", escaped(figure.title));
    let ways: Vec<Way> = tables
        .iter()
        .flat_map(|table| {
            let names = table.experiment().groups.names.iter().enumerate();
            names.map(move |(group, name)| Way { name, table, group })
        })
        .collect();
    if !ways.is_empty() {
        text += &plots(&ways)?;
    }
    let _ = write!(text, "<p><strong>The paper:</strong> {}</p>", escaped(figure.found));
    for sentence in seen(figure, &ways) {
        let _ = write!(text, "<p><strong>Here:</strong> {}</p>", escaped(&sentence));
    }
    if let Some(missing) = figure.missing {
        let _ = write!(text, "<p><strong>Not measured here:</strong> {}</p>", escaped(missing));
    }
    for table in tables {
        let _ = write!(
            text,
            "<details><summary>numbers of {}</summary><pre>{}</pre></details>",
            escaped(&table.experiment().name),
            escaped(&table.numbers())
        );
    }
    Ok(text + "</section>\n")
}

/// The libraries of a figure, ours first.
fn libraries(ways: &[Way]) -> Vec<super::library::Name> {
    let mut names = Vec::new();
    for column in ways.iter().flat_map(|way| way.table.columns()) {
        if !names.contains(&column.library) {
            names.push(column.library);
        }
    }
    names
}

/// A plot for each library, all with the same lines.
fn plots(ways: &[Way]) -> Result<String> {
    let mut text = "<p class=\"legend\">".to_owned();
    for (way, colour) in ways.iter().zip(COLOURS) {
        let _ = write!(
            text,
            "<span><i style=\"background:{}\"></i> {}</span>",
            css(colour),
            escaped(way.name)
        );
    }
    text += "</p><div class=\"plots\">";
    for library in libraries(ways) {
        let lines: Vec<Line> = ways
            .iter()
            .zip(COLOURS)
            .map(|(way, colour)| Line {
                points: way.points(library),
                colour,
                strong: false,
                dashed: false,
            })
            .collect();
        let mut rows: Vec<u64> = lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|point| point.0)
            .collect();
        rows.sort_unstable();
        rows.dedup();
        let experiment = ways[0].table.experiment();
        let _ = write!(
            text,
            "<figure><figcaption>{library}</figcaption><small>{} by {}</small>{}</figure>",
            experiment.quantity.unit(),
            experiment.rows.heading,
            plot::values(&rows, experiment.rows.label, Scale::Logarithmic, &lines)?
        );
    }
    Ok(text + "</div>")
}

/// What the numbers say: how each way compares with the figure's baseline, library by library; and ours with the best of the others.
fn seen(figure: &Figure, ways: &[Way]) -> Vec<String> {
    let mut sentences = Vec::new();
    let Some(baseline) = ways.iter().find(|way| way.name == figure.baseline) else {
        return sentences;
    };
    let libraries = libraries(ways);
    for &library in &libraries {
        let base = baseline.points(library);
        let factors: Vec<String> = ways
            .iter()
            .filter(|way| way.name != figure.baseline)
            .filter_map(|way| Some(format!("{} {}", way.name, compared(way, &way.points(library), &base)?)))
            .collect();
        if !factors.is_empty() {
            sentences.push(format!(
                "{library}, as a factor of {}: {}.",
                figure.baseline,
                factors.join("; ")
            ));
        }
    }
    if let [ours, peers @ ..] = libraries.as_slice()
        && !peers.is_empty()
    {
        let beside: Vec<String> = ways
            .iter()
            .filter_map(|way| {
                let best = best_of(way, peers);
                Some(format!("{} {}", way.name, compared(way, &way.points(*ours), &best)?))
            })
            .collect();
        if !beside.is_empty() {
            sentences.push(format!(
                "{ours}, as a factor of the best other library: {}.",
                beside.join("; ")
            ));
        }
    }
    sentences
}

/// The best number of any of these libraries, by row.
fn best_of(way: &Way, libraries: &[super::library::Name]) -> Vec<(u64, f64)> {
    let quantity = way.table.experiment().quantity;
    let mut best: Vec<(u64, f64)> = Vec::new();
    for (row, value) in libraries.iter().flat_map(|library| way.points(*library)) {
        match best.iter_mut().find(|point| point.0 == row) {
            Some(point) => point.1 = quantity.better(point.1, value),
            None => best.push((row, value)),
        }
    }
    best
}

/// `1.7 (1.1 at 8 bytes to 2.4 at 1M)`: the geometric mean of the factors by which `these` are better, and the ends.
fn compared(way: &Way, these: &[(u64, f64)], base: &[(u64, f64)]) -> Option<String> {
    let experiment = way.table.experiment();
    let factors: Vec<(u64, f64)> = these
        .iter()
        .filter_map(|(row, value)| {
            let (_, base) = base.iter().find(|(other, _)| other == row)?;
            Some((*row, experiment.quantity.speed_up(*value, *base)))
        })
        .collect();
    let values: Vec<f64> = factors.iter().map(|factor| factor.1).collect();
    let mean = geometric_mean(&values)?;
    let least = factors.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = factors.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let label = experiment.rows.label;
    Some(format!(
        "{mean:.2} ({:.2} at {} to {:.2} at {})",
        least.1,
        label(least.0),
        most.1,
        label(most.0)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::library;
    use super::super::samples::Samples;
    use super::super::table::Column;
    use super::*;

    fn column(library: library::Name, values: &[(usize, u64, f64)]) -> Column {
        let mut column = Column::new(library);
        for &(group, at, value) in values {
            column.values.set(Cell { group, at }, 0, value);
        }
        column
    }

    #[test]
    fn a_page_compares_ways_and_libraries() -> Result<()> {
        let paper = Name::Rma.paper();
        let figure = &paper.figures[0];
        let experiment = &figure.experiments[0];
        let ours = column(
            library::Name::Isthmus,
            &[(0, 8, 10.0), (1, 8, 30.0), (0, 64, 10.0), (1, 64, 30.0)],
        );
        let theirs = column(library::Name::Mpich, &[(0, 8, 5.0), (1, 8, 60.0)]);
        let table = Table::new(experiment, vec![ours, theirs], Samples::default());
        let page = page(&paper, &[(figure, vec![table])], "0,1")?;
        for part in [
            "isthmus, as a factor of sendrecv: put 3.00 (3.00 at 8 to 3.00 at 64)",
            "mpich, as a factor of sendrecv: put 12.00",
            "isthmus, as a factor of the best other library: sendrecv 2.00 (2.00 at 8 to 2.00 at 8); put 0.50",
            "Not measured yet",
        ] {
            assert!(page.contains(part), "no {part:?} in {page}");
        }
        Ok(())
    }

    #[test]
    fn every_figure_has_its_baseline() {
        for name in Name::value_variants() {
            for figure in name.paper().figures {
                let groups = figure
                    .experiments
                    .iter()
                    .flat_map(|experiment| &experiment.groups.names);
                let known = figure.experiments.is_empty() || groups.into_iter().any(|group| group == figure.baseline);
                assert!(known, "{}: no group {}", figure.title, figure.baseline);
                assert!(
                    !figure.experiments.is_empty() || figure.missing.is_some(),
                    "{}",
                    figure.title
                );
            }
        }
    }
}
