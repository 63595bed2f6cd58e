//! Records that arrive: polling rings, and dispatch to handlers.

use std::time::Duration;

use isthmus_os::clock;
use isthmus_shm::Offset;
use isthmus_shm::ring::{Header, RingMemory as _};

use super::Engine;
use crate::channel::cells::Cell;
use crate::channel::reading::Reading;
use crate::channel::record::{
    Advertised, Body, CallFailed, ClearToSend, Data, EagerFirst, EagerMore, Envelope, Fed, Finished, FullLine, Handler,
    Help, InCell, ReadyToSend, Switch,
};
use crate::counters;
use crate::limits::{DEFERRED_FROM, RECORDS_A_TURN};
use crate::matching::queues::Key;
use crate::types::ContextId;

/// So long one stays for which there is no memory: what frees some, or the receive, may be behind it.
const REFUSED_LONG: Duration = Duration::from_secs(10);
/// A waiting rank polls more often than that.
const REFUSED_AGAIN: Duration = Duration::from_secs(1);

/// Longer messages that came before their receives. They stay in their rings for a while: often the receive is about to be
/// posted, and then the bytes are copied once less.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    /// Leave them now.
    pub(super) leaving: bool,
    /// One was left.
    pub(super) seen: bool,
    /// Rounds of progress in which some were left while other things moved.
    pub(super) rounds: u32,
    /// When there was no memory for one: first, and last.
    refused: Option<[Duration; 2]>,
}

impl Deferred {
    /// There is no memory for one now. For how long there has been none, as far as we have looked all the time: its receive may
    /// have come meanwhile, and this be another one.
    fn refuse(&mut self, now: Duration) -> Duration {
        let since = match self.refused {
            Some([since, last]) if now - last < REFUSED_AGAIN => since,
            _ => now,
        };
        self.refused = Some([since, now]);
        now - since
    }
}

impl Engine {
    #[inline]
    pub(super) fn poll_recent(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while let Some(peer) = self.channels.polled(at) {
            moved |= self.poll(peer);
            at += 1;
        }
        moved
    }

    /// Messages were left in their rings for their receives to come. If nothing else moves, or they have waited for
    /// long, take them: what is awaited may be behind.
    #[cold]
    pub(super) fn take_deferred(&mut self, moved: bool) -> bool {
        self.deferred.seen = false;
        if moved {
            self.deferred.rounds += 1;
            return false;
        }
        self.deferred.rounds = 0;
        let held = self.channels.has_network() && self.handle_held();
        self.poll_recent() || held
    }

    /// Is this a longer message that no receive waits for, and whose bytes are to be kept? Its length.
    fn is_unexpected(&self, peer: u32, header: Header, body: Body) -> Option<u64> {
        let (tag, total) = match Handler::of(header)? {
            // Whether the payload follows or lies in a cell.
            Handler::EagerFirst | Handler::FirstInCell => {
                let (first, _) = body.split::<EagerFirst>()?;
                (first.envelope.tag, first.total)
            }
            _ => return None,
        };
        let key = Key {
            context: ContextId(header.context),
            from: peer,
            tag,
        };
        (total >= DEFERRED_FROM && self.matching.find_posted(&self.ops, key).is_none()).then_some(total)
    }

    /// Does this message stay in its ring, since its receive may be about to be posted, or there is no memory for it?
    pub(super) fn stays(&mut self, peer: u32, header: Header, body: Body) -> bool {
        let Some(bytes) = self.is_unexpected(peer, header, body) else {
            return false;
        };
        if self.deferred.leaving {
            self.deferred.seen = true;
            return true;
        }
        let is_room = self.memory.spare.provide(bytes as usize);
        if is_room {
            self.deferred.refused = None;
        } else if self.deferred.refuse(clock::now()) > REFUSED_LONG {
            let why = format!(
                "isthmus: rank {}: out of memory for {bytes} bytes that rank {peer} sent before their receive was posted",
                self.me
            );
            self.abort(1, &why);
        }
        !is_room
    }

    /// Is this a message that no receive waits for? Where ranks take turns it stays in its ring behind others until the next round: those may
    /// be what is awaited, and then its receive is often posted before anybody looks again, so that it is not kept, found and taken out. No
    /// message is behind others for long: each round takes at least one.
    #[inline]
    fn has_no_receive(&self, peer: u32, header: Header, body: Body) -> bool {
        let context = ContextId(header.context);
        context != ContextId::CALLS
            && body.split::<Envelope>().is_some_and(|(envelope, _)| {
                let key = Key {
                    context,
                    from: peer,
                    tag: envelope.tag,
                };
                self.matching.find_posted(&self.ops, key).is_none()
            })
    }

