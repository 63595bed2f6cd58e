//! How ranks come by a board: all of them have it, or none.
//!
//! Each *comes*, by a message to the first of them, when its receive is posted in which it will be told. Once all have come,
//! and the first has a way to each of them, it takes the memory for the board and tells them. Before that, whoever is refused
//! memory fails the setup, and no rank has a board; from then on it can fail only by a death: a step that
//! finds no memory is tried again, and the others are there to make room.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_engine::rules::Rule;
use isthmus_engine::{
    Board, Entered, Mode, OpId, Outcome, Peer, Posting, single_copies_pay, single_copies_pay_beyond_caches,
};

use crate::error::{Error, Result};
use crate::lane::{Lane, check};
use crate::link::{Incoming, Outgoing};
use crate::team::Team;
use crate::traits::Traits;

/// In the word beside the board's place, which is a multiple of 128: single copies between all members are possible.
const REACH: u64 = 1;
/// The same: they pay.
const PAY: u64 = 2;
/// The same: they pay for more than the caches hold.
const PAY_BEYOND_CACHES: u64 = 4;

/// A board setup in progress.
pub struct Setup {
    tag: i32,
    members: Vec<usize>,
    me: usize,
    /// Where the board is, and what the first of the members found out for all; 0: there is no memory for one.
    word: Arc<AtomicU64>,
    ops: Vec<Option<OpId>>,
    /// The first of the members: how many have been told, itself included. 0: not all have come.
    told: usize,
    /// Its failure.
    broken: Option<Error>,
    /// There will be no board.
    is_given_up: bool,
}

impl Setup {
    /// Come, as one of these ranks of the communicator.
    pub fn begin(inside: &mut Entered, team: &Team, members: Vec<usize>, is_for_requests: bool) -> Self {
        let first = members.first().copied().unwrap_or(0);
        let rank = team.rank() as usize;
        let mut setup = Self {
            tag: Team::setup_tag(first, is_for_requests),
            me: members.iter().position(|member| *member == rank).unwrap_or(0),
            members,
            word: Arc::new(AtomicU64::new(0)),
            ops: Vec::new(),
            told: 0,
            broken: None,
            is_given_up: false,
        };
        if setup.come(inside, team, first).is_err() {
            setup.give_up(inside, team);
        }
        setup
    }

    /// The calling process will not come.
    pub fn refuse(inside: &mut Entered, team: &Team, first: usize, is_for_requests: bool) {
        let tag = Team::setup_tag(first, is_for_requests);
        Lane { team, tag }.fail(inside);
    }

