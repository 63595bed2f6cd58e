//! Going on without a rank that has failed: docs/decisions/0013.

use std::time::Instant;

use isthmus_os::signal;

use super::{COMING, LEARN, Rank, SETTLING, Supervisor, Turn};
use crate::lifeline::Lifeline;

impl Supervisor<'_> {
    /// A rank and its connection.
    pub(super) fn of(&self, index: usize) -> Option<(&Rank, &Lifeline)> {
        let rank = self.ranks.get(index)?;
        Some((rank, rank.lifeline.as_ref()?))
    }

    /// The connection of a rank has ended without a goodbye. Once its process is no more the others are told, if they want to
    /// go on, or may still say so. False: it is not decided yet.
    pub(super) fn let_others_go_on(&mut self, index: usize) -> bool {
        if self.ranks[index].lost {
            return true;
        }
        if self.uplink.is_some() {
            return self.let_all_go_on(index);
        }
        let endured = self.others_endure(index);
        if !endured && !self.may_be_endured(index) {
            return true;
        }
        if !self.is_no_more(index) {
            return false;
        }
        // Those who have not said what they want hear of it too: a call that needs the dead rank fails, and asks the error handler.
        self.declare(index);
        self.ranks[index].lost |= endured;
        endured
    }

    /// Has the process of a rank whose connection has ended gone? One that lives on is killed.
    pub(super) fn is_no_more(&self, index: usize) -> bool {
        let Some((rank, lifeline)) = self.of(index) else {
            return true;
        };
        if lifeline.is_gone() || lifeline.pid == rank.pid && rank.ended.is_some() {
            return true;
        }
        if lifeline.ended.is_none_or(|since| since.elapsed() < LEARN) {
            return false;
        }
        // It has closed its connection and lives on. Those who are told that it is dead will use its memory.
        let _ = signal::send(lifeline.pid, libc::SIGKILL); // It may end at any moment.
        !lifeline.can_tell()
    }

    /// Tell the others that a rank is no more, once. If it is the first, finalized ranks count as gone from now on.
    pub(super) fn declare(&mut self, index: usize) {
        if std::mem::replace(&mut self.ranks[index].declared, true) {
            return;
        }
        let turn = self.ranks[index].left;
        if self.uplink.is_some() {
            return self.say_lost(index, turn, false);
        }
        // Where it belongs to a turn that has not begun, that will be told as it begins.
        let Some(Turn { overview, .. }) = self.turns.get(turn) else {
            return;
        };
        let first = self.here.start;
        overview.declare_failed(first + index as u32, false);
        let same = |rank: &&Rank| rank.declared && rank.left == turn;
        if self.ranks.iter().filter(same).count() == 1 {
            let gone = self.ranks.iter().enumerate();
            let gone = gone.filter(|(_, rank)| rank.left > turn && !rank.declared);
            gone.for_each(|(rank, _)| overview.declare_failed(first + rank as u32, true));
        }
    }

    /// May the others still say that they want to go on without this rank?
    fn may_be_endured(&self, index: usize) -> bool {
        let death = self.of(index).and_then(|(_, lifeline)| lifeline.ended);
        death.is_some_and(|death| self.may_become_survivors(self.ranks[index].left, death))
    }

    /// Other ranks that have not said that they want to go on may be about to: a rank before its first call gets the time
    /// to join; a rank inside may end the call that it is in, and say it then. A call that needs the dead rank fails, and ends
    /// the job if that is what its error handler does; where everybody waits no call will end.
    pub(super) fn may_become_survivors(&self, turn: usize, death: Instant) -> bool {
        if self.refused {
            return false;
        }
        let is_there = |rank: &Rank| match &rank.lifeline {
            Some(lifeline) => lifeline.ended.is_none(),
            None => rank.ended.is_none(),
        };
        let others = || {
            let all = self.ranks.iter().enumerate();
            all.filter(|(_, rank)| !rank.lost && !rank.aborted && is_there(rank))
        };
        let may_say = |(other, rank): (usize, &Rank)| match rank.lifeline {
            None => rank.came.elapsed() < COMING,
            Some(_) => self.endures(other, turn) || death.max(rank.came).elapsed() < SETTLING,
        };
        let stuck = death.elapsed() >= LEARN && others().all(|(other, rank)| self.waits(other, rank));
        !stuck && others().all(may_say)
    }

    /// Is a rank in a call in which it has waited for long?
    fn waits(&self, index: usize, rank: &Rank) -> bool {
        let turn = self.turns.get(rank.left).filter(|_| rank.lifeline.is_some());
        turn.is_some_and(|turn| turn.overview.awaited(self.here.start + index as u32).is_some())
    }

    /// Has a rank said, in this turn, that it wants to go on?
    fn endures(&self, index: usize, turn: usize) -> bool {
        let rank = &self.ranks[index];
        rank.lifeline.is_some()
            && rank.left == turn
            && self.turns[turn].overview.endures(self.here.start + index as u32)
    }

    /// Somebody else of this node is in the job, and everybody who is wants to go on.
    pub(super) fn others_endure(&self, index: usize) -> bool {
        self.survivors(self.ranks[index].left).is_some_and(|others| others > 0)
    }

    /// How many ranks of this node are in the job, if all of them want to go on when one fails in this turn.
    pub(super) fn survivors(&self, turn: usize) -> Option<u32> {
        let never = self.job.never_end_others;
        let mut others = 0;
        for (other, rank) in self.ranks.iter().enumerate() {
            match &rank.lifeline {
                _ if rank.lost || rank.aborted => {}
                Some(lifeline) if lifeline.finalized || lifeline.ended.is_some() => {}
                Some(_) if !never && !self.endures(other, turn) => return None,
                Some(_) => others += 1,
                // It has not come yet, and may fail before it can say what it wants.
                None if !never && rank.ended.is_none() && rank.left <= turn => return None,
                None => {}
            }
        }
        Some(others)
    }

    /// A rank has left in peace. Where others have failed, nobody waited for it, and somebody may still wait for it.
    pub(super) fn part_from(&mut self, index: usize) {
        let turn = self.ranks[index].left - 1;
        if self.uplink.is_some() {
            if self.has_loss(turn) {
                self.say_lost(index, turn, true);
            }
            return;
        }
        let same = |rank: &Rank| rank.declared && rank.left == turn;
        if self.ranks.iter().any(same) {
            self.turns[turn]
                .overview
                .declare_failed(self.here.start + index as u32, true);
        }
    }

    /// A turn begins without those who were lost in the turns before.
    pub(super) fn tell_of_the_lost(&mut self, turn: usize) {
        if self.uplink.is_some() {
            return self.tell_of_losses(turn);
        }
        for (rank, _) in self.ranks.iter().enumerate().filter(|(_, rank)| rank.declared) {
            self.turns[turn]
                .overview
                .declare_failed(self.here.start + rank as u32, false);
        }
    }
}
