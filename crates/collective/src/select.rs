//! Which algorithm does a collective call: a pure function of what all ranks agree on.
//!
//! Each collective has a list of algorithms, with what each needs, and a list of rules: the first rule that fits a call, and
//! whose algorithm has what it needs there, names the algorithm (`table`). What users say (`overrides`) are rules that
//! stand before these. `isthmus info --collectives` prints both lists, and what follows from them.
//!
//! A [`Case`] holds nothing that only one rank knows: all ranks choose alike without asking one another. And where a reduction
//! is not exact, what is chosen for a number of ranks, of bytes, and a type combines in the same [`Order`] whether there is
//! a board or not, in every form of the call, so that results repeat bit for bit; a test holds the rules to that.

mod explain;
mod overrides;
mod table;

use std::fmt;
use std::ops::BitOr;

use isthmus_engine::is_oversubscribed;

use crate::error::Result;
use crate::link::Link;

pub use explain::{Explained, Step, collectives};
pub use overrides::check;
pub use table::{
    Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Gather, Gatherv, Reduce, ReduceScatter,
    Scan, Scatter, Scatterv,
};

/// Up to so many ranks inexact reductions combine in the order of ranks, from the first to the last, with or without a board. The
/// most that a board has.
pub const MOST_IN_RANK_ORDER: usize = crate::shared::MOST_RANKS;

/// What an algorithm may need, or a call offer: a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traits(u16);

impl Traits {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// A board: after the first calls, in no persistent one, on up to 1024 ranks of one node; elements of up to 4 KiB, less
    /// from 65 ranks on; no user's
    /// operation in a non-blocking call.
    pub const BOARD: Self = Self(1);
    /// Elements without gaps.
    pub const PLAIN: Self = Self(2);
    /// An operation that commutes, or none at all.
    pub const COMMUTATIVE: Self = Self(4);
    /// At least one element for each rank.
    pub const ELEMENT_EACH: Self = Self(8);
    /// A CPU for each rank.
    pub const IDLE_CPUS: Self = Self(16);

    /// Ranks in several units of the machine (packages, NUMA nodes, caches), at places that all know.
    pub const PLACES: Self = Self(32);
    /// Ranks on several nodes, which a call may go through one after the other: an operation commutes, or nodes follow each
    /// other in the order of ranks.
    pub const NODES: Self = Self(64);
    /// Single copies between the ranks' own memory: the first of them found that it can reach all, when the board was made.
    pub const SINGLE_COPIES: Self = Self(128);
    /// Single copies that the first of the ranks found to take less time than two through shared memory.
    pub const CHEAP_COPIES: Self = Self(256);
    /// An operation that gives the same in whatever order it combines: a predefined one on integers.
    pub const EXACT: Self = Self(512);

    const NAMES: [(Self, &'static str); 10] = [
        (Self::BOARD, "a board"),
        (Self::PLAIN, "elements without gaps"),
        (Self::COMMUTATIVE, "a commutative operation"),
        (Self::ELEMENT_EACH, "an element for each rank"),
        (Self::IDLE_CPUS, "a CPU for each rank"),
        (Self::PLACES, "known places in several units of the machine"),
        (Self::NODES, "several nodes"),
        (Self::SINGLE_COPIES, "single copies between all"),
        (Self::CHEAP_COPIES, "cheap single copies"),
        (Self::EXACT, "an exact operation"),
    ];

    /// Are all of these among those?
    #[inline]
    pub const fn are_in(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Both sets.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Those of these that are not among others.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// These, if that holds.
    #[inline]
    #[must_use]
    pub const fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::NONE }
    }
}

impl BitOr for Traits {
    type Output = Self;

    #[inline]
    fn bitor(self, others: Self) -> Self {
        self.and(others)
    }
}

impl fmt::Display for Traits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Self::NAMES
            .iter()
            .filter(|(one, _)| one.are_in(*self))
            .map(|(_, name)| *name);
        let Some(first) = names.next() else {
            return f.write_str("nothing");
        };
        f.write_str(first)?;
        names.try_for_each(|name| write!(f, ", {name}"))
    }
}

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

/// The lists of one collective.
#[derive(Debug)]
pub struct Collective {
    /// What users call it.
    pub name: &'static str,
    /// What is counted in its rules.
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
    /// As [`Collective::bytes`] counts them.
    pub bytes: u64,
    /// What there is.
    pub offers: Traits,
}

impl Case {
    /// A call on this link.
    #[inline]
    pub fn on(link: &impl Link, bytes: usize, offers: Traits) -> Self {
        let places = link.layout().map_or(Traits::NONE, |layout| {
            let in_parts = layout.is_in_order() || offers.0 & Traits::COMMUTATIVE.0 != 0;
            Traits::PLACES.when(layout.has_structure()) | Traits::NODES.when(layout.nodes().len() > 1 && in_parts)
        });
        let board = link
            .shared()
            .map_or(Traits::NONE, |access| Traits::BOARD | access.traits());
        Self {
            ranks: link.size() as u64,
            bytes: bytes as u64,
            offers: offers | places | board | Traits::IDLE_CPUS.when(!is_oversubscribed()),
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

    /// The first rule that fits a call.
    #[inline]
    pub fn chosen(&self, case: &Case) -> &Rule {
        let rule = self.rules.iter().find(|rule| self.fits(rule, case));
        rule.expect("the last rules fit everything")
    }

    #[inline]
    fn fits(&self, rule: &Rule, case: &Case) -> bool {
        let needs = self.algorithms[rule.algorithm].needs;
        needs.and(rule.given).are_in(case.offers) && rule.ranks.holds(case.ranks) && rule.bytes.holds(case.bytes)
    }
}

#[cfg(test)]
pub(crate) mod tests;
