//! `MPI_Neighbor_allgather` and `MPI_Neighbor_allgatherv` (MPI-5.0 §8.6.1).

use std::ffi::c_void;

use isthmus_twice::twice;

use super::{blocks, equal_blocks, state};
use crate::coll::arguments;
use crate::coll::form::{forms, run};
use crate::comm::Comm;
use crate::counts::Counts;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::handle::Handle;
use crate::topology::{Topology, topology};
use isthmus_collective::Link;
use isthmus_collective::elements::{Elements, Packed};

forms! {
    /// `MPI_Neighbor_allgather`: the same block goes to each destination, and one comes from each source.
    ///
    /// # Safety
    /// `sendbuf` must be readable and `recvbuf` writable where the elements lie.
    pub unsafe fn neighbor_allgather, ineighbor_allgather, neighbor_allgather_init = any_neighbor_allgather<F>(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: Handle<Datatype>,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Neighbor_allgather")?;
        let topology = topology(comm)?;
        let first = equal_blocks(&call, "recvbuf", recvbuf, recvcount, recvtype, topology.sources(), topology.sources().len())?;
        let own = equal_blocks(&call, "sendbuf", sendbuf, sendcount, sendtype, topology.destinations(), 1)?;
        arguments::distinct(sendbuf, recvbuf, first.count > 0 && own.count > 0)?;
        let to = move |block: usize| first.nth(block);
        call.compare(|terms| state(terms, topology, |_| own, to))?;
        call.keep(own.datatype);
        call.keep(first.datatype);
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (topology, own, to))
    }
}

forms! {
    /// `MPI_Neighbor_allgatherv`: as [`neighbor_allgather`], with a count and a displacement for each block that comes.
    ///
    /// # Safety
    /// As for [`neighbor_allgather`].
    pub unsafe fn neighbor_allgatherv, ineighbor_allgatherv, neighbor_allgatherv_init = any_neighbor_allgatherv<F>(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcounts: Counts<'_>,
        displs: Counts<'_>,
        recvtype: Handle<Datatype>,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Neighbor_allgatherv")?;
        // SAFETY: they are used for this call only.
        let [recvcounts, displs] = [recvcounts, displs].map(|counts| unsafe { call.keep_counts(counts) });
        let topology = topology(comm)?;
        let (received, coming) = blocks(&call, "recvbuf", recvbuf, recvcounts, displs, recvtype, topology.sources())?;
        let to = move |block: usize| coming.at(block);
        call.keep(received);
        let own = equal_blocks(&call, "sendbuf", sendbuf, sendcount, sendtype, topology.destinations(), 1)?;
        call.compare(|terms| state(terms, topology, |_| own, &to))?;
        call.keep(own.datatype);
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (topology, own, to))
    }
}

/// `own` goes everywhere; `to` says where what comes from a source belongs.
///
/// # Safety
/// As for [`neighbor_allgather`].
#[twice]
async unsafe fn run<'a>(
    link: &impl Link,
    topology: &Topology,
    own: Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    // SAFETY: the caller's promise. Packed once for all.
    unsafe {
        let packed = Packed::of(link, own)?;
        super::run(link, topology, |_| packed.bytes(), to)
    }
}
