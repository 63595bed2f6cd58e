//! Which arrays of a collective matter to the calling process. The others are not looked at: they may be anything.

use std::ffi::c_void;

use isthmus_mpi::comm::Comm;
use isthmus_mpi::constants::{IN_PLACE, ROOT};

use crate::abi::Abi;

/// The number of processes that each process exchanges data with: the length of the arrays that matter.
pub fn peers(comm: &Comm) -> usize {
    let count = if comm.is_inter() {
        comm.remote_size()
    } else {
        comm.size()
    };
    count as usize
}

/// The length of an array: as [`peers`] if it matters.
pub fn peers_if(matters: bool, comm: &Comm) -> usize {
    if matters { peers(comm) } else { 0 }
}

/// Is the calling process the root (MPI-5.0 §6.2.2)? Whether `root` is a rank at all is for the procedure to say.
pub fn is_root(comm: &Comm, root: i32) -> bool {
    if comm.is_inter() {
        root == ROOT
    } else {
        root == comm.rank()
    }
}

/// Is it `MPI_IN_PLACE`?
pub fn is_in_place<A: Abi>(buffer: *const c_void) -> bool {
    std::ptr::eq(A::buffer(buffer), IN_PLACE)
}
