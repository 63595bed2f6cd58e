//! All claims of papers with their verdicts: on the terminal, and as docs/papers.md.

use std::fmt::Write;

use super::claim::Outcome;
use super::{Figure, Made, Paper};

/// A row of a verdict's table.
struct Row<'a> {
    figure: &'a Figure,
    says: &'a str,
    paper: &'a str,
    at: &'a str,
    here: String,
    text: String,
    outcome: Outcome,
}

fn rows<'a>(made: &'a Made<'a>) -> impl Iterator<Item = Row<'a>> {
    made.paper.figures.iter().enumerate().flat_map(move |(index, figure)| {
        figure.claims.iter().map(move |claim| {
            let verdict = made.verdict(index, claim);
            Row {
                figure,
                says: claim.says,
                paper: claim.value,
                at: claim.at,
                here: verdict.here,
                text: verdict.text,
                outcome: verdict.outcome,
            }
        })
    })
}

/// How many claims of how many were reproduced, and how many could not be looked for.
pub fn text(made: &Made) -> String {
    let outcomes: Vec<Outcome> = rows(made).map(|row| row.outcome).collect();
    let count = |wanted: Outcome| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    format!(
        "{}: of {} claims {} reproduced, {} in the same direction, {} not, {} cannot be shown here",
        made.paper.name,
        outcomes.len(),
        count(Outcome::Reproduced),
        count(Outcome::Less),
        count(Outcome::Not),
        count(Outcome::Unknown)
    )
}

/// docs/papers.md.
pub fn markdown(all: &[Made], machine: &str) -> String {
    let mut text = format!(
        "# The papers, and what of them is here\n\n\
         Written by `isthmus bench --paper all --summary docs/papers.md`; the pages with plots are beside it. Measured on: {machine}.\n\n\
         A claim is *reproduced* if the finding is the paper's and of its number at least half the gain, as a logarithm, is there; *here* is in the paper's own \
         variant of counting. A line of a figure counts only if the library's counters say that 95 % of its bytes went the variant that it is named after. The papers' \
         copies that were read have no page numbers: sections, figures and tables are named instead; the words are on the pages.\n"
    );
    for made in all {
        let _ = write!(text, "\n## {}\n\n{}\n\n", made.paper.title, made.paper.setting);
        text += "| figure | claim | where | paper | here | verdict |\n|---|---|---|---|---|---|\n";
        for row in rows(made) {
            let title = row.figure.number();
            let cells = [title, row.says, row.at, row.paper, &row.here, &row.text].map(|cell| cell.replace('|', "/"));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text += &lacking(made.paper);
    }
    text
}

/// Gaps of a paper's experiments, each reason once.
fn lacking(paper: &Paper) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in paper.figures.iter().filter_map(|figure| figure.missing) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let items: String = reasons.iter().map(|reason| format!("- {reason}\n")).collect();
    format!("\nNot there:\n\n{items}")
}
