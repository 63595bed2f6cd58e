//! What `--json` writes of papers.

use serde::Serialize;

use super::{Made, Measured};
use crate::bench::record::TableRecord;
use crate::bench::table::Table;

/// All of it.
#[derive(Serialize)]
pub struct Record<'a> {
    version: &'static str,
    cpus: &'a str,
    papers: Vec<Paper<'a>>,
}

#[derive(Serialize)]
struct Paper<'a> {
    name: &'static str,
    title: &'static str,
    /// So many times as long as one of ours a copy by the kernel takes; null: it is refused.
    price: Option<f64>,
    /// What else the machine did; empty: nothing to speak of.
    others: &'a str,
    figures: Vec<Figure<'a>>,
}

#[derive(Serialize)]
struct Figure<'a> {
    title: &'static str,
    /// Whether its measurement began.
    is_measured: bool,
    claims: Vec<Claim>,
    experiments: Vec<TableRecord<'a>>,
    /// Numbers that should be there: which, and why they are not.
    holes: Vec<(&'a str, &'a str)>,
    /// Experiments that failed, and why.
    left_out: &'a [String],
    /// Experiments for which the machine lacks something.
    lacked: &'a [String],
    /// What there was no time for.
    late: Vec<&'a str>,
}

#[derive(Serialize)]
struct Claim {
    says: &'static str,
    paper: &'static str,
    at: &'static str,
    quote: &'static str,
    here: String,
    outcome: &'static str,
    verdict: String,
}

impl<'a> Record<'a> {
    /// Of these papers, measured on `cpus`.
    pub fn new(all: &'a [Made], cpus: &'a str) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            cpus,
            papers: all.iter().map(paper).collect(),
        }
    }
}

fn paper<'a>(made: &'a Made) -> Paper<'a> {
    let figures = made.paper.figures.iter().enumerate();
    let figures = figures.map(|(index, figure)| {
        let measured = made.figures.get(index);
        let tables = measured.map_or(&[][..], |measured| measured.tables.as_slice());
        let claims = figure.claims.iter().map(|claim| {
            let verdict = made.verdict(index, claim);
            Claim {
                says: claim.says,
                paper: claim.value,
                at: claim.at,
                quote: claim.quote,
                here: verdict.here,
                outcome: verdict.outcome.name(),
                verdict: verdict.text,
            }
        });
        let holes = tables.iter().flat_map(Table::holes);
        Figure {
            title: figure.title,
            is_measured: measured.is_some(),
            claims: claims.collect(),
            experiments: tables.iter().map(TableRecord::of).collect(),
            holes: holes.map(|hole| (hole.place.as_str(), hole.why.as_str())).collect(),
            left_out: measured.map_or(&[], |measured| &measured.left_out),
            lacked: measured.map_or(&[], |measured| &measured.lacked),
            late: measured.into_iter().flat_map(Measured::late).collect(),
        }
    });
    Paper {
        name: made.paper.name,
        title: made.paper.title,
        price: made.price,
        others: &made.others,
        figures: figures.collect(),
    }
}
