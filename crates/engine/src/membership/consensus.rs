//! Agreement of a group that goes on when members fail: the engine's side of [`isthmus_shm::agreement`].

use isthmus_shm::agreement::{self, Board, Contribution, Decision};

use crate::membership::failures;
use crate::types::Peer;
use crate::{Entered, Result};

/// A group that agrees, turn after turn, on numbers and on who has failed.
#[derive(Debug)]
pub struct Consensus {
    board: Board<'static>,
    members: Vec<Peer>,
    me: usize,
    /// Turns that we contributed to.
    turn: u32,
}

/// What a group agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agreed {
    /// Everybody's values, combined.
    pub value: u32,
    /// Whoever is among the first so many failures takes no further part.
    pub failures: u32,
    /// A member has failed, and somebody has not acknowledged that.
    pub unacknowledged: bool,
}

impl Consensus {
    /// The group `key` of `members`, which all its members name alike and in the same order; the calling process is one.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn join(inside: &mut Entered, key: u64, members: Vec<Peer>) -> Result<Self> {
        let engine = inside.engine();
        let me = members.iter().position(|peer| peer.0 == engine.me);
        let segment = engine.segment;
        let length = agreement::bytes_for(members.len());
        let board = agreement::board(segment, key, members.len(), || {
            engine.memory.arena.allocate(segment, length)
        })?;
        Ok(Self {
            board,
            members,
            me: me.expect("the caller is a member"),
            turn: 0,
        })
    }

    /// Contribute to the next turn. All that are alive do; it is decided then. Does not block.
    pub fn contribute(&mut self, inside: &mut Entered, value: u32, acknowledged: u32) {
        self.turn += 1;
        let own = Contribution { value, acknowledged };
        self.board.contribute(self.me, self.turn, own);
        self.wake(inside);
    }

    /// The decision of the turn that we contributed to last, once there is one. Everybody must combine alike.
    pub fn decision(&self, inside: &mut Entered, combine: impl Fn(u32, u32) -> u32) -> Option<Agreed> {
        let failures = inside.failures();
        let engine = inside.engine();
        let has_failed = |member: usize, from: u32| {
            let failed = |index: u32| engine.segment.failure(index).rank == self.members[member].0;
            from < failures && engine.has_failed(self.members[member].0) && (from..failures).any(failed)
        };
        let (decision, made) = self.board.decide(self.turn, failures, has_failed, combine)?;
        if made {
            self.wake(inside);
        }
        let Decision {
            value,
            failures,
            unacknowledged,
        } = decision;
        inside.learn_of(failures);
        Some(Agreed {
            value,
            failures,
            unacknowledged,
        })
    }

    fn wake(&self, inside: &mut Entered) {
        let engine = inside.engine();
        engine.channels.order();
        for (member, peer) in self.members.iter().enumerate() {
            if member != self.me && !(failures::fault_events() > 0 && engine.has_failed(peer.0)) {
                engine.channels.wake(peer.0);
            }
        }
    }
}
