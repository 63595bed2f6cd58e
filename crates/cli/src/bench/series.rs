//! Launching the libraries in turn, A B C A B C, so that what disturbs the machine disturbs all of them alike.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use isthmus_os::{cpu, interrupt};

use super::experiment::{Experiment, Floor, Run};
use super::library::{Library, Name};
use super::process::{Finished, Limits};
use super::samples::{Cell, Samples};
use super::share::Share;
use super::table::{Column, Table};
use super::workshop::Workshop;
use crate::show;

/// How long the hand-over of a line is measured before each launch: long enough for its median.
const LINE_SECONDS: &str = "0.05";
/// Looks at the machine before the first launch.
const PROBES: u32 = 5;
/// A launch counts if handing over a line took at most so many times the least...
const STEADY: f64 = 1.5;
/// ...and the hypervisor ran something else for at most this share of the CPUs' time, or so long in all...
const STOLEN: (f64, Duration) = (0.02, Duration::from_millis(30));
/// ...or it is the last of so many.
const TRIES: u32 = 4;
/// No experiment begins for less.
const BRIEFEST: Duration = Duration::from_millis(250);
/// A library that fails in so many cells of one launch is not asked for the rest.
const FAILURES: usize = 3;

/// One library in one experiment.
struct Contender<'a> {
    library: &'a Library,
    column: Column,
    /// Cells, by run, in which it failed; they are not tried again.
    failed: HashSet<(usize, String)>,
    /// Runs in which it failed altogether.
    given_up: HashSet<usize>,
    /// By run, cells without a number because a launch's time was used up, and how long that launch had.
    late: BTreeMap<usize, (Vec<String>, Duration)>,
}

impl Contender<'_> {
    /// Cells of a run that did not fail.
    fn cells(&self, experiment: &Experiment, index: usize) -> Vec<String> {
        let cells = experiment.runs[index].cells.iter();
        let left = cells.filter(|cell| !self.failed.contains(&(index, (*cell).clone())));
        left.cloned().collect()
    }

    /// A launch of a run had so long, and these cells were not reached. What an earlier launch measured is not missing.
    fn note_late(&mut self, index: usize, round: usize, cells: &[String], had: Duration) {
        match self.late.get_mut(&index) {
            Some((late, before)) => {
                late.retain(|cell| cells.contains(cell));
                *before = had;
            }
            None if round == 0 => {
                self.late.insert(index, (cells.to_vec(), had));
            }
            None => {}
        }
    }

    /// This cell has a number now.
    fn note_measured(&mut self, index: usize, cell: &str) {
        if let Some((late, _)) = self.late.get_mut(&index) {
            late.retain(|other| other != cell);
        }
    }

    /// Notes the missing cells in the column, line by line.
    fn tell_late(&mut self, experiment: &Experiment) {
        for (index, (cells, _)) in &self.late {
            if experiment.runs[*index].cells.is_empty() || !cells.is_empty() {
                let line = experiment.variants.get(*index).map_or("", |variant| variant.name);
                let cells: Vec<String> = cells.iter().map(|cell| shown(cell)).collect();
                let text = [line.to_owned(), cells.join(", ")].join(" ");
                self.column.late.push(text.trim().to_owned());
            }
        }
    }
}

/// A cell of a command line, as a table writes it.
fn shown(cell: &str) -> String {
    let (kind, size) = cell.rsplit_once(':').unwrap_or(("", cell));
    match size.parse() {
        Ok(bytes) => format!("{kind} {}", show::bytes(bytes)).trim().to_owned(),
        Err(_) => cell.replace(':', " "),
    }
}

/// The context of an error that is no failure of what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// The machine has no nodes, or lacks a program. No number is missing that could be there.
    Lacked,
    /// The time was used up before there was a number.
    Late,
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Absent::Lacked => "this machine lacks what it needs",
            Absent::Late => "its time was used up",
        })
    }
}

