//! The page of a paper: on top what became of its claims, below each figure as the paper draws it, with the paper's words and what is missing.

use std::fmt::Write;

use anyhow::Result;
use plotters::style::RGBColor;

use super::claim::{Claim, Expects, Outcome, Shown, Verdict};
use super::{Figure, Paper, Shape};
use crate::bench::experiment::Experiment;
use crate::bench::library::Name as Library;
use crate::bench::plot::{self, Line, Scale};
use crate::bench::report::{css, escaped, facts, frame};
use crate::bench::samples::{Cell, geometric_mean};
use crate::bench::table::Table;

/// A paper, and what of it was measured so far.
pub struct Made<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// Its figures that have begun, in order.
    pub figures: Vec<Measured<'a>>,
    /// So many times as long as one of ours a copy by the kernel takes; `None`: it is refused.
    pub price: Option<f64>,
    /// What else the machine did when the run began; empty: nothing to speak of.
    pub others: String,
}

/// The numbers of a figure.
#[derive(Default)]
pub struct Measured<'a> {
    /// One for each experiment that gave numbers.
    pub tables: Vec<Table<'a>>,
    /// Experiments that failed, and why.
    pub left_out: Vec<String>,
    /// Experiments for which the machine lacks something, and what.
    pub lacked: Vec<String>,
    /// Experiments for which there was no time at all.
    pub late: Vec<String>,
}

impl Made<'_> {
    /// The verdict on a claim of the figure with this index.
    pub fn verdict(&self, figure: usize, claim: &Claim) -> Verdict {
        match self.figures.get(figure) {
            Some(measured) => measured.verdict(claim, self.price),
            None => Measured::default().verdict(claim, self.price),
        }
    }
}

impl Measured<'_> {
    /// The verdict on a claim of this figure.
    fn verdict(&self, claim: &Claim, price: Option<f64>) -> Verdict {
        claim.verdict(&self.tables, self.lacked.first().map(String::as_str), price)
    }

    /// How many numbers are missing that should be there.
    pub fn holes(&self) -> usize {
        self.left_out.len() + self.tables.iter().map(|table| table.holes().count()).sum::<usize>()
    }

    /// Lines and rows that there was no time for.
    pub fn late(&self) -> impl Iterator<Item = &str> {
        let lines = self.tables.iter().flat_map(Table::late);
        lines.chain(self.late.iter().map(String::as_str))
    }
}

/// The page.
pub fn page(made: &Made, cpus: &str) -> Result<String> {
    let paper = made.paper;
    let tables = || made.figures.iter().flat_map(|measured| &measured.tables);
    let mut body = format!(
        "<header><h1>{}</h1>{}<p>{}</p>",
        escaped(paper.title),
        facts(tables(), cpus),
        escaped(paper.setting)
    );
    if !made.others.is_empty() {
        let _ = write!(body, "<p class=\"disturbed\">{}</p>", escaped(&made.others));
    }
    body += "</header>\n";
    body += &verdicts(made);
    body += "<div class=\"figures\">";
    for (index, figure) in paper.figures.iter().enumerate() {
        body += &match made.figures.get(index) {
            Some(measured) => section(figure, measured, made.price, paper.missing_before(index))?,
            None => format!(
                "<section><h2>{}</h2>{}<p class=\"hole\">Not measured: the run ended before.</p></section>\n",
                escaped(figure.title),
                words(figure)
            ),
        };
    }
    body += "</div>";
    Ok(frame(&format!("Isthmus: experiments of {}", paper.name), &body))
}

/// One row for each claim.
fn verdicts(made: &Made) -> String {
    let mut text = "<table class=\"overview verdicts\"><thead><tr><th>figure</th><th>the paper says</th><th class=\"number\">paper</th>\
                    <th class=\"number\">here</th><th>verdict</th></tr>\
                    </thead><tbody>"
        .to_owned();
    for (index, figure) in made.paper.figures.iter().enumerate() {
        for claim in &figure.claims {
            let Verdict {
                outcome,
                here,
                text: verdict,
            } = made.verdict(index, claim);
            let _ = write!(
                text,
                "<tr><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td><b class=\"{}\">{}</b></td></tr>",
                escaped(figure.number()),
                escaped(claim.says),
                escaped(if claim.value.is_empty() { "-" } else { claim.value }),
                escaped(if here.is_empty() { "-" } else { &here }),
                match outcome {
                    Outcome::Reproduced => "met",
                    Outcome::Not => "missed",
                    Outcome::Less => "less",
                    Outcome::Unknown => "unknown",
                },
                escaped(&verdict)
            );
        }
    }
    text + "</tbody></table>\n<p class=\"note\">Reproduced: the paper's finding, and of its number at least half the gain, as a logarithm; a finding without a \
            number counts from 5 % on. Each line's bytes went at least to 95 % the way that it is named after, by the library's counters.</p>\n"
}

