//! `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block` (MPI-5.0 §6.10).

use std::ffi::c_void;

use isthmus_collective::Link;
use isthmus_collective::reduce_scatter::{FEW, run, run_later};
use isthmus_os::switches::Switch;
use smallvec::{SmallVec, smallvec};

use super::arguments;
use super::form::{Form, forms, run};
use super::on_devices::{self, ReductionArguments, Results};
use crate::comm::Comm;
use crate::counts::Counts;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::op::Op;

forms! {
    /// `MPI_Reduce_scatter_block`: everyone gets its block of the combination of everyone's elements (of those of the other
    /// group, if there is one). With `MPI_IN_PLACE`, one's own lie in `recvbuf`, and the block comes to its beginning.
    ///
    /// # Safety
    /// `sendbuf` must be readable and `recvbuf` writable where the elements lie.
    pub unsafe fn reduce_scatter_block, ireduce_scatter_block, reduce_scatter_block_init = any_reduce_scatter_block<F>(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcount: i64,
        datatype: Handle<Datatype>,
        op: &'static Op,
        comm: &'static Comm,
    ) {
        let counts: SmallVec<[i64; FEW]> = smallvec![recvcount; comm.size() as usize];
        // SAFETY: the caller's promise.
        unsafe { either::<F>("Reduce_scatter_block", sendbuf, recvbuf, Counts::Large(&counts), datatype, op, comm) }
    }
}

forms! {
    /// `MPI_Reduce_scatter`: as [`reduce_scatter_block`], with a count for each block.
    ///
    /// # Safety
    /// As for [`reduce_scatter_block`].
    pub unsafe fn reduce_scatter, ireduce_scatter, reduce_scatter_init = any_reduce_scatter<F>(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        recvcounts: Counts<'_>,
        datatype: Handle<Datatype>,
        op: &'static Op,
        comm: &'static Comm,
    ) {
        // SAFETY: the caller's promise.
        unsafe { either::<F>("Reduce_scatter", sendbuf, recvbuf, recvcounts, datatype, op, comm) }
    }
}

/// # Safety
/// As for [`reduce_scatter_block`].
unsafe fn either<F: Form>(
    name: &str,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Counts<'_>,
    datatype: Handle<Datatype>,
    op: &'static Op,
    comm: &'static Comm,
) -> Result<F::Done> {
    if Switch::Devices.is_on()
        // SAFETY: the caller's promise.
        && let Some(done) = unsafe { instead::<F>(sendbuf, recvbuf, recvcounts, datatype, op, comm) }?
    {
        return Ok(done);
    }
    let call = F::begin(comm, name)?;
    if recvcounts.len() < call.link().size() {
        return Err(fail!(Arg, "recvcounts are missing"));
    }
    arguments::not_negative("recvbuf", recvcounts)?;
    let counts: SmallVec<[i64; FEW]> = recvcounts.iter().take(call.link().size()).collect();
    let total = counts.iter().try_fold(0i64, |sum, count| sum.checked_add(*count));
    let total = total.ok_or_else(|| fail!(Count, "recvcounts add up to more than 64 bits"))?;
    let datatype = datatype.resolve_for(total, "datatype")?;
    let operand = arguments::operand(datatype, total, op)?;
    let input = if arguments::in_place(sendbuf, comm)? {
        recvbuf
    } else {
        sendbuf
    };
    let own = counts[call.link().rank()];
    let input = arguments::address(&call, "sendbuf", input, total, datatype)?;
    let output = arguments::address(&call, "recvbuf", recvbuf, own, datatype)?;
    arguments::distinct(sendbuf, recvbuf, total > 0)?;
    call.compare(|terms| {
        let contributed = operand.elements(input, total);
        let result = operand.elements(output, own);
        terms
            .op(op)
            .all(contributed)
            .shares(&counts)
            .reads(contributed)
            .writes(result);
    })?;
    call.keep(datatype);
    // SAFETY: the caller's promise.
    run!(call, run, run_later, (&operand, input, output, &counts))
}

/// By kernels, if that can be, where devices are looked for.
///
/// # Safety
/// As for [`reduce_scatter_block`].
#[cold]
#[inline(never)]
unsafe fn instead<F: Form>(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    recvcounts: Counts<'_>,
    datatype: Handle<Datatype>,
    op: &Op,
    comm: &Comm,
) -> Result<Option<F::Done>> {
    if comm.is_inter() || recvcounts.len() < comm.size() as usize {
        return Ok(None);
    }
    let counts: Vec<i64> = recvcounts.iter().take(comm.size() as usize).collect();
    let sum = |sum: i64, count: &i64| sum.checked_add(*count).filter(|_| *count >= 0);
    // Wrong arguments are found out by the call without devices.
    let Some(count) = counts.iter().try_fold(0_i64, sum) else {
        return Ok(None);
    };
    let Ok(datatype) = datatype.resolve_for(count, "datatype") else {
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
    unsafe { on_devices::instead::<F>(Results::Blocks(&counts), given) }
}
