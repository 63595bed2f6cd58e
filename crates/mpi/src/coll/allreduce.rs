//! `MPI_Allreduce` (MPI-5.0 §6.9.6).

mod inter;
mod recursive_doubling;
mod shared_flat;
mod shared_sliced;
mod sliced;

use std::ffi::c_void;

use super::arguments;
use super::form::forms;
use super::link::Link;
use super::operand::Operand;
use super::reduce_scatter::direct;
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::Op;

/// From so many bytes on, slices are reduced in parallel.
const LONG: i64 = 16 << 10;

/// Up to so many bytes and ranks, everyone sends all to everyone: one round, in which each rank is scheduled once.
const SHORT: (i64, usize) = (1 << 10, 8);

forms! {
    /// `MPI_Allreduce`: everyone gets the combination of everyone's elements (of those of the other group, if there is one). With
    /// `MPI_IN_PLACE`, one's own lie in `recvbuf`.
    ///
    /// # Safety
    /// `sendbuf` must be readable and `recvbuf` writable where the elements lie.
    pub unsafe fn allreduce, iallreduce, allreduce_init = any_allreduce<F>(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: &'static Datatype,
        op: &'static Op,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Allreduce")?;
        let operand = Operand::new(datatype, op)?;
        let input = if arguments::in_place(sendbuf, comm)? {
            recvbuf
        } else {
            sendbuf
        };
        arguments::buffer("sendbuf", input, count, datatype)?;
        arguments::buffer("recvbuf", recvbuf, count, datatype)?;
        arguments::distinct(sendbuf, recvbuf, count > 0)?;
        call.compare(|terms| { terms.op(op).all(operand.elements(input.cast(), count)); })?;
        // SAFETY: the caller's promise.
        let result = unsafe { run(call.link(), &operand, input.cast(), recvbuf.cast(), count) };
        call.finish(result)
    }
}

/// `output` may be `input`.
///
/// # Safety
/// As for [`allreduce`].
pub(super) unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    let bytes = operand.datatype.bytes(count)?;
    let long = count >= link.size() as i64 && bytes >= LONG;
    let short = bytes <= SHORT.0 && link.size() <= SHORT.1;
    // SAFETY: the caller's promise; scratch areas have room for all elements.
    unsafe {
        if link.remote_size() > 0 {
            inter::run(link, operand, input, output, count)?;
        } else if count == 0 || link.size() == 1 {
            operand.copy(link, input, output, count)?;
        } else if let Some(access) = operand.shared(link) {
            if link.size() > 2 && bytes > 8192 && operand.datatype.is_contiguous() && count >= link.size() as i64 {
                shared_sliced::run(link, access, operand, input, output, count)?;
            } else {
                shared_flat::run(link, access, operand, input, output, count)?;
            }
        } else if short {
            direct::run(link, operand, input, output, |_| (0, count))?;
        } else if !long {
            recursive_doubling::run(link, operand, input, output, count)?;
        } else if operand.datatype.is_contiguous() {
            sliced::run(link, operand, input, output, count)?;
        } else {
            // Whole elements cross, gaps included, which must not touch the user's.
            let result = operand.scratch(link, count)?;
            sliced::run(link, operand, input, result.elements, count)?;
            operand.copy(link, result.elements, output, count)?;
        }
    }
    Ok(())
}