    /// Take records from one ring.
    #[inline]
    pub fn poll(&mut self, peer: u32) -> bool {
        let mut taken = 0;
        let mut credited = false;
        while taken < RECORDS_A_TURN {
            let Some(inbound) = self.channels.inbound_mut(peer) else {
                return false;
            };
            let Some(record) = inbound.ring.peek() else { break };
            if taken > 0 {
                inbound.ring.look_ahead();
            }
            // SAFETY: `peek` checked that the body lies within the ring; it stays until `release`.
            let body = unsafe { Body::new(inbound.ring.memory().body(record.at), record.header.length) };
            let handler = Handler::of(record.header);
            let stays = match handler {
                Some(Handler::Eager) => {
                    taken > 0 && self.is_oversubscribed && self.has_no_receive(peer, record.header, body)
                }
                Some(Handler::EagerFirst | Handler::FirstInCell) => self.stays(peer, record.header, body),
                _ => false,
            };
            if stays {
                break;
            }
            let inbound = self.channels.inbound_mut(peer).expect("just looked at");
            inbound.note(handler, record.header.length);
            if handler == Some(Handler::Switch) {
                let to = body.split::<Switch>().map(|(to, _)| to);
                let announce_only = self.matching.announce_only();
                let inbound = self.channels.inbound_mut(peer).expect("a ring does not go away");
                if !to.is_some_and(|to| inbound.switch(self.segment, record, to, announce_only)) {
                    // Nothing can come from this peer any more; a wait for it would not end.
                    let why = format!(
                        "isthmus: rank {}: rank {peer} goes on in a ring that is not there",
                        self.me
                    );
                    self.abort(1, &why);
                }
                credited = true;
            } else {
                let ends = self.reading != Reading::Immediate && {
                    let ring = inbound.ring.memory().size();
                    self.reading.ends(handler, body, ring)
                };
                self.dispatch(peer, record.header, body);
                let inbound = self.channels.inbound_mut(peer).expect("a ring does not go away");
                credited |= inbound.ring.release(record);
                if ends {
                    counters::LOOKS_ENDED.add(1);
                    taken += 1;
                    break;
                }
            }
            taken += 1;
        }
        if taken > 0 {
            self.expect(peer);
        }
        if credited {
            // The sender may sleep until there is room.
            self.channels.order();
            self.channels.wake(peer);
        }
        taken > 0
    }

    /// Take whatever has come from a peer, also what would stay for its receive: nobody will look again.
    pub fn take_all(&mut self, peer: u32) {
        self.deferred.leaving = false;
        if self.channels.is_remote(peer) {
            return self.take_all_remote(peer);
        }
        while self.poll(peer) {}
    }

    /// A peer whose ring we do not look at has something for us.
    #[cold]
    pub(super) fn answer_doorbell(&mut self, peer: u32) -> bool {
        if peer >= self.segment.ranks() {
            return false;
        }
        if !self.open(peer) {
            return self.take_notice(peer);
        }
        if self.channels.poll(peer) {
            return self.poll(peer);
        }
        // Nobody looks there before it rings again: nothing is left there for its receive to come.
        let leaving = std::mem::replace(&mut self.deferred.leaving, false);
        let moved = self.poll(peer);
        self.deferred.leaving = leaving;
        self.channels.look_again(peer);
        moved
    }

    /// Find the ring from `peer`. False: there is none yet.
    pub fn open(&mut self, peer: u32) -> bool {
        !self.channels.is_remote(peer) && self.channels.open(peer, self.matching.announce_only())
    }

    /// Hand a record to its handler. Records that make no sense are dropped: what a peer wrote is data, not truth.
    #[inline]
    pub(super) fn dispatch(&mut self, peer: u32, header: Header, body: Body) -> Option<()> {
        match Handler::of(header)? {
            Handler::Eager => {
                let (envelope, payload) = body.split::<Envelope>()?;
                self.on_eager(peer, ContextId(header.context), envelope, payload);
            }
            Handler::EagerFirst => {
                let (first, payload) = body.split::<FullLine<EagerFirst>>()?;
                self.on_eager_first(peer, ContextId(header.context), first.fixed, payload);
            }
            Handler::EagerMore => {
                let (more, payload) = body.split::<FullLine<EagerMore>>()?;
                self.on_eager_more(peer, more.fixed.ticks, payload);
            }
            Handler::FirstInCell => {
                let (record, _) = body.split::<InCell<EagerFirst>>()?;
                let (cell, payload) = self.in_cell(record)?;
                self.on_eager_first(peer, ContextId(header.context), record.fixed, payload);
                self.keep_cell(peer, record, cell);
            }
            Handler::MoreInCell => {
                let (record, _) = body.split::<InCell<EagerMore>>()?;
                let (cell, payload) = self.in_cell(record)?;
                self.on_eager_more(peer, record.fixed.ticks, payload);
                self.keep_cell(peer, record, cell);
            }
            Handler::ReadyToSend => {
                let (record, _) = body.split::<ReadyToSend>()?;
                self.on_ready_to_send(peer, ContextId(header.context), record);
            }
            Handler::ClearToSend => self.on_clear_to_send(peer, body.split::<ClearToSend>()?.0),
            Handler::Finished => self.on_finished(peer, body.split::<Finished>()?.0),
            Handler::Data => {
                let (data, payload) = body.split::<FullLine<Data>>()?;
                self.on_data(peer, data.fixed, payload);
            }
            Handler::Advertised => {
                let (record, _) = body.split::<Advertised>()?;
                self.on_advertised(peer, ContextId(header.context), record);
            }
            Handler::CallFailed => self.on_call_failed(ContextId(header.context), body.split::<CallFailed>()?.0),
            Handler::Fed => self.on_fed(peer, body.split::<Fed>()?.0),
            Handler::Help => self.on_help(peer, body.split::<Help>()?.0),
            Handler::Withdraw => self.on_withdraw(peer, body.split::<Finished>()?.0),
            Handler::Withdrawn => self.on_withdrawn(peer, body.split::<Finished>()?.0),
            Handler::Switch => {}
        }
        Some(())
    }

