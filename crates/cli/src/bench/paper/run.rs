//! Measuring the figures of papers, one after the other, and writing what is there after each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use isthmus_os::{cma_probe, cpu, interrupt, topology};

use super::record::Record;
use super::{Clock, Figure, Made, Measured, Paper, divide, estimate, markdown, page, text};
use crate::bench::library::Library;
use crate::bench::workshop::Workshop;
use crate::bench::{judge, series, try_to_write};
use crate::doctor;

/// Which papers, how long, and where the results go.
pub struct Job<'a> {
    /// Each is a page.
    pub papers: Vec<Paper>,
    /// For all of them; as long as it takes, if there is none.
    pub time: Option<Duration>,
    /// The page of the only paper, instead of its usual name.
    pub html: Option<&'a Path>,
    /// Verdicts as Markdown.
    pub summary: Option<&'a Path>,
    /// Everything as JSON.
    pub json: Option<&'a Path>,
    /// Ours first.
    pub libraries: &'a [Library],
    /// Where programs are made and run.
    pub workshop: &'a Workshop,
    /// Of the ranks, in order.
    pub cpus: &'a str,
}

impl Job<'_> {
    /// Measure. The page of a paper, the summary and the record are written after each figure, so that a run that is ended has them with what is there. A number
    /// that should be there and is not is told on the page, and by the exit code; a number for which there was no time is told on the page.
    pub fn run(mut self) -> Result<ExitCode> {
        let pages: Vec<PathBuf> = self.papers.iter().map(|paper| self.page_of(paper)).collect();
        let others_files = [self.summary, self.json].into_iter().flatten();
        for place in pages.iter().map(PathBuf::as_path).chain(others_files) {
            try_to_write(place)?;
        }
        if let Some(time) = self.time {
            divide(&mut self.papers, time);
        }
        let mut clock = Clock::start(&self.papers, self.time);
        let others = others();
        if !others.is_empty() {
            eprintln!("isthmus: {others}");
        }
        eprintln!(
            "isthmus: this takes about {:.1} minutes",
            self.time
                .unwrap_or(Duration::MAX)
                .min(estimate(&self.papers))
                .as_secs_f64()
                / 60.0
        );
        let price = cma_probe::siblings().is_ok().then(isthmus_engine::single_copy_price);
        let figures = || self.papers.iter().flat_map(|paper| &paper.figures);
        let bar = series::bar(figures().map(|figure| figure.experiments.len()).sum());
        let mut all: Vec<Made> = self
            .papers
            .iter()
            .map(|paper| Made {
                paper,
                figures: vec![],
                price,
                others: others.clone(),
            })
            .collect();
        for (at, file) in pages.iter().enumerate() {
            let paper = all[at].paper;
            for figure in &paper.figures {
                if interrupt::noted() {
                    break;
                }
                println!("{}", figure.title);
                let measured = self.figure(figure, &mut clock, &bar);
                all[at].figures.push(measured);
                write(file, &page(&all[at], self.cpus)?)?;
                self.write_all(&all)?;
            }
            match all[at].figures.is_empty() {
                // Made above, to see that it can be.
                true => remove_if_empty(file),
                false => println!("{}\n{}", text(&all[at]), file.display()),
            }
        }
        bar.finish_and_clear();
        self.write_all(&all)?;
        Ok(ends(&all))
    }

    fn page_of(&self, paper: &Paper) -> PathBuf {
        let usual = || PathBuf::from(format!("isthmus-{}.html", paper.name));
        self.html.map_or_else(usual, Path::to_path_buf)
    }

    /// Measure the experiments of one figure, and print their tables.
    fn figure<'a>(&self, figure: &'a Figure, clock: &mut Clock, bar: &ProgressBar) -> Measured<'a> {
        let mut measured = Measured::default();
        for experiment in &figure.experiments {
            match series::measure(experiment, self.libraries, self.workshop, clock.next_share()) {
                Ok(table) => {
                    println!("{}{}", table.text(), judge::lines(&table));
                    measured.tables.push(table);
                }
                Err(_) if interrupt::noted() => break,
                // One experiment that cannot be had does not end the others.
                Err(error) => {
                    let reason = format!("{} is left out: {error:#}", experiment.name);
                    eprintln!("isthmus: {reason}");
                    match error.downcast_ref() {
                        Some(series::Absent::Lacked) => measured.lacked.push(reason),
                        Some(series::Absent::Late) => measured.late.push(format!("all of {}", experiment.name)),
                        None => measured.left_out.push(reason),
                    }
                }
            }
            bar.inc(1);
        }
        measured
    }

    fn write_all(&self, all: &[Made]) -> Result<()> {
        if let Some(file) = self.summary {
            let machine = topology::model().unwrap_or_else(|| "unknown processor".to_owned());
            let machine = format!("{machine}, {} CPUs", self.cpus.split(',').count());
            write(file, &markdown(all, &machine))?;
        }
        if let Some(file) = self.json {
            write(
                file,
                &(serde_json::to_string_pretty(&Record::new(all, self.cpus))? + "\n"),
            )?;
        }
        Ok(())
    }
}

/// How it ended.
fn ends(all: &[Made]) -> ExitCode {
    let figures = || all.iter().flat_map(|made| &made.figures);
    let late: usize = figures().map(|figure| figure.late().count()).sum();
    if late > 0 {
        eprintln!("isthmus: there was no time for some numbers of {late} lines; the pages say which");
    }
    let holes: usize = figures().map(Measured::holes).sum();
    if interrupt::noted() {
        eprintln!("isthmus: interrupted; the pages have what is there");
        return ExitCode::FAILURE;
    }
    if holes > 0 {
        eprintln!("isthmus: {holes} numbers are missing; the pages say which and why");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// What other processes do on the CPUs that are measured on; empty: nothing to speak of.
fn others() -> String {
    let Some(busy) = doctor::busy_by_others().filter(|busy| *busy > doctor::MUCH) else {
        return String::new();
    };
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    format!(
        "Other processes kept {busy:.1} of {} CPUs busy when this run began (load average {}): its times say little.",
        cpu::affinity().len(),
        load.join(", ")
    )
}

fn write(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn remove_if_empty(file: &Path) {
    if fs::metadata(file).is_ok_and(|metadata| metadata.len() == 0) {
        // It stays empty then, and nothing is lost.
        let _ = fs::remove_file(file);
    }
}
