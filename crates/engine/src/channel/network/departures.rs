//! What leaves for other nodes: the rings that are written for peers there, read into frames, and messages that go into a frame at once.

use std::collections::HashMap;

use isthmus_fabric::{FRAME, Frame, Sent};
use isthmus_shm::ring::{Header, Record};
use isthmus_shm::{Offset, Segment};
use isthmus_transfer::copy::Copying;

use super::frame::{self, Prefix};
use super::{Link, Network, Proxy, WINDOW};
use crate::channel::inbound::Inbound;
use crate::channel::outbound::Message;
use crate::channel::record::{
    Body, ClearToSend, EagerFirst, Envelope, Finished, Fixed, FullLine, Handler, ReadyToSend, Switch,
};
use crate::fault;
use crate::limits::{COPIED_FRAME, ONE_RECORD};

impl Network {
    /// Is there something left for this peer?
    pub(super) fn has_more(&self, peer: u32) -> bool {
        self.links[peer as usize].as_ref().is_some_and(|link| {
            !link.lost && (link.filled.is_some() || link.must_go_again() || link.owes || link.is_written())
        })
    }

    /// Send what was written for a peer, as far as it can go now, and remember whether something is left. True: something went.
    pub fn send(&mut self, segment: &'static Segment, me: u32, peer: u32) -> bool {
        let went = self.send_now(segment, me, peer);
        let at = self.waiting.iter().position(|&other| other == peer);
        match (self.has_more(peer), at) {
            (true, None) => self.waiting.push(peer),
            (false, Some(at)) => drop(self.waiting.swap_remove(at)),
            _ => {}
        }
        went
    }

    /// What could not go before, and what all peers must hear: whether to announce only. True: something went.
    pub fn send_waiting(&mut self, segment: &'static Segment, me: u32, announce_only: bool) -> bool {
        if self.announce_only != announce_only {
            self.announce_only = announce_only;
            for peer in self.linked.clone() {
                self.link(peer).owes = true;
                self.send(segment, me, peer);
            }
        }
        let mut went = false;
        for peer in self.waiting.clone() {
            went |= self.send(segment, me, peer);
        }
        went
    }

    fn send_now(&mut self, segment: &'static Segment, me: u32, peer: u32) -> bool {
        let mut went = false;
        while self.has_more(peer) && self.find(segment, peer) && self.may_try(segment, peer) {
            if self.repeats(peer) {
                if !self.send_again(peer) {
                    break;
                }
                went = true;
                continue;
            }
            let Some(link) = self.links[peer as usize].as_mut() else {
                break;
            };
            let (buffer, length) = match link.filled.take() {
                Some(filled) => filled,
                None => {
                    let to = link.to.expect("`find` has found it");
                    let Some(buffer) = self.endpoint.take(to) else { break };
                    let bytes = self.endpoint.bytes(buffer);
                    let room = &mut bytes[..frame::room(self.checks)];
                    let length = link.fill(room, segment, &mut self.released, &mut self.proxies);
                    if length == frame::HEADER && !link.owes {
                        self.endpoint.put_back(buffer);
                        break;
                    }
                    (buffer, frame::close(bytes, length, self.checks))
                }
            };
            if !self.dispatch(me, peer, (buffer, length)) {
                break;
            }
            went = true;
        }
        went
    }

