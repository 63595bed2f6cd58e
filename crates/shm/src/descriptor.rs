//! The state of one rendezvous, in memory that both sides map.
//!
//! # Layout
//! One line. `state` only moves forward: `OFFERED` to `MATCHED` by the receiver when a receive takes the message, or to
//! `CANCELLED` by the sender; each by one compare-and-swap, so exactly one of them wins.
//!
//! # Fields
//! The sender makes it (`OFFERED`) before it announces the message, and reuses it only after the receiver has said that
//! it is done, or after the receiver has dropped a cancelled announcement.
//!
//! # Ordering
//! The announcement is a record in the pair's ring, whose publication orders everything before it.

use crate::sync::{AtomicU32, Ordering};

/// Announced, not matched.
const OFFERED: u32 = 1;
/// A receive has taken it; the buffers are claimed until the receiver is done.
const MATCHED: u32 = 2;
/// Withdrawn by the sender.
const CANCELLED: u32 = 3;

/// State of one rendezvous.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Descriptor {
    state: AtomicU32,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Descriptor>() == 64);

impl Descriptor {
    /// Offer a new transfer. By the sender, before the announcement.
    pub fn offer(&self) {
        self.state.store(OFFERED, Ordering::Relaxed);
    }

    /// Take the offer, by the receiver. False: it was withdrawn.
    pub fn take(&self) -> bool {
        self.state
            .compare_exchange(OFFERED, MATCHED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Was the offer withdrawn?
    pub fn is_withdrawn(&self) -> bool {
        self.state.load(Ordering::Acquire) == CANCELLED
    }

    /// Withdraw the offer, by the sender. False: it was taken.
    pub fn withdraw(&self) -> bool {
        self.state
            .compare_exchange(OFFERED, CANCELLED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn loom_either_taken_or_withdrawn() {
        loom::model(|| {
            let descriptor = Arc::new(Descriptor::default());
            descriptor.offer();
            let theirs = descriptor.clone();
            let taker = loom::thread::spawn(move || theirs.take());
            let withdrawn = descriptor.withdraw();
            let taken = taker.join().expect("ends");
            assert!(taken != withdrawn);
        });
    }
}
