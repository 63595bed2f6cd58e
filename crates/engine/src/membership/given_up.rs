//! Calls of a group that a member has given up, since its memory was refused: the others must not wait for its part.
//!
//! A call is a message space and a tag. Who gives one up says so to the others in a record. It needs no memory but the ring;
//! where there is none yet, and none can be had, the inbox word in which the ring's place would stand takes the record
//! instead: a *letter*, which the other side takes out. Letters for whom the word is not free wait here, and come along
//! with the ring if one can be made after all.
//!
//! What is under way between two that live ends by itself. What else a call has started its layer withdraws when it sees
//! that the call [is given up](Entered::is_given_up); so it is at whoever comes to the call later.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use crate::channel::outbound::Answer;
use crate::channel::record::GivenUp;
use crate::engine::Engine;
use crate::matching::unexpected::Unexpected;
use crate::membership::liveness;
use crate::memory::arena;
use crate::types::{ContextId, Peer};
use crate::{Entered, Result};

use isthmus_shm::Offset;

/// What is known of calls that were given up.
#[derive(Debug, Default)]
pub(crate) struct GivenUps {
    known: HashSet<(u32, i32)>,
    /// For whom there is no ring: (receiver, letter).
    letters: Vec<(u32, u64)>,
}

/// What stands in an inbox word instead of the place of a ring, which is even.
fn letter(context: ContextId, tag: i32) -> u64 {
    u64::from(context.0) << 32 | u64::from(tag as u32) << 1 | 1
}

/// Is this word of an inbox a letter?
#[inline]
pub(crate) fn is_letter(word: u64) -> bool {
    word & 1 == 1
}

/// What a letter says.
pub(crate) fn open(letter: u64) -> Answer {
    let tag = (letter as u32 >> 1) as i32;
    Answer::GivenUp(ContextId((letter >> 32) as u32), GivenUp { tag, zero: 0 })
}

impl GivenUps {
    /// There is a ring to `peer` now, or the peer is gone: letters that were not left yet.
    pub fn take_back_letters(&mut self, peer: u32, each: impl FnMut(Answer)) {
        let letters = self.letters.extract_if(.., |(to, _)| *to == peer);
        letters.map(|(_, letter)| open(letter)).for_each(each);
    }
}

impl Engine {
    fn give_up(&mut self, context: ContextId, tag: i32, members: impl Iterator<Item = Peer>) {
        if !self.note_given_up(context, tag) {
            return;
        }
        for Peer(peer) in members {
            if peer == self.me || self.has_failed(peer) {
                continue;
            }
            match self.outbound(peer) {
                Ok(outbound) => outbound.answer(Answer::GivenUp(context, GivenUp { tag, zero: 0 })),
                Err(_) => self.given_ups.letters.push((peer, letter(context, tag))),
            }
            self.kick(peer);
        }
    }

    /// From now on it is. False: it was before.
    fn note_given_up(&mut self, context: ContextId, tag: i32) -> bool {
        if !self.given_ups.known.insert((context.0, tag)) {
            return false;
        }
        liveness::wound();
        self.ops.news = true;
        self.drop_unexpected_of(context, tag);
        true
    }

    /// Nobody will receive what has come of it.
    fn drop_unexpected_of(&mut self, context: ContextId, tag: i32) {
        let segment = self.segment;
        let gone = self.remove_all_unexpected(|_, key, early| {
            let is_over = match early {
                Unexpected::Payload { bytes, total, .. } => bytes.len() as u64 == *total,
                Unexpected::Announced(record) => {
                    arena::descriptor(segment, Offset(record.descriptor)).is_none_or(|it| it.is_withdrawn())
                }
                _ => false,
            };
            key.context == context && key.tag == tag && is_over
        });
        for (key, early) in gone {
            if let Unexpected::Announced(record) = early {
                self.take_offer(key.from, record);
            }
        }
    }

    /// A peer says that it has given a call up.
    pub(crate) fn on_given_up(&mut self, context: ContextId, record: GivenUp) {
        self.note_given_up(context, record.tag);
    }

