//! `MPI_Gather` and `MPI_Gatherv` (MPI-5.0 §6.5).

use std::ffi::c_void;

use isthmus_collective::gather::{run, run_later, run_v, run_v_later};
use isthmus_collective::{Direction, Link};

use super::arguments;
use super::form::{forms, run};
use super::rooted::{keep, own, state};
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
        let call = F::begin(comm, "Gather")?;
        let root = arguments::root(root, comm)?;
        let own = own(&call, ("sendbuf", "sendtype"), (sendbuf, sendcount, sendtype), root, comm)?;
        let mut all = None;
        if root.is_me(call.link().rank()) {
            let one = arguments::blocks_in_a_row(&call, "recvbuf", recvbuf, recvcount, arguments::peers(&call), recvtype.resolve_for(recvcount, "recvtype")?)?;
            arguments::distinct(sendbuf, recvbuf, one.count > 0 && own.is_some_and(|own| own.count > 0))?;
            all = Some(one);
        }
        let block = move |rank: usize| all.map(|one| one.nth(rank));
        call.compare(|terms| state(terms, Direction::ToRoot, call.link(), own, block, root))?;
        keep(&call, own, all);
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (own, block, root))
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
        let call = F::begin(comm, "Gatherv")?;
        // SAFETY: they are used for this call only.
        let (recvcounts, displs) = unsafe { (call.keep_counts(recvcounts), call.keep_counts(displs)) };
        let root = arguments::root(root, comm)?;
        let own = own(&call, ("sendbuf", "sendtype"), (sendbuf, sendcount, sendtype), root, comm)?;
        let mut all = None;
        if root.is_me(call.link().rank()) {
            let blocks = arguments::blocks(&call, "recvbuf", recvbuf, recvcounts, displs, recvtype, comm)?;
            arguments::distinct(sendbuf, recvbuf, own.is_some_and(|own| own.count > 0))?;
            all = Some(blocks);
        }
        let block = |rank: usize| all.as_ref().map(|blocks| blocks.at(rank));
        call.compare(|terms| state(terms, Direction::ToRoot, call.link(), own, block, root))?;
        keep(&call, own, all.as_ref().map(|blocks| blocks.at(0)));
        let block = move |rank: usize| all.as_ref().map(|blocks| blocks.at(rank));
        // SAFETY: the caller's promise.
        run!(call, run_v, run_v_later, (own, block, root))
    }
}
