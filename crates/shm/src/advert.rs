//! The state of one advertised receive, in memory that both sides map.
//!
//! A receiver that will be busy elsewhere tells a sender where a message belongs before the message is there. The sender
//! that has announced the message may then *claim* the receive and write into its buffer, while the receiver computes. The
//! receiver *withdraws* the advert before it lets anything else have the buffer: the message by another way, a
//! cancellation, the end of the message space. Exactly one of the two wins, by one compare-and-swap.
//!
//! # Layout
//! One line, one word: in the lowest bits what it is, above them the ticket while it is open, and once it is claimed the
//! offset of the claimant's [`Descriptor`](crate::Descriptor).
//!
//! # Fields
//! The receiver makes and reuses it. The ticket is told to the sender with the advert and is never used again, so that a
//! claim on what has been withdrawn since, and perhaps reused for another receive, fails.
//!
//! # Ordering
//! The advert is a record in the pair's ring, whose publication orders everything before it. What the sender wrote before
//! it claimed is seen by a receiver that finds the claim.

use crate::Offset;
use crate::sync::{AtomicU64, Ordering};

const OPEN: u64 = 1;
const CLAIMED: u64 = 2;
/// Neither: withdrawn, or not in use.
const CLOSED: u64 = 0;
const KIND_BITS: u32 = 2;

/// State of one advertised receive.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Advert {
    state: AtomicU64,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Advert>() == 64);

impl Advert {
    /// Open it under a ticket that was never used before. By the receiver, before it tells the sender.
    pub fn open(&self, ticket: u64) {
        self.state.store(ticket << KIND_BITS | OPEN, Ordering::Relaxed);
    }

    /// Claim the receive for the message with that descriptor. By the sender. False: it is too late.
    pub fn claim(&self, ticket: u64, claimant: Offset) -> bool {
        let (open, claimed) = (ticket << KIND_BITS | OPEN, claimant.0 << KIND_BITS | CLAIMED);
        // SYNC: advert
        self.state
            .compare_exchange(open, claimed, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Is it open under this ticket? For senders that look what is worth keeping.
    pub fn is_open(&self, ticket: u64) -> bool {
        self.state.load(Ordering::Relaxed) == ticket << KIND_BITS | OPEN
    }

    /// Nobody can claim it any more. By the receiver.
    ///
    /// # Errors
    /// It has been claimed, by the message with this descriptor.
    pub fn withdraw(&self, ticket: u64) -> Result<(), Offset> {
        // SYNC: advert
        let swapped =
            self.state
                .compare_exchange(ticket << KIND_BITS | OPEN, CLOSED, Ordering::AcqRel, Ordering::Acquire);
        swapped.map(drop).map_err(|found| Offset(found >> KIND_BITS))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn stale_tickets_claim_nothing() {
        let advert = Advert::default();
        advert.open(7);
        assert_eq!(advert.withdraw(7), Ok(()));
        assert!(!advert.claim(7, Offset(128)), "withdrawn");
        advert.open(8);
        assert!(!advert.claim(7, Offset(128)), "another receive's by now");
        assert!(advert.is_open(8) && !advert.is_open(7));
        assert!(advert.claim(8, Offset(256)));
        assert!(!advert.claim(8, Offset(384)), "once");
        assert_eq!(advert.withdraw(8), Err(Offset(256)));
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::Descriptor;
    use crate::sync::AtomicU32;
    use loom::sync::Arc;

    /// The receiver comes back while the sender claims and pushes: every chunk is copied once, by the one or the other,
    /// and the receiver ends only when all of them are there.
    #[test]
    fn loom_claimed_or_withdrawn_and_every_chunk_once() {
        loom::model(|| {
            let advert = Arc::new(Advert::default());
            let descriptor = Arc::new(Descriptor::default());
            let pushed = Arc::new(AtomicU32::new(0));
            advert.open(3);
            descriptor.offer();
            let (theirs, transfer, copied) = (advert.clone(), descriptor.clone(), pushed.clone());
            let sender = loom::thread::spawn(move || {
                if !theirs.claim(3, Offset(128)) {
                    return false;
                }
                transfer.push(2);
                while transfer.claim_back().is_some() {
                    copied.store(copied.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    transfer.retire();
                }
                true
            });
            let claimed = match advert.withdraw(3) {
                Ok(()) => {
                    assert!(descriptor.take(), "nobody else takes it");
                    false
                }
                Err(claimant) => {
                    assert_eq!(claimant, Offset(128));
                    while !descriptor.is_pushed() {
                        loom::thread::yield_now();
                    }
                    let mut pulled = 0;
                    while descriptor.claim_front().is_some() {
                        pulled += 1;
                    }
                    while descriptor.settled().is_none() {
                        loom::thread::yield_now();
                    }
                    assert_eq!(pulled + pushed.load(Ordering::Relaxed), 2);
                    assert!(!descriptor.withdraw(), "the send cannot be cancelled any more");
                    true
                }
            };
            assert_eq!(sender.join().expect("ends"), claimed);
        });
    }

    /// Memory of an advert is reused while a sender still holds the old ticket.
    #[test]
    fn loom_a_stale_claim_against_another_receive() {
        loom::model(|| {
            let advert = Arc::new(Advert::default());
            advert.open(1);
            let theirs = advert.clone();
            let sender = loom::thread::spawn(move || theirs.claim(1, Offset(128)));
            let withdrawn = advert.withdraw(1);
            advert.open(2);
            let claimed = sender.join().expect("ends");
            assert_eq!(claimed, withdrawn.is_err());
            assert_eq!(advert.withdraw(2), Ok(()), "nobody has claimed the second one");
        });
    }
}
