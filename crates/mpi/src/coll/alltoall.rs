//! `MPI_Alltoall`, `MPI_Alltoallv`, `MPI_Alltoallw` (MPI-5.0 §6.8).

use std::ffi::c_void;

use isthmus_collective::Link;
use isthmus_collective::alltoall::{run, run_in_place, run_in_place_later, run_later, run_v, run_v_later};
use isthmus_collective::elements::Elements;

use super::arguments;
use super::check::Terms;
use super::form::{forms, run};
use crate::comm::Comm;
use crate::counts::Counts;
use crate::datatype::Datatype;
use crate::handle::Handle;

forms! {
    /// `MPI_Alltoall`: everyone sends a block to each (of the other group, if there is one). With `MPI_IN_PLACE`, what is to be sent lies in `recvbuf`, and
    /// `sendcount` and `sendtype` are not looked at.
    ///
    /// # Safety
    /// `sendbuf` must be readable and `recvbuf` writable where the elements lie.
    pub unsafe fn alltoall, ialltoall, alltoall_init = any_alltoall<F>(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: Handle<Datatype>,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Alltoall")?;
        let recvs = arguments::blocks_in_a_row(&call, "recvbuf", recvbuf, recvcount, arguments::peers(&call), recvtype.resolve_for(recvcount, "recvtype")?)?;
        call.keep(recvs.datatype);
        let to = move |rank: usize| recvs.nth(rank);
        if arguments::in_place(sendbuf, comm)? {
            call.compare(|terms| state(terms, call.link(), to, to))?;
            // SAFETY: the caller's promise.
            return run!(call, run_in_place, run_in_place_later, (to, true));
        }
        let sends = arguments::blocks_in_a_row(&call, "sendbuf", sendbuf, sendcount, arguments::peers(&call), sendtype.resolve_for(sendcount, "sendtype")?)?;
        arguments::distinct(sendbuf, recvbuf, sendcount > 0 && recvcount > 0)?;
        call.keep(sends.datatype);
        let from = move |rank: usize| sends.nth(rank);
        call.compare(|terms| state(terms, call.link(), from, to))?;
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (from, to))
    }
}

forms! {
    /// `MPI_Alltoallv`: as [`alltoall`], with a count and a displacement for each block.
    ///
    /// # Safety
    /// As for [`alltoall`].
    pub unsafe fn alltoallv, ialltoallv, alltoallv_init = any_alltoallv<F>(
        sendbuf: *const c_void,
        sendcounts: Counts<'_>,
        sdispls: Counts<'_>,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcounts: Counts<'_>,
        rdispls: Counts<'_>,
        recvtype: Handle<Datatype>,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Alltoallv")?;
        // SAFETY: they are used for this call only.
        let [sendcounts, sdispls, recvcounts, rdispls] =
            [sendcounts, sdispls, recvcounts, rdispls].map(|counts| unsafe { call.keep_counts(counts) });
        let recvs = arguments::blocks(&call, "recvbuf", recvbuf, recvcounts, rdispls, recvtype, comm)?;
        call.keep(recvs.at(0).datatype);
        let hold_data = recvs.hold_data();
        let to = move |rank: usize| recvs.at(rank);
        if arguments::in_place(sendbuf, comm)? {
            call.compare(|terms| state(terms, call.link(), &to, &to))?;
            // SAFETY: the caller's promise.
            return run!(call, run_in_place, run_in_place_later, (to, false));
        }
        let sends = arguments::blocks(&call, "sendbuf", sendbuf, sendcounts, sdispls, sendtype, comm)?;
        arguments::distinct(sendbuf, recvbuf, sends.hold_data() && hold_data)?;
        call.keep(sends.at(0).datatype);
        let from = move |rank: usize| sends.at(rank);
        call.compare(|terms| state(terms, call.link(), &from, &to))?;
        // SAFETY: the caller's promise.
        run!(call, run_v, run_v_later, (from, to))
    }
}

forms! {
    /// `MPI_Alltoallw`: as [`alltoallv`], with a datatype for each block and displacements in bytes.
    ///
    /// # Safety
    /// As for [`alltoall`].
    pub unsafe fn alltoallw, ialltoallw, alltoallw_init = any_alltoallw<F>(
        sendbuf: *const c_void,
        sendcounts: Counts<'_>,
        sdispls: Counts<'_>,
        sendtypes: &[Handle<Datatype>],
        recvbuf: *mut c_void,
        recvcounts: Counts<'_>,
        rdispls: Counts<'_>,
        recvtypes: &[Handle<Datatype>],
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Alltoallw")?;
        let recvs = arguments::typed_blocks(&call, "recvbuf", recvbuf, recvcounts, rdispls, recvtypes, comm)?;
        let hold_data = |blocks: &[Elements<'_>]| blocks.iter().any(|block| block.bytes() > 0);
        let receives_data = hold_data(&recvs);
        for block in &recvs {
            call.keep(block.datatype);
        }
        let to = move |rank: usize| recvs[rank];
        if arguments::in_place(sendbuf, comm)? {
            call.compare(|terms| state(terms, call.link(), &to, &to))?;
            // SAFETY: the caller's promise.
            return run!(call, run_in_place, run_in_place_later, (to, false));
        }
        let sends = arguments::typed_blocks(&call, "sendbuf", sendbuf, sendcounts, sdispls, sendtypes, comm)?;
        arguments::distinct(sendbuf, recvbuf, hold_data(&sends) && receives_data)?;
        for block in &sends {
            call.keep(block.datatype);
        }
        let from = move |rank: usize| sends[rank];
        call.compare(|terms| state(terms, call.link(), &from, &to))?;
        // SAFETY: the caller's promise.
        run!(call, run_v, run_v_later, (from, to))
    }
}

/// What ranks must agree on.
fn state<'a>(
    terms: &mut Terms,
    link: &impl Link,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) {
    let sends = link.peers().map(|(rank, place)| (place, from(rank)));
    terms.blocks(sends, link.peers().map(|(rank, place)| (place, to(rank))));
}