    /// Send a message in a frame of its own, out of its sender's memory, if nothing is to go before it, and there is room and credit. False:
    /// it does not go so.
    pub fn send_message(&mut self, segment: &'static Segment, me: u32, peer: u32, message: Message) -> bool {
        if message.length > FRAME {
            return false;
        }
        let is_short = message.length <= ONE_RECORD;
        let (handler, fixed) = match is_short {
            true => (Handler::Eager, Envelope::SIZE),
            false => (Handler::EagerFirst, FullLine::<EagerFirst>::SIZE),
        };
        let needed = frame::footprint(fixed + message.length as u32);
        let is_clear = self.links[peer as usize].as_ref().is_some_and(|link| {
            let is_first = !link.lost && link.filled.is_none() && !link.replay.repeats() && !link.is_written();
            is_first && link.sent + needed as u64 <= link.returned + WINDOW
        });
        if !is_clear
            || frame::HEADER + needed > frame::room(self.checks)
            || !self.find(segment, peer)
            || !self.may_try(segment, peer)
        {
            return false;
        }
        let to = self.link(peer).to.expect("`find` has found it");
        let Some(buffer) = self.endpoint.take(to) else {
            return false;
        };
        let header = Header {
            handler: handler as u8,
            length: fixed + message.length as u32,
            context: message.context.0,
        };
        let body = frame::begin(self.endpoint.bytes(buffer), frame::HEADER, header);
        let (envelope, payload) = body.split_at_mut(fixed as usize);
        // SAFETY: there are as many bytes of the fixed part, and of the payload, which is in the user's buffer.
        unsafe {
            match is_short {
                true => envelope
                    .as_mut_ptr()
                    .cast::<Envelope>()
                    .write_unaligned(message.envelope),
                false => envelope
                    .as_mut_ptr()
                    .cast::<FullLine<EagerFirst>>()
                    .write_unaligned(FullLine::new(EagerFirst {
                        envelope: message.envelope,
                        total: message.length as u64,
                        copying: Copying::Vector as u32,
                        ticks: 0,
                    })),
            }
            message.buffer.read(0, message.length, payload.as_mut_ptr());
        }
        let length = frame::close(self.endpoint.bytes(buffer), frame::HEADER + needed, self.checks);
        self.link(peer).sent += needed as u64;
        self.dispatch(me, peer, (buffer, length));
        if self.has_more(peer) && !self.waiting.contains(&peer) {
            self.waiting.push(peer);
        }
        true
    }

    /// Send a frame with records up to there, which stays filled if the provider is too busy. True: it went.
    fn dispatch(&mut self, me: u32, peer: u32, (buffer, length): (Frame, usize)) -> bool {
        let announce_only = if self.announce_only { frame::ANNOUNCE_ONLY } else { 0 };
        let Some(link) = self.links[peer as usize].as_mut() else {
            return false;
        };
        let misses = if link.arrivals.has_gap() { frame::MISSES } else { 0 };
        let has_records = length > frame::HEADER;
        let asks = if has_records && !link.replay.is_proved() || link.replay.asks() {
            frame::ASKS
        } else {
            0
        };
        let is_checked = if has_records && self.checks { frame::CHECKED } else { 0 };
        let prefix = Prefix {
            source: me,
            sequence: link.replay.sent(),
            consumed: link.handled,
            flags: announce_only
                | misses
                | asks
                | is_checked
                | link.liveness.flags()
                | frame::closed_flags(self.rails.closed()),
            come: link.arrivals.come() as u32,
        };
        let bytes = self.endpoint.bytes(buffer);
        prefix.write(bytes, length);
        fault::damage_frame(&mut bytes[..length]);
        self.seal.put_on(&mut bytes[..length], peer);
        let is_copied = length <= COPIED_FRAME;
        if !is_copied {
            self.endpoint.keep(buffer);
        }
        let to = link.to.expect("a sender has found the peer");
        let is_lost = fault::loses_frame();
        let sent = match is_lost {
            true => Ok(Sent::Going),
            false => self.endpoint.send(buffer, length, to),
        };
        match sent {
            Ok(Sent::Going) => {
                // The provider may have the bytes, or have let them go: they are as they were until the next frame is taken.
                let bytes = &self.endpoint.bytes(buffer)[..length];
                link.replay.keep(bytes, (!is_copied).then_some(buffer));
                if is_lost && is_copied {
                    self.endpoint.put_back(buffer);
                }
                link.begun = link.begun.wrapping_add(1);
                link.told = link.handled;
                link.arrivals.tell();
                link.owes = false;
                link.liveness.asked();
                true
            }
            Ok(Sent::Busy) => {
                link.filled = Some((buffer, length));
                false
            }
            Err(error) => {
                self.could_not_go(peer, (buffer, length), &error);
                false
            }
        }
    }

