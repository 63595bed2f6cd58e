//! Receiver-initiated rendezvous: a large receive is advertised to the process that it waits for, which may then write
//! into its buffer while the receiver computes.
//!
//! ```text
//! receiver                    sender
//! post, Advertised     ->     which of my messages gets it? (see `orders`)
//!                      <-     ReadyToSend, as always
//! computes                    no answer for a while: claim the receive, push
//! takes ReadyToSend: claimed, so pull from the other end, or find that all is there
//!                      <->    as with help (see `single_copy`)
//! ```
//!
//! An advert changes nothing about matching: that is decided by the order of the announcements in the ring, as ever. It is
//! made only for a receive that is the first in line for its source and tag, so no message but the one that the sender
//! knows of can get it. Wildcards that are posted later stand behind it, and probes do not see the message, which has its
//! receive. A receiver that is there takes the announcement before the sender claims, withdraws the advert, and chooses
//! the way that it has learned to be fastest: only for one that is not there, hiding the copy matters more.

use std::time::Duration;

use isthmus_os::clock;
use isthmus_shm::{Advert, Offset};

use crate::channel::orders::Known;
use crate::channel::outbound::Answer;
use crate::channel::record::{Advertised, ReadyToSend};
use crate::counters;
use crate::data_path::DataPath;
use crate::engine::Engine;
use crate::limits::{ANSWERS_WITHIN, BYTES_PER_US, PUSHED_FROM};
use crate::matching::queues::Key;
use crate::matching::unexpected::Unexpected;
use crate::memory::heap;
use crate::ops::Stage;
use crate::protocol::mechanism;
use crate::protocol::single_copy::{Push, chunk_of};
use crate::tunables;
use crate::types::{ContextId, OpId};

/// The receives that we have advertised.
#[derive(Debug, Default)]
pub(crate) struct Adverts {
    open: Vec<Open>,
    free: Vec<Offset>,
    tickets: u64,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    op: u32,
    at: Offset,
    ticket: u64,
}

/// A receive of a peer that an announced message of ours gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    op: OpId,
    peer: u32,
    known: Known,
    silence: Silence,
}

impl Claim {
    /// The receiver.
    pub fn peer(&self) -> u32 {
        self.peer
    }
}

/// How long nothing has been heard of a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silence {
    since: Duration,
    /// Records that had come, and pieces that had found room, when it began.
    signs: (u32, u32),
}

impl Engine {
    // ---- the receiver ----

    /// Tell the sender of the receive `op` where its message belongs, if that can help. For receives that their caller is
    /// not going to wait for at once.
    pub(crate) fn advertise(&mut self, op: u32) {
        let receive = &self.ops[op];
        let (Stage::Posted, Some(peer), Some(tag)) = (receive.stage, receive.from, receive.tag) else {
            return;
        };
        let (context, length, own) = (receive.context, receive.length, receive.descriptor);
        let Some(buffer) = receive.buffer.row() else { return };
        let key = Key {
            context,
            from: peer,
            tag,
        };
        let is_pushable = mechanism::may_push(DataPath::SingleCopy) || mechanism::may_push(DataPath::Mapped);
        let goes_at_once = length as u64 <= self.transfers.facts.eager_limit;
        let is_remote = self.channels.is_remote(peer);
        if goes_at_once || peer == self.me || is_remote || own.is_some() || !is_pushable {
            return;
        }
        if tunables::ADVERTISE.get() == 0
            || self.matching.find_posted(&self.ops, key) != Some(op)
            || self.outbound(peer).map_or(true, |outbound| outbound.unanswered() > 0)
        {
            // What finds no room at once would pile up, for receives that are over by then.
            return;
        }
        let Some((at, ticket)) = self.open_advert(op) else {
            return;
        };
        let (eager, announced) = self.channels.inbound(peer).map_or((0, 0), |inbound| inbound.messages());
        let record = Advertised {
            tag,
            eager,
            announced,
            zero: 0,
            address: buffer.expose_provenance() as u64,
            shared_address: heap::shared_address_of(buffer, length as u64).map_or(0, |shared_address| shared_address.0),
            length: length as u64,
            advert: at.0,
            ticket,
        };
        counters::ADVERTISED.add(1);
        self.answer(peer, Answer::Advertised(context, record));
    }

    fn open_advert(&mut self, op: u32) -> Option<(Offset, u64)> {
        let at = match self.transfers.adverts.free.pop() {
            Some(at) => at,
            None => self
                .memory
                .arena
                .allocate(self.segment, size_of::<Advert>() as u64)
                .ok()?,
        };
        self.transfers.adverts.tickets += 1;
        let ticket = self.transfers.adverts.tickets;
        self.advert(at.0)?.open(ticket);
        self.transfers.adverts.open.push(Open { op, at, ticket });
        self.ops[op].descriptor = Some(at);
        Some((at, ticket))
    }

    /// Nobody can claim the receive `op` any more. The descriptor of the message that has claimed it, if one has.
    #[inline]
    pub(crate) fn withdraw_advert(&mut self, op: u32) -> Option<Offset> {
        self.ops[op].descriptor?;
        self.withdraw_open(op)
    }

    #[cold]
    fn withdraw_open(&mut self, op: u32) -> Option<Offset> {
        let open = *self.transfers.adverts.open.iter().find(|open| open.op == op)?;
        let withdrawn = self.advert(open.at.0)?.withdraw(open.ticket);
        if withdrawn.is_ok() {
            self.forget_advert(op);
        }
        withdrawn.err()
    }

    /// The receive `op` goes on without its advert, whatever has become of it.
    #[inline]
    pub(crate) fn drop_advert(&mut self, op: u32) {
        if self.withdraw_advert(op).is_some() {
            self.forget_advert(op);
        }
    }

