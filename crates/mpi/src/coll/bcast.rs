//! `MPI_Bcast` (MPI-5.0 §6.4).

mod binomial;

use std::ffi::c_void;

use super::arguments;
use super::elements::{Elements, Landing};
use super::link::{Call, Link};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;

/// `MPI_Bcast`: everyone gets the root's elements.
///
/// # Safety
/// `buffer` must be readable at the root, and writable elsewhere, where the elements lie.
pub unsafe fn bcast(
    buffer: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    root: i32,
    comm: &'static Comm,
) -> Result<()> {
    let call = Call::new(comm)?;
    let root = arguments::root(root, comm)?;
    let elements = arguments::buffer("buffer", buffer, count, datatype)?;
    // SAFETY: the caller's promise.
    let result = unsafe { run(&call, elements, root) };
    call.finish(result)
}

/// # Safety
/// As for [`bcast`].
pub(super) unsafe fn run(link: &impl Link, elements: Elements<'_>, root: usize) -> Result<()> {
    if elements.bytes() == 0 || link.size() == 1 {
        return Ok(());
    }
    if link.rank() == root {
        // SAFETY: the caller's promise; nothing writes to the root's elements.
        let packed = unsafe { elements.packed() };
        return binomial::send(link, &packed, root);
    }
    let mut landing = Landing::new(elements)?;
    // SAFETY: the caller's promise.
    unsafe {
        binomial::receive(link, landing.bytes(), root)?;
        landing.settle();
    }
    Ok(())
}
