//! Passive target synchronisation (MPI-5.0 §12.5.3, §12.5.4): locks, and what is completed under them. How a lock works stands in
//! `control.rs`; the target does nothing for it.

use std::sync::atomic::{Ordering, fence};

use isthmus_engine::{Cause, Entered, Peer, rma, wait_until};

use super::Win;
use super::epoch::{EXCLUSIVE, FREE, Mode, SHARED, UNCHECKED};
use super::fence::check_assert;
use super::lock::Lock;
use crate::constants::{LOCK_EXCLUSIVE, LOCK_SHARED, MODE_NOCHECK, PROC_NULL};
use crate::error::{Error, Result};
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
    // Looked at once: another thread may lock or unlock another target meanwhile.
    match win.epochs.mode() {
        Mode::Lock if win.epochs.held(target) == FREE => {}
        Mode::Lock => return Err(fail!(RmaSync, "rank {target} of {} is locked already", win.label())),
        mode => win.check_idle("MPI_Win_lock", mode)?,
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
    // In any case others wait for the lock.
    let flushed = win.flush_target(target);
    win.forget_own(std::iter::once(target));
    let released = win.release(target, how);
    win.epochs.unlocked(target);
    let ended = win.end_loans(|other| other == target);
    rma::serve_others();
    flushed.and(released).and(ended)
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
    win.check_idle("MPI_Win_lock_all", win.epochs.mode())?;
    let how = if assert & MODE_NOCHECK != 0 { UNCHECKED } else { SHARED };
    for target in 0..win.size {
        if let Err(error) = win.acquire(target, how) {
            // The first error is told.
            let _ = (0..target).try_for_each(|target| win.let_go(target));
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
    // If one fails, the others still wait for theirs. The first error is told.
    let mut done = win.flow.flush_all().map_err(Error::from);
    win.forget_own(0..win.size);
    for target in 0..win.size {
        let here = win.let_go(target);
        done = done.and(here);
    }
    win.epochs.set_mode(Mode::None);
    rma::serve_others();
    done.and(win.end_loans(|_| true))
}

/// `MPI_Win_flush`: what was started to one target is over there.
#[inline(always)]
pub fn win_flush(rank: i32, win: &Win) -> Result<()> {
    if rank == PROC_NULL {
        return Ok(());
    }
    let target = win.member("rank", rank)?;
    win.admit_passive(target)?;
    rma::serve_others();
    let flushed = win.flush_target(target);
    let ended = win.end_loans(|other| other == target);
    flushed?;
    win.forget_own(std::iter::once(target));
    ended
}

/// `MPI_Win_flush_all`.
#[inline]
pub fn win_flush_all(win: &Win) -> Result<()> {
    check_locked(win, "MPI_Win_flush_all")?;
    rma::serve_others();
    let flushed = win.flow.flush_all();
    let ended = win.end_loans(|_| true);
    flushed?;
    win.forget_own(0..win.size);
    ended
}

/// `MPI_Win_flush_local`: buffers of what was started to one target may be used again. They may as soon as a call returns, but for results that
/// come from another node.
#[inline]
pub fn win_flush_local(rank: i32, win: &Win) -> Result<()> {
    if rank == PROC_NULL {
        return Ok(());
    }
    rma::serve_others();
    let target = win.member("rank", rank)?;
    win.admit_passive(target)?;
    let flushed = win.flow.flush_local(|| win.peer(target));
    let ended = win.end_loans(|other| other == target);
    flushed?;
    ended
}

/// `MPI_Win_flush_local_all`.
#[inline]
pub fn win_flush_local_all(win: &Win) -> Result<()> {
    rma::serve_others();
    check_locked(win, "MPI_Win_flush_local_all")?;
    let flushed = win.flow.flush_local_all();
    let ended = win.end_loans(|_| true);
    flushed?;
    ended
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
    rma::send_kept();
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

    pub(super) fn peer(&self, target: usize) -> Peer {
        let peer = self.group.peer(target as i32);
        peer.unwrap_or_else(|| unreachable!("the target is a member"))
    }

    /// Operations to one target have completed there.
    #[inline(always)]
    fn flush_target(&self, target: usize) -> Result<()> {
        Ok(self.flow.flush(|| self.peer(target))?)
    }

    fn let_go(&self, target: usize) -> Result<()> {
        let how = self.epochs.held(target);
        self.epochs.hold(target, FREE);
        self.release(target, how)
    }

    /// Get the lock of a target.
    fn acquire(&self, target: usize, how: u8) -> Result<()> {
        let Some(lock) = self.lock(target) else {
            return self.acquire_away(target, how);
        };
        let got = match how {
            SHARED => lock.try_shared(self.rank()),
            EXCLUSIVE => lock.try_exclusive(self.rank()) && lock.is_alone(|_| false),
            _ => true,
        };
        if got {
            Ok(())
        } else {
            self.acquire_slowly(target, how, lock)
        }
    }

    /// The lock of a target; `None`: it is on another node.
    fn lock(&self, target: usize) -> Option<Lock<'_>> {
        Some(Lock {
            part: self.part(target)?,
            plan: self.plan,
            group: &self.group,
            owner: target,
            me: self.rank(),
        })
    }

    #[cold]
    fn acquire_slowly(&self, target: usize, how: u8, lock: Lock<'_>) -> Result<()> {
        let (part, me) = (&lock.part, self.rank());
        let take_over =
            |inside: &mut Entered| lock.take_over(|member| self.has_failed(inside, member), || self.label());
        let (waiters, bit) = part.waiter(me);
        // SYNC: window-waiters
        waiters.fetch_or(bit, Ordering::SeqCst);
        let got = wait_until(|inside| {
            let got = match how {
                SHARED => lock.try_shared(me) || (take_over(inside) && lock.try_shared(me)),
                _ => {
                    (lock.is_taken_by(me) || lock.try_exclusive(me) || (take_over(inside) && lock.try_exclusive(me)))
                        && lock.is_alone(|member| self.has_failed(inside, member))
                }
            };
            if got {
                return Some(Ok(()));
            }
            let (Peer(peer), holder) = (self.peer(target), lock.holder());
            let holder = holder.and_then(|holder| self.group.peer(holder as i32));
            inside.waits_for(Cause::Lock(peer, holder.map(|Peer(holder)| holder)));
            self.has_failed(inside, target).then(|| Err(self.failed(target)))
        })?;
        // In our own part the bit is also that of those on other nodes.
        if target != me || self.away.is_none() {
            waiters.fetch_and(!bit, Ordering::Relaxed);
        }
        if got.is_err() && how == EXCLUSIVE {
            let me = me as u32 + 1;
            let _ = part
                .exclusive()
                .compare_exchange(me, 0, Ordering::Release, Ordering::Relaxed);
        }
        got
    }

    /// Give the lock of a target back.
    fn release(&self, target: usize, how: u8) -> Result<()> {
        match self.lock(target) {
            Some(lock) => {
                lock.release(self.rank(), how);
                Ok(())
            }
            None => self.release_away(target, how),
        }
    }
}
