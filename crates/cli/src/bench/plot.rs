//! Plots as SVG: values by size, and below them, on the same axis, the speed-up against the best peer.
//!
//! `isthmus bench --html` writes one file that is read without a network, mailed, and printed: no script, no font, no image from elsewhere.
//! plotters draws to a string with its SVG backend; without its default features it adds three small crates, no fonts and no C. charming
//! would add a JavaScript engine or a browser library. Axes are our own: powers of two, with ticks at the sizes that were measured.

use std::error::Error;
use std::ops::Range;

use anyhow::{Result, anyhow};
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::element::{Circle, PathElement};
use plotters::prelude::{Cartesian2d, DrawingArea, IntoDrawingArea, SVGBackend};
use plotters::style::{Color, IntoTextStyle, RGBColor, ShapeStyle, WHITE};

/// Width of every plot, in the unit of the SVG's own coordinates.
const WIDTH: u32 = 460;
const HEIGHT: u32 = 270;
/// Of the strip with speed-ups.
const STRIP: u32 = 110;
/// Room for the labels of the vertical axis, the same in both so that they line up.
const MARGIN: u32 = 54;

/// Room beside the first and the last row, in doublings.
const BESIDE: f64 = 0.5;
/// Speed-ups below it are drawn as this.
const LEAST: f64 = 1e-3;

const GRID: RGBColor = RGBColor(226, 228, 232);
const TEXT: RGBColor = RGBColor(90, 94, 102);
const GOOD: RGBColor = RGBColor(20, 128, 74);
const BAD: RGBColor = RGBColor(200, 30, 45);
const NEUTRAL: RGBColor = RGBColor(120, 124, 132);

/// One line of a plot.
pub struct Line {
    /// Row and value; what is not positive cannot be shown on a logarithmic axis and is left out.
    pub points: Vec<(u64, f64)>,
    /// Its colour.
    pub colour: RGBColor,
    /// What the others are compared with stands out.
    pub strong: bool,
    /// Floors are dashed.
    pub dashed: bool,
    /// Row, least and most over launches; drawn as a bar behind the point.
    pub spread: Vec<(u64, f64, f64)>,
    /// Rows of which a launch was disturbed: their points are hollow.
    pub disturbed: Vec<u64>,
}

impl Line {
    /// Through these points, without spread.
    pub fn plain(points: Vec<(u64, f64)>, colour: RGBColor) -> Self {
        Self {
            points,
            colour,
            strong: false,
            dashed: false,
            spread: vec![],
            disturbed: vec![],
        }
    }
}

/// The vertical axis.
#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    /// For what spans decades.
    Logarithmic,
    /// From nothing on.
    Linear,
    /// From nothing to a hundred.
    Percent,
}

