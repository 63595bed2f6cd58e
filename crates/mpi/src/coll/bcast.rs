//! `MPI_Bcast` (MPI-5.0 §6.4).

mod binomial;

use std::ffi::c_void;

use super::arguments;
use super::elements::{Elements, Packed};
use super::form::forms;
use super::link::Link;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;

forms! {
    /// `MPI_Bcast`: everyone gets the root's elements.
    ///
    /// # Safety
    /// `buffer` must be readable at the root, and writable elsewhere, where the elements lie.
    pub unsafe fn bcast, ibcast, bcast_init = any_bcast<F>(
        buffer: *mut c_void,
        count: i64,
        datatype: &'static Datatype,
        root: i32,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm)?;
        let root = arguments::root(root, comm)?;
        let elements = arguments::buffer("buffer", buffer, count, datatype)?;
        // SAFETY: the caller's promise.
        let result = unsafe { run(call.link(), elements, root) };
        call.finish(result)
    }
}

/// # Safety
/// As for [`bcast`].
pub(super) unsafe fn run(link: &impl Link, elements: Elements<'_>, root: usize) -> Result<()> {
    if elements.bytes() == 0 || link.size() == 1 {
        return Ok(());
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
