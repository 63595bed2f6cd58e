//! The root of a call.

use crate::link::Link;

/// The root of a call, as the calling process sees it (MPI-5.0 §6.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    /// A rank of the team.
    Rank(usize),
    /// The calling process, which serves the other side.
    Here,
    /// Another process of its side: the call passes by the calling process.
    Elsewhere,
    /// A rank of the other side.
    There(usize),
}

/// Which way the blocks of a collective with a root go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From each rank to the root (a gather).
    ToRoot,
    /// From the root to each rank (a scatter).
    FromRoot,
}

impl Root {
    /// Where messages to and from it go, if it is another process that the call is about.
    pub fn place(self, link: &impl Link) -> Option<usize> {
        match self {
            Self::Rank(rank) => (rank != link.rank()).then_some(rank),
            Self::There(rank) => Some(link.across(rank)),
            Self::Here | Self::Elsewhere => None,
        }
    }

    /// Is it the calling process, which is `rank` in its group?
    pub fn is_me(self, rank: usize) -> bool {
        self == Self::Here || self == Self::Rank(rank)
    }
}
