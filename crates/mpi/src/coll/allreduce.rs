//! `MPI_Allreduce` (MPI-5.0 §6.9.6).

use std::ffi::c_void;

use isthmus_collective::allreduce::{run, run_later};
use isthmus_os::switches::Switch;

use super::arguments;
use super::form::{forms, run};
use super::on_devices::{self, ReductionArguments, Results};
use crate::comm::Comm;
use crate::datatype::Datatype;
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
        if Switch::Devices.is_on() {
            let given = ReductionArguments { sendbuf, recvbuf, count, datatype, op, comm };
            // SAFETY: the caller's promise.
            if let Some(done) = unsafe { on_devices::instead::<F>(Results::All, given) }? {
                return Ok(done);
            }
        }
        let call = F::begin(comm, "Allreduce")?;
        let operand = arguments::operand(datatype, count, op)?;
        let input = if arguments::in_place(sendbuf, comm)? {
            recvbuf
        } else {
            sendbuf
        };
        let input = arguments::address(&call, "sendbuf", input, count, datatype)?;
        let output = arguments::address(&call, "recvbuf", recvbuf, count, datatype)?;
        arguments::distinct(sendbuf, recvbuf, count > 0)?;
        call.compare(|terms| {
            let contributed = operand.elements(input, count);
            let result = operand.elements(output, count);
            terms.op(op).all(contributed).reads(contributed).writes(result);
        })?;
        call.keep(datatype);
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (&operand, input, output, count))
    }
}
