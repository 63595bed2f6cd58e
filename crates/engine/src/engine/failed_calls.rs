//! Calls of a group that a member has given up, since its memory was refused: the others must not wait for its part.
//!
//! A call is a message space and a tag. A rank that fails one tells the others in a record. It needs no memory but the ring;
//! where there is none yet, and none can be had, the inbox word in which the ring's place would stand takes the record
//! instead: a *notice*, which the other side takes out. Notices whose word is not free wait here, and come along
//! with the ring if one can be made after all.
//!
//! Pending messages between two live ranks end by themselves. Other operations of a call are withdrawn by its layer when it sees
//! that the call [is given up](Entered::has_call_failed); so it is at whoever comes to the call later.

use std::sync::atomic::Ordering;

use crate::channel::outbound::Answer;
use crate::channel::record::CallFailed;
use crate::engine::Engine;
use crate::matching::unexpected::Unexpected;
use crate::membership::failed_calls::{is_notice, named_by};
use crate::membership::failures::note_fault_event;
use crate::memory::arena;
use crate::types::{ContextId, Peer};
use crate::{Entered, Result};

use isthmus_shm::Offset;

impl Engine {
    fn fail_call(&mut self, context: ContextId, tag: i32, members: impl Iterator<Item = Peer>) {
        if !self.note_failed_call(context, tag) {
            return;
        }
        for Peer(peer) in members {
            if peer == self.me || self.has_failed(peer) {
                continue;
            }
            match self.outbound(peer) {
                Ok(outbound) => outbound.answer(Answer::CallFailed(context, CallFailed { tag, zero: 0 })),
                Err(_) => self.membership.failed_calls.add_notice(peer, context, tag),
            }
            self.kick(peer);
        }
    }

    /// From now on it is. False: it was before.
    fn note_failed_call(&mut self, context: ContextId, tag: i32) -> bool {
        if !self.membership.failed_calls.add(context, tag) {
            return false;
        }
        note_fault_event();
        self.ops.has_events = true;
        self.drop_unexpected_of(context, tag);
        true
    }

    /// Nobody will receive what has come of it.
    fn drop_unexpected_of(&mut self, context: ContextId, tag: i32) {
        let segment = self.segment;
        let gone = self.remove_all_unexpected(|_, key, message| {
            let is_over = match message {
                Unexpected::Payload { bytes, total, .. } => bytes.len() as u64 == *total,
                Unexpected::Announced(record) => {
                    arena::descriptor(segment, Offset(record.descriptor)).is_none_or(|it| it.is_withdrawn())
                }
                _ => false,
            };
            key.context == context && key.tag == tag && is_over
        });
        for (key, message) in gone {
            if let Unexpected::Announced(record) = message {
                self.take_offer(key.from, record);
            }
        }
    }

    /// A peer says that it has given a call up.
    pub(crate) fn on_call_failed(&mut self, context: ContextId, record: CallFailed) {
        self.note_failed_call(context, record.tag);
    }

    /// A peer without a ring to us may have left a notice. False: it has not.
    pub(crate) fn take_notice(&mut self, peer: u32) -> bool {
        let word = self.segment.inbox(self.me, peer);
        // SYNC: inbox
        let notice = word.load(Ordering::Acquire);
        let is_ours = is_notice(notice)
            && word
                .compare_exchange(notice, 0, Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
        if is_ours {
            let (context, tag) = named_by(notice);
            self.note_failed_call(context, tag);
            // There may be more.
            self.channels.ring(peer);
        }
        is_ours
    }

    /// Leave a notice for a peer to which there is no ring. (whether that could be, whether none is left)
    pub(crate) fn leave_notice(&mut self, peer: u32) -> (bool, bool) {
        let Some(notice) = self.membership.failed_calls.next_notice(peer) else {
            return (false, true);
        };
        let word = self.segment.inbox(peer, self.me);
        // SYNC: inbox
        let left = word.compare_exchange(0, notice, Ordering::AcqRel, Ordering::Acquire);
        if left.is_err() {
            return (false, false);
        }
        self.membership.failed_calls.remove_notice(peer, notice);
        let none_left = self.membership.failed_calls.next_notice(peer).is_none();
        self.channels.ring(peer);
        (true, none_left)
    }
}

impl Entered {
    /// This process gives up the call of `members` that is a tag in a message space: they are told, and it
    /// [is given up](Self::has_call_failed) here, too. Tells nobody twice. Does not block.
    #[cold]
    pub fn fail_call(&mut self, context: ContextId, tag: i32, members: impl Iterator<Item = Peer>) {
        self.engine().fail_call(context, tag, members);
    }

