//! `MPI_Scatter` and `MPI_Scatterv` (MPI-5.0 §6.6).

mod binomial;
mod nodes;
mod shared;
mod shared_direct;

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::Elements;
use crate::root::{Direction, Root, linear};
use crate::select::{Case, Scatter, Scatterv, Traits, choose};

/// `block` says where a rank's block lies, at the root.
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
        return unsafe { linear::across(link, Direction::FromRoot, own, block, root) };
    };
    let bytes = block(root).or(own).map_or(0, Elements::bytes);
    // SAFETY: the caller's promise.
    unsafe {
        match choose(&Case::on(link, bytes, Traits::COMMUTATIVE))? {
            Scatter::Nodes => nodes::run(link, link.map(), own, block, root),
            Scatter::Shared => shared::run(link.board(), own, block, root).await,
            Scatter::SharedDirect => shared_direct::run(link.board(), own, block, root).await,
            Scatter::Binomial => binomial::run(link, own, block, root),
            Scatter::Linear => linear::run(link, Direction::FromRoot, own, block, root),
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
        return unsafe { linear::across(link, Direction::FromRoot, own, block, root) };
    };
    // SAFETY: the caller's promise.
    unsafe {
        match choose(&Case::on(link, 0, Traits::COMMUTATIVE))? {
            Scatterv::Shared => shared::run(link.board(), own, block, root).await,
            Scatterv::SharedDirect => shared_direct::run(link.board(), own, block, root).await,
            Scatterv::Linear => linear::run(link, Direction::FromRoot, own, block, root),
        }
    }
}
