//! `MPI_Neighbor_alltoall`, `MPI_Neighbor_alltoallv`, `MPI_Neighbor_alltoallw` (MPI-5.0 §8.6.2).

use std::ffi::c_void;

use super::{blocks, equal_blocks, run, run_later, state, typed_blocks};
use crate::coll::arguments;
use crate::coll::form::{forms, run};
use crate::comm::Comm;
use crate::counts::Counts;
use crate::datatype::Datatype;
use crate::handle::Handle;
use crate::topology::topology;

forms! {
    /// `MPI_Neighbor_alltoall`: a block goes to each destination, and one comes from each source.
    ///
    /// # Safety
    /// `sendbuf` must be readable and `recvbuf` writable where the elements lie.
    pub unsafe fn neighbor_alltoall, ineighbor_alltoall, neighbor_alltoall_init = any_neighbor_alltoall<F>(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: Handle<Datatype>,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Neighbor_alltoall")?;
        let topology = topology(comm)?;
        let recvs = equal_blocks(&call, "recvbuf", recvbuf, recvcount, recvtype, topology.sources(), topology.sources().len())?;
        let sends = equal_blocks(&call, "sendbuf", sendbuf, sendcount, sendtype, topology.destinations(), topology.destinations().len())?;
        arguments::distinct(sendbuf, recvbuf, sends.count > 0 && recvs.count > 0)?;
        let (from, to) = (move |block: usize| sends.nth(block), move |block: usize| recvs.nth(block));
        call.keep(sends.datatype);
        call.keep(recvs.datatype);
        call.compare(|terms| state(terms, topology, from, to))?;
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (topology, from, to))
    }
}

forms! {
    /// `MPI_Neighbor_alltoallv`: as [`neighbor_alltoall`], with a count and a displacement for each block. Both buffers may be
    /// the same array, as long as the blocks do not overlap.
    ///
    /// # Safety
    /// As for [`neighbor_alltoall`].
    pub unsafe fn neighbor_alltoallv, ineighbor_alltoallv, neighbor_alltoallv_init = any_neighbor_alltoallv<F>(
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
        let call = F::begin(comm, "Neighbor_alltoallv")?;
        // SAFETY: they are used for this call only.
        let [sendcounts, sdispls, recvcounts, rdispls] =
            [sendcounts, sdispls, recvcounts, rdispls].map(|counts| unsafe { call.keep_counts(counts) });
        let topology = topology(comm)?;
        let (received, coming) = blocks(&call, "recvbuf", recvbuf, recvcounts, rdispls, recvtype, topology.sources())?;
        let to = move |block: usize| coming.at(block);
        let (sent, going) = blocks(&call, "sendbuf", sendbuf, sendcounts, sdispls, sendtype, topology.destinations())?;
        let from = move |block: usize| going.at(block);
        call.keep(received);
        call.keep(sent);
        call.compare(|terms| state(terms, topology, &from, &to))?;
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (topology, from, to))
    }
}

forms! {
    /// `MPI_Neighbor_alltoallw`: as [`neighbor_alltoallv`], with a datatype for each block and displacements in bytes.
    ///
    /// # Safety
    /// As for [`neighbor_alltoall`].
    pub unsafe fn neighbor_alltoallw, ineighbor_alltoallw, neighbor_alltoallw_init = any_neighbor_alltoallw<F>(
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
        let call = F::begin(comm, "Neighbor_alltoallw")?;
        let topology = topology(comm)?;
        let recvs = typed_blocks(&call, "recvbuf", recvbuf, recvcounts, rdispls, recvtypes, topology.sources())?;
        let sends = typed_blocks(&call, "sendbuf", sendbuf, sendcounts, sdispls, sendtypes, topology.destinations())?;
        for elements in sends.iter().chain(&recvs) {
            call.keep(elements.datatype);
        }
        let (from, to) = (move |block: usize| sends[block], move |block: usize| recvs[block]);
        call.compare(|terms| state(terms, topology, &from, &to))?;
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (topology, from, to))
    }
}
