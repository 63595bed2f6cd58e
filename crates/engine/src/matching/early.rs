//! Messages that came before their receives, and how much of them is kept.

use crate::channel::inbound::Incoming;
use crate::channel::record::ReadyToSend;
use crate::counters;
use crate::engine::Engine;
use crate::matching::queues::{Key, Pattern};
use crate::memory::payload::Payload;
use crate::types::OpId;

/// A message that came before its receive.
#[derive(Debug)]
pub(crate) enum Early {
    /// Bytes that have arrived, of `total`.
    Payload { source: i32, bytes: Payload, total: u64 },
    /// An announcement.
    Announced(ReadyToSend),
    /// An announcement whose offer a matched probe has taken.
    Taken(ReadyToSend),
    /// A message of our own to ourselves; the send operation, which holds the buffer, or the payload.
    Loopback { source: i32, op: u32 },
    /// A message that a matched probe has taken and whose sender died before all of it was here.
    Lost { source: i32 },
}

/// What keeping a message costs beside its payload, in bytes.
const ENTRY: u64 = 128;

impl Early {
    /// Bytes that it takes here.
    fn weight(&self) -> u64 {
        match self {
            Self::Payload { total, .. } => total.saturating_add(ENTRY),
            _ => ENTRY,
        }
    }

    pub fn source(&self) -> i32 {
        match self {
            Self::Payload { source, .. } | Self::Loopback { source, .. } | Self::Lost { source } => *source,
            Self::Announced(record) | Self::Taken(record) => record.envelope.source,
        }
    }
}

/// A kept message whose bytes stream, since they could not be fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EarlyStream {
    peer: u32,
    /// What its sender calls it: the number of no operation.
    id: u32,
    target: Incoming,
}

impl Engine {
    /// The bytes of the kept message `entry` are going to stream; what the sender is to call it.
    pub fn expect_stream(&mut self, peer: u32, entry: u32) -> u32 {
        self.early_stream = self.early_stream.wrapping_add(1);
        let id = OpId::of_none(self.early_stream).0;
        self.early_streams.push(EarlyStream {
            peer,
            id,
            target: Incoming::Unexpected(entry),
        });
        id
    }

    /// Where the piece belongs that the sender sends for `id`, if it is one of these.
    pub fn find_stream(&self, peer: u32, id: u32) -> Option<Incoming> {
        let stream = self
            .early_streams
            .iter()
            .find(|stream| stream.peer == peer && stream.id == id);
        stream.map(|stream| stream.target)
    }

    /// That was the last piece.
    pub fn end_stream(&mut self, peer: u32, id: u32) {
        let ended = |stream: &EarlyStream| stream.peer == peer && stream.id == id;
        if let Some(at) = self.early_streams.iter().position(ended) {
            self.early_streams.remove(at);
        }
    }

    /// The peer has died. Where its streams went.
    pub fn end_streams(&mut self, peer: u32) -> Vec<Incoming> {
        let theirs = self.early_streams.extract_if(.., |stream| stream.peer == peer);
        theirs.map(|stream| stream.target).collect()
    }

    /// Keep a message until its receive comes; where.
    pub fn keep(&mut self, key: Key, early: Early) -> u32 {
        counters::UNEXPECTED.add(1);
        self.ops.news = true;
        self.account(self.unexpected_bytes.saturating_add(early.weight()));
        self.unexpected.push(key, early)
    }

    /// A kept message has found its receive.
    pub fn forget(&mut self, early: &Early) {
        self.account(self.unexpected_bytes.saturating_sub(early.weight()));
    }

    /// So much unmatched payload is kept; tell senders when it becomes too much, and when it is fine again.
    fn account(&mut self, bytes: u64) {
        self.unexpected_bytes = bytes;
        let limit = if self.announce_only {
            self.unexpected_limit / 2
        } else {
            self.unexpected_limit
        };
        let announce_only = self.unexpected_bytes > limit;
        if announce_only != self.announce_only {
            self.announce_only = announce_only;
            for inbound in self.inbound.iter().flatten() {
                inbound.ring.set_announce_only(announce_only);
            }
        }
    }

    pub fn set_incoming(&mut self, peer: u32, incoming: Option<Incoming>) {
        if let Some(inbound) = self.inbound[peer as usize].as_mut() {
            inbound.incoming = incoming;
        }
    }

    /// If the pieces of a message from `peer` are on their way to `from`, let them go to `to`.
    pub fn redirect(&mut self, peer: u32, from: Incoming, to: Incoming) {
        if let Some(inbound) = self.inbound[peer as usize].as_mut()
            && inbound.incoming == Some(from)
        {
            inbound.incoming = Some(to);
        }
        for stream in &mut self.early_streams {
            if stream.peer == peer && stream.target == from {
                stream.target = to;
            }
        }
    }

    /// The first message that a receive would take.
    pub fn find_early(&mut self, pattern: Pattern) -> Option<u32> {
        self.unexpected.find(pattern)
    }
}
