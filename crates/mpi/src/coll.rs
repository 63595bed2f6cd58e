//! Collective communication (MPI-5.0 §6), blocking, on intracommunicators.
//!
//! One file per procedure (with its `v` and `w` forms), which checks the arguments and selects; one folder per procedure
//! with a file for each algorithm. Selection and reduction order depend on count, datatype and ranks only, so that
//! results repeat bit for bit.

mod allgather;
mod allreduce;
mod alltoall;
mod arguments;
mod barrier;
mod bcast;
mod elements;
mod gather;
mod link;
mod neighbor;
mod operand;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;

#[cfg(test)]
mod tests;

pub use allgather::{allgather, allgatherv};
pub use allreduce::allreduce;
pub use alltoall::{alltoall, alltoallv, alltoallw};
pub(crate) use barrier::Barriers;
pub use barrier::barrier;
pub use bcast::bcast;
pub use gather::{gather, gatherv};
pub use neighbor::{
    neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw,
};
pub use reduce::reduce;
pub use reduce_scatter::{reduce_scatter, reduce_scatter_block};
pub use scan::{exscan, scan};
pub use scatter::{scatter, scatterv};
