//! Bytes that arrive: whole messages, pieces of messages that their senders sent at once, and pieces of streams.

use isthmus_os::clock;
use isthmus_transfer::Direction;
use isthmus_transfer::copy::Copying;

use crate::channel::inbound::Incoming;
use crate::channel::record::{Body, Data, EagerFirst, Envelope};
use crate::data_path;
use crate::data_path::{CostSample, DataPath};
use crate::engine::Engine;
use crate::fault;
use crate::limits::TIMED_WHOLE_FROM;
use crate::matching::queues::Key;
use crate::matching::unexpected::Unexpected;
use crate::memory::payload::Payload;
use crate::ops::Stage;
use crate::protocol::choice::select;
use crate::types::ContextId;

impl Engine {
    /// A whole message.
    #[inline]
    pub fn on_eager(&mut self, peer: u32, context: ContextId, envelope: Envelope, payload: Body) {
        let key = Key {
            context,
            from: peer,
            tag: envelope.tag,
        };
        let total = payload.len() as u64;
        match self.matching.take_posted(&mut self.ops, key) {
            Some(op) => {
                self.drop_advert(op);
                let expected = self.ops.matched(op, envelope.source, envelope.tag, total);
                // SAFETY: `matched` limits the length to the receive's buffer, which is pending.
                unsafe { payload.store(self.ops[op].buffer, 0, expected as usize) };
                self.ops.complete_as_is(op);
            }
            None => {
                self.keep(
                    key,
                    Unexpected::Payload {
                        source: envelope.source,
                        bytes: payload.keep(),
                        total,
                    },
                );
            }
        }
    }

    /// The beginning of a longer message.
    pub fn on_eager_first(&mut self, peer: u32, context: ContextId, first: EagerFirst, payload: Body) {
        let key = Key {
            context,
            from: peer,
            tag: first.envelope.tag,
        };
        let incoming = match self.matching.take_posted(&mut self.ops, key) {
            Some(op) => {
                self.drop_advert(op);
                self.ops
                    .matched(op, first.envelope.source, first.envelope.tag, first.total);
                self.ops[op].to = peer;
                Incoming::Receive(op)
            }
            None => {
                let unexpected = Unexpected::Payload {
                    source: first.envelope.source,
                    bytes: Payload::Long(self.memory.spare.take(first.total as usize)),
                    total: first.total,
                };
                Incoming::Unexpected(self.keep(key, unexpected))
            }
        };
        self.set_incoming(peer, Some(incoming));
        if first.ticks == 0 {
            self.on_eager_more(peer, 0, payload);
            return;
        }
        let (began, copying) = (clock::ticks(), Copying::of(first.copying));
        let is_streamed = first.total >= TIMED_WHOLE_FROM && (payload.len() as u64) < first.total;
        if is_streamed && let Some(inbound) = self.channels.inbound_mut(peer) {
            inbound.timed = Some((CostSample::begin(), copying));
        }
        self.on_eager_more(peer, first.ticks.into(), payload);
        if !is_streamed
            && let Incoming::Receive(op) = incoming
            && self.ops[op].buffer.row().is_some()
        {
            let took = clock::ticks()
                .wrapping_sub(began)
                .saturating_add(u64::from(first.ticks));
            self.learn_from_eager(peer, copying, first.total, payload.len() as u64, took);
        }
    }

    /// The next piece of a longer message, which took the sender so long to write.
    pub fn on_eager_more(&mut self, peer: u32, ticks: u64, payload: Body) {
        let Some(inbound) = self.channels.inbound(peer) else {
            return;
        };
        let incoming = inbound.incoming;
        let began = inbound.timed.is_some().then(clock::ticks);
        let Some(whole) = incoming.and_then(|incoming| self.add(incoming, payload)) else {
            return;
        };
        let Some(inbound) = self.channels.inbound_mut(peer) else {
            return;
        };
        if let (Some((sample, _)), Some(began)) = (&mut inbound.timed, began) {
            sample.add_sender(ticks);
            sample.add_receiver(clock::ticks().wrapping_sub(began));
        }
        if !whole {
            return;
        }
        inbound.incoming = None;
        if let (Some((sample, copying)), Some(Incoming::Receive(op))) = (inbound.timed.take(), incoming)
            && self.ops[op].buffer.row().is_some()
        {
            let total = self.ops[op].wire;
            self.learn_from_eager(peer, copying, total, total, sample.cost());
        }
    }

