//! Fences (MPI-5.0 §12.5.1), and what else all members of a window wait for: each counts the fences that it has come to, and waits
//! until everybody has counted as many.

use std::sync::atomic::{Ordering, fence};

use isthmus_engine::{rma, wait_until};

use super::Win;
use super::check::{self, BarrierRound};
use super::epoch::Mode;
use super::remote::Away;
use crate::constants::{MODE_NOPRECEDE, MODE_NOPUT, MODE_NOSTORE, MODE_NOSUCCEED};
use crate::error::Result;
use crate::fail;

/// `MPI_Win_fence`: what was started before is over everywhere, and what follows may be started. Collective; blocks.
pub fn win_fence(assert: i32, win: &Win) -> Result<()> {
    check_assert(assert, MODE_NOSTORE | MODE_NOPUT | MODE_NOPRECEDE | MODE_NOSUCCEED)?;
    match win.epochs.mode() {
        Mode::None | Mode::Fenced | Mode::Fence => {}
        mode => win.check_idle("MPI_Win_fence", mode)?,
    }
    if win.epochs.is_exposed() {
        return Err(fail!(
            RmaSync,
            "MPI_Win_fence on {}, whose memory is exposed by MPI_Win_post until MPI_Win_wait",
            win.label()
        ));
    }
    check::fence(win, assert)?;
    // In any case the others wait for us.
    let published = win.flow.publish();
    let kept = win.end_loans(|_| true);
    win.barrier(BarrierRound::Fence(assert))?;
    if win.is_checked {
        win.forget_others();
        win.barrier(BarrierRound::Inner)?;
    }
    win.epochs.set_mode(if assert & MODE_NOSUCCEED != 0 {
        Mode::None
    } else {
        Mode::Fenced
    });
    published?;
    kept
}

/// Has a count that wraps come as far as that?
pub(super) fn is_reached(count: u32, turn: u32) -> bool {
    count.wrapping_sub(turn) as i32 >= 0
}

/// Refuse bits that mean nothing here.
pub(super) fn check_assert(assert: i32, known: i32) -> Result<()> {
    if assert & !known != 0 {
        return Err(fail!(
            Assert,
            "assert={assert:#x} has bits that mean nothing to this call"
        ));
    }
    Ok(())
}

impl Win {
    /// Wait until all members have come here as often. Ends with an error if one has failed.
    pub(super) fn barrier(&self, round: BarrierRound) -> Result<()> {
        let own = self.own.part.fence();
        let turn = own.load(Ordering::Relaxed).wrapping_add(1);
        check::announce(self, turn, round);
        // SYNC: window-fence
        own.store(turn, Ordering::Release);
        if let Some(away) = &self.away {
            // The node's first member sees us, or is seen asleep.
            fence(Ordering::SeqCst);
            self.nodes_barrier(away, turn)?;
            return check::compare(self, turn);
        }
        let mut next = 0;
        if !rma::look_briefly(|| self.has_come(turn, &mut next)) {
            self.await_node(turn, &mut next)?;
        }
        // A sleeper has read our count after it was seen asleep, or is woken; so no member fences between publishing and reading.
        rma::published();
        // A member in the next fence does not sleep in this one.
        let is_here = |member: usize| {
            self.part(member)
                .is_some_and(|part| part.fence().load(Ordering::Relaxed) == turn)
        };
        (0..self.size)
            .filter(|&member| is_here(member))
            .for_each(|member| self.wake(member));
        check::compare(self, turn)
    }

    /// Wait until all members of all nodes have come here as often. The leader of each node waits for its node; the leaders meet by
    /// dissemination (Hensgen, Finkel, Manber, 1988), in active messages; each then tells its node.
    fn nodes_barrier(&self, away: &Away, turn: u32) -> Result<()> {
        let leaders = &away.leaders;
        let lead = leaders[away.node];
        if lead != self.rank() {
            self.wake(lead);
            let part = self
                .part(lead)
                .unwrap_or_else(|| unreachable!("our leader is on our node"));
            return wait_until(|inside| match is_reached(part.met().load(Ordering::Acquire), turn) {
                true => Some(Ok(())),
                false => {
                    self.awaits(inside, lead);
                    self.check_whole(inside).err().map(Err)
                }
            })?;
        }
        let mut next = 0;
        self.await_node(turn, &mut next)?;
        let mut distance = 1;
        while distance < leaders.len() {
            self.tell_met(leaders[(away.node + distance) % leaders.len()], turn)?;
            let from = leaders[(away.node + leaders.len() - distance) % leaders.len()];
            let come = self.own.part.leader(self.plan, from);
            // SYNC: window-count
            wait_until(|inside| match is_reached(come.load(Ordering::Acquire), turn) {
                true => Some(Ok(())),
                false => {
                    self.awaits(inside, from);
                    self.check_whole(inside).err().map(Err)
                }
            })??;
            distance *= 2;
        }
        // SYNC: window-fence
        self.own.part.met().store(turn, Ordering::Release);
        rma::published();
        (0..self.size).for_each(|member| self.wake(member));
        Ok(())
    }

    /// Wait until all of this node have come, from the member `next` on.
    fn await_node(&self, turn: u32, next: &mut usize) -> Result<()> {
        wait_until(|inside| match self.has_come(turn, next) {
            true => Some(Ok(())),
            false => {
                self.awaits(inside, *next);
                self.check_whole(inside).err().map(Err)
            }
        })?
    }

    /// Have all of this node come, from the member `next` on?
    fn has_come(&self, turn: u32, next: &mut usize) -> bool {
        while *next < self.size {
            // SYNC: window-fence
            let theirs = self.part(*next).map(|part| part.fence().load(Ordering::Acquire));
            if theirs.is_some_and(|theirs| !is_reached(theirs, turn)) {
                return false;
            }
            *next += 1;
        }
        true
    }
}
