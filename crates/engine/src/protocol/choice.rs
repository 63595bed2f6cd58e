//! The choice of a protocol: what is probed, what is measured on transfers that were made, and what follows from it.
//!
//! [`facts`] is what the choice depends on, gathered once; [`protocols`] is the list of protocols, each with when it applies and what it
//! costs, [`devices`] that for memory of devices; [`select`] measures online which of the open ones is fastest; [`price`] is what single copies cost; [`remote`]
//! makes them where addresses are told by other means than messages.

pub mod devices;
pub mod facts;
pub(crate) mod price;
pub mod protocols;
pub(crate) mod remote;
pub(crate) mod select;
pub(crate) mod tuning;
