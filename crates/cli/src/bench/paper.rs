//! `isthmus bench --paper NAME`: the experiments of one paper, figure by figure, as one page with plots like the paper's and, beneath
//! each, what the paper saw and what is seen here.
//!
//! A paper is one file beside this one, and a line in [`Name`].

mod budget;
mod claim;
mod cma;
mod limic;
pub(super) mod mechanisms;
mod nemesis;
mod page;
mod record;
mod rma;
mod run;
mod shiba;
mod summary;

use clap::ValueEnum;

use budget::{Clock, divide, estimate};
use claim::Claim;
pub use mechanisms::Nas;
use page::{Made, Measured, page};
pub use run::Job;
use summary::{markdown, text};

use super::experiment::Experiment;

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
    /// All of them, a page each
    All,
}

impl Name {
    /// The papers that this means, before anything is measured, with these NAS benchmarks.
    pub fn papers(self, nas: Nas) -> Vec<Paper> {
        match self {
            Name::Rma => vec![rma::paper()],
            Name::Cma => vec![cma::paper(nas)],
            Name::Nemesis => vec![nemesis::paper(nas)],
            Name::Limic => vec![limic::paper()],
            Name::Shiba => vec![shiba::paper()],
            Name::All => vec![
                cma::paper(nas),
                limic::paper(),
                rma::paper(),
                nemesis::paper(nas),
                shiba::paper(),
            ],
        }
    }
}

/// A paper's experiments.
pub struct Paper {
    /// As on the command line.
    pub name: &'static str,
    /// Authors and title.
    pub title: &'static str,
    /// The paper's measurement, its machine, and the differences here.
    pub setting: &'static str,
    /// In the paper's order.
    pub figures: Vec<Figure>,
}

impl Paper {
    /// The first figure before this one that lacks the same, for the same reason.
    fn missing_before(&self, index: usize) -> Option<&Figure> {
        let missing = self.figures.get(index)?.missing?;
        self.figures[..index]
            .iter()
            .find(|figure| figure.missing == Some(missing))
    }
}

/// One figure or table.
pub struct Figure {
    /// Its number there, and what it shows.
    pub title: &'static str,
    /// What the paper says of it; nothing, if it is not in the paper.
    pub claims: Vec<Claim>,
    /// The measurements, drawn together. Their groups are the lines of the plot; there is a plot for each library.
    pub experiments: Vec<Experiment>,
    /// The group that the others are compared with.
    pub baseline: &'static str,
    /// What of the figure is not measured here, and why.
    pub missing: Option<&'static str>,
    /// How its numbers are drawn.
    pub shape: Shape,
}

impl Figure {
    /// Its number in the paper: what is in front of the colon.
    fn number(&self) -> &'static str {
        self.title.split(':').next().unwrap_or_default()
    }

    /// Is it the one that a user means by a number, `6` or `Table 2`? A number alone is a figure's.
    pub fn has_number(&self, number: &str) -> bool {
        let own: Vec<&str> = self.number().split(|c: char| !c.is_alphanumeric()).collect();
        let is_figure = |word: &str| word.starts_with("Figure");
        let mut words = number.split_whitespace().peekable();
        match words.peek() {
            Some(first) if first.parse::<u32>().is_ok() => {
                own.iter().any(|word| is_figure(word)) && own.contains(first)
            }
            _ => words.all(|word| own.contains(&word)),
        }
    }
}

/// How numbers are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// As lines by row, from nothing on: a quarter can be seen.
    Linear,
    /// As lines by row, for what spans decades.
    Logarithmic,
    /// As a table, a line of the figure in each column.
    Table,
}

#[cfg(test)]
mod tests {
    use super::claim::Shown;
    use super::*;

