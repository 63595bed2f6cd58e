//! The state of protocols in one process: transfers under way, and what is known of peers' memory and of past transfers.

use std::collections::HashSet;

use isthmus_shm::Offset;

use crate::engine::Engine;
use crate::protocol::access::Permissions;
use crate::protocol::advertise::{Adverts, Claim};
use crate::protocol::blocks::Blocks;
use crate::protocol::choice::facts::Facts;
use crate::protocol::choice::select::Measurements;
use crate::protocol::helped::Helped;
use crate::protocol::rendezvous::PendingCts;
use crate::protocol::single_copy::{Pull, Push};
use crate::protocol::streamed::Streams;

/// Messages that take more than one record, or may.
#[derive(Debug)]
pub(crate) struct Transfers {
    /// Single copies that are under way.
    pub(super) pulls: Vec<Pull>,
    /// Those that the helper thread makes.
    pub(super) helped: Vec<Helped>,
    /// Help that receivers asked for.
    pub(super) pushes: Vec<Push>,
    /// Receives that we have advertised, and peers' receives that we may claim.
    pub(super) adverts: Adverts,
    pub(super) claims: Vec<Claim>,
    /// What we have asked senders to stream.
    pub(super) pending_cts: Vec<PendingCts>,
    pub(super) asked: u32,
    /// Where long messages lie that go at once though ranks share CPUs.
    pub(super) blocks: Blocks,
    /// Pipes and sockets to and from peers.
    pub(super) streams: Streams,
    /// Descriptors of sends that were withdrawn, until their receivers have seen it.
    pub(super) withdrawn: HashSet<Offset>,
    /// Access to each peer's memory.
    pub(super) permissions: Vec<Permissions>,
    /// What large messages from each peer taught us.
    pub(super) learned: Vec<Option<Box<Measurements>>>,
    /// What the choice of a protocol depends on.
    pub(super) facts: Facts,
}

impl Transfers {
    /// None yet, of a job of so many ranks.
    pub fn new(ranks: u32) -> Self {
        let facts = Facts::gather(ranks, true);
        Self {
            pulls: Vec::new(),
            helped: Vec::new(),
            pushes: Vec::new(),
            adverts: Adverts::default(),
            claims: Vec::new(),
            pending_cts: Vec::new(),
            asked: 0,
            blocks: Blocks::new(facts.blocks),
            streams: Streams::default(),
            withdrawn: HashSet::new(),
            permissions: vec![Permissions::default(); ranks as usize],
            learned: (0..ranks).map(|_| None).collect(),
            facts,
        }
    }

    /// The peer has died: nothing is copied from it or to it any more.
    pub fn forget(&mut self, peer: u32) {
        self.permissions[peer as usize] = Permissions::NONE;
        isthmus_mem::forget(u64::from(peer));
        self.blocks.forget(peer);
        self.streams.forget(peer);
        self.pulls.retain(|pull| pull.peer() != peer);
        self.helped.retain(|helped| {
            // Its receive is about to be failed, and the buffer to be the user's again.
            if helped.peer() == peer {
                helped.await_end();
            }
            helped.peer() != peer
        });
        self.pushes.retain(|push| push.peer != peer);
        self.claims.retain(|claim| claim.peer() != peer);
        self.pending_cts.retain(|pending| pending.peer() != peer);
    }

    /// A send with this descriptor was withdrawn: the receiver gives it back.
    pub fn withdraw(&mut self, descriptor: Option<Offset>) {
        self.withdrawn.extend(descriptor);
    }

    /// Do bytes of ours go through pipes or sockets?
    pub fn is_streaming(&self) -> bool {
        self.streams.is_busy()
    }

    /// Messages up to so many bytes go at once.
    #[cfg(test)]
    pub fn set_eager_limit(&mut self, bytes: usize) {
        self.facts.eager_limit = bytes as u64;
    }

    /// As if ranks shared CPUs: messages of up to two to the power of `order` lie in blocks.
    #[cfg(test)]
    pub fn open_blocks(&mut self, order: u32) {
        self.facts.blocks = Some((crate::limits::BLOCK_FROM as u64, 1 << order));
        self.blocks.open(order);
    }
}

impl Engine {
    /// Go on with what is under way. True: something moved.
    #[inline]
    pub fn advance_transfers(&mut self) -> bool {
        let pulled = !self.transfers.pulls.is_empty() && self.pull_on();
        let mut moved = pulled;
        if !self.transfers.helped.is_empty() {
            moved |= self.helped_on();
        }
        // A sender that has copies of its own pending declines to help.
        if !self.transfers.pushes.is_empty() {
            moved |= self.push_on(pulled);
        }
        if !self.transfers.claims.is_empty() {
            moved |= self.claim_on();
        }
        if !self.transfers.pending_cts.is_empty() {
            moved |= self.advance_pending_cts();
        }
        if self.transfers.streams.is_busy() {
            moved |= self.stream_on();
        }
        moved
    }

    /// Is there something to copy now, or to look after?
    pub fn has_transfers_to_advance(&self) -> bool {
        self.has_copies_to_do()
            || !self.transfers.claims.is_empty()
            || !self.transfers.pending_cts.is_empty()
            || self.transfers.streams.is_draining()
            || self.transfers.helped.iter().any(Helped::is_over)
    }
}