    /// Is it known where the peer is?
    pub(super) fn find(&mut self, segment: &Segment, peer: u32) -> bool {
        let Some(link) = self.links[peer as usize].as_ref() else {
            return false;
        };
        if link.to.is_none() {
            // It may not have told yet.
            let Some(mut address) = self.address(segment, peer) else {
                return false;
            };
            if !self.may_try(segment, peer) {
                return false;
            }
            fault::damage_address(&mut address);
            match self.endpoint.resolve(&address) {
                Ok(to) => self.link(peer).to = Some(to),
                Err(error) => {
                    self.has_not_reached(peer, &error);
                    return false;
                }
            }
        }
        true
    }
}

impl Link {
    /// Move records from the ring into a frame, as far as there is room and credit. Where they end.
    fn fill(
        &mut self,
        frame: &mut [u8],
        segment: &'static Segment,
        released: &mut Vec<Offset>,
        proxies: &mut HashMap<u64, Proxy>,
    ) -> usize {
        let mut at = frame::HEADER;
        let Some(ring) = self.ring.as_mut() else { return at };
        while let Some(record) = ring.ring.peek() {
            // SAFETY: `peek` checked that the body lies within the ring; it stays until `release`.
            let body = unsafe { Body::new(ring.ring.memory().body(record.at), record.header.length) };
            match Handler::of(record.header) {
                Some(Handler::Switch) => {
                    let to = body.split::<Switch>().map(|(to, _)| to);
                    let announce_only = ring.announces_only();
                    let switched = to.is_some_and(|to| ring.switch(segment, record, to, announce_only));
                    assert!(switched, "a ring that this process has made itself");
                    continue;
                }
                // Of memory that the peer does not share.
                Some(Handler::Help | Handler::Advertised) => {
                    ring.ring.release(record);
                    continue;
                }
                _ => {}
            }
            let needed = frame::footprint(record.header.length);
            if at + needed > frame.len().min(FRAME) || self.sent + needed as u64 > self.returned + WINDOW {
                break;
            }
            let to = frame::begin(frame, at, record.header);
            // SAFETY: there is room for the whole body.
            unsafe { body.copy_to(to.as_mut_ptr(), body.len()) };
            translate(record, to, released, proxies);
            take(ring, record);
            at += needed;
            self.sent += needed as u64;
        }
        at
    }
}

/// The record has gone; what it took of the ring can be written at once, since its writer is this process.
fn take(ring: &mut Inbound, record: Record) {
    ring.ring.release(record);
    ring.ring.return_credit();
}

/// Let the record name what the peer knows.
fn translate(record: Record, body: &mut [u8], released: &mut Vec<Offset>, proxies: &mut HashMap<u64, Proxy>) {
    // The answer is the last that needs it.
    let mut theirs = |own: u64| {
        let found = proxies.remove(&own);
        released.extend(found.map(|_| Offset(own)));
        found.map_or(0, |proxy| proxy.theirs)
    };
    match Handler::of(record.header) {
        Some(Handler::ReadyToSend) => rewrite(body, |record: &mut ReadyToSend| {
            record.flags &= ReadyToSend::READABLE;
            if record.flags & ReadyToSend::READABLE == 0 {
                record.shared_address = 0;
            }
        }),
        // The receiver never looks at a descriptor again once it has asked for the whole message, as it does here.
        Some(Handler::ClearToSend) => rewrite(body, |record: &mut ClearToSend| {
            record.descriptor = theirs(record.descriptor);
        }),
        Some(Handler::Finished) => rewrite(body, |record: &mut Finished| {
            record.descriptor = theirs(record.descriptor);
        }),
        _ => {}
    }
}

fn rewrite<T: Fixed>(body: &mut [u8], change: impl FnOnce(&mut T)) {
    if body.len() >= T::SIZE as usize {
        let at = body.as_mut_ptr().cast::<T>();
        // SAFETY: there are as many bytes; any bits make a T.
        unsafe {
            let mut fixed = at.read_unaligned();
            change(&mut fixed);
            at.write_unaligned(fixed);
        }
    }
}
