//! `MPI_Reduce` (MPI-5.0 §6.9.1).

pub(super) mod binomial;
mod halving;
pub(super) mod inter;
mod linear;
mod nodes;
mod ring;
mod shared;
mod shared_direct;
mod shared_two_level;

use std::ffi::c_void;

use isthmus_twice::twice;

use super::arguments::{self, Root, is_in_place};
use super::form::{forms, run};
use super::link::Link;
use super::operand::Operand;
use super::select::{Reduce, choose};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::op::Op;

forms! {
    /// `MPI_Reduce`: the root gets the combination of everyone's elements (of those of the other group, if there is one). With
    /// `MPI_IN_PLACE` at the root, its own lie in `recvbuf`.
    ///
    /// # Safety
    /// `sendbuf` must be readable and, at the root, `recvbuf` writable where the elements lie.
    pub unsafe fn reduce, ireduce, reduce_init = any_reduce<F>(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: Handle<Datatype>,
        op: Handle<Op>,
        root: i32,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Reduce")?;
        let root = arguments::root(root, comm)?;
        if root == Root::Elsewhere {
            call.compare(|terms| { terms.root(root); })?;
            return call.run(|_| Ok(()));
        }
        let datatype = datatype.resolve("datatype")?;
        let operand = Operand::new(datatype, op.resolve("op")?)?;
        let gives = root != Root::Here;
        let gets = root.is_me(call.link().rank());
        let input = if gives && gets && is_in_place(sendbuf) {
            recvbuf
        } else {
            sendbuf
        };
        if gives {
            if is_in_place(input) {
                return Err(fail!(Buffer, "MPI_IN_PLACE is for sendbuf at the root alone, which has an own part"));
            }
            arguments::buffer("sendbuf", input, count, datatype)?;
        }
        if gets {
            arguments::buffer("recvbuf", recvbuf, count, datatype)?;
            arguments::distinct(sendbuf, recvbuf, gives && count > 0)?;
        }
        call.compare(|terms| { terms.root(root).op(operand.op).all(operand.elements(input.cast(), count)); })?;
        call.keep(datatype);
        call.keep_op(operand.op);
        let (input, output) = (input.cast(), recvbuf.cast());
        // SAFETY: the caller's promise.
        run!(call, run_at, run_at_later, (&operand, input, output, count, root))
    }
}

/// As [`run`], with a root that may be in the other group.
///
/// # Safety
/// As for [`reduce`].
#[twice]
async unsafe fn run_at(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: Root,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match root {
            Root::Rank(root) => run(link, operand, input, output, count, root).await,
            _ => inter::run(link, operand, input, output, count, root),
        }
    }
}

/// `output` matters at the root, and may be `input`.
///
/// # Safety
/// As for [`reduce`].
#[twice]
pub(super) async unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: usize,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe {
        match choose(&operand.case(link, count))? {
            Reduce::Shared => shared::run(link.board(), operand, input, output, count, root).await,
            Reduce::SharedDirect => shared_direct::run(link.board(), operand, input, output, count, root).await,
            Reduce::SharedTwoLevel => {
                shared_two_level::run(link.board(), link.map(), operand, input, output, count, root).await
            }
            Reduce::Linear => linear::run(link, operand, input, output, count, root),
            Reduce::Nodes => nodes::run(link, link.map(), operand, input, output, count, root),
            Reduce::Halving => halving::run(link, operand, input, output, count, root),
            Reduce::Ring => ring::run(link, operand, input, output, count, root),
            Reduce::Binomial => binomial::run(link, operand, input, output, count, root),
        }
    }
}
