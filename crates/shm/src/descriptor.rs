//! The state of one rendezvous, in memory that both sides map.
//!
//! # Layout
//! One line. `state` leaves `OFFERED` once: to `MATCHED` by the receiver when a receive takes the message, or to
//! `CANCELLED` by the sender; each by one compare-and-swap, so exactly one of them wins. A sender that has claimed an
//! advertised receive ([`Advert`](crate::Advert)) owns both sides of it, and says so by `PUSHED`.
//!
//! A receiver that wants the bytes streamed asks (`ASKED`, with the number of the request). If the sender does not begin
//! (`STREAMED`) for long, since it computes, the receiver may withdraw the request (`MATCHED`) and copy by itself; that
//! is one compare-and-swap of each, too.
//!
//! Once matched, a receiver may share the copying out in chunks: it claims them from the front, the sender from the back,
//! by compare-and-swap on `claims`, until they meet. Each does its chunks one after the other, so at any time what is
//! not done lies in one piece between the two.
//!
//! # Fields
//! The sender makes it (`OFFERED`) before it announces the message, and reuses it only after the receiver has said that
//! it is done, or after the receiver has dropped a cancelled announcement. `claims` is set up by the receiver before it
//! asks for help, and then claimed from by both; `retired` and `refused` are the sender's to write. The receiver is done
//! only when every claim of the sender has retired ([`Descriptor::settled`]).
//!
//! # Ordering
//! The announcement is a record in the pair's ring, whose publication orders everything before it.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Announced, not matched.
const OFFERED: u64 = 1;
/// A receive has taken it; the buffers are claimed until the receiver is done.
const MATCHED: u64 = 2;
/// Withdrawn by the sender.
const CANCELLED: u64 = 3;
/// The sender has claimed the receive that takes it, and shares the copying out.
const PUSHED: u64 = 4;
/// The receiver has asked for the bytes; the number of the request above.
const ASKED: u64 = 5;
/// The sender has begun to answer.
const STREAMED: u64 = 6;
const KIND_BITS: u32 = 8;

/// State of one rendezvous.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Descriptor {
    state: AtomicU64,
    /// Chunks that the sender has copied.
    retired: AtomicU32,
    /// Nonzero: the sender will not do the last chunk that it claimed, and claims no more.
    refused: AtomicU32,
    /// Chunks in all.
    chunks: AtomicU32,
    /// First chunk that nobody has claimed, in the low half; end of them in the high half.
    claims: AtomicU64,
}

fn unpack(claims: u64) -> (u32, u32) {
    (claims as u32, (claims >> 32) as u32)
}

fn pack(front: u32, back: u32) -> u64 {
    u64::from(front) | u64::from(back) << 32
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Descriptor>() == 64);

impl Descriptor {
    /// Offer a new transfer. By the sender, before the announcement.
    pub fn offer(&self) {
        self.state.store(OFFERED, Ordering::Relaxed);
    }

    /// We are going to write here soon: fetch the line meanwhile.
    pub fn expect_to_write(&self) {
        #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
        // SAFETY: a prefetch may name any address; where the processor does not know this one it does nothing. Not the compiler's
        // intrinsic, which makes a fetch for reading of it unless all processors of the target know it.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) std::ptr::from_ref(self), options(nostack, preserves_flags, readonly));
        }
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

impl Descriptor {
    /// Ask for the bytes. By the receiver that has taken the offer, before the record that asks. No two requests of
    /// a job have the same number, since the sender reuses a descriptor while the receiver may still look; up to 2^56.
    pub fn ask(&self, number: u64) {
        self.state.store(number << KIND_BITS | ASKED, Ordering::Release);
    }

    /// Begin to answer, by the sender. False: the request was withdrawn.
    pub fn stream(&self, number: u64) -> bool {
        // SYNC: cts
        self.state
            .compare_exchange(
                number << KIND_BITS | ASKED,
                STREAMED,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_ok()
    }

    /// Withdraw the request, by the receiver. False: the sender has begun to answer.
    pub fn take_back(&self, number: u64) -> bool {
        // SYNC: cts
        self.state
            .compare_exchange(
                number << KIND_BITS | ASKED,
                MATCHED,
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_ok()
    }

    /// Share the copying of an offer whose receive we have claimed out in `chunks` chunks. By the sender.
    pub fn push(&self, chunks: u32) {
        self.share(chunks);
        // SYNC: pushed
        self.state.store(PUSHED, Ordering::Release);
    }

    /// Is the copying shared out that a claim has begun? For the receiver that has found the claim.
    pub fn is_pushed(&self) -> bool {
        // SYNC: pushed
        self.state.load(Ordering::Acquire) == PUSHED
    }

    /// Will the sender claim no more chunks?
    pub fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Acquire) != 0
    }
}

impl Descriptor {
    /// Share the copying out in `chunks` chunks. By the receiver, after it has taken the offer and before it asks for
    /// help by a record, whose publication orders this before the sender's first claim.
    pub fn share(&self, chunks: u32) {
        self.retired.store(0, Ordering::Relaxed);
        self.refused.store(0, Ordering::Relaxed);
        self.chunks.store(chunks, Ordering::Relaxed);
        self.claims.store(pack(0, chunks), Ordering::Release);
    }

    /// The next chunk from the front, for the receiver.
    pub fn claim_front(&self) -> Option<u32> {
        self.claim(|front, back| (front, (front + 1, back)))
    }

    /// The next chunk from the back, for the sender.
    pub fn claim_back(&self) -> Option<u32> {
        self.claim(|front, back| (back - 1, (front, back - 1)))
    }

