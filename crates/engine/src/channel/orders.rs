//! Which of our messages gets an advertised receive of a peer: the bookkeeping of a sender, per peer.
//!
//! Messages between two processes match in the order in which they were sent (MPI-5.0 §3.5). A receive is advertised only
//! while it is the first that its source and tag match, and with how many messages had arrived from us until then. So it
//! gets the first message with that key that had not: we know which one that is as soon as we know that none of those that
//! went at once, and about which nothing is kept here, is still under way.

use std::collections::VecDeque;

use crate::channel::record::Advertised;
use crate::types::{ContextId, OpId};

/// Adverts kept of one peer; beyond, the oldest is forgotten, and its receive served as any other.
const MOST_ADVERTS: usize = 64;

/// An announcement that is on its way or waits to be answered.
#[derive(Debug, Clone, Copy)]
struct Offer {
    op: OpId,
    context: ContextId,
    tag: i32,
    /// Announcements, and messages that went at once, that left before it.
    announced: u32,
    eager: u32,
    /// The peer can fetch it.
    is_fetchable: bool,
}

/// A receive that a peer has advertised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub context: ContextId,
    pub record: Advertised,
}

/// Messages sent to one peer, and its adverts to us. Counts wrap.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    eager: u32,
    announced: u32,
    /// First to last.
    offers: VecDeque<Offer>,
    adverts: Vec<Known>,
}

impl Orders {
    /// A message went at once.
    #[inline]
    pub fn sent_eager(&mut self, context: ContextId, tag: i32) {
        self.eager = self.eager.wrapping_add(1);
        if !self.adverts.is_empty() {
            self.pass(context, tag);
        }
    }

    /// It gets the receives that it matches; for the others it is as if it had arrived before.
    #[cold]
    fn pass(&mut self, context: ContextId, tag: i32) {
        let before = self.eager.wrapping_sub(1);
        self.adverts.retain_mut(|known| {
            if known.record.eager == before {
                known.record.eager = self.eager;
            }
            known.context != context || known.record.tag != tag
        });
    }

    /// A message was announced.
    pub fn sent_announcement(&mut self, op: OpId, context: ContextId, tag: i32, is_fetchable: bool) {
        self.offers.push_back(Offer {
            op,
            context,
            tag,
            announced: self.announced,
            eager: self.eager,
            is_fetchable,
        });
        self.announced = self.announced.wrapping_add(1);
    }

    /// The announcement was answered, or withdrawn.
    pub fn answered(&mut self, op: OpId) {
        if let Some(at) = self.offers.iter().position(|offer| offer.op == op) {
            self.offers.remove(at);
        }
    }

    /// The peer has advertised a receive.
    pub fn learn(&mut self, known: Known, is_open: impl Fn(&Known) -> bool) {
        self.adverts.retain(is_open);
        if self.adverts.len() == MOST_ADVERTS {
            self.adverts.remove(0);
        }
        self.adverts.push(known);
    }

    /// Has the peer an unanswered message that it can fetch?
    pub fn has_fetchable(&self) -> bool {
        self.offers.iter().any(|offer| offer.is_fetchable)
    }

    /// Is there an advert for which a message may be found?
    #[inline]
    pub fn may_pair(&self) -> bool {
        !self.adverts.is_empty() && !self.offers.is_empty()
    }

    /// The next announced message that is known to get an advertised receive.
    pub fn pair(&mut self) -> Option<(OpId, Known)> {
        let mut at = 0;
        while let Some(&known) = self.adverts.get(at) {
            let Known { context, record } = known;
            let first = self.offers.iter().find(|offer| {
                let arrived = (offer.announced.wrapping_sub(record.announced) as i32) < 0;
                offer.context == context && offer.tag == record.tag && !arrived
            });
            let Some(offer) = first else {
                at += 1;
                continue;
            };
            self.adverts.remove(at);
            if offer.eager == record.eager {
                return Some((offer.op, known));
            }
        }
        None
    }

