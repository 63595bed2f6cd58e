//! `MPI_Scan` and `MPI_Exscan` (MPI-5.0 §6.11).

use std::ffi::c_void;

use isthmus_collective::Link;
use isthmus_collective::scan::{run, run_later};
use isthmus_os::switches::Switch;

use super::arguments::{self, is_in_place};
use super::form::{Form, forms, run};
use super::on_devices::{self, ReductionArguments, Results};
use crate::comm::Comm;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::Op;

forms! {
    /// `MPI_Scan`: everyone gets the combination of the elements of the ranks up to its own. With `MPI_IN_PLACE`, one's own lie
    /// in `recvbuf`.
    ///
    /// # Safety
    /// `sendbuf` must be readable and `recvbuf` writable where the elements lie.
    pub unsafe fn scan, iscan, scan_init = any_scan<F>(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: &'static Datatype,
        op: &'static Op,
        comm: &'static Comm,
    ) {
        // SAFETY: the caller's promise.
        unsafe { either::<F>("Scan", sendbuf, recvbuf, count, datatype, op, comm) }
    }
}

forms! {
    /// `MPI_Exscan`: as [`scan`], without one's own elements. Rank 0 gets nothing.
    ///
    /// # Safety
    /// As for [`scan`].
    pub unsafe fn exscan, iexscan, exscan_init = any_exscan<F>(
        sendbuf: *const c_void,
        recvbuf: *mut c_void,
        count: i64,
        datatype: &'static Datatype,
        op: &'static Op,
        comm: &'static Comm,
    ) {
        // SAFETY: the caller's promise.
        unsafe { either::<F>("Exscan", sendbuf, recvbuf, count, datatype, op, comm) }
    }
}

/// # Safety
/// As for [`scan`].
unsafe fn either<F: Form>(
    name: &str,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: &'static Datatype,
    op: &'static Op,
    comm: &'static Comm,
) -> Result<F::Done> {
    let inclusive = name == "Scan";
    arguments::intra(comm)?;
    if Switch::Devices.is_on() {
        let given = ReductionArguments {
            sendbuf,
            recvbuf,
            count,
            datatype,
            op,
            comm,
        };
        // SAFETY: the caller's promise.
        if let Some(done) = unsafe { on_devices::instead::<F>(Results::Prefixes { inclusive }, given) }? {
            return Ok(done);
        }
    }
    let call = F::begin(comm, name)?;
    let operand = arguments::operand(datatype, count, op)?;
    let input = if is_in_place(sendbuf) { recvbuf } else { sendbuf };
    let input = arguments::address(&call, "sendbuf", input, count, datatype)?;
    let mut output = recvbuf.cast();
    if inclusive || call.link().rank() > 0 {
        output = arguments::address(&call, "recvbuf", recvbuf, count, datatype)?;
    }
    arguments::distinct(sendbuf, recvbuf, count > 0)?;
    call.compare(|terms| {
        let contributed = operand.elements(input, count);
        terms.op(op).all(contributed).reads(contributed);
        if inclusive || call.link().rank() > 0 {
            terms.writes(operand.elements(output, count));
        }
    })?;
    call.keep(datatype);
    // SAFETY: the caller's promise.
    run!(call, run, run_later, (&operand, input, output, count, inclusive))
}
