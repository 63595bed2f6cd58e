//! The lists in words: for `isthmus info --collectives`.

use super::table::ALL;
use super::{Case, Collective, Traits, overrides};

/// The choice for a range of sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// From so many bytes on.
    pub from: u64,
    /// Which algorithm.
    pub algorithm: &'static str,
    /// Why.
    pub why: &'static str,
}

/// The choices for a number of ranks, by size.
#[derive(Debug)]
pub struct Explained {
    /// The lists.
    pub collective: &'static Collective,
    /// Contiguous elements once there is a board.
    pub with_board: Vec<Step>,
    /// The same in the first calls, and in other forms.
    pub without_board: Vec<Step>,
}

/// The choices for `ranks` ranks of a machine that offers these traits; traits that need a board are offered where
/// there is one. An error: the user's rules make no sense.
pub fn collectives(ranks: u64, machine: Traits) -> crate::error::Result<Vec<Explained>> {
    overrides::check()?;
    let of_board = Traits::BOARD | Traits::SINGLE_COPIES | Traits::CHEAP_COPIES | Traits::FAIR_COPIES;
    let common = Traits::PLAIN | Traits::COMMUTATIVE | Traits::ELEMENT_EACH | machine.without(of_board);
    let board = Traits::BOARD | machine;
    let board = board.when((2..=super::MOST_IN_RANK_ORDER as u64).contains(&ranks));
    let explain = |collective: &'static Collective| Explained {
        collective,
        with_board: steps(collective, ranks, common | board),
        without_board: steps(collective, ranks, common),
    };
    Ok(ALL.iter().map(|collective| explain(collective)).collect())
}

fn steps(collective: &'static Collective, ranks: u64, offers: Traits) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    // Where anything may change, and one more.
    let mut sizes: Vec<u64> = vec![0];
    for rule in collective.rules {
        sizes.extend([rule.bytes.0, rule.bytes.1.saturating_add(1)]);
    }
    sizes.extend(overrides::profile().borders(collective));
    if let Some(overrides) = overrides::given() {
        sizes.extend(overrides.borders(collective));
    }
    sizes.retain(|size| *size < u64::MAX);
    sizes.sort_unstable();
    sizes.dedup();
    for from in sizes {
        let case = Case {
            ranks,
            bytes: from,
            offers,
        };
        let wanted = overrides::given().map(|overrides| overrides.choose(collective, &case));
        let (algorithm, why) = match wanted {
            Some(Ok(Some(algorithm))) => (algorithm, "you want it"),
            Some(Err(_)) => {
                steps.push(Step {
                    from,
                    algorithm: "an error",
                    why: "what you want cannot be",
                });
                continue;
            }
            _ => {
                let rule = collective.chosen(&case);
                (rule.algorithm, rule.why)
            }
        };
        steps.push(Step {
            from,
            algorithm: collective.algorithms[algorithm].name,
            why,
        });
    }
    steps.dedup_by(|next, step| next.algorithm == step.algorithm && next.why == step.why);
    steps
}
