//! Exchanges with one, two or four neighbours.

use clap::{Args, ValueEnum};

use super::catalogue::{against_peers, by_size, cells};
use super::experiment::{Experiment, Floor, Groups, Run};
use super::size::Size;
use super::target::Target;

/// With how many neighbours each rank exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Neighbours {
    /// One to the right, one from the left, by `MPI_Sendrecv`
    #[value(name = "1")]
    One,
    /// Both in a ring of ranks, by `MPI_Irecv`, `MPI_Isend` and `MPI_Waitall`
    #[value(name = "2")]
    Two,
    /// Those of a two-dimensional torus, by the same
    #[value(name = "4")]
    Four,
}

/// What to exchange.
#[derive(Debug, Args)]
pub struct Exchange {
    /// Exchange with so many neighbours, and not by MPI_Sendrecv with one
    #[arg(long, value_name = "N", value_enum)]
    neighbours: Option<Neighbours>,
    /// Rewrite what is sent before each exchange, and read what is received after it, as applications do
    #[arg(long)]
    real: bool,
}

/// The exchange that was asked for.
pub fn exchange(what: &Exchange, ranks: &[u32], sizes: &[Size]) -> Experiment {
    experiment(what.neighbours.unwrap_or(Neighbours::One), what.real, ranks, sizes)
}

/// Exchange with these neighbours.
pub fn experiment(neighbours: Neighbours, real: bool, ranks: &[u32], sizes: &[Size]) -> Experiment {
    let (name, title, option, usual): (_, _, _, &[u32]) = match neighbours {
        Neighbours::One => ("exchange", "ring exchange by MPI_Sendrecv", None, &[3, 4, 8]),
        Neighbours::Two => (
            "exchange-2",
            "exchange with both neighbours in a ring",
            Some("--both"),
            &[3, 4, 8, 16, 32],
        ),
        Neighbours::Four => (
            "exchange-4",
            "exchange with four neighbours in a torus",
            Some("--torus"),
            &[4, 8, 16, 32],
        ),
    };
    let (name, title) = match real {
        true => (
            format!("{name}-real"),
            format!("{title}; buffers are rewritten before and read after each"),
        ),
        false => (name.to_owned(), title.to_owned()),
    };
    let options = option.into_iter().chain(real.then_some("--real"));
    let options: Vec<String> = options.map(str::to_owned).collect();
    let cells = cells(sizes, "8,128,1K,8K,32K,128K,512K");
    let ranks = if ranks.is_empty() { usual } else { ranks };
    let run = |ranks: &u32| Run {
        ranks: *ranks,
        options: options.clone(),
        cells: cells.clone(),
    };
    Experiment {
        groups: Groups {
            heading: "ranks",
            field: "ranks",
            names: ranks.iter().map(u32::to_string).collect(),
        },
        runs: ranks.iter().map(run).collect(),
        floor: Floor::Steadiness,
        targets: vec![Target::all(against_peers(
            if neighbours == Neighbours::One { 1.25 } else { 1.2 },
            0.0,
        ))],
        ..by_size(&name, &title, "exchange")
    }
}
