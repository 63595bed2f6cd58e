//! The choice of a protocol: what is probed, what is learned from transfers that were made, and what follows from it.

pub(crate) mod contest;
pub mod protocols;
pub(crate) mod remote;
pub(crate) mod select;
