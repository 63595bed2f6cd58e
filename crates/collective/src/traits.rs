//! What algorithms may need, and calls offer.

use std::fmt;
use std::ops::BitOr;

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

    /// Single copies that the first of the ranks found to take less time than two of more than the caches hold; none in a request, whose
    /// progress would stop for as long as all of them take.
    pub const FAIR_COPIES: Self = Self(1024);

    const NAMES: [(Self, &'static str); 11] = [
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
        (Self::FAIR_COPIES, "single copies that are cheap beyond the caches"),
    ];

    /// What users call those that tell machines and jobs apart.
    pub(crate) const CALLED: [(Self, &'static str); 7] = [
        (Self::BOARD, "board"),
        (Self::IDLE_CPUS, "idle_cpus"),
        (Self::PLACES, "places"),
        (Self::NODES, "nodes"),
        (Self::SINGLE_COPIES, "single_copies"),
        (Self::CHEAP_COPIES, "cheap_copies"),
        (Self::FAIR_COPIES, "fair_copies"),
    ];

    /// The one of that name.
    pub(crate) fn called(name: &str) -> Option<Self> {
        Self::CALLED.iter().find(|(_, one)| *one == name).map(|(one, _)| *one)
    }

    /// All sets there are.
    #[cfg(test)]
    pub fn sets() -> impl Iterator<Item = Self> {
        (0..1 << Self::NAMES.len()).map(Self)
    }

    /// Are all of these among those?
    #[inline]
    pub const fn are_in(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Is any of these among those?
    #[inline]
    pub const fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
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