/// A line of a plot: a group of one experiment.
struct Curve<'a> {
    name: &'a str,
    table: &'a Table<'a>,
    group: usize,
}

impl Curve<'_> {
    fn cells(&self) -> Vec<Cell> {
        let cells = self.table.cells().into_iter();
        cells.filter(|cell| cell.group == self.group).collect()
    }

    fn points(&self, library: Library) -> Vec<(u64, f64)> {
        let columns = self.table.columns().iter();
        let Some(column) = columns.into_iter().find(|column| column.library == library) else {
            return Vec::new();
        };
        let cells = self.cells().into_iter();
        cells
            .filter_map(|cell| Some((cell.at, column.values.median(cell)?)))
            .collect()
    }

    fn line(&self, library: Library) -> Line {
        let column = self.table.columns().iter().find(|column| column.library == library);
        let cells = self.cells();
        let ends = |cell: &Cell| Some((cell.at, column?.values.ends(*cell)?));
        let spread = cells
            .iter()
            .filter_map(ends)
            .map(|(row, (least, most))| (row, least, most));
        let is_disturbed = column.is_some_and(|column| !column.disturbed.is_empty());
        Line {
            spread: spread.collect(),
            disturbed: if is_disturbed {
                cells.iter().map(|cell| cell.at).collect()
            } else {
                vec![]
            },
            ..Line::plain(self.points(library), colour(self.name))
        }
    }
}

/// `before`: the figure that lacks the same, above this one.
fn section(figure: &Figure, measured: &Measured, price: Option<f64>, before: Option<&Figure>) -> Result<String> {
    let mut text = format!("<section><h2>{}</h2>", escaped(figure.title));
    let curves: Vec<Curve> = measured
        .tables
        .iter()
        .flat_map(|table| {
            let names = table.experiment().groups.names.iter().enumerate();
            names.map(move |(group, name)| Curve { name, table, group })
        })
        .collect();
    if !curves.is_empty() {
        text += &match figure.shape {
            Shape::Table => rows(figure, &curves),
            Shape::Linear => plots(figure, &curves, Scale::Linear)?,
            Shape::Logarithmic => plots(figure, &curves, Scale::Logarithmic)?,
        };
    }
    text += &words(figure);
    for claim in &figure.claims {
        let Verdict {
            here, text: verdict, ..
        } = measured.verdict(claim, price);
        let of = if claim.value.is_empty() {
            String::new()
        } else {
            format!("paper {}; ", claim.value)
        };
        let here = if here.is_empty() {
            String::new()
        } else {
            format!("here {here}: ")
        };
        let _ = write!(
            text,
            "<p><strong>Here:</strong> {}: {}</p>",
            escaped(claim.says),
            escaped(&format!("{of}{here}{verdict}."))
        );
    }
    for sentence in seen(figure, &curves) {
        let _ = write!(text, "<p><strong>All sizes:</strong> {}</p>", escaped(&sentence));
    }
    for hole in measured.tables.iter().flat_map(|table| table.holes()) {
        let _ = write!(
            text,
            "<p class=\"hole\"><strong>No number:</strong> {}: {}</p>",
            escaped(&hole.place),
            escaped(&hole.why)
        );
    }
    for reason in &measured.left_out {
        let _ = write!(
            text,
            "<p class=\"hole\"><strong>No numbers:</strong> {}</p>",
            escaped(reason)
        );
    }
    for reason in &measured.lacked {
        let _ = write!(
            text,
            "<p><strong>Cannot be measured here:</strong> {}</p>",
            escaped(reason)
        );
    }
    let late: Vec<&str> = measured.late().collect();
    if !late.is_empty() {
        let _ = write!(
            text,
            "<p class=\"late\"><strong>No time for:</strong> {}. With a larger --minutes there is.</p>",
            escaped(&late.join("; "))
        );
    }
    let disturbed: usize = measured
        .tables
        .iter()
        .flat_map(|table| table.columns())
        .map(|column| column.disturbed.len())
        .sum();
    if disturbed > 0 {
        let _ = write!(
            text,
            "<p class=\"disturbed\">Something else had the CPUs in {disturbed} launches of this figure; its points are hollow.</p>"
        );
    }
    if let Some(missing) = figure.missing {
        let missing = match before {
            Some(figure) => format!("as above, {}.", figure.number()),
            None => missing.to_owned(),
        };
        let _ = write!(text, "<p><strong>Not measured here:</strong> {}</p>", escaped(&missing));
    }
    for table in &measured.tables {
        let _ = write!(
            text,
            "<details><summary>numbers of {}: median of {} launch{} of {} s</summary><pre>{}</pre></details>",
            escaped(&table.experiment().name),
            table.rounds(),
            if table.rounds() == 1 { "" } else { "es" },
            crate::show::significant(table.experiment().seconds),
            escaped(&table.numbers())
        );
    }
    Ok(text + "</section>\n")
}