    /// Has a member of its group failed this call? The caller has seen [`crate::fault_events`].
    #[inline]
    pub fn has_call_failed(&mut self, context: ContextId, tag: i32) -> bool {
        self.engine().membership.failed_calls.contains(context, tag)
    }

    /// Another call may have this tag.
    #[cold]
    pub fn forget_failed_call(&mut self, context: ContextId, tag: i32) {
        self.engine().membership.failed_calls.forget(context, tag);
    }

    /// There will be no more calls in this message space.
    #[cold]
    pub fn forget_failed_calls(&mut self, context: ContextId) {
        self.engine().membership.failed_calls.forget_all(context);
    }

    /// See to it that there is a ring to `peer`.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn connect(&mut self, peer: Peer) -> Result<()> {
        let engine = self.engine();
        if peer.0 != engine.me {
            engine.outbound(peer.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::control::Nonce;
    use isthmus_transfer::fault::Plan;

    const CONTEXT: ContextId = ContextId(u32::MAX - 6);
    const TAG: i32 = i32::MAX - 2;

    fn pair() -> [Engine; 2] {
        let fd = crate::membership::job::create(2, Nonce([1; 16])).expect("memory");
        let segment = isthmus_shm::Segment::attach(fd, [1; 16]).expect("a job segment");
        let segment: &'static isthmus_shm::Segment = Box::leak(Box::new(segment));
        [0, 1].map(|me| Engine::new(segment, me, true, None))
    }

    fn plenty_of_nothing() -> &'static Plan {
        Box::leak(Box::new(Plan::parse("memory:ENOMEM").expect("a plan")))
    }

    fn knows(engine: &Engine, tag: i32) -> bool {
        engine.membership.failed_calls.contains(CONTEXT, tag)
    }

    fn members() -> impl Iterator<Item = Peer> {
        [Peer(0), Peer(1)].into_iter()
    }

    #[test]
    fn who_fails_a_call_tells_the_others() {
        let [mut one, mut other] = pair();
        one.fail_call(CONTEXT, TAG, members());
        assert!(other.progress());
        assert!(knows(&other, TAG) && !knows(&other, TAG - 1));
        assert!(one.is_quiet() && other.is_quiet());
    }

    #[test]
    fn without_memory_for_a_ring_notices_tell_it() {
        let [mut one, mut other] = pair();
        one.memory.arena.plan = Some(plenty_of_nothing());
        for tag in [TAG, 0, 5] {
            one.fail_call(CONTEXT, tag, members());
        }
        assert!(!one.is_quiet());
        for _ in 0..3 {
            assert!(other.progress());
            one.progress();
        }
        assert!(knows(&other, TAG) && knows(&other, 0) && knows(&other, 5));
        assert!(one.is_quiet() && one.channels.outbound(1).is_none());
    }

    #[test]
    fn a_notice_that_was_left_comes_with_the_ring() {
        let [mut one, mut other] = pair();
        one.memory.arena.plan = Some(plenty_of_nothing());
        one.fail_call(CONTEXT, TAG, members());
        one.memory.arena.plan = None;
        one.outbound(1).expect("memory");
        one.progress();
        while other.progress() {}
        assert!(knows(&other, TAG));
    }

    #[test]
    fn notices_that_were_not_taken_come_with_the_ring() {
        let [mut one, mut other] = pair();
        one.memory.arena.plan = Some(plenty_of_nothing());
        for tag in [TAG, 0, 5] {
            one.fail_call(CONTEXT, tag, members());
        }
        one.memory.arena.plan = None;
        one.outbound(1).expect("memory");
        one.progress();
        while other.progress() {}
        assert!(knows(&other, TAG) && knows(&other, 0) && knows(&other, 5));
        assert!(one.is_quiet());
    }
}
