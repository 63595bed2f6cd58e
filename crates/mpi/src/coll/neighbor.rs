//! Neighborhood collectives (MPI-5.0 §8.6): blocks along the edges of a topology, all at once.
//!
//! Blocks stand in buffers in the order of the neighbors. Of several edges from one process to another the k-th block
//! sent is the k-th received; in a grid, what goes one way along a dimension comes from the other way. Neighbors that are
//! `PROC_NULL` have blocks, which are not looked at.

mod allgather;
mod alltoall;

use std::ffi::c_void;

use isthmus_twice::twice;

use super::arguments::{self, Blocks};
use super::check::Terms;
use super::form::Form;
use crate::constants::PROC_NULL;
use crate::counts::Counts;
use crate::datatype::{Datatype, Type};
use crate::error::Result;
use crate::fail;
use crate::handle::Handle;
use crate::topology::Topology;
use isthmus_collective::Link;
use isthmus_collective::elements::{self, Elements};

pub use allgather::{
    ineighbor_allgather, ineighbor_allgatherv, neighbor_allgather, neighbor_allgather_init, neighbor_allgatherv,
    neighbor_allgatherv_init,
};
pub use alltoall::{
    ineighbor_alltoall, ineighbor_alltoallv, ineighbor_alltoallw, neighbor_alltoall, neighbor_alltoall_init,
    neighbor_alltoallv, neighbor_alltoallv_init, neighbor_alltoallw, neighbor_alltoallw_init,
};

/// What ranks must agree on.
fn state<'a>(
    terms: &mut Terms,
    topology: &Topology,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) {
    terms.blocks(
        departures(topology).map(|(dest, block)| (dest, from(block))),
        arrivals(topology).map(|(source, block)| (source, to(block))),
    );
}

/// From whom blocks come, and which, in the order in which they do.
fn arrivals(topology: &Topology) -> impl Iterator<Item = (usize, usize)> + Clone {
    let sources = topology.sources();
    // Nobody is `PROC_NULL`, which is no index.
    let source = |block: usize| Some((usize::try_from(sources[block]).ok()?, block));
    topology.arrivals().filter_map(source)
}

/// To whom blocks go, and which.
fn departures(topology: &Topology) -> impl Iterator<Item = (usize, usize)> + Clone {
    let destinations = topology.destinations();
    (0..destinations.len()).filter_map(|block| Some((usize::try_from(destinations[block]).ok()?, block)))
}

/// `from` says what goes to a destination, `to` where what comes from a source belongs. Always by messages.
///
/// # Safety
/// What `from` says must be readable, what `to` says writable, where there is a neighbor; they must not overlap.
#[twice]
async unsafe fn run<'a>(
    link: &impl Link,
    topology: &Topology,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let rank = link.rank();
    let (arrivals, departures) = (arrivals(topology), departures(topology));
    let from_self = departures.clone().filter(|(dest, _)| *dest == rank);
    let to_self = arrivals.clone().filter(|(source, _)| *source == rank);
    let (sent, received) = (from_self.clone().count(), to_self.clone().count());
    // SAFETY: the caller's promise.
    unsafe {
        for ((_, sent), (_, received)) in from_self.zip(to_self) {
            elements::copy(link, from(sent), to(received))?;
        }
        elements::transfer(
            link,
            arrivals
                .filter(|(source, _)| *source != rank)
                .map(|(source, block)| (source, to(block))),
            departures
                .filter(|(dest, _)| *dest != rank)
                .map(|(dest, block)| (dest, from(block))),
        )?;
    }
    if sent != received {
        link.fault(fail!(
            Topology,
            "the graph has {sent} edges from this process to itself, and {received} to itself from this process"
        ));
    }
    Ok(())
}

/// Does a block belong to a process? The others are not looked at.
fn has_process(neighbor: i32) -> bool {
    neighbor != PROC_NULL
}

/// A buffer of so many blocks of `count` elements for these neighbors; the first of them. Without neighbors it may be anything.
fn equal_blocks(
    call: &impl Form,
    name: &str,
    buffer: *const c_void,
    count: i64,
    datatype: Handle<Datatype>,
    neighbors: &[i32],
    blocks: usize,
) -> Result<Elements<'static>> {
    let is_used = count < 0 || neighbors.iter().copied().any(has_process);
    let count = if is_used { count } else { 0 };
    let datatype = datatype.resolve_for(count, "datatype")?;
    arguments::blocks_in_a_row(call, name, buffer, count, blocks, datatype)
}

/// A buffer of blocks with a count and a displacement in extents for each: of which type, and which elements.
fn blocks<'a>(
    call: &impl Form,
    name: &str,
    buffer: *const c_void,
    counts: Counts<'a>,
    displacements: Counts<'a>,
    datatype: Handle<Datatype>,
    neighbors: &[i32],
) -> Result<(&'static Type, Blocks<'a>)> {
    check_counts(name, counts)?;
    let used = counts
        .iter()
        .zip(neighbors)
        .filter(|(_, neighbor)| has_process(**neighbor));
    let largest = used.map(|(count, _)| count).max().unwrap_or(0);
    let datatype = datatype.resolve_for(largest, "datatype")?;
    let is_used = |block: usize| has_process(neighbors[block]);
    let blocks = arguments::used_blocks(call, name, (buffer, largest), counts, displacements, datatype, is_used)?;
    Ok((datatype, blocks))
}

/// Blocks of a datatype each, with displacements in bytes.
fn typed_blocks(
    call: &impl Form,
    name: &str,
    buffer: *const c_void,
    counts: Counts<'_>,
    displacements: Counts<'_>,
    datatypes: &[Handle<Datatype>],
    neighbors: &[i32],
) -> Result<Vec<Elements<'static>>> {
    check_counts(name, counts)?;
    let block = |(i, datatype): (usize, &Handle<Datatype>)| {
        let place = buffer.wrapping_byte_offset(displacements.get(i) as isize);
        let count = if has_process(neighbors[i]) { counts.get(i) } else { 0 };
        arguments::buffer(call, name, place, count, datatype.resolve_for(count, "datatype")?)
    };
    datatypes.iter().enumerate().map(block).collect()
}

fn check_counts(name: &str, counts: Counts<'_>) -> Result<()> {
    match counts.iter().enumerate().find(|(_, count)| *count < 0) {
        Some((block, count)) => Err(fail!(Count, "count={count} of block {block} of {name} is negative")),
        None => Ok(()),
    }
}
