//! Messages that are kept until their receives come: matching keeps them, channels tell senders when there are too many.

use crate::channel::inbound::Incoming;
use crate::counters;
use crate::engine::Engine;
use crate::matching::queues::Key;
use crate::matching::unexpected::Unexpected;
use crate::types::MessageId;
use crate::{Error, Result};

impl Engine {
    /// Keep a message until its receive comes; where.
    pub fn keep(&mut self, key: Key, message: Unexpected) -> u32 {
        counters::UNEXPECTED.add(1);
        self.ops.has_events = true;
        let entry = self.matching.keep(key, message);
        self.tell_senders();
        entry
    }

    /// A kept message has found its receive.
    pub fn remove_unexpected(&mut self, entry: u32) -> (Key, Unexpected) {
        let removed = self.matching.remove_unexpected(entry);
        self.tell_senders();
        removed
    }

    /// A kept message has been copied: the block that it was kept in, if it needed one.
    #[inline]
    pub fn end_unexpected(&mut self, entry: u32) -> Option<Vec<u8>> {
        let block = self.matching.end_unexpected(entry);
        self.tell_senders();
        block
    }

    /// A matched probe takes a kept message.
    ///
    /// # Errors
    /// If there are too many to name it.
    #[inline]
    pub fn take_out(&mut self, entry: u32) -> Result<MessageId> {
        let message = self.matching.take_unexpected(entry).ok_or_else(too_many)?;
        self.tell_senders();
        Ok(message)
    }

    /// Nobody will receive the kept messages of which `wanted` is true.
    pub fn remove_all_unexpected(&mut self, wanted: impl Fn(u32, Key, &Unexpected) -> bool) -> Vec<(Key, Unexpected)> {
        let removed = self.matching.remove_all_unexpected(wanted);
        self.tell_senders();
        removed
    }

    /// Senders are to announce only when too much is kept.
    #[inline]
    fn tell_senders(&mut self) {
        if let Some(announce_only) = self.matching.take_change() {
            self.channels.set_announce_only(announce_only);
        }
    }

    pub fn set_incoming(&mut self, peer: u32, incoming: Option<Incoming>) {
        if let Some(inbound) = self.channels.inbound_mut(peer) {
            inbound.incoming = incoming;
        }
    }

    /// If the pieces of a message from `peer` are on their way to `from`, let them go to `to`.
    pub fn redirect(&mut self, peer: u32, from: Incoming, to: Incoming) {
        if let Some(inbound) = self.channels.inbound_mut(peer)
            && inbound.incoming == Some(from)
        {
            inbound.incoming = Some(to);
        }
    }
}

#[cold]
fn too_many() -> Error {
    Error::NoMemory("four million messages that came before their receives".into())
}
