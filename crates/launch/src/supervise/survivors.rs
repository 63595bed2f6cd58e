//! Going on without a rank that has failed: docs/decisions/0013.

use isthmus_os::signal;

use super::{LEARN, Rank, SETTLING, Supervisor};
use crate::lifeline::Lifeline;

impl Supervisor<'_> {
    /// A rank and its connection.
    pub(super) fn of(&self, index: usize) -> Option<(&Rank, &Lifeline)> {
        let rank = self.ranks.get(index)?;
        Some((rank, rank.lifeline.as_ref()?))
    }

    /// The connection of a rank has ended without a goodbye. If the others want to go on, declare it failed as soon as its
    /// process is no more. False: not yet.
    pub(super) fn let_others_go_on(&mut self, index: usize) -> bool {
        if self.ranks[index].lost {
            return true;
        }
        if !self.others_endure(index) {
            // Those who have just come may be about to say that they want to.
            return !self.may_come_to_endure(index);
        }
        let rank = &mut self.ranks[index];
        let reaped = rank.ended.is_some();
        let Some(lifeline) = &mut rank.lifeline else {
            return true;
        };
        let is_ours = lifeline.pid == rank.pid;
        let waited = lifeline.ended.is_some_and(|since| since.elapsed() >= LEARN);
        let gone = lifeline.is_gone() || is_ours && reaped;
        if !gone {
            if !waited {
                return false;
            }
            // It has closed its connection and lives on. Those who are told that it is dead will use its memory.
            let _ = signal::send(lifeline.pid, libc::SIGKILL); // It may end at any moment.
            if lifeline.can_tell() {
                return false;
            }
        }
        rank.lost = true;
        let turn = rank.left;
        let overview = &self.turns[turn].overview;
        let first = self.here.start;
        overview.declare_failed(first + index as u32, false);
        if self.ranks.iter().filter(|rank| rank.lost && rank.left == turn).count() == 1 {
            let gone = self
                .ranks
                .iter()
                .enumerate()
                .filter(|(_, rank)| rank.left > turn && !rank.lost);
            gone.for_each(|(rank, _)| overview.declare_failed(first + rank as u32, true));
        }
        true
    }

    /// Everybody else who does not want to go on when others fail has come a moment ago: it may be in its first calls.
    fn may_come_to_endure(&self, index: usize) -> bool {
        let turn = self.ranks[index].left;
        let mut others =
            self.ranks.iter().enumerate().filter(|(other, rank)| {
                *other != index && !rank.lost && (rank.ended.is_none() || rank.lifeline.is_some())
            });
        let mut somebody = false;
        let all = others.all(|(other, rank)| {
            somebody = true;
            let is_inside = rank.lifeline.is_some() && rank.left == turn;
            is_inside && self.turns[turn].overview.endures(self.here.start + other as u32)
                || rank.came.elapsed() < SETTLING
        });
        somebody && all
    }

    /// Somebody else is in the job, and everybody who is wants to go on.
    pub(super) fn others_endure(&self, index: usize) -> bool {
        let never = self.job.never_end_others;
        // The survivors of several nodes cannot agree yet: what they would agree in is memory of one node.
        if self.uplink.is_some() {
            return false;
        }
        let turn = self.ranks[index].left;
        let mut others = 0;
        for (other, rank) in self.ranks.iter().enumerate() {
            match &rank.lifeline {
                _ if other == index || rank.lost => {}
                Some(lifeline) if lifeline.finalized || lifeline.ended.is_some() => {}
                Some(_) => {
                    if !(never
                        || rank.left == turn && self.turns[turn].overview.endures(self.here.start + other as u32))
                    {
                        return false;
                    }
                    others += 1;
                }
                // It has not come yet, and may fail before it can say what it wants.
                None if !never && rank.ended.is_none() && rank.left <= turn => return false,
                None => {}
            }
        }
        others > 0
    }

    /// A rank has left in peace. Where others have failed, nobody waited for it, and somebody may still wait for it.
    pub(super) fn part_from(&mut self, index: usize) {
        let turn = self.ranks[index].left - 1;
        let same = |rank: &Rank| rank.lost && rank.left == turn;
        if self.ranks.iter().any(same) {
            self.turns[turn]
                .overview
                .declare_failed(self.here.start + index as u32, true);
        }
    }

    /// A turn begins without those who were lost in the turns before.
    pub(super) fn tell_of_the_lost(&mut self, turn: usize) {
        for (rank, _) in self.ranks.iter().enumerate().filter(|(_, rank)| rank.lost) {
            self.turns[turn]
                .overview
                .declare_failed(self.here.start + rank as u32, false);
        }
    }
}
