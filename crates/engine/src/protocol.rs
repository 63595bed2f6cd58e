//! Protocols: how a message gets from one buffer to another.
//!
//! Owns eager messages, the rendezvous (its sender's and its receiver's side), single copies, adverts of posted receives, and
//! what is known of the memory of each peer. Which protocol a message takes is decided in [`choice`]. It knows nothing of the
//! ABI, nor of MPI's objects.
//!
//! Offers: send, receive, cancel, and the handlers of the records that belong to them.

pub(crate) mod access;
pub(crate) mod advertise;
mod blocks;
pub(crate) mod choice;
mod device;
pub(crate) mod helped;
pub(crate) mod mechanism;
mod payloads;
mod receive;
pub(crate) mod rendezvous;
pub(crate) mod send;
pub(crate) mod single_copy;
pub(crate) mod streamed;
pub(crate) mod transfers;

#[cfg(test)]
mod tests;