/// Values by row.
pub fn values(rows: &[u64], label: fn(u64) -> String, scale: Scale, lines: &[Line]) -> Result<String> {
    let place = |value: f64| match scale {
        Scale::Logarithmic => (value > 0.0).then(|| value.log10()),
        Scale::Percent | Scale::Linear => Some(value),
    };
    let shown = lines.iter().flat_map(|line| {
        let ends = line.spread.iter().flat_map(|(_, least, most)| [*least, *most]);
        line.points.iter().map(|point| point.1).chain(ends)
    });
    let axis = match scale {
        Scale::Logarithmic => Axis::decades(shown.filter(|value| *value > 0.0)),
        Scale::Linear => Axis::from_nothing(shown),
        Scale::Percent => Axis::percent(),
    };
    let (low, high) = (axis.low, axis.high);
    draw(HEIGHT, Axis::rows(rows, label), axis, |chart| {
        for line in lines {
            let placed = line.points.iter();
            let points: Vec<(f64, f64)> = placed
                .filter_map(|(row, value)| Some((across(*row), place(*value)?.clamp(low, high))))
                .collect();
            let width = if line.strong { 3 } else { 2 };
            let style = ShapeStyle::from(&line.colour).stroke_width(width);
            if line.dashed {
                dashed(chart, &points, style)?;
            } else {
                let bars = line.spread.iter().filter_map(|(row, least, most)| {
                    let ends = [place(*least)?, place(*most)?].map(|value| (across(*row), value.clamp(low, high)));
                    Some(PathElement::new(ends.to_vec(), line.colour.mix(0.35).stroke_width(5)))
                });
                chart.draw_series(bars)?;
                chart.draw_series([PathElement::new(points.clone(), style)])?;
                let hollow = |at: &(f64, f64)| line.disturbed.iter().any(|row| across(*row) == at.0);
                let (open, closed): (Vec<_>, Vec<_>) = points.into_iter().partition(hollow);
                let dots = closed
                    .into_iter()
                    .map(|at| Circle::new(at, width + 1, line.colour.filled()));
                chart.draw_series(dots)?;
                let white = open.iter().map(|at| Circle::new(*at, width + 2, WHITE.filled()));
                chart.draw_series(white)?;
                let rings = open
                    .iter()
                    .map(|at| Circle::new(*at, width + 2, line.colour.stroke_width(1)));
                chart.draw_series(rings)?;
            }
        }
        Ok(())
    })
}

/// Speed-ups by row: above 1 is better, under `lost` is lost.
pub fn speed_ups(rows: &[u64], label: fn(u64) -> String, points: &[(u64, f64)], lost: f64) -> Result<String> {
    let ends = (rows.first().copied(), rows.last().copied());
    let axis = Axis::doublings(points.iter().map(|(_, value)| *value));
    draw(STRIP, Axis::rows(rows, label), axis, |chart| {
        if let (Some(first), Some(last)) = ends {
            let one = vec![(across(first) - BESIDE, 0.0), (across(last) + BESIDE, 0.0)];
            chart.draw_series([PathElement::new(one, NEUTRAL.stroke_width(1))])?;
        }
        for (row, value) in points {
            let colour = if *value < lost {
                BAD
            } else if *value < 1.0 {
                NEUTRAL
            } else {
                GOOD
            };
            let at = (across(*row), value.max(LEAST).log2());
            chart.draw_series([PathElement::new(vec![(at.0, 0.0), at], colour.stroke_width(3))])?;
            chart.draw_series([Circle::new(at, 4, colour.filled())])?;
        }
        Ok(())
    })
}

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;
type Drawn = Result<(), Box<dyn Error>>;

fn draw(height: u32, rows: Axis, axis: Axis, content: impl Fn(&mut Chart) -> Drawn) -> Result<String> {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
    let drawn = draw_on(&area, rows, axis, content);
    drawn.map_err(|error| anyhow!("cannot draw a plot: {error}"))?;
    drop(area);
    Ok(svg)
}

fn draw_on(
    area: &DrawingArea<SVGBackend, Shift>,
    rows: Axis,
    axis: Axis,
    content: impl Fn(&mut Chart) -> Drawn,
) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .margin(6)
        .x_label_area_size(22)
        .y_label_area_size(MARGIN)
        .build_cartesian_2d(rows, axis)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .axis_style(GRID)
        .label_style(("sans-serif", 13).with_color(TEXT).into_text_style(area))
        .draw()?;
    content(&mut chart)?;
    area.present()?;
    Ok(())
}

/// An axis with exactly these ticks.
#[derive(Clone)]
struct Axis {
    low: f64,
    high: f64,
    ticks: Vec<(f64, String)>,
}

impl Axis {
    /// The rows, of which as many are labelled as there is room for.
    fn rows(rows: &[u64], label: fn(u64) -> String) -> Self {
        let ticks = thinned(rows).into_iter().map(|row| (across(row), label(row)));
        Self {
            low: rows.first().map_or(0.0, |row| across(*row)) - BESIDE,
            high: rows.last().map_or(1.0, |row| across(*row)) + BESIDE,
            ticks: ticks.collect(),
        }
    }