    /// The advert of the receive `op` is over.
    #[cold]
    fn forget_advert(&mut self, op: u32) {
        if let Some(at) = self.transfers.adverts.open.iter().position(|open| open.op == op) {
            self.transfers
                .adverts
                .free
                .push(self.transfers.adverts.open.swap_remove(at).at);
        }
        self.ops[op].descriptor = None;
    }

    /// The announced message is the first for the receive `op`, whose buffer was claimed for the message with the
    /// descriptor `claimant`.
    #[cold]
    pub(crate) fn follow(&mut self, claimant: Offset, op: u32, peer: u32, key: Key, record: ReadyToSend) {
        if claimant.0 == record.descriptor {
            self.forget_advert(op);
            self.matching.remove_posted(&mut self.ops, op);
            let expected = self.ops.matched(op, record.envelope.source, key.tag, record.total);
            self.ops[op].to = peer;
            self.ops[op].sample = None;
            self.ops[op].began = None;
            self.start_following(op, peer, record, expected);
        } else if self.is_withdrawn(record) {
            self.take_offer(peer, record);
        } else {
            // Not what a sender does that knows its messages: it cannot have the claimed buffer.
            self.keep(key, Unexpected::Announced(record));
        }
    }

    // ---- the sender ----

    /// A peer has advertised a receive.
    pub(crate) fn on_advertised(&mut self, peer: u32, context: ContextId, record: Advertised) {
        let segment = self.segment;
        let is_open = |known: &Known| {
            let advert = crate::memory::arena::advert(segment, Offset(known.record.advert));
            advert.is_some_and(|advert| advert.is_open(known.record.ticket))
        };
        let known = Known { context, record };
        if !is_open(&known) {
            return;
        }
        if let Ok(outbound) = self.outbound(peer) {
            outbound.orders.learn(known, is_open);
            self.pair(peer);
        }
    }

    /// Find messages for the receives that `peer` has advertised.
    pub(crate) fn pair(&mut self, peer: u32) {
        while let Some(outbound) = self.channels.outbound_mut(peer)
            && let Some((op, known)) = outbound.orders.pair()
        {
            let silence = self.silence(peer);
            self.transfers.claims.push(Claim {
                op,
                peer,
                known,
                silence,
            });
        }
    }

    /// Claim the receives of peers that do not answer. True: something moved.
    pub(crate) fn claim_on(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.transfers.claims.len() {
            let mut claim = self.transfers.claims[at];
            let is_due = self.is_silent(claim.peer, claim.known.record.length, &mut claim.silence);
            self.transfers.claims[at] = claim;
            if is_due || !self.is_unanswered(claim.op) {
                self.transfers.claims.swap_remove(at);
                moved |= self.claim(claim).is_some();
            } else {
                at += 1;
            }
        }
        moved
    }

    /// Is this a send that is announced, and that nobody has taken as far as we know?
    fn is_unanswered(&self, op: OpId) -> bool {
        let op = self.ops.find(op);
        op.is_some_and(|op| self.ops[op].stage == Stage::Offered && self.ops[op].descriptor.is_some())
    }

    /// `None`: the receive is not to be had, or not in that way.
    fn claim(&mut self, claim: Claim) -> Option<()> {
        let (peer, record) = (claim.peer, claim.known.record);
        let op = self.ops.find(claim.op).filter(|_| self.is_unanswered(claim.op))?;
        let send = &self.ops[op];
        let (own, length) = (send.descriptor?, record.length.min(send.length as u64));
        let buffer = send.buffer;
        let lies_here = self.transfers.blocks.has_sent(claim.op);
        if send.to != peer || !buffer.has_layout() || length < PUSHED_FROM || lies_here {
            return None;
        }
        let access = self.push_access(peer, record.address, record.shared_address, length)?;
        if !mechanism::may_push(access.path) || !self.advert(record.advert)?.claim(record.ticket, own) {
            return None;
        }
        // It has its receive: not a candidate for others, and nobody else takes it off the list if we push all of it.
        self.answered(op);
        // From here on the send can be neither cancelled nor streamed, and the receiver shares in the copy if it comes back.
        let chunk = chunk_of(length);
        self.descriptor(own.0)?.push(length.div_ceil(chunk) as u32);
        counters::CLAIMED.add(1);
        self.channels.order();
        self.channels.wake(peer);
        self.start_push(Push {
            access,
            buffer,
            op,
            peer,
            descriptor: own.0,
            chunk,
            length,
            alone: true,
        });
        Some(())
    }

    fn advert(&self, offset: u64) -> Option<&'static Advert> {
        crate::memory::arena::advert(self.segment, Offset(offset))
    }

    // ---- both ----

    /// A silence that begins now.
    pub(crate) fn silence(&self, peer: u32) -> Silence {
        Silence {
            since: clock::now(),
            signs: self.signs(peer),
        }
    }

    /// What shows that a peer is inside the library.
    fn signs(&self, peer: u32) -> (u32, u32) {
        let heard = self.channels.inbound(peer).map_or(0, |inbound| inbound.heard());
        let taken = self.channels.outbound(peer).map_or(0, |outbound| outbound.pieces());
        (heard, taken)
    }

    /// Has nothing been heard of the peer for so long that it must be elsewhere? A message of `bytes` waits for it.
    pub(crate) fn is_silent(&self, peer: u32, bytes: u64, silence: &mut Silence) -> bool {
        let signs = self.signs(peer);
        let now = clock::now();
        if signs != silence.signs {
            *silence = Silence { since: now, signs };
        }
        let limit = Duration::from_micros(ANSWERS_WITHIN.max(bytes / BYTES_PER_US));
        now - silence.since >= limit.min(Duration::from_micros(tunables::PEER_SILENCE_US.get()))
    }
}