    /// A peer without a ring to us may have left a letter. False: it has not.
    pub(crate) fn take_letter(&mut self, peer: u32) -> bool {
        let word = self.segment.inbox(self.me, peer);
        // SYNC: inbox
        let letter = word.load(Ordering::Acquire);
        let is_ours = is_letter(letter)
            && word
                .compare_exchange(letter, 0, Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
        if is_ours {
            if let Answer::GivenUp(context, record) = open(letter) {
                self.on_given_up(context, record);
            }
            // There may be more.
            self.channels.ring(peer);
        }
        is_ours
    }

    /// Leave a letter for a peer to which there is no ring. (whether that could be, whether none is left)
    pub(crate) fn leave_letter(&mut self, peer: u32) -> (bool, bool) {
        let letters = &mut self.given_ups.letters;
        let Some(at) = letters.iter().position(|(to, _)| *to == peer) else {
            return (false, true);
        };
        let word = self.segment.inbox(peer, self.me);
        // SYNC: inbox
        let left = word.compare_exchange(0, letters[at].1, Ordering::AcqRel, Ordering::Acquire);
        if left.is_err() {
            return (false, false);
        }
        letters.remove(at);
        let none_left = letters.iter().all(|(to, _)| *to != peer);
        self.channels.ring(peer);
        (true, none_left)
    }
}

impl Entered {
    /// This process gives up the call of `members` that is a tag in a message space: they are told, and it
    /// [is given up](Self::is_given_up) here, too. Tells nobody twice. Does not block.
    #[cold]
    pub fn give_up(&mut self, context: ContextId, tag: i32, members: impl Iterator<Item = Peer>) {
        self.engine().give_up(context, tag, members);
    }

    /// Has a member of its group given this call up? Whoever asks has seen [`crate::wounds`].
    #[inline]
    pub fn is_given_up(&mut self, context: ContextId, tag: i32) -> bool {
        let known = &self.engine().given_ups.known;
        !known.is_empty() && known.contains(&(context.0, tag))
    }

    /// Another call may have this tag.
    #[cold]
    pub fn forget_given_up(&mut self, context: ContextId, tag: i32) {
        self.engine().given_ups.known.remove(&(context.0, tag));
    }

    /// There will be no more calls in this message space.
    #[cold]
    pub fn forget_all_given_up(&mut self, context: ContextId) {
        self.engine().given_ups.known.retain(|(other, _)| *other != context.0);
    }

    /// See to it that there is a ring to `peer`.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn reach(&mut self, peer: Peer) -> Result<()> {
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
        engine.given_ups.known.contains(&(CONTEXT.0, tag))
    }

    fn members() -> impl Iterator<Item = Peer> {
        [Peer(0), Peer(1)].into_iter()
    }

    #[test]
    fn who_gives_up_tells_the_others() {
        let [mut one, mut other] = pair();
        one.give_up(CONTEXT, TAG, members());
        assert!(other.progress());
        assert!(knows(&other, TAG) && !knows(&other, TAG - 1));
        assert!(one.is_quiet() && other.is_quiet());
    }

    #[test]
    fn without_memory_for_a_ring_letters_tell_it() {
        let [mut one, mut other] = pair();
        one.arena.plan = Some(plenty_of_nothing());
        for tag in [TAG, 0, 5] {
            one.give_up(CONTEXT, tag, members());
        }
        assert!(!one.is_quiet());
        for _ in 0..3 {
            assert!(other.progress());
            one.progress();
        }
        assert!(knows(&other, TAG) && knows(&other, 0) && knows(&other, 5));
        assert!(one.is_quiet() && one.channels.to(1).is_none());
    }

    #[test]
    fn a_letter_that_was_left_comes_with_the_ring() {
        let [mut one, mut other] = pair();
        one.arena.plan = Some(plenty_of_nothing());
        one.give_up(CONTEXT, TAG, members());
        one.arena.plan = None;
        one.outbound(1).expect("memory");
        one.progress();
        while other.progress() {}
        assert!(knows(&other, TAG));
    }

    #[test]
    fn letters_that_were_not_taken_come_with_the_ring() {
        let [mut one, mut other] = pair();
        one.arena.plan = Some(plenty_of_nothing());
        for tag in [TAG, 0, 5] {
            one.give_up(CONTEXT, tag, members());
        }
        one.arena.plan = None;
        one.outbound(1).expect("memory");
        one.progress();
        while other.progress() {}
        assert!(knows(&other, TAG) && knows(&other, 0) && knows(&other, 5));
        assert!(one.is_quiet());
    }
}
