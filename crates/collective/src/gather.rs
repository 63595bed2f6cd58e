//! `MPI_Gather` and `MPI_Gatherv` (MPI-5.0 §6.5).

mod binomial;
mod nodes;
mod shared;
mod shared_direct;

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::Elements;
use crate::root::{Direction, Root, linear};
use crate::select::{Case, Gather, Gatherv, Traits, choose};

/// `block` says where a rank's block belongs, at the root.
/// Blocks are of one length.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run<'a>(
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: Root,
) -> Result<()> {
    let Root::Rank(root) = root else {
        // SAFETY: the caller's promise.
        return unsafe { linear::across(link, Direction::ToRoot, own, block, root) };
    };
    let bytes = block(root).or(own).map_or(0, Elements::bytes);
    // SAFETY: the caller's promise.
    unsafe {
        match choose(&Case::on(link, bytes, Traits::COMMUTATIVE))? {
            Gather::Nodes => nodes::run(link, link.map(), own, block, root),
            Gather::Shared => shared::run(link.board(), own, block, root).await,
            Gather::SharedDirect => shared_direct::run(link.board(), own, block, root).await,
            Gather::Binomial => binomial::run(link, own, block, root),
            Gather::Linear => linear::run(link, Direction::ToRoot, own, block, root),
        }
    }
}

/// As [`run`], with blocks of any lengths.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run_v<'a>(
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: Root,
) -> Result<()> {
    let Root::Rank(root) = root else {
        // SAFETY: the caller's promise.
        return unsafe { linear::across(link, Direction::ToRoot, own, block, root) };
    };
    // SAFETY: the caller's promise.
    unsafe {
        match choose(&Case::on(link, 0, Traits::COMMUTATIVE))? {
            Gatherv::Shared => shared::run(link.board(), own, block, root).await,
            Gatherv::SharedDirect => shared_direct::run(link.board(), own, block, root).await,
            Gatherv::Linear => linear::run(link, Direction::ToRoot, own, block, root),
        }
    }
}