    /// The peer has died.
    pub fn forget(&mut self) {
        self.offers.clear();
        self.adverts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: ContextId = ContextId(2);

    fn advert(tag: i32, eager: u32, announced: u32) -> Known {
        let record = Advertised {
            tag,
            eager,
            announced,
            zero: 0,
            address: 1 << 20,
            shared_address: 0,
            length: 1 << 20,
            advert: 128,
            ticket: 1,
        };
        Known { context: HERE, record }
    }

    fn learn(orders: &mut Orders, known: Known) {
        orders.learn(known, |_| true);
    }

    #[test]
    fn the_first_that_had_not_arrived_gets_it() {
        let mut orders = Orders::default();
        for op in 0..4 {
            orders.sent_announcement(OpId(op), HERE, (op % 2) as i32, true);
        }
        // The first two had arrived, as unexpected messages or for other receives.
        learn(&mut orders, advert(1, 0, 2));
        assert_eq!(orders.pair().map(|(op, _)| op), Some(OpId(3)));
        assert_eq!(orders.pair(), None, "an advert is for one message");
        learn(&mut orders, advert(1, 0, 1));
        assert_eq!(orders.pair().map(|(op, _)| op), Some(OpId(1)));
        learn(&mut orders, advert(1, 0, 4));
        assert_eq!(orders.pair(), None, "that message is still to come");
        orders.sent_announcement(OpId(9), HERE, 1, true);
        assert_eq!(orders.pair().map(|(op, _)| op), Some(OpId(9)));
    }

    #[test]
    fn whatever_may_overtake_spoils_it() {
        let mut orders = Orders::default();
        orders.sent_eager(HERE, 5);
        orders.sent_announcement(OpId(1), HERE, 5, true);
        // The short message is under way, and may be for this receive.
        learn(&mut orders, advert(5, 0, 0));
        assert_eq!(orders.pair(), None);
        learn(&mut orders, advert(5, 1, 0));
        assert_eq!(orders.pair().map(|(op, _)| op), Some(OpId(1)));
    }

    #[test]
    fn short_messages_take_adverts_or_pass_them() {
        let mut orders = Orders::default();
        learn(&mut orders, advert(5, 0, 0));
        learn(&mut orders, advert(6, 0, 0));
        orders.sent_eager(HERE, 5);
        orders.sent_eager(ContextId(4), 6);
        orders.sent_announcement(OpId(1), HERE, 5, true);
        orders.sent_announcement(OpId(2), HERE, 6, true);
        assert_eq!(orders.pair().map(|(op, _)| op), Some(OpId(2)));
        assert_eq!(orders.pair(), None, "the short one got the other receive");
    }

    #[test]
    fn withdrawn_messages_get_nothing() {
        let mut orders = Orders::default();
        orders.sent_announcement(OpId(1), HERE, 5, true);
        orders.sent_announcement(OpId(2), HERE, 5, true);
        orders.answered(OpId(1));
        learn(&mut orders, advert(5, 0, 0));
        assert_eq!(orders.pair().map(|(op, _)| op), Some(OpId(2)));
    }

    #[test]
    fn counts_wrap() {
        let mut orders = Orders {
            eager: u32::MAX,
            announced: u32::MAX,
            ..Orders::default()
        };
        orders.sent_announcement(OpId(1), HERE, 5, true);
        orders.sent_eager(HERE, 4);
        orders.sent_announcement(OpId(2), HERE, 5, true);
        learn(&mut orders, advert(5, 0, 0));
        assert_eq!(orders.pair().map(|(op, _)| op), Some(OpId(2)));
    }

    /// Against what matching does, for random traffic: the message that is told to get a receive gets it.
    #[test]
    fn what_is_paired_is_what_matches() {
        let mut state = 7u64;
        let mut any = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut paired = 0;
        for _ in 0..20_000 {
            let mut orders = Orders::default();
            // Sent messages: tag, and the operation if it was announced.
            let mut sent: Vec<(i32, Option<OpId>)> = Vec::new();
            let (mut taken, mut arrived) = (Vec::new(), 0);
            let tag = any(2) as i32;
            let mut advertised = None;
            for step in 0..12 {
                let kind = any(4);
                match kind {
                    0 => {
                        let tag = any(2) as i32;
                        orders.sent_eager(HERE, tag);
                        sent.push((tag, None));
                    }
                    1 => {
                        let (op, tag) = (OpId(step), any(2) as i32);
                        orders.sent_announcement(op, HERE, tag, true);
                        sent.push((tag, Some(op)));
                    }
                    2 => arrived = (arrived + 1).min(sent.len()),
                    _ if advertised.is_none() && sent[..arrived].iter().all(|(other, _)| *other != tag) => {
                        // The receive is posted, and advertised: nothing that matches has arrived.
                        let eager = sent[..arrived].iter().filter(|(_, op)| op.is_none()).count();
                        advertised = Some(advert(tag, eager as u32, (arrived - eager) as u32));
                        // The advert takes its time; more is sent until then.
                        for _ in 0..any(3) {
                            orders.sent_eager(HERE, 1 - tag);
                            sent.push((1 - tag, None));
                        }
                        learn(&mut orders, advertised.expect("just now"));
                    }
                    _ => {}
                }
                taken.extend(orders.pair());
            }
            assert!(taken.len() <= 1);
            if let (Some((op, _)), Some(_)) = (taken.first(), advertised) {
                let first = sent.iter().find(|(other, _)| *other == tag);
                assert_eq!(first, Some(&(tag, Some(*op))));
                paired += 1;
            }
        }
        assert!(paired > 1000, "only {paired}");
    }
}
