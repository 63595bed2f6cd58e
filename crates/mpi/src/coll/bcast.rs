//! `MPI_Bcast` (MPI-5.0 §6.4).

pub(super) mod binomial;
pub(super) mod inter;
mod shared;

use std::ffi::c_void;

use super::arguments::{self, Root};
use super::elements::{Elements, Packed};
use super::form::forms;
use super::link::Link;
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
            return call.finish(Ok(()));
        }
        let elements = arguments::buffer("buffer", buffer, count, datatype.resolve("datatype")?)?;
        call.compare(|terms| { terms.root(root).all(elements); })?;
        // SAFETY: the caller's promise.
        let result = unsafe {
            match root {
                Root::Rank(root) => run(call.link(), elements, root),
                _ => inter::run(call.link(), elements, root),
            }
        };
        call.finish(result)
    }
}

/// # Safety
/// As for [`bcast`].
pub(super) unsafe fn run(link: &impl Link, elements: Elements<'_>, root: usize) -> Result<()> {
    if elements.bytes() == 0 || link.size() == 1 {
        return Ok(());
    }
    if let Some(access) = link.shared() {
        // SAFETY: the caller's promise.
        return unsafe { shared::run(link, access, elements, root) };
    }
    // SAFETY: the caller's promise; nothing writes to the root's elements.
    unsafe {
        if link.rank() == root {
            let packed = Packed::of(link, elements)?;
            return binomial::send(link, packed.data, packed.len, root);
        }
        let landing = Packed::room(link, elements)?;
        binomial::receive(link, landing.data, landing.len, root)?;
        landing.settle(link, elements);
    }
    Ok(())
}
