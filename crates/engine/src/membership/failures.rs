//! What this process knows of process failures and of revoked message spaces.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_os::switches::Switch;

use crate::types::{Arrival, ContextId, Outcome};

/// Failures, revocations and failed calls that this process knows of.
static FAULT_EVENTS: AtomicU32 = AtomicU32::new(0);

/// How many failures, revocations and failed calls this process knows of. While it is 0, nothing needs to be looked at more closely:
/// [`Switch::Faults`] is off.
#[inline]
pub fn fault_events() -> u32 {
    FAULT_EVENTS.load(Ordering::Relaxed)
}

/// One more.
pub(crate) fn note_fault_event() {
    FAULT_EVENTS.fetch_add(1, Ordering::Relaxed);
    Switch::Faults.turn_on();
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
    /// Failed peers; empty while there are none.
    failed: Vec<bool>,
    /// Entries of the segment's list of failures that are known.
    known: u32,
    /// Message spaces that are revoked: the first of neighbours, and the one behind the last.
    revoked: BTreeMap<u32, u32>,
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
        let before = self.revoked.range(..=context.0).next_back();
        before.is_some_and(|(_, end)| context.0 < *end)
    }

    /// How an operation of this kind ends at once: it is with a dead process, or in a revoked message space. `None`: it may
    /// begin.
    #[cold]
    pub fn pending_failure(&self, peer: Option<u32>, context: ContextId) -> Option<Outcome> {
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
    pub fn revoke(&mut self, spaces: Range<u32>) {
        let Range { mut start, mut end } = spaces;
        while let Some((&first, &behind)) = self.revoked.range(..=end).next_back()
            && behind >= start
        {
            self.revoked.remove(&first);
            (start, end) = (start.min(first), end.max(behind));
        }
        self.revoked.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_take_no_room() {
        let mut failures = Failures::default();
        for first in [20, 4, 8, 6, 30, 5] {
            failures.revoke(first..first + 2);
        }
        assert_eq!(failures.revoked, BTreeMap::from([(4, 10), (20, 22), (30, 32)]));
        let revoked = (0..40).filter(|context| failures.is_revoked(ContextId(*context)));
        assert_eq!(revoked.collect::<Vec<_>>(), [4, 5, 6, 7, 8, 9, 20, 21, 30, 31]);
    }
}