/// Run `experiment` on each library. A cell in which a library fails or hangs stays empty, with a line
/// that says why; it is an error if there is no number at all. Blocks, and shows progress on stderr.
///
/// With a share of time that ends, each launch of the first round gets an equal part of what is left of it, and is ended then with the cells that it
/// has; a further round begins only if there is time for as long as the last one took.
pub fn measure<'a>(
    experiment: &'a Experiment,
    libraries: &[Library],
    workshop: &Workshop,
    share: Share,
) -> Result<Table<'a>> {
    if !share.fits(BRIEFEST) {
        return Err(anyhow!("there is no number yet").context(Absent::Late));
    }
    let launches = experiment.launches;
    let can = |library: &&Library| match library.name {
        Name::Isthmus => true,
        Name::Upstream => experiment.model.is_some_and(|model| model.is_of_global_arrays()),
        _ => experiment.model.is_none_or(|model| model.is_for_all),
    };
    let nodes = match experiment.nodes {
        0 => None,
        count => Some(workshop.nodes(count, experiment.links).context(Absent::Lacked)?),
    };
    let placed: Vec<Library> = libraries
        .iter()
        .map(|library| match &nodes {
            Some(nodes) => library.clone().across(nodes),
            None => library.clone(),
        })
        .map(|library| match experiment.neighbour {
            Some(neighbour) => library.beside(neighbour),
            None => library,
        })
        .collect();
    let mut contenders: Vec<Contender> = placed
        .iter()
        .filter(can)
        .map(|library| Contender {
            library,
            column: Column::new(library.name),
            failed: HashSet::new(),
            given_up: HashSet::new(),
            late: BTreeMap::new(),
        })
        .collect();
    let mut floor = Samples::default();
    let mut second = Samples::default();
    let mut steadiness = Steadiness::new(experiment, workshop)?;
    let mut last = Duration::ZERO;
    'rounds: for round in 0..launches as usize {
        if round > 0 && !share.fits(last) {
            progress(&format!("{}: no time for {launches} launches\n", experiment.name));
            break;
        }
        let began = Instant::now();
        progress(&format!("{} {}/{launches}:", experiment.name, round + 1));
        if let Floor::LineAnd(name, options) | Floor::Only(name, options) = &experiment.floor {
            progress(" floors");
            let floors = |arguments: &[String]| match &nodes {
                Some(nodes) => workshop.run_network_floors(nodes, arguments),
                None => workshop.run_floors(arguments),
            };
            measure_floor(experiment, name, options, floors, round, &mut floor)?;
        }
        if let (Floor::Two([first, other], options), Some(nodes)) = (&experiment.floor, &nodes) {
            progress(" floors");
            let bare = |arguments: &[String]| workshop.run_bare_fabric(nodes, arguments);
            if let Err(error) = measure_floor(experiment, first, options, bare, round, &mut floor) {
                // There may be no libfabric here.
                progress(&format!(" (without {first}: {error:#})"));
            }
            let socket = |arguments: &[String]| workshop.run_network_floors(nodes, arguments);
            measure_floor(experiment, other, options, socket, round, &mut second)?;
        }
        let runs = experiment.runs.len();
        let contenders_left = (0..contenders.len()).rev();
        for (contender, after) in contenders.iter_mut().zip(contenders_left) {
            progress(&format!(" {}", contender.library.name));
            let launch = || launches_of(experiment, contender, workshop, (share, after * runs), round);
            let measured = steadiness.launch(launch, |took| share.fits(took * (after as u32 + 1)));
            if interrupt::noted() {
                // Earlier rounds stay.
                progress("\nisthmus: interrupted\n");
                break 'rounds;
            }
            let (line, is_disturbed) = measured?;
            contender.column.line.extend(line);
            if is_disturbed {
                contender.column.disturbed.push(round);
            }
        }
        last = began.elapsed();
        progress("\n");
    }

    if let Some(nodes) = nodes.filter(|_| !experiment.links.is_empty()) {
        nodes.shape("")?;
    }
    for contender in &mut contenders {
        contender.tell_late(experiment);
    }
    let columns: Vec<Column> = contenders.into_iter().map(|contender| contender.column).collect();
    if columns
        .iter()
        .all(|column| column.values.is_empty() && column.refused == 0)
    {
        let none = format!("no library completed anything of {}", experiment.name);
        let whys = || columns.iter().flat_map(|column| &column.holes).map(|hole| &hole.why);
        // The programs say so where they need a package that is not installed, or something of the machine.
        let parts = || whys().flat_map(|why| why.split("; "));
        let lacks = |part: &&str| part.contains("apt-get install") || part.contains("this machine has no");
        return match parts().find(lacks) {
            Some(why) => Err(anyhow!("{why}").context(Absent::Lacked)),
            None if columns.iter().any(|column| !column.late.is_empty()) => {
                Err(anyhow!("there is no number yet").context(Absent::Late))
            }
            None => Err(anyhow!(none)),
        };
    }
    let mut table = Table::new(experiment, columns, floor);
    table.second = second;
    Ok(table)
}

/// Launches that the machine is the same for. A hypervisor moves virtual CPUs between cores, for seconds at a time, and
/// with CPUs that are further apart every small number is another one, whatever the library; or it runs something else for milliseconds,
/// which whoever waits for the other CPU pays for. Such a launch is repeated.
struct Steadiness<'a> {
    /// The program that measures the hand-over of a cache line, if that matters, and the least so far, in microseconds.
    line: Option<(&'a Workshop, f64)>,
}

