//! `MPI_Allreduce` (MPI-5.0 §6.9.6).

mod direct;
pub(super) mod halving;
mod inter;
mod nodes;
mod recursive_doubling;
pub(super) mod ring;
mod shared_direct;
mod shared_flat;
mod shared_sliced;
mod shared_two_level;
mod sliced;

use std::ffi::c_void;

use isthmus_twice::twice;

use super::arguments;
use super::form::{forms, run};
use super::link::Link;
use super::operand::Operand;
use super::select::{Allreduce, choose};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::Op;

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
        call.keep(datatype);
        call.keep_op(op);
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (&operand, input.cast(), recvbuf.cast(), count))
    }
}

/// `output` may be `input`.
///
/// # Safety
/// As for [`allreduce`].
#[twice]
pub(super) async unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    // SAFETY: the caller's promise; scratch areas have room for all elements.
    unsafe {
        if link.remote_size() > 0 {
            return inter::run(link, operand, input, output, count);
        }
        if count == 0 || link.size() == 1 {
            return operand.copy(link, input, output, count);
        }
        match choose(&operand.case(link, count))? {
            Allreduce::SharedFlat => shared_flat::run(link.board(), operand, input, output, count).await,
            Allreduce::SharedSliced => shared_sliced::run(link.board(), operand, input, output, count).await,
            Allreduce::SharedDirect => shared_direct::run(link.board(), operand, input, output, count).await,
            Allreduce::SharedTwoLevel => {
                shared_two_level::run(link.board(), link.map(), operand, input, output, count).await
            }
            Allreduce::Nodes => nodes::run(link, link.map(), operand, input, output, count),
            Allreduce::Halving => halving::run(link, operand, input, output, count),
            Allreduce::Ring => ring::run(link, operand, input, output, count),
            Allreduce::Direct => direct::run(link, operand, input, output, count),
            Allreduce::Sliced => sliced::run(link, operand, input, output, count),
            Allreduce::RecursiveDoubling => recursive_doubling::run(link, operand, input, output, count),
        }
    }
}