    #[test]
    fn every_figure_has_its_baseline() {
        for paper in Name::All.papers(Nas::default()) {
            for figure in paper.figures {
                let groups: Vec<&String> = figure
                    .experiments
                    .iter()
                    .flat_map(|experiment| &experiment.groups.names)
                    .collect();
                let is_compared = !figure.experiments.is_empty() && !figure.baseline.is_empty();
                let known = !is_compared || groups.iter().any(|group| *group == figure.baseline);
                assert!(known, "{}: no group {}", figure.title, figure.baseline);
                assert!(
                    !figure.experiments.is_empty() || figure.missing.is_some(),
                    "{}",
                    figure.title
                );
            }
        }
    }

    /// A claim that compares lines compares lines of its figure, in a row that is measured.
    #[test]
    fn every_claim_has_its_lines_and_its_words() {
        let mut claims = 0;
        for paper in Name::All.papers(Nas::default()) {
            for figure in &paper.figures {
                for claim in &figure.claims {
                    claims += 1;
                    assert!(
                        !claim.quote.is_empty() && !claim.at.is_empty(),
                        "{}: {}",
                        figure.title,
                        claim.says
                    );
                    let Shown::By(compared) = &claim.shown else { continue };
                    for line in [compared.line, compared.with] {
                        let groups = figure
                            .experiments
                            .iter()
                            .flat_map(|experiment| &experiment.groups.names);
                        assert!(
                            groups.into_iter().any(|group| group == line),
                            "{}: no line {line}",
                            figure.title
                        );
                    }
                }
            }
        }
        assert!(claims >= 50, "{claims} claims");
    }

    #[test]
    fn figures_are_found_by_their_numbers() {
        let papers = Name::Nemesis.papers(Nas::default());
        let titles = |number: &str| -> Vec<&str> {
            let figures = papers[0].figures.iter().filter(|figure| figure.has_number(number));
            figures.map(|figure| figure.number()).collect()
        };
        assert_eq!(titles("6"), ["Figure 6"]);
        assert_eq!(titles("5"), ["Figures 4 and 5"]);
        assert!(titles("Table 2").len() >= 2 && titles("Table 2").iter().all(|title| title.starts_with("Table 2")));
        assert!(titles("60").is_empty());
    }

    /// With the original kernels the claim on EP can be looked for, and cells of small classes come first.
    #[test]
    fn original_kernels_are_measured_class_by_class() {
        let nas = Nas {
            is_original: true,
            ranks: Some(8),
            is_timed: true,
        };
        let papers = Name::Cma.papers(nas);
        let table = papers[0]
            .figures
            .iter()
            .find(|figure| figure.title.starts_with("Table 1"));
        let table = table.expect("the paper has a table");
        let run = &table.experiments[0].runs[0];
        assert_eq!(run.ranks, 8);
        assert_eq!(run.cells[..7], ["ft:A", "is:A", "cg:A", "mg:A", "ep:A", "lu:A", "ft:B"]);
        let ep = table.claims.iter().find(|claim| claim.says.starts_with("EP"));
        assert!(ep.is_some_and(|claim| matches!(claim.shown, Shown::By(_))));
    }

    /// All of a line's name is checked where a mechanism gave it.
    #[test]
    fn lines_of_mechanisms_are_checked_by_counters() {
        for paper in Name::All.papers(Nas::default()) {
            for variant in paper
                .figures
                .iter()
                .flat_map(|figure| &figure.experiments)
                .flat_map(|experiment| &experiment.variants)
            {
                let names = variant.environment.iter().any(|(name, _)| *name == "ISTHMUS_MECHANISM");
                assert!(
                    !names || !variant.carried.by.is_empty(),
                    "{}: {} is not checked",
                    paper.name,
                    variant.name
                );
            }
        }
    }

    /// docs/papers.md has a row for each claim, as it is in the data.
    #[test]
    fn the_table_of_all_papers_has_every_claim() {
        let text = include_str!("../../../../docs/papers.md");
        for paper in Name::All.papers(Nas::default()) {
            for claim in paper.figures.iter().flat_map(|figure| &figure.claims) {
                assert!(
                    text.contains(claim.says) && text.contains(claim.at),
                    "docs/papers.md lacks {:?}: write it by isthmus bench --paper all --summary docs/papers.md",
                    claim.says
                );
            }
        }
    }
}
