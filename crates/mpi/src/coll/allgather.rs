//! `MPI_Allgather` and `MPI_Allgatherv` (MPI-5.0 §6.7).

use std::ffi::c_void;

use isthmus_collective::Link;
use isthmus_collective::allgather::{run, run_later, run_v, run_v_later};
use isthmus_collective::elements::Elements;

use super::arguments;
use super::check::Terms;
use super::form::{Form, forms, run};
use crate::comm::Comm;
use crate::counts::Counts;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::handle::Handle;

forms! {
    /// `MPI_Allgather`: everyone gets a block from each (of the other group, if there is one), by rank. With `MPI_IN_PLACE`,
    /// `sendcount` and `sendtype` are not looked at.
    ///
    /// # Safety
    /// `sendbuf` must be readable and `recvbuf` writable where the elements lie.
    pub unsafe fn allgather, iallgather, allgather_init = any_allgather<F>(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcount: i64,
        recvtype: Handle<Datatype>,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Allgather")?;
        let one = arguments::blocks_in_a_row(&call, "recvbuf", recvbuf, recvcount, arguments::peers(&call), recvtype.resolve_for(recvcount, "recvtype")?)?;
        let own = own(&call, sendbuf, sendcount, sendtype, recvbuf, comm)?;
        call.compare(|terms| state(terms, call.link(), own, |rank| one.nth(rank)))?;
        keep(&call, own, one);
        // SAFETY: the caller's promise.
        run!(call, run, run_later, (own, one))
    }
}

forms! {
    /// `MPI_Allgatherv`: as [`allgather`], with a count and a displacement for each block.
    ///
    /// # Safety
    /// As for [`allgather`].
    pub unsafe fn allgatherv, iallgatherv, allgatherv_init = any_allgatherv<F>(
        sendbuf: *const c_void,
        sendcount: i64,
        sendtype: Handle<Datatype>,
        recvbuf: *mut c_void,
        recvcounts: Counts<'_>,
        displs: Counts<'_>,
        recvtype: Handle<Datatype>,
        comm: &'static Comm,
    ) {
        let call = F::begin(comm, "Allgatherv")?;
        // SAFETY: they are used for this call only.
        let (recvcounts, displs) = unsafe { (call.keep_counts(recvcounts), call.keep_counts(displs)) };
        let blocks = arguments::blocks(&call, "recvbuf", recvbuf, recvcounts, displs, recvtype, comm)?;
        let own = own(&call, sendbuf, sendcount, sendtype, recvbuf, comm)?;
        call.compare(|terms| state(terms, call.link(), own, |rank| blocks.at(rank)))?;
        keep(&call, own, blocks.at(0));
        // SAFETY: the caller's promise.
        run!(call, run_v, run_v_later, (own, |rank| blocks.at(rank)))
    }
}

/// What the calling rank contributes; nothing with `MPI_IN_PLACE`, where it already lies in its place.
fn own(
    call: &impl Form,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Handle<Datatype>,
    recvbuf: *const c_void,
    comm: &Comm,
) -> Result<Option<Elements<'static>>> {
    if arguments::in_place(sendbuf, comm)? {
        return Ok(None);
    }
    let own = arguments::buffer(
        call,
        "sendbuf",
        sendbuf,
        sendcount,
        sendtype.resolve_for(sendcount, "sendtype")?,
    )?;
    arguments::distinct(sendbuf, recvbuf, own.count > 0)?;
    Ok(Some(own))
}

/// Types that blocks are of.
fn keep(call: &impl Form, own: Option<Elements<'_>>, block: Elements<'_>) {
    for elements in own.into_iter().chain([block]) {
        call.keep(elements.datatype);
    }
}

/// What ranks must agree on.
fn state<'a>(terms: &mut Terms, link: &impl Link, own: Option<Elements<'a>>, block: impl Fn(usize) -> Elements<'a>) {
    let sent = own.unwrap_or_else(|| block(link.rank()));
    let sends = link.peers().map(|(_, place)| (place, sent));
    terms.blocks(sends, link.peers().map(|(rank, place)| (place, block(rank))));
}
