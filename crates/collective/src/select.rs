//! Which algorithm does a collective call: a pure function of what all ranks agree on.
//!
//! Each collective has a list of algorithms, with what each needs, and a list of rules: the first rule that fits a call and
//! has an algorithm that can run there names the algorithm (`table`). Rules for few numbers of ranks (`profile`), which are data, precede these, and
//! users' rules (`overrides`) precede both. `isthmus info --collectives` prints both lists, and what follows from them.
//!
//! A [`Case`] holds nothing that only one rank knows: all ranks choose alike without asking one another. And where a reduction
//! is not exact, what is chosen for a number of ranks, of bytes, and a type combines in the same [`Order`] whether there is
//! a board or not, in every form of the call, so that results repeat bit for bit; a test holds the rules to that.

mod explain;
pub mod model;
mod overrides;
mod table;

use isthmus_datatype::Reduction;
use isthmus_engine::is_oversubscribed;

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;

pub use crate::traits::Traits;
pub use explain::{Explained, Step, collectives};
pub use overrides::{check, report};
pub use table::{
    ALL, Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Gather, Gatherv, Reduce, ReduceScatter,
    Scan, Scatter, Scatterv,
};

/// Up to so many ranks inexact reductions combine in the order of ranks, from the first to the last, with or without a board. The
/// most that a board has.
pub const MOST_IN_RANK_ORDER: usize = crate::shared::MOST_RANKS;

/// In which order an algorithm combines elements, as far as the result of an inexact operation may depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// It combines nothing.
    None,
    /// `((c0 op c1) op c2) op ...`, as a loop over ranks would.
    Ranks,
    /// In one that is its own: that of its rounds.
    Rounds,
}

/// One way to do a collective.
#[derive(Debug)]
pub struct Algorithm {
    /// What users call it: the name of its file.
    pub name: &'static str,
    /// Without which it cannot be.
    pub needs: Traits,
    /// In which order it combines.
    pub order: Order,
    /// What it takes.
    pub cost: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// From one number up to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range(pub u64, pub u64);

impl Range {
    /// Every number.
    pub const ALL: Self = Self(0, u64::MAX);

    /// Is it within?
    #[inline]
    pub const fn holds(self, number: u64) -> bool {
        self.0 <= number && number <= self.1
    }
}

/// In such a call use that algorithm, if it can be.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Which of the collective's.
    pub algorithm: usize,
    /// Number of ranks.
    pub ranks: Range,
    /// Bytes, as [`Collective::bytes`] counts them.
    pub bytes: Range,
    /// What else there must be for it to pay.
    pub given: Traits,
    /// Why.
    pub why: &'static str,
}

/// An algorithm for a call.
#[derive(Debug, Clone, Copy)]
pub struct Chosen {
    /// Which of the collective's.
    pub algorithm: usize,
    /// Why.
    pub why: &'static str,
}

/// The lists of one collective.
#[derive(Debug)]
pub struct Collective {
    /// What users call it.
    pub name: &'static str,
    /// The bytes that its rules count.
    pub bytes: &'static str,
    /// What can be chosen.
    pub algorithms: &'static [Algorithm],
    /// How. The last ones fit everything.
    pub rules: &'static [Rule],
    /// Its place among all of them.
    index: usize,
}

/// What a call is known by, on all its ranks.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// How many there are.
    pub ranks: u64,
    /// As [`Collective::bytes`](Collective::bytes) counts them.
    pub bytes: u64,
    /// What there is.
    pub offers: Traits,
}

impl Case {
    /// A call on this link.
    #[inline]
    pub fn on(link: &impl Link, bytes: usize, offers: Traits) -> Self {
        let places = link.layout().map_or(Traits::NONE, |layout| {
            let in_parts = layout.is_in_order() || Traits::COMMUTATIVE.are_in(offers);
            Traits::PLACES.when(layout.has_structure()) | Traits::NODES.when(layout.nodes().len() > 1 && in_parts)
        });
        let board = link.shared().map_or(Traits::NONE, |access| {
            let traits = Traits::BOARD | access.traits();
            traits.without(Traits::FAIR_COPIES.when(access.is_of_request()))
        });
        Self {
            ranks: link.size() as u64,
            bytes: bytes as u64,
            offers: offers | places | board | Traits::IDLE_CPUS.when(!is_oversubscribed()),
        }
    }

    /// A reduction of `count` elements on this link.
    #[inline]
    pub fn of(operand: &Operand<'_>, link: &impl Link, count: i64) -> Self {
        let bytes = (count * operand.datatype.size()) as usize;
        let offers = Traits::PLAIN.when(operand.datatype.is_contiguous())
            | Traits::COMMUTATIVE.when(operand.is_commutative())
            | Traits::EXACT.when(operand.is_exact())
            | Traits::ELEMENT_EACH.when(count >= link.size() as i64);
        let case = Self::on(link, bytes, offers);
        let calls_user = matches!(operand.reduction, Reduction::Custom(_));
        let is_apart = calls_user && link.shared().is_some_and(Access::is_of_request);
        let missing = Traits::BOARD.when(!operand.crosses_small(link.size()) || is_apart)
            | Traits::SINGLE_COPIES.when(calls_user);
        Self {
            offers: case.offers.without(missing),
            ..case
        }
    }
}

/// The algorithms of one collective, as its code tells them apart.
pub trait Choice: Sized + Copy + 'static {
    /// All of them, as they stand in the list.
    const ALL: &'static [Self];
    /// The lists.
    const COLLECTIVE: &'static Collective;
}

/// What the lists of a collective say for a call.
#[inline]
pub fn choose<C: Choice>(case: &Case) -> Result<C> {
    #[cfg(test)]
    if let Some(index) = tests::wanted(C::COLLECTIVE, case) {
        return Ok(C::ALL[index]);
    }
    let index = C::COLLECTIVE.choose(case)?;
    Ok(C::ALL[index])
}

impl Collective {
    /// The algorithm for a call. An error: what the user wants cannot be.
    #[inline]
    fn choose(&self, case: &Case) -> Result<usize> {
        if let Some(overrides) = overrides::given()
            && let Some(algorithm) = overrides.choose(self, case)?
        {
            return Ok(algorithm);
        }
        Ok(self.chosen(case).algorithm)
    }

    /// What the first rule says that fits a call, of the profile or the table.
    #[inline]
    pub fn chosen(&self, case: &Case) -> Chosen {
        if let Some(rule) = overrides::profile().fitting(self, case) {
            return Chosen {
                algorithm: rule.algorithm,
                why: overrides::WHY_PROFILE,
            };
        }
        let rule = self.rules.iter().find(|rule| self.fits(rule, case));
        let rule = rule.expect("the last rules fit everything");
        Chosen {
            algorithm: rule.algorithm,
            why: rule.why,
        }
    }

    #[inline]
    fn fits(&self, rule: &Rule, case: &Case) -> bool {
        let needs = self.algorithms[rule.algorithm].needs;
        needs.and(rule.given).are_in(case.offers) && rule.ranks.holds(case.ranks) && rule.bytes.holds(case.bytes)
    }
}

#[cfg(test)]
pub(crate) mod tests;
