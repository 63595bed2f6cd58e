//! The root of a call.

pub(crate) mod linear;

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

/// The two forms of a collective whose blocks go that way: `run` with blocks of one length, and `run_v` with blocks of any. `$one` and `$any`
/// are the lists of their algorithms, whose files are modules of the caller.
macro_rules! rooted {
    ($direction:ident, $one:ident, $any:ident) => {
        use $crate::error::Result;
        use $crate::link::Link;
        use $crate::link::elements::Elements;
        use $crate::root::{Direction, Root, linear};
        use $crate::select::{Case, Traits, choose};

        /// `block` says where a rank's block lies or belongs, at the root. Blocks are of one length.
        ///
        /// # Safety
        /// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
        #[isthmus_twice::twice]
        pub async unsafe fn run<'a>(
            link: &impl Link,
            own: Option<Elements<'a>>,
            block: impl Fn(usize) -> Option<Elements<'a>>,
            root: Root,
        ) -> Result<()> {
            let Root::Rank(root) = root else {
                // SAFETY: the caller's promise.
                return unsafe { linear::across(link, Direction::$direction, own, block, root) };
            };
            let bytes = block(root).or(own).map_or(0, Elements::bytes);
            // SAFETY: the caller's promise.
            unsafe {
                match choose(&Case::on(link, bytes, Traits::COMMUTATIVE))? {
                    $one::Nodes => nodes::run(link, link.map(), own, block, root),
                    $one::Shared => shared::run(link.board(), own, block, root).await,
                    $one::SharedDirect => shared_direct::run(link.board(), own, block, root).await,
                    $one::Binomial => binomial::run(link, own, block, root),
                    $one::Linear => linear::run(link, Direction::$direction, own, block, root),
                }
            }
        }

        /// As [`run`], with blocks of any lengths.
        ///
        /// # Safety
        /// As for [`run`].
        #[isthmus_twice::twice]
        pub async unsafe fn run_v<'a>(
            link: &impl Link,
            own: Option<Elements<'a>>,
            block: impl Fn(usize) -> Option<Elements<'a>>,
            root: Root,
        ) -> Result<()> {
            let Root::Rank(root) = root else {
                // SAFETY: the caller's promise.
                return unsafe { linear::across(link, Direction::$direction, own, block, root) };
            };
            // SAFETY: the caller's promise.
            unsafe {
                match choose(&Case::on(link, 0, Traits::COMMUTATIVE))? {
                    $any::Shared => shared::run(link.board(), own, block, root).await,
                    $any::SharedDirect => shared_direct::run(link.board(), own, block, root).await,
                    $any::Linear => linear::run(link, Direction::$direction, own, block, root),
                }
            }
        }
    };
}
pub(crate) use rooted;