    fn claim(&self, next: impl Fn(u32, u32) -> (u32, (u32, u32))) -> Option<u32> {
        let mut seen = self.claims.load(Ordering::Acquire);
        loop {
            let (front, back) = unpack(seen);
            if front >= back {
                return None;
            }
            let (chunk, (front, back)) = next(front, back);
            // SYNC: chunk
            let swapped =
                self.claims
                    .compare_exchange_weak(seen, pack(front, back), Ordering::AcqRel, Ordering::Acquire);
            match swapped {
                Ok(_) => return Some(chunk),
                Err(now) => seen = now,
            }
        }
    }

    /// The sender has copied the chunk that it claimed last.
    pub fn retire(&self) {
        let retired = self.retired.load(Ordering::Relaxed);
        // SYNC: retired
        self.retired.store(retired + 1, Ordering::Release);
    }

    /// The sender will not do the chunk that it claimed last, and claims no more.
    pub fn refuse(&self) {
        // SYNC: retired
        self.refused.store(1, Ordering::Release);
    }

    /// Nobody claims any more. By the receiver, which cannot go on, or goes on alone. The first of the chunks that the sender
    /// has claimed.
    pub fn close(&self) -> u32 {
        let mut seen = self.claims.load(Ordering::Acquire);
        loop {
            let (_, back) = unpack(seen);
            // SYNC: chunk
            let swapped =
                self.claims
                    .compare_exchange_weak(seen, pack(back, back), Ordering::AcqRel, Ordering::Acquire);
            match swapped {
                Ok(_) => return back,
                Err(now) => seen = now,
            }
        }
    }

    /// Once all chunks are claimed, or the sharing is closed, and every claim of the sender has retired: the first of
    /// the chunks at the end that the sender has copied. `None`: not yet.
    pub fn settled(&self) -> Option<u32> {
        let (front, back) = unpack(self.claims.load(Ordering::Acquire));
        if front < back {
            return None;
        }
        // What the sender wrote into these is data: nonsense never settles, and then the sender's end is awaited.
        let claimed = self.chunks.load(Ordering::Relaxed).checked_sub(back)?;
        // SYNC: retired
        let refused = self.refused.load(Ordering::Acquire) != 0;
        let retired = self.retired.load(Ordering::Acquire);
        if retired == claimed {
            Some(back)
        } else if refused && retired + 1 == claimed {
            Some(back + 1)
        } else {
            None
        }
    }
}

#[cfg(all(test, not(loom)))]
mod shared_tests {
    use super::*;

    #[test]
    fn a_refused_chunk_comes_back() {
        let descriptor = Descriptor::default();
        descriptor.share(4);
        assert_eq!(descriptor.claim_front(), Some(0));
        assert_eq!(descriptor.claim_back(), Some(3));
        descriptor.retire();
        assert_eq!(descriptor.claim_back(), Some(2));
        assert_eq!(descriptor.claim_front(), Some(1));
        assert_eq!((descriptor.claim_front(), descriptor.claim_back()), (None, None));
        assert_eq!(descriptor.settled(), None, "chunk 2 is claimed");
        descriptor.refuse();
        assert_eq!(descriptor.settled(), Some(3), "chunk 2 is the receiver's again");
    }

    #[test]
    fn closing_ends_claims() {
        let descriptor = Descriptor::default();
        descriptor.share(8);
        assert_eq!(descriptor.claim_back(), Some(7));
        assert_eq!(descriptor.close(), 7);
        assert_eq!(descriptor.claim_back(), None);
        assert_eq!(descriptor.settled(), None);
        descriptor.retire();
        assert_eq!(descriptor.settled(), Some(7));
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn loom_every_chunk_once_and_settled_after_all() {
        loom::model(|| {
            let descriptor = Arc::new(Descriptor::default());
            let copied = Arc::new(AtomicU32::new(0));
            descriptor.share(2);
            let (theirs, done) = (descriptor.clone(), copied.clone());
            let sender = loom::thread::spawn(move || {
                while let Some(chunk) = theirs.claim_back() {
                    // A copy: visible to a thread that sees the chunk retired.
                    done.store(done.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    assert!(chunk < 2);
                    theirs.retire();
                }
            });
            let mut mine = 0;
            while let Some(chunk) = descriptor.claim_front() {
                assert_eq!(chunk, mine);
                mine += 1;
            }
            let from = loop {
                if let Some(from) = descriptor.settled() {
                    break from;
                }
                loom::thread::yield_now();
            };
            assert_eq!(from, mine);
            assert_eq!(copied.load(Ordering::Relaxed), 2 - mine);
            sender.join().expect("ends");
        });
    }

    #[test]
    fn loom_closing_against_a_claim() {
        loom::model(|| {
            let descriptor = Arc::new(Descriptor::default());
            descriptor.share(2);
            let theirs = descriptor.clone();
            let sender = loom::thread::spawn(move || match theirs.claim_back() {
                Some(chunk) => {
                    theirs.refuse();
                    Some(chunk)
                }
                None => None,
            });
            assert_eq!(descriptor.claim_front(), Some(0));
            descriptor.close();
            let claimed = sender.join().expect("ends");
            assert!(claimed.is_none_or(|chunk| chunk == 1));
            assert_eq!(descriptor.settled(), Some(2), "nothing was copied at the end");
        });
    }

    #[test]
    fn loom_either_streamed_or_taken_back() {
        loom::model(|| {
            let descriptor = Arc::new(Descriptor::default());
            descriptor.offer();
            assert!(descriptor.take());
            descriptor.ask(1);
            let theirs = descriptor.clone();
            let sender = loom::thread::spawn(move || theirs.stream(1));
            let back = descriptor.take_back(1);
            if back {
                // What it could not pull it asks for again; the first request must not be answered.
                descriptor.ask(2);
            }
            let streamed = sender.join().expect("ends");
            assert!(streamed != back);
            assert_eq!(descriptor.stream(2), back);
        });
    }

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
