//! Distributed graphs: weights are arrays, or constants that look like arrays.

use std::ffi::c_int;

use isthmus_mpi::comm::Comm;
use isthmus_mpi::error::Result;
use isthmus_mpi::topology::Weights;
use isthmus_mpi::{fail, procedures};

use crate::abi::Abi;
use crate::argument::{self, HandleOutput};
use crate::entry::{self, CHandle};

/// The length of an array.
fn degree(value: c_int, name: &str) -> Result<usize> {
    usize::try_from(value).map_err(|_| fail!(Arg, "{name}={value} is negative"))
}

/// The weights that a program gives.
///
/// # Safety
/// If not null and not a constant, `pointer` is good for reading `length` entries while the result lives.
unsafe fn weights<'a, A: Abi>(pointer: *const c_int, length: usize, name: &str) -> Result<Weights<'a>> {
    if pointer.addr() == A::UNWEIGHTED {
        return Ok(None);
    }
    if pointer.addr() == A::WEIGHTS_EMPTY && length > 0 {
        return Err(fail!(Arg, "{name} is MPI_WEIGHTS_EMPTY, but there are {length} edges"));
    }
    // SAFETY: the caller's promise.
    unsafe { argument::array(pointer, length, name).map(Some) }
}

/// Where weights go, if anywhere.
///
/// # Safety
/// As for [`weights`], for writing too.
unsafe fn weights_mut<'a, A: Abi>(pointer: *mut c_int, length: usize, name: &str) -> Result<Option<&'a mut [c_int]>> {
    if [A::UNWEIGHTED, A::WEIGHTS_EMPTY].contains(&pointer.addr()) {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { argument::array_mut(pointer, length, name).map(Some) }
}

/// `MPI_Dist_graph_create`
///
/// # Safety
/// As for the C function.
#[inline(always)] // As for MPIX_Comm_agree.
pub unsafe fn dist_graph_create<A: Abi>(
    comm_old: CHandle<A>,
    n: c_int,
    sources: *const c_int,
    degrees: *const c_int,
    destinations: *const c_int,
    weights: *const c_int,
    info: CHandle<A>,
    reorder: c_int,
    comm_dist_graph: *mut CHandle<A>,
) -> c_int {
    entry::enter::<A>("MPI_Dist_graph_create", entry::on_comm::<A>(comm_old), || {
        // SAFETY: the caller's promise.
        unsafe {
            let comm_old = A::handle_in::<Comm>(comm_old).resolve("comm_old")?;
            let n = degree(n, "n")?;
            let degrees = argument::array(degrees, n, "degrees")?;
            let edges = degrees.iter().map(|degree| (*degree).max(0) as usize).sum();
            let output = HandleOutput::<A>::at(comm_dist_graph, "comm_dist_graph")?;
            output.put(procedures::dist_graph_create(
                comm_old,
                argument::array(sources, n, "sources")?,
                degrees,
                argument::array(destinations, edges, "destinations")?,
                self::weights::<A>(weights, edges, "weights")?,
                argument::info::<A>(info, "info")?,
                reorder != 0,
            )?);
            Ok(())
        }
    })
}

/// `MPI_Dist_graph_create_adjacent`
///
/// # Safety
/// As for the C function.
#[inline(always)] // As for MPIX_Comm_agree.
pub unsafe fn dist_graph_create_adjacent<A: Abi>(
    comm_old: CHandle<A>,
    indegree: c_int,
    sources: *const c_int,
    sourceweights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    destweights: *const c_int,
    info: CHandle<A>,
    reorder: c_int,
    comm_dist_graph: *mut CHandle<A>,
) -> c_int {
    let scope = entry::on_comm::<A>(comm_old);
    entry::enter::<A>("MPI_Dist_graph_create_adjacent", scope, || {
        // SAFETY: the caller's promise.
        unsafe {
            let comm_old = A::handle_in::<Comm>(comm_old).resolve("comm_old")?;
            let indegree = degree(indegree, "indegree")?;
            let outdegree = degree(outdegree, "outdegree")?;
            let output = HandleOutput::<A>::at(comm_dist_graph, "comm_dist_graph")?;
            output.put(procedures::dist_graph_create_adjacent(
                comm_old,
                argument::array(sources, indegree, "sources")?,
                weights::<A>(sourceweights, indegree, "sourceweights")?,
                argument::array(destinations, outdegree, "destinations")?,
                weights::<A>(destweights, outdegree, "destweights")?,
                argument::info::<A>(info, "info")?,
                reorder != 0,
            )?);
            Ok(())
        }
    })
}

/// `MPI_Dist_graph_neighbors`
///
/// # Safety
/// As for the C function.
pub unsafe fn dist_graph_neighbors<A: Abi>(
    comm: CHandle<A>,
    maxindegree: c_int,
    sources: *mut c_int,
    sourceweights: *mut c_int,
    maxoutdegree: c_int,
    destinations: *mut c_int,
    destweights: *mut c_int,
) -> c_int {
    entry::enter::<A>("MPI_Dist_graph_neighbors", entry::on_comm::<A>(comm), || {
        // SAFETY: the caller's promise.
        unsafe {
            let comm = A::handle_in::<Comm>(comm).resolve("comm")?;
            let maxindegree = degree(maxindegree, "maxindegree")?;
            let maxoutdegree = degree(maxoutdegree, "maxoutdegree")?;
            procedures::dist_graph_neighbors(
                comm,
                argument::array_mut(sources, maxindegree, "sources")?,
                weights_mut::<A>(sourceweights, maxindegree, "sourceweights")?,
                argument::array_mut(destinations, maxoutdegree, "destinations")?,
                weights_mut::<A>(destweights, maxoutdegree, "destweights")?,
            )
        }
    })
}