    fn percent() -> Self {
        let ticks = [0.0, 25.0, 50.0, 75.0, 100.0].map(|tick| (tick, format!("{tick}")));
        Self {
            low: -5.0,
            high: 105.0,
            ticks: ticks.into(),
        }
    }

    /// Logarithmic, with 1, 2, 5 or only 1 of each decade as ticks; holds `values`.
    fn decades(values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10();
        let high = values.fold(0.0, f64::max).log10();
        if !low.is_finite() || !high.is_finite() {
            return Self::percent();
        }
        let (low, high) = (low - 0.08, (high + 0.08).max(low + 0.5));
        let steps: &[f64] = if high - low > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let every = if high - low > 8.0 { 2 } else { 1 };
        let decades = (low.floor() as i32..=high.ceil() as i32).filter(|decade| decade.rem_euclid(every) == 0);
        let ticks = decades.flat_map(|decade| steps.iter().map(move |step| step.log10() + f64::from(decade)));
        let ticks = ticks.filter(|tick| (low..=high).contains(tick));
        Self {
            low,
            high,
            ticks: ticks.map(|tick| (tick, short(10f64.powf(tick)))).collect(),
        }
    }

    /// Linear, from 0 to a round number beyond `values`.
    fn from_nothing(values: impl Iterator<Item = f64>) -> Self {
        let most = values.fold(0.0, f64::max);
        if most <= 0.0 {
            return Self::percent();
        }
        let decade = 10f64.powf(most.log10().floor());
        let step = [0.2, 0.5, 1.0, 2.0].map(|part| part * decade);
        let step = step.into_iter().find(|step| most / step <= 6.0).unwrap_or(2.0 * decade);
        let count = (most / step).ceil() as u32;
        Self {
            low: 0.0,
            high: f64::from(count) * step * 1.02,
            ticks: (0..=count)
                .map(|tick| f64::from(tick) * step)
                .map(|at| (at, round(at)))
                .collect(),
        }
    }