    fn lane<'a>(&self, team: &'a Team) -> Lane<'a> {
        Lane { team, tag: self.tag }
    }

    fn give_up(&mut self, inside: &mut Entered, team: &Team) {
        self.lane(team).fail(inside);
        self.is_given_up = true;
    }

    fn come(&mut self, inside: &mut Entered, team: &Team, first: usize) -> Result<()> {
        let word = self.word.as_ptr().cast::<u8>();
        let (receives, sends) = match self.me {
            0 => {
                let come = |from: &usize| Incoming {
                    from: *from,
                    into: word,
                    len: 0,
                };
                (self.members[1..].iter().map(come).collect(), vec![])
            }
            _ => {
                let told = Incoming {
                    from: first,
                    into: word,
                    len: size_of::<u64>(),
                };
                let come = Outgoing {
                    to: first,
                    data: word,
                    len: 0,
                };
                (vec![told], vec![come])
            }
        };
        self.ops.resize(receives.len() + sends.len(), None);
        // SAFETY: the word lives until the messages are over.
        unsafe { self.lane(team).start_all(inside, &receives, &sends, &mut self.ops) }
    }

    /// Move on. The board, if there is to be one, with what calls on it can do, once that is known; an error if a member has failed.
    pub fn advance(&mut self, inside: &mut Entered, team: &Team) -> Option<Result<Option<(Board, Traits)>>> {
        if !self.are_over(inside, team) {
            return None;
        }
        if self.me == 0 && !self.is_over() {
            if self.told == 0 && self.found(inside, team).is_err() {
                self.give_up(inside, team);
            }
            let is_told = self.is_over() || self.tell(inside, team) && self.are_over(inside, team);
            if !is_told {
                return None;
            }
        }
        if let Some(error) = self.broken.take() {
            return Some(Err(error));
        }
        let word = self.word.load(Ordering::Relaxed);
        if self.is_given_up || word == 0 {
            return Some(Ok(None));
        }
        let peers: Vec<_> = self.members.iter().filter_map(|member| peer(team, *member)).collect();
        let board = Board::attach(inside, word & !(REACH | PAY | PAY_BEYOND_CACHES), &peers, self.me);
        let traits = Traits::SINGLE_COPIES.when(word & REACH != 0)
            | Traits::CHEAP_COPIES.when(word & PAY != 0)
            | Traits::FAIR_COPIES.when(word & PAY_BEYOND_CACHES != 0);
        Some(Ok(board.map(|board| (board, traits))))
    }

    /// Is it, but for the end of messages?
    fn is_over(&self) -> bool {
        self.is_given_up || self.broken.is_some()
    }

    /// Are all messages over that were started? Those that will not come are withdrawn.
    fn are_over(&mut self, inside: &mut Entered, team: &Team) -> bool {
        if !self.is_over()
            && let Err(error) = self.lane(team).check(inside)
        {
            match error.is_failure() {
                true => self.broken = Some(error),
                // Once all have come nobody gives up.
                false => self.is_given_up = true,
            }
            for op in self.ops.iter().flatten() {
                inside.cancel(*op);
            }
        }
        let mut over = |op: &Option<OpId>| op.map_or(Some(Outcome::default()), |op| inside.take(op));
        let broken = &mut self.broken;
        self.ops.retain(|op| match over(op) {
            None => true,
            Some(outcome) => {
                if let Err(error) = check(&outcome, None, |_, _, _| {}) {
                    broken.get_or_insert(error);
                }
                false
            }
        });
        self.ops.is_empty()
    }

    /// All have come: see to a way to each, and take the memory.
    fn found(&mut self, inside: &mut Entered, team: &Team) -> Result<()> {
        for member in self.members.iter().filter_map(|member| peer(team, *member)) {
            inside.connect(member)?;
        }
        let mut word = Board::allocate(inside, self.members.len()).unwrap_or(0);
        if word != 0 {
            // As far as we can tell: what a pair cannot do goes another way.
            let me = team.rank() as usize;
            let mut others = self.members.iter().filter(|member| **member != me);
            let reach_all = others.all(|member| peer(team, *member).is_some_and(|peer| inside.can_read(peer)));
            let when = |holds: bool, bit: u64| if holds { bit } else { 0 };
            let lent = reach_all && Rule::Lent.holds();
            word |= when(reach_all, REACH)
                | when(lent && single_copies_pay(), PAY)
                | when(lent && single_copies_pay_beyond_caches(), PAY_BEYOND_CACHES);
        }
        self.word.store(word, Ordering::Relaxed);
        self.told = 1;
        Ok(())
    }

    /// Tell the ranks that have not been told. False: not all could be.
    fn tell(&mut self, inside: &mut Entered, team: &Team) -> bool {
        while let Some(member) = self.members.get(self.told) {
            let Some(to) = peer(team, *member) else { return true };
            let posting = Posting {
                context: team.collective_context(),
                source: team.rank(),
                tag: self.tag,
            };
            let word = self.word.as_ptr().cast::<u8>();
            // SAFETY: the word lives until the messages are over.
            match unsafe { inside.send(Mode::Standard, to, posting, word, size_of::<u64>()) } {
                Ok(op) => self.ops.push(op),
                Err(_) => return false,
            }
            self.told += 1;
        }
        true
    }
}

fn peer(team: &Team, member: usize) -> Option<Peer> {
    team.peer(member as i32)
}
