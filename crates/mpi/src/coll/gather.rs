//! `MPI_Gather` and `MPI_Gatherv` (MPI-5.0 §6.5).

use std::ffi::c_void;

use super::form::forms;
use super::rooted::{Direction, Side, any_blocks, equal_blocks};
use crate::comm::Comm;
use crate::counts::Counts;
use crate::datatype::Datatype;
use crate::handle::Handle;

forms! {
    /// `MPI_Gather`: the root gets a block from each (of the other group, if there is one), by rank. Arguments that do not matter at
    /// a rank are not looked at there.
    ///
    /// # Safety
    /// `sendbuf` must be readable and, at the root, `recvbuf` writable where the elements lie.
    pub unsafe fn gather, igather, gather_init = any_gather<F>(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: Handle<Datatype>,
        root: i32,
        comm: &'static Comm,
    ) {
        let own = Side::sent(sendbuf, sendcount, sendtype);
        let all = Side::received(recvbuf, recvcount, recvtype);
        // SAFETY: the caller's promise.
        unsafe { equal_blocks::<F>("Gather", Direction::ToRoot, own, all, root, comm) }
    }
}

forms! {
    /// `MPI_Gatherv`: as [`gather`], with a count and a displacement for each block.
    ///
    /// # Safety
    /// As for [`gather`].
    pub unsafe fn gatherv, igatherv, gatherv_init = any_gatherv<F>(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcounts: Counts<'_>,
        displs: Counts<'_>,
        recvtype: Handle<Datatype>,
        root: i32,
        comm: &'static Comm,
    ) {
        let own = Side::sent(sendbuf, sendcount, sendtype);
        let all = Side::received(recvbuf, (recvcounts, displs), recvtype);
        // SAFETY: the caller's promise.
        unsafe { any_blocks::<F>("Gatherv", Direction::ToRoot, own, all, root, comm) }
    }
}