    /// Logarithmic around 1; holds `factors`.
    fn doublings(factors: impl Iterator<Item = f64> + Clone) -> Self {
        let logarithms = || factors.clone().map(|value| value.max(LEAST).log2());
        let high = logarithms().fold(1.0, f64::max).ceil();
        let low = logarithms().fold(-1.0, f64::min).floor();
        let step = ((high - low) / 4.0).ceil();
        let ticks = (low / step).ceil() as i64..=(high / step).floor() as i64;
        let ticks = ticks.map(|tick| tick as f64 * step);
        Self {
            low: low - 0.2,
            high: high + 0.2,
            ticks: ticks
                .map(|tick| (tick, format!("{}x", short(2f64.powf(tick)))))
                .collect(),
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let part = (value - self.low) / (self.high - self.low);
        from + (f64::from(to - from) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.iter().map(|(at, _)| *at).collect()
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(at, _)| at == value);
        tick.map_or_else(String::new, |(_, text)| text.clone())
    }
}

/// Powers of two are equally far apart; nothing is one step before 1.
fn across(row: u64) -> f64 {
    if row == 0 { -1.0 } else { (row as f64).log2() }
}

/// Those that are labelled: no two too close.
fn thinned(rows: &[u64]) -> Vec<u64> {
    let width = rows.last().map_or(0.0, |row| across(*row)) - rows.first().map_or(0.0, |row| across(*row));
    let mut kept: Vec<u64> = Vec::new();
    for row in rows {
        if kept
            .last()
            .is_none_or(|last| across(*row) - across(*last) >= width / 9.0)
        {
            kept.push(*row);
        }
    }
    // The last one has its label, rather than one that is too close to it.
    if let Some(last) = rows.last().filter(|last| kept.last() != Some(last)) {
        if kept.len() > 1 {
            kept.pop();
        }
        kept.push(*last);
    }
    kept
}

/// A tick of a linear axis.
fn round(value: f64) -> String {
    match value {
        v if v >= 10_000.0 => format!("{}k", v / 1e3),
        v if v >= 10.0 || v == 0.0 => format!("{v:.0}"),
        v => format!("{v:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

/// A tick's value: no more digits than count.
fn short(value: f64) -> String {
    if value >= 0.995e6 {
        format!("{:.0}M", value / 1e6)
    } else if value >= 0.995e3 {
        format!("{:.0}k", value / 1e3)
    } else if value >= 0.995 {
        format!("{value:.0}")
    } else {
        let digits = if value < 0.0995 { 3 } else { 2 };
        let text = format!("{value:.digits$}");
        text.trim_end_matches('0').to_owned()
    }
}

fn dashed(chart: &mut Chart, points: &[(f64, f64)], style: ShapeStyle) -> Drawn {
    const DASH: f64 = 0.22;
    for pair in points.windows(2) {
        let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
        let dashes = ((to_x - x) / DASH).ceil().max(1.0) as usize;
        let at = |part: f64| (x + (to_x - x) * part, y + (to_y - y) * part);
        let part = 1.0 / dashes as f64;
        let drawn = (0..dashes).map(|dash| dash as f64 * part);
        let elements = drawn.map(|from| PathElement::new(vec![at(from), at(from + 0.55 * part)], style));
        chart.draw_series(elements)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(row: u64) -> String {
        format!("{row} B")
    }

    const RED: RGBColor = RGBColor(255, 0, 0);

    #[test]
    fn a_plot_is_an_svg_with_its_rows() -> Result<()> {
        let rows = [0, 8, 1024, 1 << 20];
        let line = |dashed| Line {
            strong: true,
            dashed,
            spread: vec![(8, 7.0, 9.0)],
            disturbed: vec![8],
            ..Line::plain(rows.iter().map(|row| (*row, *row as f64)).collect(), RED)
        };
        let svg = values(&rows, label, Scale::Logarithmic, &[line(false), line(true)])?;
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for part in ["1024 B", "1048576 B", "#FF0000"] {
            assert!(svg.contains(part), "no {part} in {svg}");
        }
        let strip = speed_ups(&rows, label, &[(8, 2.0), (1024, 0.5)], 0.9)?;
        assert!(strip.contains("2x"), "{strip}");
        Ok(())
    }

    #[test]
    fn ticks() {
        let axis = Axis::decades([1.0, 80.0].into_iter());
        let texts: Vec<&str> = axis.ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["1", "2", "5", "10", "20", "50"]);
        assert_eq!(Axis::decades([0.1, 1e5].into_iter()).ticks.len(), 7);
        assert_eq!(Axis::doublings([0.3, 60.0].into_iter()).ticks.len(), 5);
        let texts: Vec<String> = Axis::from_nothing([3.0, 4700.0].into_iter())
            .ticks
            .into_iter()
            .map(|tick| tick.1)
            .collect();
        assert_eq!(texts, ["0", "1000", "2000", "3000", "4000", "5000"]);
        let empty = Axis::decades([].into_iter());
        assert!(empty.low < empty.high);
        assert_eq!(short(0.05), "0.05");
        assert_eq!(short(0.125), "0.12");
        assert_eq!(short(20_000.0), "20k");
    }

    #[test]
    fn labels_keep_their_distance() {
        assert_eq!(thinned(&[2, 3, 4, 8]), [2, 3, 4, 8]);
        let all: Vec<u64> = (0..27).map(|power| 1 << power).collect();
        assert!(thinned(&all).len() <= 10);
        assert_eq!(thinned(&[8, 1 << 10, 2 << 10, 4 << 10, 8 << 10]), [8, 1 << 10, 8 << 10]);
    }
}