    /// The next piece of a message that goes there. Is it whole now?
    fn add(&mut self, incoming: Incoming, payload: Body) -> Option<bool> {
        Some(match incoming {
            Incoming::Receive(op) => {
                let Stage::Receiving { received, .. } = self.ops[op].stage else {
                    return None;
                };
                self.store(op, received, payload)
            }
            Incoming::Unexpected(entry) => append(self.matching.unexpected_mut(entry).1, payload),
        })
    }

    /// `bytes` of a message of `total` bytes came so, and took so long to copy in and out: learn from it, and say how
    /// the next ones of its size are to be copied.
    #[cold]
    fn learn_from_eager(&mut self, peer: u32, copying: Copying, total: u64, bytes: u64, took: u64) {
        if self.came_through_new_memory(peer, bytes) {
            return;
        }
        let eager = &mut self.learned(peer).eager;
        eager.learn(DataPath::Ring(copying), total, bytes, took);
        let DataPath::Ring(best) = eager.choose(total, data_path::ring_paths()) else {
            return;
        };
        if let Some(inbound) = self.channels.inbound_mut(peer) {
            inbound.hint(total, best);
        }
    }

    fn came_through_new_memory(&self, peer: u32, length: u64) -> bool {
        let inbound = self.channels.inbound(peer);
        inbound.is_some_and(|inbound| inbound.came_through_new_memory(length))
    }

    /// A piece of a streamed message.
    pub fn on_data(&mut self, peer: u32, data: Data, payload: Body) {
        let Some(op) = self.ops.find(crate::types::OpId(data.receive_op)) else {
            return;
        };
        if self.ops[op].to != peer {
            return;
        }
        if self.channels.is_remote(peer) && self.is_reading_into(op) {
            self.end_over(peer, "a piece of a message that we read out of its memory");
        }
        fault::strike_piece(Direction::Pull);
        let (mut sample, path, length) = (self.ops[op].sample, self.ops[op].path, self.ops[op].wire);
        let began = clock::ticks();
        let whole = self.store(op, data.offset, payload);
        if let Some(sample) = &mut sample {
            sample.add_sender(data.ticks.into());
            sample.add_receiver(clock::ticks().wrapping_sub(began));
            match whole {
                true if self.came_through_new_memory(peer, length) => {}
                true => self.learn_from_announced(peer, *sample, path, length),
                false => self.ops[op].sample = Some(*sample),
            }
        } else if let Some(began) = self.ops[op].began
            && whole
            && !self.came_through_new_memory(peer, length)
        {
            self.learn_from_scattered(peer, path, began, length);
        }
    }

    /// Put a piece into a receive's buffer, as far as it fits; true if the message is whole now (the operation is then
    /// complete). Bytes beyond the buffer are counted, and dropped.
    fn store(&mut self, op: u32, offset: u64, payload: Body) -> bool {
        let Stage::Receiving { received, expected } = self.ops[op].stage else {
            return true;
        };
        let length = payload.len() as u64;
        if offset < expected {
            let fits = length.min(expected - offset);
            let (buffer, at, fits) = (self.ops[op].buffer, offset as usize, fits as usize);
            // SAFETY: `offset + fits` is at most `expected`, which `matched` limited to the pending buffer.
            unsafe {
                match select::passes_caches(expected) {
                    false => payload.store_piece(buffer, at, fits),
                    true => payload.store_by(Copying::Streaming, buffer, at, fits),
                }
            }
        }
        let received = received + length;
        self.ops[op].stage = Stage::Receiving { received, expected };
        let whole = received >= self.ops[op].wire;
        if whole {
            self.ops.complete_as_is(op);
        }
        whole
    }
}

/// Add a piece to a message that is kept; true if it is whole now.
fn append(unexpected: &mut Unexpected, payload: Body) -> bool {
    let Unexpected::Payload { bytes, total, .. } = unexpected else {
        return true;
    };
    let fits = (*total as usize).saturating_sub(bytes.len()).min(payload.len());
    // SAFETY: `append` gives room for `fits` bytes, which the piece has.
    bytes.append(fits, |to| unsafe { payload.copy_to(to, fits) });
    bytes.len() as u64 >= *total
}
