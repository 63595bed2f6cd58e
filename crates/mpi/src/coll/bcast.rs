//! `MPI_Bcast` (MPI-5.0 §6.4).

pub(super) mod binomial;
pub(super) mod inter;
mod nodes;
mod scatter_allgather;
mod shared;
mod shared_direct;
mod shared_tree;
mod tree;

use std::ffi::c_void;

use isthmus_twice::twice;

use super::arguments::{self, Root};
use super::elements::{Elements, Packed};
use super::form::{forms, run};
use super::link::Link;
use super::select::{Bcast, Case, Traits, choose};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::handle::Handle;

forms! {
    /// `MPI_Bcast`: everyone (of the other group, if there is one) gets the root's elements.
    ///
    /// # Safety
    /// `buffer` must be readable at the root, and writable elsewhere, where the elements lie.
    pub unsafe fn bcast, ibcast, bcast_init = any_bcast<F>(
        buffer: *mut c_void,
        count: i64,
        datatype: Handle<Datatype>,
        root: i32,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Bcast")?;
        let root = arguments::root(root, comm)?;
        if root == Root::Elsewhere {
            call.compare(|terms| { terms.root(root); })?;
            return call.run(|_| Ok(()));
        }
        let elements = arguments::buffer("buffer", buffer, count, datatype.resolve("datatype")?)?;
        call.compare(|terms| { terms.root(root).all(elements); })?;
        call.keep(elements.datatype);
        // SAFETY: the caller's promise.
        run!(call, run_from, run_from_later, (elements, root))
    }
}

/// As [`run`], with a root that may be in the other group.
///
/// # Safety
/// As for [`bcast`].
#[twice]
async unsafe fn run_from(link: &impl Link, elements: Elements<'_>, root: Root) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match root {
            Root::Rank(root) => run(link, elements, root).await,
            _ => inter::run(link, elements, root),
        }
    }
}

/// # Safety
/// As for [`bcast`].
#[twice]
pub(super) async unsafe fn run(link: &impl Link, elements: Elements<'_>, root: usize) -> Result<()> {
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
            Bcast::Binomial | Bcast::ScatterAllgather | Bcast::Tree => {}
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
            _ if is_root => binomial::send(link, packed.data, packed.len, root)?,
            _ => binomial::receive(link, packed.data, packed.len, root)?,
        }
        if !is_root {
            packed.settle(link, elements);
        }
    }
    Ok(())
}
