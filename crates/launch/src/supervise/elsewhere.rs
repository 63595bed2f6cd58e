//! Failures in a job on several nodes: what this node tells `mpiexec`, which keeps them in one order for all, and what it does about what it
//! hears from there (docs/decisions/0091).

use std::cmp::Ordering;
use std::time::Instant;

use isthmus_engine::control::{Revocation, ToRank};
use isthmus_os::signal;

use super::verdict::SILENT;
use super::{Rank, Supervisor};
use crate::failure::{say, say_as_it_is};
use crate::lifeline::Lifeline;
use crate::report::{self, Stage};
use crate::wire::{BrokenLink, Loss, ToHead, Vote};

/// What this node knows of failures on all nodes.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// In the order that all nodes know.
    losses: Vec<Loss>,
    /// Those of which this node has not said what its ranks want.
    ballots: Vec<Ballot>,
    /// It has said that its ranks do not go on without one of them, which ends the job.
    has_refused: bool,
    /// With their turns, for ranks that join later.
    revocations: Vec<(usize, Revocation)>,
}

/// Do the ranks of this node go on without that one?
#[derive(Debug)]
struct Ballot {
    turn: usize,
    rank: u32,
    since: Instant,
}

impl Supervisor<'_> {
    /// As [`Self::let_others_go_on`], of a rank of this node that has failed: all nodes are asked, once its process is no more.
    pub(super) fn let_all_go_on(&mut self, index: usize) -> bool {
        let Some(death) = self.of(index).and_then(|(_, lifeline)| lifeline.ended) else {
            return true;
        };
        let turn = self.ranks[index].left;
        if self.vote(turn, death) == Some(None) {
            return true;
        }
        if !self.is_no_more(index) {
            return false;
        }
        self.declare(index);
        if let Some(go_on) = self.ranks[index].judged {
            self.ranks[index].lost |= go_on;
            return true;
        }
        false
    }

    /// Whether the ranks here that are in the job want to go on after a death in this turn: how many go on, or `None` if one of them does not
    /// want to. Outside of that: they may still say so.
    #[expect(clippy::option_option, reason = "not known yet, or one of two answers")]
    fn vote(&self, turn: usize, death: Instant) -> Option<Option<u32>> {
        if self.refused {
            return Some(None);
        }
        match self.survivors(turn) {
            None if self.may_become_survivors(turn, death) => None,
            survivors => Some(survivors),
        }
    }

    /// Tell `mpiexec` of what those here want who had not said it yet.
    pub(super) fn answer_ballots(&mut self) {
        for ballot in std::mem::take(&mut self.elsewhere.ballots) {
            match self.vote(ballot.turn, ballot.since) {
                None => self.elsewhere.ballots.push(ballot),
                Some(survivors) => {
                    self.elsewhere.has_refused |= survivors.is_none();
                    self.tell_up(&ToHead::Vote(Vote {
                        node: self.own_node(),
                        rank: ballot.rank,
                        survivors,
                    }));
                }
            }
        }
    }

    /// Is it not known yet what those here want?
    pub(super) fn has_ballots(&self) -> bool {
        !self.elsewhere.ballots.is_empty()
    }

    /// A rank here ends the job, perhaps since it has heard of a loss and does not want to go on. True: then what ends the job is that loss.
    pub(super) fn refuses(&mut self) -> bool {
        let refused = self
            .elsewhere
            .ballots
            .iter()
            .any(|ballot| self.survivors(ballot.turn).is_none());
        if refused {
            self.refused = true;
            self.answer_ballots();
        }
        self.elsewhere.has_refused
    }

    fn own_node(&self) -> u32 {
        self.nodes.as_ref().map_or(0, |nodes| nodes.own.into())
    }

    /// A rank here is no more, or has left in peace where somebody had failed.
    pub(super) fn say_lost(&mut self, index: usize, turn: usize, in_peace: bool) {
        self.tell_up(&ToHead::Lost(Loss {
            turn: turn as u32,
            rank: self.here.start + index as u32,
            in_peace,
        }));
    }

    /// A rank of any node is no more.
    pub(super) fn hear_of_loss(&mut self, loss: Loss) {
        let turn = loss.turn as usize;
        let is_first = !self.has_loss(turn);
        self.elsewhere.losses.push(loss);
        for (later, it) in self.turns.iter().enumerate().skip(turn) {
            if loss.concerns(later as u32) {
                it.overview.declare_failed(loss.rank, loss.in_peace);
            }
        }
        if loss.in_peace {
            return;
        }
        if is_first {
            // Those who have left count as gone from now on.
            let gone: Vec<usize> = (0..self.ranks.len())
                .filter(|rank| self.ranks[*rank].left > turn && !self.ranks[*rank].declared)
                .collect();
            gone.into_iter().for_each(|rank| self.say_lost(rank, turn, true));
        }
        self.elsewhere.ballots.push(Ballot {
            turn,
            rank: loss.rank,
            since: Instant::now(),
        });
        self.answer_ballots();
    }

    /// Has somebody failed in this turn, on any node?
    pub(super) fn has_loss(&self, turn: usize) -> bool {
        let mut losses = self.elsewhere.losses.iter();
        losses.any(|loss| loss.turn as usize == turn && !loss.in_peace)
    }

    /// A turn begins without those who failed in the turns before.
    pub(super) fn tell_of_losses(&self, turn: usize) {
        for loss in self.elsewhere.losses.iter().filter(|loss| loss.concerns(turn as u32)) {
            self.turns[turn].overview.declare_failed(loss.rank, loss.in_peace);
        }
    }

    /// It is decided whether the others go on without a rank.
    pub(super) fn hear_judgement(&mut self, rank: u32, go_on: bool) {
        let Some(index) = self.index_of(rank) else { return };
        self.ranks[index].judged = Some(go_on);
        self.consider(index);
    }

    /// The job ends while all nodes were asked whether they go on without a rank of this one: nobody else says that it had failed.
    pub(super) fn say_unjudged(&self) {
        if self.uplink.is_none() {
            return;
        }
        for (index, rank) in self.ranks.iter().enumerate() {
            let (Some(lifeline), None, true) = (&rank.lifeline, rank.judged, rank.declared) else {
                continue;
            };
            let how = match lifeline.exit_status().or(rank.ended) {
                Some(status) => report::describe(status, Stage::Inside),
                None => SILENT.to_owned(),
            };
            say(&format!("{} {how}", self.name(index, lifeline.pid)));
        }
    }

    fn index_of(&self, rank: u32) -> Option<usize> {
        self.here.contains(&rank).then(|| (rank - self.here.start) as usize)
    }

    /// A rank on another node has no way to one here, which ends.
    pub(super) fn end_unreachable(&mut self, rank: u32) {
        let Some(index) = self.index_of(rank) else { return };
        self.verdict.get_or_insert(1);
        if let Some((_, lifeline)) = self.of(index).filter(|(_, lifeline)| lifeline.ended.is_none()) {
            let _ = signal::send(lifeline.pid, signal::KILL); // It may end at any moment.
        }
    }

    /// A rank's messages for other nodes: an unreachable peer, agreements, revocations.
    pub(super) fn tell_elsewhere(&mut self, index: usize) {
        let Some(rank) = self.ranks.get_mut(index) else { return };
        let (turn, rank_of_job) = (rank.left as u32, self.here.start + index as u32);
        let Some(lifeline) = &mut rank.lifeline else { return };
        let lost = std::mem::take(&mut lifeline.lost);
        let contributions = std::mem::take(&mut lifeline.contributions);
        let revocations = std::mem::take(&mut lifeline.revocations);
        for (other, why) in lost {
            if self.here.contains(&other) || other >= self.size || !self.lost_elsewhere.insert((turn, other)) {
                continue;
            }
            say_as_it_is(&format!(
                "{why}; error handlers return, so that rank is ended and the others go on"
            ));
            self.tell_up(&ToHead::BrokenLink(BrokenLink {
                rank: rank_of_job,
                other,
            }));
        }
        for contribution in contributions {
            self.tell_up(&ToHead::Contributed {
                turn,
                rank: rank_of_job,
                contribution,
            });
        }
        for revocation in revocations {
            self.tell_up(&ToHead::Revoked(turn, revocation));
        }
    }

    /// Ranks have revoked message spaces: those here hear of it.
    pub(super) fn hear_revocation(&mut self, turn: u32, revocation: Revocation) {
        self.tell_ranks(turn, &revocation.members, &ToRank::Revoked(revocation.clone()));
        let may_come = |rank: &Rank| match rank.left.cmp(&(turn as usize)) {
            Ordering::Less => true,
            Ordering::Equal => rank.lifeline.is_none(),
            Ordering::Greater => false,
        };
        if self.ranks.iter().any(may_come) {
            self.elsewhere.revocations.push((turn as usize, revocation));
        }
    }

    /// Somebody has joined a turn in which message spaces were revoked before.
    pub(super) fn tell_of_revocations(&mut self, index: usize) {
        let turn = self.ranks[index].left;
        let rank = self.here.start + index as u32;
        let concern = |(of, revocation): &&(usize, Revocation)| *of == turn && revocation.members.contains(&rank);
        let concerning: Vec<_> = self.elsewhere.revocations.iter().filter(concern).cloned().collect();
        for (_, revocation) in concerning {
            self.tell_ranks(turn as u32, &[rank], &ToRank::Revoked(revocation));
        }
    }

    /// Tell those of these ranks that are here, and in that turn.
    pub(super) fn tell_ranks(&mut self, turn: u32, ranks: &[u32], message: &ToRank) {
        for &rank in ranks {
            let joined = |lifeline: &&mut Lifeline| lifeline.ended.is_none();
            let Some(index) = self
                .index_of(rank)
                .filter(|index| self.ranks[*index].left == turn as usize)
            else {
                continue;
            };
            if let Some(lifeline) = self.ranks[index].lifeline.as_mut().filter(joined) {
                lifeline.tell(message);
                self.turns[turn as usize].overview.alert(rank);
            }
        }
    }

    /// Tell ranks what they could not be told before, as far as they have read meanwhile.
    pub(super) fn tell_unsent(&mut self) {
        for (rank, member) in self.here.clone().zip(&mut self.ranks) {
            if member.lifeline.as_mut().is_some_and(Lifeline::send_unsent) {
                self.turns[member.left].overview.alert(rank);
            }
        }
    }

    /// Is there a rank whose socket was full when it was to be told something?
    pub(super) fn has_unsent(&self) -> bool {
        let mut lifelines = self.ranks.iter().filter_map(|rank| rank.lifeline.as_ref());
        lifelines.any(Lifeline::has_unsent)
    }
}
