//! Agreement of a group that goes on when members fail: the engine's side of [`isthmus_shm::agreement`]. A group on several nodes, which
//! share no memory, agrees by its launcher, which knows all failures of the job in their order.

use isthmus_shm::agreement::{self, Board, Contribution, Decision};
use isthmus_shm::slot::Cause;

use crate::membership::control::{self, Combine, ToLauncher};
use crate::membership::{failures, launcher};
use crate::types::Peer;
use crate::{Entered, Result};

/// A group that agrees, turn after turn, on numbers and on who has failed.
#[derive(Debug)]
pub struct Consensus {
    key: u64,
    /// None: the launcher decides.
    board: Option<Board<'static>>,
    members: Vec<Peer>,
    me: usize,
    /// Turns that we contributed to.
    turn: u32,
    /// How the values of the last one become one.
    combine: Combine,
}

/// What a group agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Agreed {
    /// Everybody's values, combined.
    pub value: u32,
    /// Ranks among the first so many failures take no further part.
    pub failures: u32,
    /// A member has failed, and somebody has not acknowledged that.
    pub unacknowledged: bool,
}

impl Consensus {
    /// The group `key` of `members`, which all its members name alike and in the same order; the calling process is one.
    ///
    /// # Errors
    /// If there is no memory for it, or if members are on several nodes and the job's launcher is not ours.
    pub fn join(inside: &mut Entered, key: u64, members: Vec<Peer>) -> Result<Self> {
        let engine = inside.engine();
        let me = members.iter().position(|peer| peer.0 == engine.me);
        let segment = engine.segment;
        let length = agreement::bytes_for(members.len());
        let board = match members.iter().any(|peer| engine.channels.is_remote(peer.0)) {
            true => launcher::check_arbiter("agree").map(|()| None)?,
            false => Some(agreement::board(segment, key, members.len(), || {
                engine.memory.arena.allocate(segment, length)
            })?),
        };
        Ok(Self {
            key,
            board,
            members,
            me: me.expect("the caller is a member"),
            turn: 0,
            combine: Combine::And,
        })
    }

    /// Contribute to the next turn. All that are alive do, and name the same way to combine; it is decided then. Does not block.
    pub fn contribute(&mut self, inside: &mut Entered, value: u32, combine: Combine, acknowledged: u32) {
        self.turn += 1;
        self.combine = combine;
        let Some(board) = self.board else {
            return launcher::tell(&ToLauncher::Contribute(control::Contribution {
                key: self.key,
                turn: self.turn,
                combine,
                value,
                acknowledged,
                members: self.members.iter().map(|peer| peer.0).collect(),
            }));
        };
        board.contribute(self.me, self.turn, Contribution { value, acknowledged });
        self.wake(inside);
    }

    /// The decision of the turn that we contributed to last, once there is one.
    pub fn decision(&self, inside: &mut Entered) -> Option<Agreed> {
        let agreed = match self.board {
            Some(board) => self.decide(inside, board).or_else(|| self.say(inside, board))?,
            None => inside.engine().membership.decisions.remove(&(self.key, self.turn))?,
        };
        inside.learn_of(agreed.failures);
        Some(agreed)
    }

    /// Take part in no more turns. Every member that lives does so once; what the group has of shared memory is free then. Does not block.
    pub fn leave(self, inside: &mut Entered) {
        if let Some(board) = self.board {
            let engine = inside.engine();
            board.leave(self.me, |member| engine.has_failed(self.members[member].0));
        }
    }

    /// Say which member the decision waits for, for people who ask.
    fn say(&self, inside: &mut Entered, board: Board<'_>) -> Option<Agreed> {
        let engine = inside.engine();
        let awaited = board.awaited(self.turn, |member| engine.has_failed(self.members[member].0))?;
        inside.waits_for(Cause::Comes(self.members[awaited].0));
        None
    }

    fn decide(&self, inside: &mut Entered, board: Board<'_>) -> Option<Agreed> {
        let failures = inside.failures();
        let engine = inside.engine();
        let has_failed = |member: usize, from: u32| {
            let failed = |index: u32| engine.segment.failure(index).rank == self.members[member].0;
            from < failures && engine.has_failed(self.members[member].0) && (from..failures).any(failed)
        };
        let combine = |one, other| self.combine.apply(one, other);
        let (decision, made) = board.decide(self.turn, failures, has_failed, combine)?;
        if made {
            self.wake(inside);
        }
        let Decision {
            value,
            failures,
            unacknowledged,
        } = decision;
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
