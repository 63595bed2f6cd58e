//! Collective operations on teams of processes.
#![allow(unsafe_code)] // User buffers and what others share; each site argues its case.

pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
pub mod elements;
pub mod failure;
pub mod gather;
mod layout;
mod link;
mod members;
mod operand;
mod part;
mod polling;
pub mod reduce;
pub mod reduce_scatter;
mod root;
pub mod scan;
pub mod scatter;
mod schedule;
pub mod select;
mod shared;
mod task;
mod team;

use isthmus_datatype::{error, fail};

pub use layout::Layout;
pub use link::{Call, Incoming, Lane, Launching, Link, Outgoing};
pub use members::Members;
pub use operand::Operand;
pub use root::Root;
pub use schedule::{Program, Recorder, Running, Step};
pub use shared::Access;
pub use shared::immediate::{Kept, Turn, begin as begin_immediate};
pub use task::{Look, Task};
pub use team::Team;

#[cfg(test)]
mod tests;
