//! The channels of one process: to and from each peer, which of them are polled, and which wait for room.

use std::sync::atomic::{Ordering, fence};

use isthmus_os::membarrier;
use isthmus_shm::ring::{self, Mapped};
use isthmus_shm::{Offset, Segment, doorbell};

use crate::channel::cells::Cell;
use crate::channel::inbound::Inbound;
use crate::channel::network::Network;
use crate::channel::outbound::{self, Answer, Leases, Message, Outbound, first_ring};
use crate::channel::record::CallFailed;
use crate::counters;
use crate::limits::{POLLED_RINGS, RUNG_BEFORE_POLLED, SMALL_RING};
use crate::membership::failed_calls::FailedCalls;
use crate::memory::arena::Arena;

/// All channels of this process.
#[derive(Debug)]
pub(crate) struct Channels {
    segment: &'static Segment,
    me: u32,
    /// Our process is not registered with membarrier: fence after every record.
    fence_needed: bool,
    out: Vec<Option<Box<Outbound>>>,
    inbound: Vec<Option<Box<Inbound>>>,
    /// Peers whose rings are looked at in every round of progress.
    polled: Vec<u32>,
    /// How often others rang, since it was asked who is silent.
    rings: u32,
    /// Rings of peers on the node that have been found.
    opened: u32,
    /// Peers with something queued.
    backlog: Vec<u32>,
    leases: Leases,
    /// The way to other nodes, if a rank of the job is on one.
    network: Option<Box<Network>>,
    /// Cells that this process has made.
    cells_made: u32,
}

impl Channels {
    /// None yet.
    pub fn new(segment: &'static Segment, me: u32, fence_needed: bool) -> Self {
        let ranks = segment.ranks() as usize;
        Self {
            segment,
            me,
            fence_needed,
            out: (0..ranks).map(|_| None).collect(),
            inbound: (0..ranks).map(|_| None).collect(),
            polled: Vec::new(),
            rings: 0,
            opened: 0,
            backlog: Vec::new(),
            leases: Leases::default(),
            network: None,
            cells_made: 0,
        }
    }

    /// The channel to `peer`, if there is one.
    #[inline]
    pub fn outbound(&self, peer: u32) -> Option<&Outbound> {
        self.out[peer as usize].as_deref()
    }

    /// As [`Self::outbound`].
    #[inline]
    pub fn outbound_mut(&mut self, peer: u32) -> Option<&mut Outbound> {
        self.out[peer as usize].as_deref_mut()
    }

    /// The channel to `peer`, made at first use: then the peer is told of `failed_calls` that wait for it.
    ///
    /// # Errors
    /// There is no memory for it.
    #[inline]
    pub fn outbound_to(
        &mut self,
        arena: &mut Arena,
        failed_calls: &mut FailedCalls,
        peer: u32,
    ) -> crate::Result<&mut Outbound> {
        if self.outbound(peer).is_none() {
            self.make_outbound(arena, failed_calls, peer)?;
        }
        Ok(self.outbound_mut(peer).expect("just connected"))
    }

    #[cold]
    fn make_outbound(&mut self, arena: &mut Arena, failed_calls: &mut FailedCalls, peer: u32) -> crate::Result<()> {
        let outbound = self.connect(arena, peer)?;
        for (context, tag) in failed_calls.take_back_notices(peer) {
            outbound.answer(Answer::CallFailed(context, CallFailed { tag, zero: 0 }));
        }
        if !outbound.is_idle() {
            self.add_backlog(peer);
        }
        Ok(())
    }

    /// The channel from `peer`, if there is one.
    #[inline]
    pub fn inbound(&self, peer: u32) -> Option<&Inbound> {
        self.inbound[peer as usize].as_deref()
    }

    /// As [`Self::inbound`].
    #[inline]
    pub fn inbound_mut(&mut self, peer: u32) -> Option<&mut Inbound> {
        self.inbound[peer as usize].as_deref_mut()
    }

