//! `MPI_Scatter` and `MPI_Scatterv` (MPI-5.0 §6.6).

use std::ffi::c_void;

use super::form::forms;
use super::rooted::{Direction, Side, any_blocks, equal_blocks};
use crate::comm::Comm;
use crate::counts::Counts;
use crate::datatype::Datatype;
use crate::handle::Handle;

forms! {
    /// `MPI_Scatter`: each (of the other group, if there is one) gets its block from the root. Arguments that do not matter at a rank
    /// are not looked at there.
    ///
    /// # Safety
    /// `sendbuf` must be readable at the root, and `recvbuf` writable, where the elements lie.
    pub unsafe fn scatter, iscatter, scatter_init = any_scatter<F>(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: Handle<Datatype>,
        root: i32,
        comm: &'static Comm,
    ) {
        let own = Side::received(recvbuf, recvcount, recvtype);
        let all = Side::sent(sendbuf, sendcount, sendtype);
        // SAFETY: the caller's promise.
        unsafe { equal_blocks::<F>("Scatter", Direction::FromRoot, own, all, root, comm) }
    }
}

forms! {
    /// `MPI_Scatterv`: as [`scatter`], with a count and a displacement for each block.
    ///
    /// # Safety
    /// As for [`scatter`].
    pub unsafe fn scatterv, iscatterv, scatterv_init = any_scatterv<F>(
        sendbuf: *const c_void,
        sendcounts: Counts<'_>,
        displs: Counts<'_>,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: Handle<Datatype>,
        root: i32,
        comm: &'static Comm,
    ) {
        let own = Side::received(recvbuf, recvcount, recvtype);
        let all = Side::sent(sendbuf, (sendcounts, displs), sendtype);
        // SAFETY: the caller's promise.
        unsafe { any_blocks::<F>("Scatterv", Direction::FromRoot, own, all, root, comm) }
    }
}
