//! What this process knows of process failures and of revoked message spaces.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::types::{Arrival, ContextId, Outcome};

/// Failures, revocations and failed calls that this process knows of.
static FAULT_EVENTS: AtomicU32 = AtomicU32::new(0);

/// How many failures, revocations and failed calls this process knows of: while it is 0, nothing needs to be looked at
/// more closely.
#[inline]
pub fn fault_events() -> u32 {
    FAULT_EVENTS.load(Ordering::Relaxed)
}

/// One more.
pub(crate) fn note_fault_event() {
    FAULT_EVENTS.fetch_add(1, Ordering::Relaxed);
}

/// How an operation ends whose peer has failed.
pub(crate) const PEER_FAILED: Outcome = Outcome {
    arrival: Arrival {
        source: 0,
        tag: 0,
        bytes: 0,
    },
    truncated: false,
    cancelled: false,
    peer_failed: true,
    revoked: false,
};

/// How an operation ends whose message space is revoked.
pub(crate) const REVOKED: Outcome = Outcome {
    revoked: true,
    ..PEER_FAILED
};

/// Processes that have failed, and message spaces that are revoked.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// There are some.
    any: bool,
    /// Who has failed, by peer; empty while nobody has.
    failed: Vec<bool>,
    /// Entries of the segment's list of failures that are known.
    known: u32,
    /// Message spaces that are revoked.
    revoked: HashSet<u32>,
    /// How far the list of revocations was looked at.
    seen: u64,
}

impl Failures {
    /// Must operations look whether their peer lives and their message space is good?
    #[inline]
    pub fn any(&self) -> bool {
        self.any
    }

    /// Has this process failed?
    pub fn has_failed(&self, peer: u32) -> bool {
        self.failed.get(peer as usize).copied().unwrap_or(false)
    }

    /// Is this message space revoked?
    pub fn is_revoked(&self, context: ContextId) -> bool {
        self.revoked.contains(&context.0)
    }

    /// How an operation of this kind ends at once: it is with a dead process, or in a revoked message space. `None`: it may
    /// begin.
    #[cold]
    pub fn obstacle(&self, peer: Option<u32>, context: ContextId) -> Option<Outcome> {
        if self.is_revoked(context) {
            return Some(REVOKED);
        }
        peer.is_some_and(|peer| self.has_failed(peer)).then_some(PEER_FAILED)
    }

    /// Entries of the segment's list of failures that are known.
    pub fn known(&self) -> u32 {
        self.known
    }

    /// One more entry of the list is known.
    pub fn know_next(&mut self) {
        self.known += 1;
    }

    /// This process, of a job of so many, has failed.
    pub fn add(&mut self, peer: u32, ranks: u32) {
        if self.failed.is_empty() {
            self.failed = vec![false; ranks as usize];
        }
        self.failed[peer as usize] = true;
        self.any = true;
    }

    /// Some message spaces are about to be revoked.
    pub fn expect_revocations(&mut self) {
        self.any = true;
    }

    /// These message spaces are revoked.
    pub fn revoke(&mut self, contexts: Vec<u32>) {
        self.revoked.extend(contexts);
    }

    /// How far the list of revocations was looked at.
    pub fn revocations_seen(&self) -> u64 {
        self.seen
    }

    /// It has been looked at up to there.
    pub fn see_revocations(&mut self, seen: u64) {
        self.seen = seen;
    }
}