/// What the paper says of a figure, word for word.
fn words(figure: &Figure) -> String {
    if figure.claims.is_empty() {
        return "<p><strong>The paper:</strong> not in the paper.</p>".to_owned();
    }
    let mut text = String::new();
    let mut last = "";
    for claim in figure.claims.iter() {
        if claim.quote != last {
            let _ = write!(
                text,
                "<p><strong>The paper:</strong> <q>{}</q> ({})</p>",
                escaped(claim.quote),
                escaped(claim.at)
            );
        }
        last = claim.quote;
    }
    text
}

/// `, 8 ranks`; nothing where launches differ in it.
fn on_ranks(experiment: &Experiment) -> String {
    match experiment.runs.as_slice() {
        [first, rest @ ..] if rest.iter().all(|run| run.ranks == first.ranks) => format!(", {} ranks", first.ranks),
        _ => String::new(),
    }
}

/// The libraries of a figure, ours first.
fn libraries(curves: &[Curve]) -> Vec<Library> {
    let mut names = Vec::new();
    for column in curves.iter().flat_map(|curve| curve.table.columns()) {
        if !names.contains(&column.library) {
            names.push(column.library);
        }
    }
    names
}

/// A row for each row of the experiments, a column for each line, with the gain against the baseline.
fn rows(figure: &Figure, curves: &[Curve]) -> String {
    let Some(first) = curves.first() else {
        return String::new();
    };
    let experiment = first.table.experiment();
    let (quantity, library) = (experiment.quantity, Library::Isthmus);
    let base = curves
        .iter()
        .find(|curve| curve.name == figure.baseline)
        .map(|curve| curve.points(library));
    let mut at: Vec<u64> = curves.iter().flat_map(Curve::cells).map(|cell| cell.at).collect();
    at.sort_unstable();
    at.dedup();
    let mut text = format!(
        "<table class=\"overview\"><thead><tr><th>{}</th>",
        escaped(&format!("{}{}", experiment.rows.heading, on_ranks(experiment)))
    );
    for curve in curves {
        let _ = write!(
            text,
            "<th class=\"number\"><i style=\"background:{}\"></i> {}, {}</th>",
            css(colour(curve.name)),
            escaped(curve.name),
            quantity.unit()
        );
    }
    text += "</tr></thead><tbody>";
    for row in at {
        let _ = write!(text, "<tr><td>{}</td>", escaped(&(experiment.rows.label)(row)));
        let find = |points: &[(u64, f64)]| points.iter().find(|point| point.0 == row).map(|point| point.1);
        for curve in curves {
            let value = find(&curve.points(library));
            let shown = value.map_or("-".to_owned(), |value| quantity.text(value));
            let gain = value
                .zip(base.as_deref().and_then(find))
                .filter(|_| curve.name != figure.baseline)
                .map(|(value, base)| format!(" <small>{}</small>", gain(quantity.speed_up(value, base))));
            let _ = write!(text, "<td class=\"number\">{shown}{}</td>", gain.unwrap_or_default());
        }
        text += "</tr>";
    }
    text + "</tbody></table>"
}

/// By what a value is better, for a table: in percent where that can be read.
fn gain(factor: f64) -> String {
    match factor {
        0.5..=2.0 => format!("{:+.1} %", 100.0 * (factor - 1.0)),
        _ if factor.is_infinite() => "none".to_owned(),
        _ => format!("{} times", crate::show::significant(factor)),
    }
}

