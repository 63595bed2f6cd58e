//! `MPI_Abort` of a communicator that has not all ranks: its members end, and the others go on.

use std::time::Instant;

use isthmus_os::signal;

use super::{GRACE, SWEEP, Supervisor};
use crate::process_tree;

impl Supervisor<'_> {
    /// End these ranks only. False: they are all that are left, or some run elsewhere.
    pub(super) fn end_members(&mut self, members: &[u32], code: u8) -> bool {
        let is_member = |rank: usize| members.contains(&(rank as u32));
        let somebody_else = |(index, rank): (usize, &super::Rank)| {
            !is_member(index) && !rank.lost && (rank.ended.is_none() || rank.lifeline.is_some())
        };
        if members.is_empty() || self.uplink.is_some() || !self.ranks.iter().enumerate().any(somebody_else) {
            return false;
        }
        self.verdict.get_or_insert(code);
        for (_, rank) in self.ranks.iter_mut().enumerate().filter(|(index, _)| is_member(*index)) {
            rank.aborted = true;
        }
        self.partial_abort = Some(Instant::now() + GRACE);
        self.tell_aborted(libc::SIGTERM);
        // A stopped process does not hear SIGTERM.
        self.tell_aborted(libc::SIGCONT);
        true
    }

    /// Their time is up.
    pub(super) fn end_aborted(&mut self) {
        self.tell_aborted(libc::SIGKILL);
        let left = self.ranks.iter().any(|rank| rank.aborted && !rank.lost);
        self.partial_abort = left.then(|| Instant::now() + SWEEP);
        for index in 0..self.ranks.len() {
            if self.ranks[index].aborted {
                self.handle_rank(index);
            }
        }
    }

    fn tell_aborted(&self, signal: i32) {
        for rank in self.ranks.iter().filter(|rank| rank.aborted && !rank.lost) {
            let joined = rank.lifeline.as_ref().filter(|lifeline| !lifeline.is_gone());
            let joined = joined.map(|lifeline| lifeline.pid).filter(|pid| *pid != rank.pid);
            let started = rank.ended.is_none().then_some(rank.pid);
            for pid in started.into_iter().chain(joined).flat_map(process_tree::tree) {
                let _ = signal::send(pid, signal); // It may end at any moment.
            }
        }
    }

    /// A rank that ends as a member of what was aborted: once it has gone the others are told, and nothing else is said.
    pub(super) fn part_from_aborted(&mut self, index: usize) {
        if self.ranks[index].ended.is_some() && self.is_no_more(index) {
            self.declare(index);
            self.ranks[index].lost = true;
            self.ranks[index].lifeline = None;
        }
    }
}