    /// The cell that a record names, and the payload that lies there.
    #[inline]
    fn in_cell<T>(&self, record: InCell<T>) -> Option<(Cell, Body)> {
        let cell = Cell::find(self.segment, Offset(record.cell))?;
        let at = cell.bytes(self.segment, record.from, record.length)?;
        // SAFETY: within the cell, which stays mapped; its owner, the peer, leaves it alone until we answer in it.
        Some((cell, unsafe { Body::new(at, record.length) }))
    }

    /// If the message that came in a cell is whole now: the cell is ours.
    #[inline]
    fn keep_cell<T>(&mut self, peer: u32, record: InCell<T>, cell: Cell) {
        if record.is_last != 0 {
            self.channels.keep_cell(peer, cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use isthmus_shm::Segment;

    use super::*;
    use crate::matching::queues::Pattern;
    use crate::membership::control::Nonce;
    use crate::memory::buffer::Buffer;
    use crate::ops::Stage;
    use crate::types::{Mode, Posting};

    fn receive(engine: &mut Engine, tag: i32, buffer: &mut [u8; 8]) -> u32 {
        let pattern = Pattern {
            context: ContextId(2),
            from: Some(1),
            tag: Some(tag),
        };
        // SAFETY: the buffer lives longer than its engine is used.
        unsafe { engine.receive(pattern, Buffer::target(buffer.as_mut_ptr()), 8) }.expect("room")
    }

    fn send(engine: &mut Engine, tag: i32) {
        let posting = Posting {
            context: ContextId(2),
            source: 1,
            tag,
        };
        let data = [tag as u8; 8];
        // SAFETY: it is complete at once.
        let left = unsafe { engine.send(Mode::Standard, 0, posting, Buffer::source(data.as_ptr()), 8) };
        assert_eq!(left.expect("room"), None);
    }

    #[test]
    fn a_message_that_no_receive_waits_for_stays_behind_others_for_a_round() {
        let fd = crate::membership::job::create(2, Nonce([5; 16])).expect("memory");
        let segment: &'static Segment = Box::leak(Box::new(Segment::attach(fd, [5; 16]).expect("a job segment")));
        let (mut us, mut them) = (Engine::new(segment, 0, true, None), Engine::new(segment, 1, true, None));
        let [mut one, mut two, mut three] = [[0; 8]; 3];
        us.is_oversubscribed = true;
        let first = receive(&mut us, 1, &mut one);
        (1..=4).for_each(|tag| send(&mut them, tag));
        assert!(us.progress());
        assert!(us.ops[first].stage == Stage::Complete && us.matching.has_no_unexpected());
        let second = receive(&mut us, 2, &mut two);
        assert!(us.progress());
        assert!(us.ops[second].stage == Stage::Complete && us.matching.has_no_unexpected());
        // One that nobody waits for stops nobody behind it.
        let fourth = receive(&mut us, 4, &mut three);
        assert!(us.progress());
        assert!(us.ops[fourth].stage == Stage::Complete && !us.matching.has_no_unexpected());
        assert!(!us.progress());
        let third = receive(&mut us, 3, &mut one);
        assert!(us.ops[third].stage == Stage::Complete && us.matching.has_no_unexpected());
        assert_eq!([one, two, three], [[3; 8], [2; 8], [4; 8]]);
    }

    #[test]
    fn only_a_refusal_that_lasts_counts() {
        let mut deferred = Deferred::default();
        let after = [0, 400, 900, 3000, 3500].map(|ms| deferred.refuse(Duration::from_millis(10_000 + ms)).as_millis());
        assert_eq!(after, [0, 400, 900, 0, 500]);
    }
}