/// A plot for each library, all with the same lines; what would be the paper's factor is dashed, in the colour of the line that it is a multiple of.
fn plots(figure: &Figure, curves: &[Curve], scale: Scale) -> Result<String> {
    let mut text = "<p class=\"legend\">".to_owned();
    for curve in curves {
        let _ = write!(
            text,
            "<span><i style=\"background:{}\"></i> {}</span>",
            css(colour(curve.name)),
            escaped(curve.name)
        );
    }
    for (line, with, _, factor) in figure.claims.iter().filter_map(|claim| paper_factor(&claim.shown)) {
        let _ = write!(
            text,
            "<span><i class=\"floor\" style=\"border-color:{}\"></i> {} in the paper: {} times {}</span>",
            css(colour(with)),
            escaped(line),
            (factor * 100.0).round() / 100.0,
            escaped(with)
        );
    }
    text += "</p><div class=\"plots\">";
    let libraries = libraries(curves);
    for &library in &libraries {
        let mut lines: Vec<Line> = curves.iter().map(|curve| curve.line(library)).collect();
        lines.extend(figure.claims.iter().filter_map(|claim| {
            let (_, with, rows, factor) = paper_factor(&claim.shown)?;
            let with = curves.iter().find(|curve| curve.name == with)?;
            let quantity = with.table.experiment().quantity;
            let points = with
                .points(library)
                .into_iter()
                .filter(|(row, _)| (rows.0..=rows.1).contains(row));
            // By what number the other must be multiplied to be so many times as good.
            let times = if quantity.speed_up(2.0, 1.0) > 1.0 {
                factor
            } else {
                1.0 / factor
            };
            Some(Line {
                dashed: true,
                ..Line::plain(
                    points.map(|(row, value)| (row, value * times)).collect(),
                    colour(with.name),
                )
            })
        }));
        let mut rows: Vec<u64> = lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|point| point.0)
            .collect();
        rows.sort_unstable();
        rows.dedup();
        let experiment = curves[0].table.experiment();
        let caption = match libraries.len() {
            1 => String::new(),
            _ => format!("<figcaption>{library}</figcaption>"),
        };
        let _ = write!(
            text,
            "<figure>{caption}<small>{} by {}{}</small>{}</figure>",
            experiment.quantity.unit(),
            experiment.rows.heading,
            on_ranks(experiment),
            plot::values(&rows, experiment.rows.label, scale, &lines)?
        );
    }
    Ok(text + "</div>")
}

/// Line, what it is compared with, the rows and the factor, of a claim with a number.
fn paper_factor(shown: &Shown) -> Option<(&'static str, &'static str, (u64, u64), f64)> {
    let Shown::By(compared) = shown else { return None };
    match compared.expects {
        Expects::Factor(factor) if factor != 1.0 => Some((compared.line, compared.with, compared.rows, factor)),
        _ => None,
    }
}

/// The colour of a line is the same on all pages, and distinct also for readers who do not see all colours.
fn colour(name: &str) -> RGBColor {
    match name {
        "ring"
        | "shared memory"
        | "sendrecv"
        | "single"
        | "rendezvous from 8 KiB on"
        | "toggle"
        | "pages of 4 KiB"
        | "call" => RGBColor(60, 60, 70),
        "cma_read"
        | "put"
        | "huge pages"
        | "immediate"
        | "2 nodes of 2 ranks"
        | "rendezvous from 256 KiB on"
        | "adaptive"
        | "copy" => RGBColor(0, 90, 200),
        "chosen" | "by cost" | "always" | "ga-put" | "ga" | "enhanced LiMIC2, huge pages" => RGBColor(0, 150, 110),
        "loopback"
        | "network"
        | "4 nodes of 1 rank"
        | "armci-put"
        | "contiguous"
        | "copy engine"
        | "kmod_dma"
        | "LiMIC2, pages of 4 KiB"
        | "pin" => RGBColor(230, 140, 0),
        "vmsplice" | "get" | "progress-post" | "LiMIC2, huge pages" | "map" => RGBColor(190, 80, 160),
        "writev" | "armci-get" | "kmod_thread" => RGBColor(200, 60, 40),
        "cma_write" | "ga-get" => RGBColor(90, 180, 230),
        "cma_both" | "single copy" => RGBColor(120, 120, 30),
        _ => RGBColor(120, 70, 200),
    }
}

