//! Passive target synchronisation (MPI-5.0 §12.5.3, §12.5.4): locks, and what is completed under them. How a lock works stands in
//! `control.rs`; the target does nothing for it.

use std::sync::atomic::{Ordering, fence};

use isthmus_engine::{Entered, rma, wait_until};

use super::Win;
use super::control::Part;
use super::epoch::{EXCLUSIVE, FREE, Mode, SHARED, UNCHECKED};
use super::fence::check_assert;
use crate::constants::{LOCK_EXCLUSIVE, LOCK_SHARED, MODE_NOCHECK, PROC_NULL};
use crate::error::Result;
use crate::fail;

/// `MPI_Win_lock`: access one target, alone or with others. Blocks while others have the lock.
pub fn win_lock(lock_type: i32, rank: i32, assert: i32, win: &Win) -> Result<()> {
    let how = match lock_type {
        LOCK_SHARED => SHARED,
        LOCK_EXCLUSIVE => EXCLUSIVE,
        _ => {
            return Err(fail!(
                Locktype,
                "lock_type={lock_type} is neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE"
            ));
        }
    };
    check_assert(assert, MODE_NOCHECK)?;
    win.check_lockable()?;
    if rank == PROC_NULL {
        return Ok(());
    }
    let target = win.member("rank", rank)?;
    if win.epochs.mode() != Mode::Lock {
        win.check_idle("MPI_Win_lock")?;
    } else if win.epochs.held(target) != FREE {
        return Err(fail!(RmaSync, "rank {target} of {} is locked already", win.label()));
    }
    let how = if assert & MODE_NOCHECK != 0 { UNCHECKED } else { how };
    win.acquire(target, how)?;
    win.epochs.locked(target, how);
    Ok(())
}

/// `MPI_Win_unlock`: what was started to the target is over there, and the lock is given back.
pub fn win_unlock(rank: i32, win: &Win) -> Result<()> {
    if rank == PROC_NULL {
        return Ok(());
    }
    let target = win.member("rank", rank)?;
    if win.epochs.mode() != Mode::Lock {
        return Err(not_locked(win, target));
    }
    let how = win.epochs.held(target);
    if how == FREE {
        return Err(not_locked(win, target));
    }
    win.flow.flush_all()?;
    win.forget_own(std::iter::once(target));
    win.release(target, how);
    win.epochs.unlocked(target);
    rma::serve_others();
    Ok(())
}

#[cold]
fn not_locked(win: &Win, target: usize) -> crate::error::Error {
    fail!(
        RmaSync,
        "MPI_Win_unlock of rank {target} of {}, which is not locked by MPI_Win_lock",
        win.label()
    )
}

/// `MPI_Win_lock_all`: access all targets, with others. Blocks while others have one of the locks alone.
pub fn win_lock_all(assert: i32, win: &Win) -> Result<()> {
    check_assert(assert, MODE_NOCHECK)?;
    win.check_lockable()?;
    win.check_idle("MPI_Win_lock_all")?;
    let how = if assert & MODE_NOCHECK != 0 { UNCHECKED } else { SHARED };
    for target in 0..win.size {
        if let Err(error) = win.acquire(target, how) {
            (0..target).for_each(|target| win.let_go(target));
            return Err(error);
        }
        win.epochs.hold(target, how);
    }
    win.epochs.set_mode(Mode::LockAll);
    Ok(())
}

/// `MPI_Win_unlock_all`.
pub fn win_unlock_all(win: &Win) -> Result<()> {
    if win.epochs.mode() != Mode::LockAll {
        return Err(fail!(
            RmaSync,
            "MPI_Win_unlock_all on {} without MPI_Win_lock_all",
            win.label()
        ));
    }
    win.flow.flush_all()?;
    win.forget_own(0..win.size);
    (0..win.size).for_each(|target| win.let_go(target));
    win.epochs.set_mode(Mode::None);
    rma::serve_others();
    Ok(())
}

/// `MPI_Win_flush`: what was started to one target is over there.
#[inline]
pub fn win_flush(rank: i32, win: &Win) -> Result<()> {
    if rank == PROC_NULL {
        return Ok(());
    }
    let target = win.member("rank", rank)?;
    win.admit_passive(target)?;
    rma::serve_others();
    win.flow.flush_all()?;
    win.forget_own(std::iter::once(target));
    Ok(())
}

/// `MPI_Win_flush_all`.
#[inline]
pub fn win_flush_all(win: &Win) -> Result<()> {
    check_locked(win, "MPI_Win_flush_all")?;
    rma::serve_others();
    win.flow.flush_all()?;
    win.forget_own(0..win.size);
    Ok(())
}

/// `MPI_Win_flush_local`: buffers of what was started to one target may be used again; they may as soon as a call returns.
#[inline]
pub fn win_flush_local(rank: i32, win: &Win) -> Result<()> {
    if rank == PROC_NULL {
        return Ok(());
    }
    rma::serve_others();
    win.admit_passive(win.member("rank", rank)?)
}

