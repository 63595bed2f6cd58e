//! `MPI_Gather`, `MPI_Scatter` and their forms with blocks of any lengths (MPI-5.0 §6.5, §6.6): one collective with a root and a direction.

mod binomial;
pub(crate) mod linear;
mod nodes;
mod shared;
mod shared_direct;

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::root::{Direction, Root};
use crate::select::{Case, Gather, Gatherv, Scatter, Scatterv, Traits, choose};

/// `own` is the calling rank's block, and `block` says where each rank's block lies at the root. Blocks are of one length.
///
/// # Safety
/// Where bytes come from must be readable, and where they go to writable.
#[twice]
pub async unsafe fn run<'a>(
    link: &impl Link,
    direction: Direction,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: Root,
) -> Result<()> {
    let Root::Rank(root) = root else {
        // SAFETY: the caller's promise.
        return unsafe { linear::across(link, direction, own, block, root) };
    };
    let bytes = block(root).or(own).map_or(0, Elements::bytes);
    let case = Case::on(link, bytes, Traits::COMMUTATIVE);
    // SAFETY: the caller's promise.
    unsafe {
        match direction {
            Direction::ToRoot => match choose(&case)? {
                Gather::Nodes => nodes::run(link, link.map(), direction, own, block, root),
                Gather::Shared => shared::gather(link.board(), own, block, root).await,
                Gather::SharedDirect => shared_direct::gather(link.board(), own, block, root).await,
                Gather::Binomial => binomial::run(link, direction, own, block, root),
                Gather::Linear => linear::run(link, direction, own, block, root),
            },
            Direction::FromRoot => match choose(&case)? {
                Scatter::Nodes => nodes::run(link, link.map(), direction, own, block, root),
                Scatter::Shared => shared::scatter(link.board(), own, block, root).await,
                Scatter::SharedDirect => shared_direct::scatter(link.board(), own, block, root).await,
                Scatter::Binomial => binomial::run(link, direction, own, block, root),
                Scatter::Linear => linear::run(link, direction, own, block, root),
            },
        }
    }
}

/// As [`run`], with blocks of any lengths.
///
/// # Safety
/// As for [`run`].
#[twice]
pub async unsafe fn run_v<'a>(
    link: &impl Link,
    direction: Direction,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: Root,
) -> Result<()> {
    let Root::Rank(root) = root else {
        // SAFETY: the caller's promise.
        return unsafe { linear::across(link, direction, own, block, root) };
    };
    let case = Case::on(link, 0, Traits::COMMUTATIVE);
    // SAFETY: the caller's promise.
    unsafe {
        match direction {
            Direction::ToRoot => match choose(&case)? {
                Gatherv::Shared => shared::gather(link.board(), own, block, root).await,
                Gatherv::SharedDirect => shared_direct::gather(link.board(), own, block, root).await,
                Gatherv::Linear => linear::run(link, direction, own, block, root),
            },
            Direction::FromRoot => match choose(&case)? {
                Scatterv::Shared => shared::scatter(link.board(), own, block, root).await,
                Scatterv::SharedDirect => shared_direct::scatter(link.board(), own, block, root).await,
                Scatterv::Linear => linear::run(link, direction, own, block, root),
            },
        }
    }
}

/// Copy the root's own block between where it has it and its place among all blocks, unless it is there already.
///
/// # Safety
/// As for [`run`].
unsafe fn copy_own(
    link: &impl Link,
    direction: Direction,
    own: Option<Elements<'_>>,
    block: Option<Elements<'_>>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match (direction, own, block) {
            (Direction::ToRoot, Some(own), Some(block)) => elements::copy(link, own, block),
            (Direction::FromRoot, Some(own), Some(block)) => elements::copy(link, block, own),
            _ => Ok(()),
        }
    }
}
