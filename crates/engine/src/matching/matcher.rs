//! The queues of one process: posted receives, unexpected messages, messages taken by matched probes.

use std::cell::RefCell;

use crate::matching::queues::{Key, Pattern, PostedQueue, UnexpectedQueue};
use crate::matching::unexpected::Unexpected;
use crate::ops::Ops;
use crate::types::{ContextId, MessageId};

/// Everything that waits for its counterpart.
#[derive(Debug)]
pub(crate) struct Matching {
    posted: PostedQueue,
    unexpected: UnexpectedQueue<Unexpected>,
    /// Unexpected payload kept here, and at most, in bytes.
    kept: u64,
    limit: u64,
    /// There is too much of it: senders are to announce only.
    announce_only: bool,
    /// Senders do not know that yet.
    changed: bool,
    /// Calls for one-sided operations have come.
    calls: bool,
}

impl Matching {
    /// Nothing yet; at most `limit` bytes of unexpected payload before senders are to announce only.
    pub fn new(limit: u64) -> Self {
        Self {
            posted: PostedQueue::default(),
            unexpected: UnexpectedQueue::default(),
            kept: 0,
            limit,
            announce_only: false,
            changed: false,
            calls: false,
        }
    }

    /// Post the receive `op`.
    #[inline]
    pub fn post(&mut self, ops: &mut Ops, op: u32, pattern: Pattern) {
        self.posted.post(ops, op, pattern);
    }

    /// The first posted receive that takes this message, taken off the queue.
    #[inline]
    pub fn take_posted(&mut self, ops: &mut Ops, key: Key) -> Option<u32> {
        self.posted.take(ops, key)
    }

    /// The first posted receive that takes this message.
    #[inline]
    pub fn find_posted(&self, ops: &Ops, key: Key) -> Option<u32> {
        self.posted.find(ops, key)
    }

    /// Take the receive `op` off the queue.
    pub fn remove_posted(&mut self, ops: &mut Ops, op: u32) {
        self.posted.remove(ops, op);
    }

    /// Is there no unexpected message?
    #[inline]
    pub fn has_no_unexpected(&self) -> bool {
        self.unexpected.is_empty()
    }

    /// Keep a message until its receive comes; where.
    pub fn keep(&mut self, key: Key, message: Unexpected) -> u32 {
        self.account(self.kept.saturating_add(message.weight()));
        self.calls |= key.context == ContextId::CALLS;
        self.unexpected.push(key, message)
    }

    /// Have calls for one-sided operations come, since they were taken last?
    #[inline]
    pub fn has_calls(&self) -> bool {
        self.calls
    }

    /// All that have come are taken.
    pub fn calls_taken(&mut self) {
        self.calls = false;
    }

    /// The first unexpected message that a receive would take.
    #[inline]
    pub fn find_unexpected(&mut self, pattern: Pattern) -> Option<u32> {
        self.unexpected.find(pattern)
    }

    /// The unexpected message at this entry, or one that a matched probe has taken.
    #[inline]
    pub fn unexpected_mut(&mut self, entry: u32) -> (Key, &mut Unexpected) {
        self.unexpected.get_mut(entry)
    }

    /// Take it out.
    pub fn remove_unexpected(&mut self, entry: u32) -> (Key, Unexpected) {
        let (key, message) = self.unexpected.remove(entry);
        self.account(self.kept.saturating_sub(message.weight()));
        (key, message)
    }

    /// It has been copied: the block that it was kept in, if it needed one.
    #[inline]
    pub fn end_unexpected(&mut self, entry: u32) -> Option<Vec<u8>> {
        let (weight, block) = self
            .unexpected
            .end(entry, |message| (message.weight(), message.take_block()));
        self.account(self.kept.saturating_sub(weight));
        block
    }

    /// A matched probe takes it: no receive finds it any more. `None`: there are too many.
    #[inline]
    pub fn take_unexpected(&mut self, entry: u32) -> Option<MessageId> {
        let weight = self.unexpected.get_mut(entry).1.weight();
        let name = self.unexpected.set_apart(entry)?;
        self.account(self.kept.saturating_sub(weight));
        Some(MessageId(name))
    }

    /// The message that a matched probe took; `None`: it is received, or there was none.
    #[inline]
    pub fn taken(&self, message: MessageId) -> Option<u32> {
        self.unexpected.apart(message.0)
    }

    /// Take a message out that a matched probe took.
    pub fn remove_taken(&mut self, entry: u32) -> (Key, Unexpected) {
        self.unexpected.remove(entry)
    }

    /// As [`Self::end_unexpected`], of a message that a matched probe took.
    #[inline]
    pub fn end_taken(&mut self, entry: u32) -> Option<Vec<u8>> {
        self.unexpected.end(entry, Unexpected::take_block)
    }

    /// All messages that matched probes have taken, with their places.
    pub fn all_taken(&mut self) -> impl Iterator<Item = (u32, Key, &mut Unexpected)> {
        self.unexpected.all_apart()
    }

    /// Show `visit` all messages that no receive has taken.
    pub fn visit_unexpected(&mut self, visit: impl FnMut(Key, &Unexpected)) {
        let visit = RefCell::new(visit);
        self.unexpected.take_all(|_, key, message| {
            visit.borrow_mut()(key, message);
            false
        });
    }

    /// Take those out of which `wanted` is true.
    pub fn remove_all_unexpected(&mut self, wanted: impl Fn(u32, Key, &Unexpected) -> bool) -> Vec<(Key, Unexpected)> {
        let gone = self.unexpected.take_all(wanted);
        for (_, message) in &gone {
            self.account(self.kept.saturating_sub(message.weight()));
        }
        gone
    }

    /// So much is kept now. Once senders announce only, they do until it is half of what is allowed.
    fn account(&mut self, bytes: u64) {
        self.kept = bytes;
        let limit = if self.announce_only { self.limit / 2 } else { self.limit };
        let announce_only = bytes > limit;
        self.changed |= announce_only != self.announce_only;
        self.announce_only = announce_only;
    }

    /// Is there too much unexpected payload, so that senders are to announce only?
    #[inline]
    pub fn announce_only(&self) -> bool {
        self.announce_only
    }

    /// `Some` if senders must be told anew whether to announce only.
    #[inline]
    pub fn take_change(&mut self) -> Option<bool> {
        std::mem::take(&mut self.changed).then_some(self.announce_only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::payload::Payload;
    use crate::types::ContextId;

    const KEY: Key = Key {
        context: ContextId(1),
        from: 3,
        tag: 5,
    };

    fn message(total: u64) -> Unexpected {
        Unexpected::Payload {
            source: 0,
            bytes: Payload::EMPTY,
            total,
        }
    }

    #[test]
    fn senders_announce_from_the_limit_until_half_of_it() {
        let mut matching = Matching::new(3000);
        let first = matching.keep(KEY, message(1500));
        assert_eq!((matching.announce_only(), matching.take_change()), (false, None));
        let second = matching.keep(KEY, message(1500));
        assert_eq!((matching.announce_only(), matching.take_change()), (true, Some(true)));
        matching.remove_unexpected(second);
        assert_eq!(matching.take_change(), None, "more than half is left");
        matching.remove_unexpected(first);
        assert_eq!((matching.announce_only(), matching.take_change()), (false, Some(false)));
    }
}