    /// Make the channel to `peer`.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn connect(&mut self, arena: &mut Arena, peer: u32) -> crate::Result<&mut Outbound> {
        let remote = self.network.as_mut().filter(|_| self.segment.is_elsewhere(peer));
        let outbound = match remote {
            None => Outbound::connect(self.segment, arena, self.me, peer)?,
            Some(network) => network.connect(self.segment, arena, peer)?,
        };
        Ok(self.out[peer as usize].insert(Box::new(outbound)))
    }

    /// Must this process fence between publishing something and looking whether a peer sleeps?
    pub fn fence_needed(&self) -> bool {
        self.fence_needed
    }

    /// Tell `peer` that there is a record for it, if it does not look by itself or sleeps.
    #[inline]
    pub fn ring(&mut self, peer: u32) {
        self.order();
        if let Some(outbound) = self.outbound(peer).filter(|outbound| outbound.is_polled()) {
            outbound.wake();
            return;
        }
        // The rings to other nodes are never polled.
        if self.is_remote(peer) {
            self.send_remote(peer);
            return;
        }
        doorbell::set_bit(self.segment.bitmap(peer), self.me);
        counters::DOORBELL_RINGS.add(1);
        self.wake(peer);
    }

    /// Between publishing something and looking whether a peer must be told.
    #[inline]
    pub fn order(&self) {
        doorbell::order(self.fence_needed);
    }

    /// Wake `peer` if it sleeps. After [`Self::order`].
    #[inline]
    pub fn wake(&self, peer: u32) {
        if self.segment.slot(peer).doorbell().alert() {
            counters::WAKES.add_anywhere(1);
        }
    }

    /// Does nothing wait for room?
    #[inline]
    pub fn is_quiet(&self) -> bool {
        self.backlog.is_empty()
    }

    /// The peer at this place among the peers with waiting records.
    pub fn backlogged(&self, at: usize) -> Option<u32> {
        self.backlog.get(at).copied()
    }

    /// Something waits for room in the ring to `peer`.
    pub fn add_backlog(&mut self, peer: u32) {
        if !self.backlog.contains(&peer) {
            self.backlog.push(peer);
        }
    }

    /// Nothing waits any more for the peer at this place; another takes the place.
    pub fn end_backlog(&mut self, at: usize) {
        self.backlog.swap_remove(at);
    }

    /// A cell for messages to `peer`, if it answers them.
    pub fn make_cell(&mut self, arena: &mut Arena, peer: u32) {
        let heard = self.inbound(peer).map_or(0, Inbound::longer);
        if let Some(outbound) = self.out[peer as usize].as_mut() {
            outbound.cells.make(self.segment, arena, &mut self.cells_made, heard);
        }
    }

    /// The message that came from `peer` in this cell is whole: the cell is ours.
    #[inline]
    pub fn keep_cell(&mut self, peer: u32, cell: Cell) {
        if let Some(outbound) = self.out[peer as usize].as_mut() {
            outbound.cells.keep(self.segment, cell);
        }
    }

    /// A larger ring to `peer`, if messages of this length want one and it can be had.
    pub fn lease(&mut self, peer: u32, length: usize) {
        let wanted = |outbound: &mut Outbound| outbound.wants_lease(length);
        if !self.outbound_mut(peer).is_some_and(wanted) {
            return;
        }
        let offset = match self.leases.take(self.segment, &mut self.out, peer) {
            Ok(offset) => offset,
            Err(recalled) => {
                if let Some(other) = recalled {
                    self.ring(other);
                }
                return;
            }
        };
        let outbound = self.out[peer as usize].as_mut().expect("asked above");
        if !outbound.lease(self.segment, offset) {
            self.leases.put_back(offset);
        }
    }

    /// Tell all senders to announce what they send, or no longer.
    pub fn set_announce_only(&self, announce_only: bool) {
        for inbound in self.inbound.iter().flatten() {
            inbound.ring.set_announce_only(announce_only);
        }
    }

    /// The peer at this place among the polled ones.
    #[inline]
    pub fn polled(&self, at: usize) -> Option<u32> {
        self.polled.get(at).copied()
    }

    /// Is there a record to take from a ring that is polled?
    pub fn has_record(&self) -> bool {
        let mut polled = self.polled.iter();
        polled.any(|&peer| self.inbound(peer).is_some_and(|inbound| inbound.ring.is_ready()))
    }

    /// There is a way to other nodes.
    pub fn set_network(&mut self, network: Option<Box<Network>>) {
        self.network = network;
    }

    /// Is there a way to other nodes?
    #[inline]
    pub fn has_network(&self) -> bool {
        self.network.is_some()
    }

    /// The way to other nodes.
    pub fn network(&self) -> Option<&Network> {
        self.network.as_deref()
    }

    /// As [`Self::network`].
    pub fn network_mut(&mut self) -> Option<&mut Network> {
        self.network.as_deref_mut()
    }

    /// Is this peer on another node?
    #[inline]
    pub fn is_remote(&self, peer: u32) -> bool {
        self.network.is_some() && self.segment.is_elsewhere(peer)
    }

    /// Send what was written for a peer on another node, as far as it can go now. True: something went.
    pub fn send_remote(&mut self, peer: u32) -> bool {
        let (segment, me) = (self.segment, self.me);
        self.network_mut()
            .is_some_and(|network| network.send(segment, me, peer))
    }

    /// Send a message to a peer on another node out of the sender's memory, if nothing is to go before it and it can go now. False: it did not.
    pub fn send_message(&mut self, peer: u32, message: Message) -> bool {
        let (segment, me) = (self.segment, self.me);
        let outbound = self.out[peer as usize].as_deref_mut();
        let (Some(network), Some(outbound)) = (self.network.as_mut(), outbound.filter(|outbound| outbound.is_idle()))
        else {
            return false;
        };
        let is_sent = network.send_message(segment, me, peer, message);
        if is_sent {
            outbound.orders.sent_eager(message.context, message.envelope.tag);
        }
        is_sent
    }

    /// What handlers look at for each peer on another node whose records come. False: there is no memory for it.
    pub fn open_remote(&mut self, arena: &mut Arena, peer: u32) -> bool {
        if self.inbound[peer as usize].is_none() {
            let length = ring::bytes_for(SMALL_RING);
            let at = arena.allocate(self.segment, length).ok();
            let memory = at.and_then(|at| Some((at, outbound::first_ring(self.segment, at.0)?)));
            let Some((at, memory)) = memory else { return false };
            self.inbound[peer as usize] = Some(Box::new(Inbound::new(at, memory)));
        }
        true
    }

    /// Find the ring from `peer`. False: there is none yet.
    pub fn open(&mut self, peer: u32, announce_only: bool) -> bool {
        if self.inbound[peer as usize].is_some() {
            return true;
        }
        // SYNC: inbox
        let at = self.segment.inbox(self.me, peer).load(Ordering::Acquire);
        let Some(memory): Option<Mapped> = first_ring(self.segment, at) else {
            return false;
        };
        self.opened += 1;
        let inbound = self.inbound[peer as usize].insert(Box::new(Inbound::new(Offset(at), memory)));
        inbound.ring.set_announce_only(announce_only);
        true
    }

    /// Look at this peer's ring from now on, if there are few such, or if somebody who was silent for long makes room. Where all talk
    /// with all, nobody is silent, and those who came late go on ringing. False: this one does.
    pub fn poll(&mut self, peer: u32) -> bool {
        if self.is_polled(peer) {
            return true;
        }
        if self.polled.len() >= POLLED_RINGS {
            self.rings += 1;
            // A peer that has not had its turn in an all-to-all round is not silent.
            if self.rings < RUNG_BEFORE_POLLED.max(4 * self.opened) {
                return false;
            }
            self.rings = 0;
            let Some(silent) = self.find_silent() else {
                return false;
            };
            counters::FENCES.add(1);
            self.leave_to_doorbell(silent, membarrier::fence_everyone);
        }
        let inbound = self.inbound[peer as usize].as_mut().expect("connected");
        if !inbound.is_polled {
            inbound.is_polled = true;
            inbound.active = true;
            inbound.ring.set_polled(true);
            self.polled.push(peer);
        }
        true
    }

    fn is_polled(&self, peer: u32) -> bool {
        self.inbound(peer).is_some_and(|inbound| inbound.is_polled)
    }

    /// The ring of a peer that rings has been looked at: what is still in it is looked at in the next round.
    pub fn look_again(&self, peer: u32) {
        if self.inbound(peer).is_some_and(|inbound| inbound.ring.is_ready()) {
            doorbell::set_bit(self.segment.bitmap(self.me), peer);
        }
    }

    /// The place of a polled peer from which nothing has come since the last such call.
    fn find_silent(&mut self) -> Option<usize> {
        let mut silent = None;
        for (at, &peer) in self.polled.iter().enumerate() {
            let inbound = self.inbound[peer as usize].as_mut().expect("polled rings exist");
            if !std::mem::take(&mut inbound.active) {
                silent = Some(at);
            }
        }
        silent
    }

    /// Look no more at the ring that is polled at this place, unless everybody cannot be fenced: its sender may then have
    /// published, and not see for long that it must ring.
    fn leave_to_doorbell(&mut self, at: usize, fence_everyone: impl FnOnce() -> bool) {
        let peer = self.polled[at];
        let inbound = self.inbound[peer as usize].as_mut().expect("polled rings exist");
        inbound.must_ring();
        // Order its view, look once more.
        // SYNC: ring-polled
        if !fence_everyone() {
            inbound.ring.set_polled(true);
            return;
        }
        fence(Ordering::SeqCst);
        self.polled.swap_remove(at);
        inbound.is_polled = false;
        if inbound.ring.is_ready() {
            doorbell::set_bit(self.segment.bitmap(self.me), peer);
        }
    }

    /// The peer has died: what waits for room on the way to it goes, and what it has of ours comes back.
    pub fn forget(&mut self, arena: &mut Arena, peer: u32) {
        self.backlog.retain(|&other| other != peer);
        self.polled.retain(|&other| other != peer);
        if let Some(outbound) = self.out[peer as usize].as_mut() {
            outbound.abandon();
            outbound.cells.release(self.segment, arena, &mut self.cells_made);
        }
        self.leases.reclaim(peer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::control::Nonce;

    /// A sender that does not fence, and whose receiver cannot fence for it, would not see in time that it must ring.
    #[test]
    fn a_ring_is_left_to_the_doorbell_only_with_a_fence() {
        let fd = crate::membership::job::create(2, Nonce([1; 16])).expect("memory");
        let segment: &'static Segment = Box::leak(Box::new(Segment::attach(fd, [1; 16]).expect("a job segment")));
        let (mut us, mut them) = (Channels::new(segment, 0, true), Channels::new(segment, 1, true));
        them.connect(&mut Arena::default(), 0).expect("room");
        assert!(us.open(1, false));
        assert!(us.poll(1));
        us.leave_to_doorbell(0, || false);
        let is_polled = |them: &Channels| them.outbound(0).is_some_and(Outbound::is_polled);
        assert!(us.polled == [1] && is_polled(&them), "refused");
        us.leave_to_doorbell(0, || true);
        assert!(us.polled.is_empty() && !is_polled(&them), "fenced");
        assert!(us.poll(1));
        assert!(us.polled == [1] && is_polled(&them), "back");
    }

    /// A rank that receives from more peers than it polls leaves the others to their doorbells, and does not fence for each message.
    #[test]
    fn where_all_talk_with_all_the_same_are_polled() {
        const RANKS: u32 = POLLED_RINGS as u32 + 3;
        let fd = crate::membership::job::create(RANKS, Nonce([2; 16])).expect("memory");
        let segment: &'static Segment = Box::leak(Box::new(Segment::attach(fd, [2; 16]).expect("a job segment")));
        let mut us = Channels::new(segment, 0, false);
        for peer in 1..RANKS {
            let mut them = Channels::new(segment, peer, false);
            them.connect(&mut Arena::default(), 0).expect("room");
            assert!(us.open(peer, false));
            assert_eq!(us.poll(peer), peer as usize <= POLLED_RINGS, "{peer}");
        }
        let before = us.polled.clone();
        for _ in 0..100 {
            for peer in 1..RANKS {
                us.inbound_mut(peer).expect("open").active = true;
                us.poll(peer);
            }
        }
        assert_eq!(us.polled, before, "nobody was silent");
        // From now on only the last one is heard.
        let window = RUNG_BEFORE_POLLED.max(4 * RANKS);
        let displaced = (0..2 * window).any(|_| us.poll(RANKS - 1));
        assert!(displaced && us.polled != before, "it takes a silent one's place");
    }
}
