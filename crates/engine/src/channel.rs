//! Channels: ordered records from one process to another.
//!
//! Owns the rings and the cells of each pair, their leases, what waits for room, and the layout of records. A channel knows
//! nothing of the order in which messages match, nor of the protocol that a record belongs to.
//! To ranks on other nodes records travel in frames ([`network`]).
//!
//! Offers: [`outbound`] (reserve, write, publish, queue), [`inbound`] (look, take, return credit), [`record`] (headers and bodies).

pub(crate) mod cells;
pub(crate) mod channels;
pub(crate) mod hints;
pub(crate) mod hurry;
pub(crate) mod inbound;
pub(crate) mod network;
pub(crate) mod orders;
pub(crate) mod outbound;
pub(crate) mod reading;
pub(crate) mod record;
pub(crate) mod ring_size;