impl<'a> Steadiness<'a> {
    fn new(experiment: &Experiment, workshop: &'a Workshop) -> Result<Self> {
        if !experiment.floor.has_line() {
            return Ok(Self { line: None });
        }
        let lines: Result<Vec<f64>> = (0..PROBES).map(|_| line(workshop)).collect();
        let least = lines?.into_iter().fold(f64::INFINITY, f64::min);
        Ok(Self {
            line: Some((workshop, least)),
        })
    }

    /// Launch until nothing was stolen, to speak of, and the hand-over of a line was near the least before and after, or it was tried
    /// often, or there is no time for another launch of the same length. What that was, and whether the last launch was disturbed all the same.
    fn launch(
        &mut self,
        mut launch: impl FnMut() -> Result<()>,
        is_time: impl Fn(Duration) -> bool,
    ) -> Result<(Option<f64>, bool)> {
        let mut before = self.hand_over()?;
        let cpus = cpu::affinity().len().max(1);
        let mut tries = 1;
        loop {
            let (stolen, began) = (cpu::stolen(), Instant::now());
            launch()?;
            let stolen = cpu::stolen().saturating_sub(stolen);
            let took = began.elapsed();
            let share = stolen.as_secs_f64() / (took.as_secs_f64() * cpus as f64);
            let is_ours = share <= STOLEN.0 || stolen <= STOLEN.1;
            let after = self.hand_over()?;
            let worst = before.zip(after).map(|(before, after)| before.max(after));
            let is_near = self
                .line
                .zip(worst)
                .is_none_or(|((_, least), worst)| worst <= STEADY * least);
            if is_near && is_ours || tries == TRIES || !is_time(took) {
                if !is_ours {
                    progress(&format!(
                        " (disturbed: the hypervisor took {:.0} % of the CPUs)",
                        share * 100.0
                    ));
                }
                return Ok((worst, !(is_near && is_ours)));
            }
            progress("~");
            tries += 1;
            before = after;
        }
    }

    /// Of a cache line, now.
    fn hand_over(&mut self) -> Result<Option<f64>> {
        let Some((workshop, least)) = &mut self.line else {
            return Ok(None);
        };
        let now = line(workshop)?;
        *least = least.min(now);
        Ok(Some(now))
    }
}

/// Hand-over of a cache line between the two CPUs now, in microseconds.
fn line(workshop: &Workshop) -> Result<f64> {
    let finished = workshop.run_floors(&["--seconds".to_owned(), LINE_SECONDS.to_owned()])?;
    let line = finished.results("line").find_map(|result| result.field("us"));
    line.context("the floors' program measured no hand-over of a line")
}

fn measure_floor(
    experiment: &Experiment,
    name: &str,
    options: &[String],
    run: impl Fn(&[String]) -> Result<Finished>,
    round: usize,
    floor: &mut Samples,
) -> Result<()> {
    let seconds = format!("{}", experiment.seconds / 2.0);
    let cells = experiment.runs.iter().flat_map(|run| run.cells.iter().cloned());
    let arguments = ["--seconds".to_owned(), seconds].into_iter();
    let arguments: Vec<String> = arguments.chain(options.iter().cloned()).chain(cells).collect();
    for result in run(&arguments)?.results(name) {
        if let (Some(at), Some(us)) = (result.field(experiment.rows.field), result.field("us")) {
            let at = at as u64;
            floor.set(Cell { group: 0, at }, round, experiment.quantity.shown(at, us));
        }
    }
    Ok(())
}

/// A launch of each run. In the first round each has an equal part of the time that is left for it and for so many launches that come after; what did not
/// fit then is tried again where others needed less. An error is the user's wish to stop.
fn launches_of(
    experiment: &Experiment,
    contender: &mut Contender,
    workshop: &Workshop,
    (share, after): (Share, usize),
    round: usize,
) -> Result<()> {
    let runs = experiment.runs.len();
    for index in 0..runs {
        let until = match round {
            0 => share.of_launch(runs - index + after),
            _ => share.end(),
        };
        let cells = contender.cells(experiment, index);
        one_launch(experiment, index, contender, workshop, round, (cells, until))?;
    }
    let late: Vec<usize> = contender.late.keys().copied().collect();
    for (at, index) in late.iter().enumerate() {
        let Some((cells, had)) = contender.late.get(index).cloned() else {
            continue;
        };
        let left = late.len() - at + after;
        if round == 0 && !cells.is_empty() && share.fits(had * left as u32) {
            let until = share.of_launch(left);
            one_launch(experiment, *index, contender, workshop, round, (cells, until))?;
        }
    }
    Ok(())
}