/// What the numbers say of all sizes: how each line compares with the figure's baseline, library by library; and ours with the best of the others.
fn seen(figure: &Figure, curves: &[Curve]) -> Vec<String> {
    let mut sentences = Vec::new();
    let Some(baseline) = curves.iter().find(|curve| curve.name == figure.baseline) else {
        return sentences;
    };
    let libraries = libraries(curves);
    for &library in &libraries {
        let base = baseline.points(library);
        let factors: Vec<String> = curves
            .iter()
            .filter(|curve| curve.name != figure.baseline)
            .filter_map(|curve| {
                Some(format!(
                    "{} {}",
                    curve.name,
                    compared(curve, &curve.points(library), &base)?
                ))
            })
            .collect();
        if !factors.is_empty() {
            sentences.push(format!(
                "{library}, so many times as good as {} (geometric mean): {}.",
                figure.baseline,
                factors.join("; ")
            ));
        }
    }
    if let [ours, peers @ ..] = libraries.as_slice()
        && !peers.is_empty()
    {
        let beside: Vec<String> = curves
            .iter()
            .filter_map(|curve| {
                Some(format!(
                    "{} {}",
                    curve.name,
                    compared(curve, &curve.points(*ours), &best_of(curve, peers))?
                ))
            })
            .collect();
        if !beside.is_empty() {
            sentences.push(format!(
                "{ours}, so many times as good as the best other library: {}.",
                beside.join("; ")
            ));
        }
    }
    sentences
}

/// The best number of any of these libraries, by row.
fn best_of(curve: &Curve, libraries: &[Library]) -> Vec<(u64, f64)> {
    let quantity = curve.table.experiment().quantity;
    let mut best: Vec<(u64, f64)> = Vec::new();
    for (row, value) in libraries.iter().flat_map(|library| curve.points(*library)) {
        match best.iter_mut().find(|point| point.0 == row) {
            Some(point) => point.1 = quantity.better(point.1, value),
            None => best.push((row, value)),
        }
    }
    best
}

/// `1.7 (1.1 at 8 bytes to 2.4 at 1M)`: the geometric mean of the factors by which `these` are better, and the ends.
fn compared(curve: &Curve, these: &[(u64, f64)], base: &[(u64, f64)]) -> Option<String> {
    let experiment = curve.table.experiment();
    let factors: Vec<(u64, f64)> = these
        .iter()
        .filter_map(|(row, value)| {
            let (_, base) = base.iter().find(|(other, _)| other == row)?;
            Some((*row, experiment.quantity.speed_up(*value, *base)))
        })
        .filter(|(_, factor)| factor.is_finite())
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
    use super::super::{Name, Nas};
    use super::*;
    use crate::bench::samples::Samples;
    use crate::bench::table::Column;

    fn column(library: Library, values: &[(usize, u64, f64)]) -> Column {
        let mut column = Column::new(library);
        for &(group, at, value) in values {
            column.values.set(Cell { group, at }, 0, value);
        }
        column
    }

    fn made<'a>(paper: &'a Paper, columns: Vec<Column>) -> Made<'a> {
        let tables = vec![Table::new(
            &paper.figures[0].experiments[0],
            columns,
            Samples::default(),
        )];
        Made {
            paper,
            figures: vec![Measured {
                tables,
                ..Measured::default()
            }],
            price: Some(4.5),
            others: String::new(),
        }
    }

    #[test]
    fn a_page_compares_ways_and_libraries() -> Result<()> {
        let papers = Name::Rma.papers(Nas::default());
        let ours = column(
            Library::Isthmus,
            &[(0, 8, 10.0), (1, 8, 30.0), (0, 64, 10.0), (1, 64, 30.0)],
        );
        let theirs = column(Library::Mpich, &[(0, 8, 5.0), (1, 8, 60.0)]);
        let page = page(&made(&papers[0], vec![ours, theirs]), "0,1")?;
        for part in [
            "isthmus, so many times as good as sendrecv (geometric mean): put 3.00 (3.00 at 8 to 3.00 at 64)",
            "mpich, so many times as good as sendrecv (geometric mean): put 12.00",
            "isthmus, so many times as good as the best other library: sendrecv 2.00 (2.00 at 8 to 2.00 at 8); put 0.50",
            "the run ended before",
            "<b class=\"missed\">not reproduced, since windows are not made of messages here",
        ] {
            assert!(page.contains(part), "no {part:?} in {page}");
        }
        Ok(())
    }

    #[test]
    fn what_is_missing_is_on_the_page() -> Result<()> {
        let papers = Name::Cma.papers(Nas::default());
        let mut ours = column(Library::Isthmus, &[(0, 32 << 10, 10.0)]);
        ours.lacks(
            "cma_write, 32K".to_owned(),
            "of 9 bytes 0.0 % went by cma_bytes".to_owned(),
        );
        let made = made(&papers[0], vec![ours]);
        assert_eq!(made.figures[0].holes(), 1);
        let page = page(&made, "0,1")?;
        assert!(
            page.contains("<strong>No number:</strong> cma_write, 32K: of 9 bytes 0.0 % went by cma_bytes"),
            "{page}"
        );
        Ok(())
    }
}
