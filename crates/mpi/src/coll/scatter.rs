//! `MPI_Scatter` and `MPI_Scatterv` (MPI-5.0 §6.6).

use std::ffi::c_void;

use isthmus_collective::scatter::{run, run_later, run_v, run_v_later};
use isthmus_collective::{Direction, Link};

use super::arguments;
use super::form::{forms, run};
use super::rooted::{keep, own, state};
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
        let call = F::begin(comm, "Scatter")?;
        let root = arguments::root(root, comm)?;
        let own = own(&call, ("recvbuf", "recvtype"), (recvbuf.cast_const(), recvcount, recvtype), root, comm)?;
        let mut all = None;
        if root.is_me(call.link().rank()) {
            let one = arguments::blocks_in_a_row(&call, "sendbuf", sendbuf, sendcount, arguments::peers(&call), sendtype.resolve_for(sendcount, "sendtype")?)?;
            arguments::distinct(sendbuf, recvbuf, one.count > 0 && own.is_some_and(|own| own.count > 0))?;
            all = Some(one);
        }
        let block = move |rank: usize| all.map(|one| one.nth(rank));
        call.compare(|terms| state(terms, Direction::FromRoot, call.link(), own, block, root))?;
        keep(&call, own, all);
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (own, block, root))
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
        let call = F::begin(comm, "Scatterv")?;
        // SAFETY: they are used for this call only.
        let (sendcounts, displs) = unsafe { (call.keep_counts(sendcounts), call.keep_counts(displs)) };
        let root = arguments::root(root, comm)?;
        let own = own(&call, ("recvbuf", "recvtype"), (recvbuf.cast_const(), recvcount, recvtype), root, comm)?;
        let mut all = None;
        if root.is_me(call.link().rank()) {
            let blocks = arguments::blocks(&call, "sendbuf", sendbuf, sendcounts, displs, sendtype, comm)?;
            arguments::distinct(sendbuf, recvbuf, own.is_some_and(|own| own.count > 0))?;
            all = Some(blocks);
        }
        let block = |rank: usize| all.as_ref().map(|blocks| blocks.at(rank));
        call.compare(|terms| state(terms, Direction::FromRoot, call.link(), own, block, root))?;
        keep(&call, own, all.as_ref().map(|blocks| blocks.at(0)));
        let block = move |rank: usize| all.as_ref().map(|blocks| blocks.at(rank));
        // SAFETY: the caller's promise.
        run!(call, run_v, run_v_later, (own, block, root))
    }
}
