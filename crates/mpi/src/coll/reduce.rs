//! `MPI_Reduce` (MPI-5.0 §6.9.1).

use std::ffi::c_void;

use isthmus_collective::reduce::{run_at, run_at_later};
use isthmus_collective::{Link, Root};
use isthmus_os::switches::Switch;

use super::arguments::{self, is_in_place};
use super::form::{Form, forms, run};
use super::on_devices::{self, ReductionArguments, Results};
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
        if Switch::Devices.is_on()
            // SAFETY: the caller's promise.
            && let Some(done) = unsafe { instead::<F>(sendbuf, recvbuf, count, datatype, op, root, comm) }?
        {
            return Ok(done);
        }
        let call = F::begin(comm, "Reduce")?;
        let root = arguments::root(root, comm)?;
        if root == Root::Elsewhere {
            call.compare(|terms| { terms.root(root); })?;
            return call.run(|_| Ok(()));
        }
        let datatype = datatype.resolve_for(count, "datatype")?;
        let op = op.resolve("op")?;
        let operand = arguments::operand(datatype, count, op)?;
        let gives = root != Root::Here;
        let gets = root.is_me(call.link().rank());
        let mut output = recvbuf.cast();
        let mut input = if gives && gets && is_in_place(sendbuf) {
            recvbuf.cast_const()
        } else {
            sendbuf
        };
        if gives {
            if is_in_place(input) {
                return Err(fail!(Buffer, "MPI_IN_PLACE is for sendbuf at the root alone, which has an own part"));
            }
            input = arguments::address(&call, "sendbuf", input, count, datatype)?.cast();
        }
        if gets {
            output = arguments::address(&call, "recvbuf", recvbuf, count, datatype)?;
            arguments::distinct(sendbuf, recvbuf, gives && count > 0)?;
        }
        call.compare(|terms| {
            terms.root(root).op(op).all(operand.elements(input.cast(), count));
            if gives {
                terms.reads(operand.elements(input.cast(), count));
            }
            if gets {
                terms.writes(operand.elements(output, count));
            }
        })?;
        call.keep(datatype);
        let input = input.cast();
        // SAFETY: the caller's promise.
        run!(call, run_at, run_at_later, (&operand, input, output, count, root))
    }
}

/// By kernels, if that can be, where devices are looked for.
///
/// # Safety
/// As for [`reduce`].
#[cold]
#[inline(never)]
unsafe fn instead<F: Form>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Handle<Datatype>,
    op: Handle<Op>,
    root: i32,
    comm: &Comm,
) -> Result<Option<F::Done>> {
    if !(0..comm.size()).contains(&root) {
        return Ok(None);
    }
    // Wrong arguments are found out by the call without devices.
    let (Ok(datatype), Ok(op)) = (datatype.resolve_for(count, "datatype"), op.resolve("op")) else {
        return Ok(None);
    };
    let given = ReductionArguments {
        sendbuf,
        recvbuf,
        count,
        datatype,
        op,
        comm,
    };
    // SAFETY: the caller's promise.
    unsafe { on_devices::instead::<F>(Results::At(root as usize), given) }
}
