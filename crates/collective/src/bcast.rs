//! `MPI_Bcast` (MPI-5.0 §6.4).

pub(crate) mod binomial;
pub(crate) mod inter;
mod nodes;
mod scatter_allgather;
mod shared;
mod shared_direct;
mod shared_tree;
mod tree;

use isthmus_twice::twice;

use crate::error::Result;
use crate::fail;
use crate::link::Link;
use crate::link::elements::{Elements, Packed};
use crate::root::Root;
use crate::select::{Bcast, Case, Traits, choose};

/// As [`run`], with a root that may be in the other group.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run_from(link: &impl Link, elements: Elements<'_>, root: Root) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match root {
            Root::Rank(root) => run(link, elements, root).await,
            _ => inter::run(link, elements, root),
        }
    }
}

/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run(link: &impl Link, elements: Elements<'_>, root: usize) -> Result<()> {
    if elements.bytes() == 0 || link.size() == 1 {
        return Ok(());
    }
    let choice = choose(&Case::on(link, elements.bytes(), Traits::COMMUTATIVE))?;
    // SAFETY: the caller's promise; nothing writes to the root's elements.
    unsafe {
        match choice {
            Bcast::Nodes => return nodes::run(link, link.map(), elements, root),
            Bcast::Shared => return shared::run(link.board(), elements, root).await,
            Bcast::SharedDirect => return shared_direct::run(link.board(), elements, root).await,
            Bcast::SharedTree => return shared_tree::run(link.board(), link.map(), elements, root).await,
            Bcast::Binomial => return by_tree(link, elements, root),
            // On packed elements, below.
            Bcast::ScatterAllgather | Bcast::Tree => {}
        }
        let is_root = link.rank() == root;
        let packed = if is_root {
            Packed::of(link, elements)
        } else {
            Packed::room(link, elements)
        }?;
        match choice {
            Bcast::ScatterAllgather => scatter_allgather::run(link, packed.data, packed.len, root)?,
            Bcast::Tree => tree::run(link, link.map(), packed.data, packed.len, root)?,
            other => return Err(fail!(Intern, "{other:?} takes no packed elements")),
        }
        if !is_root {
            packed.settle(link, elements);
        }
    }
    Ok(())
}

/// The same by the binomial tree, whatever rules say.
///
/// # Safety
/// The elements must be readable at the root, and writable elsewhere.
pub(crate) unsafe fn by_tree(link: &impl Link, elements: Elements<'_>, root: usize) -> Result<()> {
    // SAFETY: the caller's promise; nothing writes to the root's elements.
    unsafe {
        if link.rank() == root {
            let packed = Packed::of(link, elements)?;
            return binomial::send(link, packed.data, packed.len, root);
        }
        let packed = Packed::room(link, elements)?;
        binomial::receive(link, packed.data, packed.len, root)?;
        packed.settle(link, elements);
    }
    Ok(())
}
