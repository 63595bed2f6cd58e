//! Fences (MPI-5.0 §12.5.1), and what else all members of a window wait for: each counts the fences that it has come to, and waits
//! until everybody has counted as many.

use std::sync::atomic::{Ordering, fence};

use isthmus_engine::{rma, wait_until};

use super::Win;
use super::check::{self, Meeting};
use super::epoch::Mode;
use crate::constants::{MODE_NOPRECEDE, MODE_NOPUT, MODE_NOSTORE, MODE_NOSUCCEED};
use crate::error::Result;
use crate::fail;

/// `MPI_Win_fence`: what was started before is over everywhere, and what follows may be started. Collective; blocks.
pub fn win_fence(assert: i32, win: &Win) -> Result<()> {
    check_assert(assert, MODE_NOSTORE | MODE_NOPUT | MODE_NOPRECEDE | MODE_NOSUCCEED)?;
    match win.epochs.mode() {
        Mode::None | Mode::Fenced | Mode::Fence => {}
        _ => win.check_idle("MPI_Win_fence")?,
    }
    if win.epochs.general().exposed.is_some() {
        return Err(fail!(
            RmaSync,
            "MPI_Win_fence on {}, whose memory is exposed by MPI_Win_post until MPI_Win_wait",
            win.label()
        ));
    }
    check::fence(win, assert)?;
    win.flow.flush_all()?;
    win.meet(Meeting::Fence(assert))?;
    if win.is_checked {
        win.forget_others();
        win.meet(Meeting::Inner)?;
    }
    win.epochs.set_mode(if assert & MODE_NOSUCCEED != 0 {
        Mode::None
    } else {
        Mode::Fenced
    });
    Ok(())
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
    pub(super) fn meet(&self, meeting: Meeting) -> Result<()> {
        let own = self.own.part.fence();
        let turn = own.load(Ordering::Relaxed).wrapping_add(1);
        check::announce(self, turn, meeting);
        // SYNC: window-fence
        own.store(turn, Ordering::Release);
        // Of those who come last, each sees all others, or is seen.
        fence(Ordering::SeqCst);
        let mut next = 0;
        if self.has_come(turn, &mut next) {
            rma::published();
            (0..self.size).for_each(|member| self.wake(member));
            return check::compare(self, turn);
        }
        wait_until(|inside| {
            if self.has_come(turn, &mut next) {
                return Some(check::compare(self, turn));
            }
            self.check_whole(inside).err().map(Err)
        })?
    }

    /// Have all come, from the member `next` on?
    fn has_come(&self, turn: u32, next: &mut usize) -> bool {
        while *next < self.size {
            // SYNC: window-fence
            let theirs = self.part(*next).fence().load(Ordering::Acquire);
            if (theirs.wrapping_sub(turn) as i32) < 0 {
                return false;
            }
            *next += 1;
        }
        true
    }
}
