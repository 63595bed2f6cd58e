//! Collective communication (MPI-5.0 §6): blocking, non-blocking and persistent.
//!
//! One file per procedure (with its `v` and `w` forms), which checks the arguments and runs the collective of
//! `crates/collective` in the form of the call.

mod agreement;
mod allgather;
mod allreduce;
mod alltoall;
mod arguments;
mod barrier;
mod bcast;
pub(crate) mod check;
mod form;
mod gather;
mod neighbor;
mod on_devices;
mod reduce;
mod reduce_scatter;
mod rooted;
mod scan;
mod scatter;
mod tasks;

pub(crate) use agreement::Agreement;
pub use allgather::{allgather, allgather_init, allgatherv, allgatherv_init, iallgather, iallgatherv};
pub use allreduce::{allreduce, allreduce_init, iallreduce};
pub use alltoall::{
    alltoall, alltoall_init, alltoallv, alltoallv_init, alltoallw, alltoallw_init, ialltoall, ialltoallv, ialltoallw,
};
pub use barrier::{barrier, barrier_init, ibarrier};
pub use bcast::{bcast, bcast_init, ibcast};
pub use check::refused_by_name;
pub use form::{refused, refused_immediate, refused_persistent};
pub use gather::{gather, gather_init, gatherv, gatherv_init, igather, igatherv};
pub use neighbor::{
    ineighbor_allgather, ineighbor_allgatherv, ineighbor_alltoall, ineighbor_alltoallv, ineighbor_alltoallw,
    neighbor_allgather, neighbor_allgather_init, neighbor_allgatherv, neighbor_allgatherv_init, neighbor_alltoall,
    neighbor_alltoall_init, neighbor_alltoallv, neighbor_alltoallv_init, neighbor_alltoallw, neighbor_alltoallw_init,
};
pub use reduce::{ireduce, reduce, reduce_init};
pub use reduce_scatter::{
    ireduce_scatter, ireduce_scatter_block, reduce_scatter, reduce_scatter_block, reduce_scatter_block_init,
    reduce_scatter_init,
};
pub use scan::{exscan, exscan_init, iexscan, iscan, scan, scan_init};
pub use scatter::{iscatter, iscatterv, scatter, scatter_init, scatterv, scatterv_init};
