//! Active messages: short messages that a layer above handles at their target, whenever that makes progress. What layers use to synchronise
//! between nodes, where they share no memory.
//!
//! A handler may say *later*: then it is asked again in every round of progress of its process, which whoever changes what it waits for
//! must wake ([`super::wake`]). So a lock that somebody else has is waited for by its owner, and nobody asks for it again and again.
//!
//! Messages of one process to another come in their order, and after what one-sided operations between the two have done before. Active
//! messages: von Eicken et al., *Active Messages*, ISCA 1992; GASNet.

use std::sync::OnceLock;

use super::service;
use crate::types::Peer;
use crate::{Error, Result};

/// What becomes of an active message.
#[derive(Debug)]
pub enum Served {
    /// It is done, and this is the answer, if anybody waits for one.
    Done(Vec<u8>),
    /// It makes no sense; the origin gets an error.
    Refused,
    /// Not yet: ask again.
    Later,
}

/// Handles what a peer sends. Runs inside the engine: it enters nothing, waits for nothing and calls no user code. What it gets was sent
/// by a peer, and may be anything.
pub type Handler = fn(Peer, &[u8]) -> Served;

/// The layers above that have a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Layer {
    /// MPI's windows.
    Windows = 0,
    /// ARMCI.
    Armci = 1,
}

static HANDLERS: [OnceLock<Handler>; 2] = [const { OnceLock::new() }; 2];

/// From now on this handles active messages of a layer. Once, before the first can come.
pub fn handle_active(layer: Layer, handler: Handler) {
    HANDLERS[layer as usize].get_or_init(|| handler);
}

/// Hand one to the handler of its layer.
pub(super) fn handle(layer: u32, from: u32, data: &[u8]) -> Served {
    let handler = HANDLERS.get(layer as usize).and_then(OnceLock::get);
    handler.map_or(Served::Refused, |handler| handler(Peer(from), data))
}

/// Send an active message that has no answer. Does not block. If the peer has failed, nothing happens.
///
/// # Errors
/// There is no memory for it.
pub fn tell(layer: Layer, peer: Peer, data: &[u8]) -> Result<()> {
    match service::tell_above(layer, peer, data) {
        Err(Error::PeerFailed { .. }) => Ok(()),
        told => told,
    }
}

/// Send an active message and wait for its answer, of `longest` bytes at most. Blocks until the peer makes progress and its handler has
/// answered; makes progress.
///
/// # Errors
/// The peer has failed, or refuses ([`Error::Refused`]).
pub fn ask(layer: Layer, peer: Peer, data: &[u8], longest: usize) -> Result<Vec<u8>> {
    service::ask_above(layer, peer, data, longest)?.ok_or(Error::Refused { peer: peer.0 })
}