/// `MPI_Win_flush_local_all`.
#[inline]
pub fn win_flush_local_all(win: &Win) -> Result<()> {
    rma::serve_others();
    check_locked(win, "MPI_Win_flush_local_all")
}

#[inline]
fn check_locked(win: &Win, what: &str) -> Result<()> {
    match win.epochs.mode() {
        Mode::Lock | Mode::LockAll => Ok(()),
        _ => Err(fail!(RmaSync, "{what} on {}, where nothing is locked", win.label())),
    }
}

/// `MPI_Win_sync`: the one copy that there is of the window is in order.
pub fn win_sync(_win: &Win) -> Result<()> {
    fence(Ordering::SeqCst);
    rma::serve_others();
    Ok(())
}

impl Win {
    fn check_lockable(&self) -> Result<()> {
        if self.hints.no_locks() {
            return Err(fail!(RmaSync, "a lock on {}, whose info says no_locks", self.label()));
        }
        Ok(())
    }

    fn let_go(&self, target: usize) {
        self.release(target, self.epochs.held(target));
        self.epochs.hold(target, FREE);
    }

    /// Get the lock of a target.
    fn acquire(&self, target: usize, how: u8) -> Result<()> {
        let part = self.part(target);
        let got = match how {
            SHARED => self.try_shared(part),
            EXCLUSIVE => self.try_exclusive(part) && self.is_alone(part, |_| false),
            _ => true,
        };
        if got { Ok(()) } else { self.acquire_slowly(target, how) }
    }

    #[cold]
    fn acquire_slowly(&self, target: usize, how: u8) -> Result<()> {
        let part = self.part(target);
        let (waiters, bit) = part.waiter(self.rank);
        // SYNC: window-waiters
        waiters.fetch_or(bit, Ordering::SeqCst);
        let got = wait_until(|inside| {
            let got = match how {
                SHARED => self.try_shared(part) || (self.take_over(inside, part) && self.try_shared(part)),
                _ => {
                    let own = part.exclusive().load(Ordering::Relaxed) == self.rank as u32 + 1;
                    (own || self.try_exclusive(part) || (self.take_over(inside, part) && self.try_exclusive(part)))
                        && self.is_alone(part, |member| self.has_failed(inside, member))
                }
            };
            if got {
                return Some(Ok(()));
            }
            self.has_failed(inside, target).then(|| Err(self.failed(target)))
        })?;
        waiters.fetch_and(!bit, Ordering::Relaxed);
        if got.is_err() && how == EXCLUSIVE {
            let me = self.rank as u32 + 1;
            let _ = part
                .exclusive()
                .compare_exchange(me, 0, Ordering::Release, Ordering::Relaxed);
        }
        got
    }

    /// Show that we share the lock; taken back if somebody has it alone.
    fn try_shared(&self, part: &Part) -> bool {
        let flag = part.shared(self.plan, self.rank);
        // SYNC: window-lock
        flag.swap(1, Ordering::SeqCst);
        let holder = part.exclusive().load(Ordering::SeqCst);
        if holder == 0 {
            return true;
        }
        flag.store(0, Ordering::SeqCst);
        // It may have seen the flag, and wait for us.
        self.wake(holder as usize - 1);
        false
    }

    fn try_exclusive(&self, part: &Part) -> bool {
        let me = self.rank as u32 + 1;
        // SYNC: window-lock
        part.exclusive()
            .compare_exchange(0, me, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// Does nobody share the lock whose exclusive word we hold, but the dead?
    fn is_alone(&self, part: &Part, mut is_dead: impl FnMut(usize) -> bool) -> bool {
        (0..self.size).all(|member| {
            // SYNC: window-lock
            part.shared(self.plan, member).load(Ordering::SeqCst) == 0 || is_dead(member)
        })
    }

    /// If who has the lock alone has died with it, it is free from now on. True: try again.
    fn take_over(&self, inside: &mut Entered, part: &Part) -> bool {
        let holder = part.exclusive().load(Ordering::Relaxed);
        if holder == 0 {
            return true;
        }
        let member = holder as usize - 1;
        if member >= self.size || !self.has_failed(inside, member) {
            return false;
        }
        let freed = part
            .exclusive()
            .compare_exchange(holder, 0, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok();
        if freed {
            isthmus_os::process::say(&format!(
                "isthmus: rank {member} died while it had a lock on {} alone; the lock is free again, and what it guards may be \
                 half changed",
                self.label()
            ));
        }
        freed
    }

    /// Give the lock of a target back.
    fn release(&self, target: usize, how: u8) {
        let part = self.part(target);
        match how {
            // SYNC: window-lock
            SHARED => part.shared(self.plan, self.rank).store(0, Ordering::Release),
            EXCLUSIVE => part.exclusive().store(0, Ordering::Release),
            _ => return,
        }
        rma::published();
        for (index, word) in part.waiters(self.plan).enumerate() {
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                let member = index * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if member < self.size {
                    self.wake(member);
                }
            }
        }
    }
}