/// One launch of a run with these cells, which ends by then; several, if there are cells in which the library fails. An error is the user's wish to stop.
fn one_launch(
    experiment: &Experiment,
    index: usize,
    contender: &mut Contender,
    workshop: &Workshop,
    round: usize,
    (mut cells, until): (Vec<String>, Option<Instant>),
) -> Result<()> {
    let run = &experiment.runs[index];
    let began = Instant::now();
    let mut failures = 0;
    while !contender.given_up.contains(&index) && (!cells.is_empty() || run.cells.is_empty()) {
        let library = contender.library;
        let told = experiment.variants.get(index).map(|variant| {
            let told = library.clone();
            let told = variant
                .environment
                .iter()
                .fold(told, |told, (name, value)| told.with(name, value));
            match variant.carried.by {
                [] => told,
                _ => told.with("ISTHMUS_BENCH_COUNT", "1"),
            }
        });
        let (done, failure) = match workshop.run(
            told.as_ref().unwrap_or(library),
            run.ranks,
            experiment.program,
            experiment
                .model
                .filter(|_| matches!(library.name, Name::Isthmus | Name::Upstream)),
            &arguments(experiment, run, &cells),
            Limits {
                silence: experiment.silence_limit,
                until,
            },
        ) {
            Ok(finished) => {
                let readings = experiment.read(&finished, index);
                contender.column.version = finished.library().map(str::to_owned);
                for reading in &readings {
                    if let Some(why) = &reading.refused {
                        let place = experiment.label(reading.cell);
                        progress(&format!(
                            "\nisthmus: {}: {place} is no measurement of that: {why}\n",
                            experiment.name
                        ));
                        contender.column.lacks(place, why.clone());
                        contender.column.refused += 1;
                        continue;
                    }
                    contender.column.values.set(reading.cell, round, reading.value);
                    if let Some(floor) = reading.floor {
                        contender.column.floor.set(reading.cell, round, floor);
                    }
                    contender.column.note(round, reading);
                }
                for cell in cells.iter().take(readings.len()) {
                    contender.note_measured(index, cell);
                }
                if finished.is_late {
                    let reached = readings.len().min(cells.len());
                    progress(&format!(" (time used up after {reached} of {} cells)", cells.len()));
                    contender.note_late(index, round, &cells[reached..], began.elapsed());
                    return Ok(());
                }
                let lacks = readings.len() < cells.len().max(1);
                let silent = || lacks.then(|| "it printed too few results".to_owned());
                // Without a word of what it runs on it did not even start.
                let started = finished.library().is_some();
                (
                    started.then_some(readings.len()),
                    finished.failure.clone().or_else(silent),
                )
            }
            Err(error) => (None, Some(format!("{error:#}"))),
        };
        if interrupt::noted() {
            bail!("interrupted");
        }
        let Some(why) = failure else { return Ok(()) };
        failures += 1;
        let at = done.and_then(|done| cells.get(done).cloned());
        let place = at.as_deref().unwrap_or("all");
        let ranks = run.ranks;
        progress(&format!(
            "\nisthmus: {} fails on {ranks} ranks in {place}: {why}\n",
            library.name
        ));
        let line = experiment
            .variants
            .get(index)
            .map_or(String::new(), |variant| format!("{}, ", variant.name));
        contender
            .column
            .lacks(format!("{line}{place} on {ranks} ranks of {}", library.name), why);
        match (at, done) {
            (Some(cell), Some(done)) if failures < FAILURES => {
                contender.failed.insert((index, cell));
                cells.drain(..=done);
            }
            _ => {
                contender.given_up.insert(index);
            }
        }
    }
    Ok(())
}

fn arguments(experiment: &Experiment, run: &Run, cells: &[String]) -> Vec<String> {
    let seconds = match run.cells.len() {
        0 => experiment.seconds,
        // Each cell has the same time however many are left.
        all => experiment.seconds * cells.len() as f64 / all as f64,
    };
    let budget = ["--seconds".to_owned(), format!("{seconds:.4}")].into_iter();
    let rest = run.options.iter().chain(cells).cloned();
    budget.chain(rest).collect()
}

/// A bar over so many steps, on a terminal, beneath what [`measure`] tells.
pub fn bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} experiments, {elapsed} so far, about {eta} left");
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = style {
        bar.set_style(style);
    }
    BAR.get_or_init(|| bar).clone()
}

/// The bar beneath progress, if there is one.
static BAR: OnceLock<ProgressBar> = OnceLock::new();

fn progress(text: &str) {
    let write = || {
        let mut stderr = io::stderr();
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    };
    match BAR.get().filter(|bar| !bar.is_hidden()) {
        // The bar takes the line below: whole lines only.
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
