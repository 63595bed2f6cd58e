//! Messages that came before their receives, and how much of them is kept.

use crate::channel::record::ReadyToSend;
use crate::memory::payload::Payload;
use crate::ops::Ops;

/// A message that came before its receive.
#[derive(Debug)]
pub(crate) enum Unexpected {
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

impl Unexpected {
    /// Bytes that it takes here.
    pub fn weight(&self) -> u64 {
        match self {
            Self::Payload { total, .. } => total.saturating_add(ENTRY),
            _ => ENTRY,
        }
    }

    /// Source and payload of a message of which all is here, in as many bytes as `capacity` at most.
    #[inline]
    pub fn whole(&self, capacity: usize) -> Option<(i32, &Payload)> {
        match self {
            Self::Payload { source, bytes, total } if bytes.len() as u64 == *total && bytes.len() <= capacity => {
                Some((*source, bytes))
            }
            _ => None,
        }
    }

    /// The block that its payload is kept in, if it needs one, which it has no more.
    #[inline]
    pub fn take_block(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Payload {
                bytes: Payload::Long(block),
                ..
            } => Some(std::mem::take(block)),
            _ => None,
        }
    }

    /// Bytes of the message, whose operation may be one of `ops`.
    pub fn length(&self, ops: &Ops) -> u64 {
        match self {
            Self::Payload { total, .. } => *total,
            Self::Announced(record) | Self::Taken(record) => record.total,
            Self::Loopback { op, .. } => ops[*op].length as u64,
            Self::Lost { .. } => 0,
        }
    }

    pub fn source(&self) -> i32 {
        match self {
            Self::Payload { source, .. } | Self::Loopback { source, .. } | Self::Lost { source } => *source,
            Self::Announced(record) | Self::Taken(record) => record.envelope.source,
        }
    }
}
