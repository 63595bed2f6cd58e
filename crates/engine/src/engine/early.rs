//! Messages that came before their receives, and how much of them is kept.

use super::Engine;
use crate::counters;
use crate::inbound::Incoming;
use crate::matching::{Key, Pattern};
use crate::payload::Payload;
use crate::record::ReadyToSend;

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

impl Engine {
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
    }

    /// The first message that a receive would take.
    pub fn find_early(&mut self, pattern: Pattern) -> Option<u32> {
        self.unexpected.find(pattern)
    }
}
