//! General active target synchronisation (MPI-5.0 §12.5.2): post, start, complete, wait. Each pair of origin and target counts posts
//! and completes, so that none is lost, however far one of the two is ahead.
//!
//! A short put to memory that its owner only can store to is left to the target (`rma/mailbox.rs`), which does it at the latest in the call that
//! sees our complete: until then nobody may look at it, and what is counted is seen after what was left.

use std::sync::atomic::{AtomicU16, Ordering};

use isthmus_engine::{Entered, enter, rma, wait_until};

use super::Win;
use super::epoch::{FREE, General, Mode, STARTED};
use super::fence::check_assert;
use crate::constants::{MODE_NOCHECK, MODE_NOPUT, MODE_NOSTORE};
use crate::error::Result;
use crate::fail;
use crate::group::Group;
use crate::request::try_now;

/// `MPI_Win_post`: the members of `group` may access our memory. Does not block.
pub fn win_post(group: &Group, assert: i32, win: &Win) -> Result<()> {
    check_assert(assert, MODE_NOCHECK | MODE_NOSTORE | MODE_NOPUT)?;
    let origins = win.members_of(group)?;
    let mut general = win.epochs.general();
    general.count_for(win.size);
    if general.exposed.is_some() {
        return Err(fail!(
            RmaSync,
            "MPI_Win_post on {}, whose memory is exposed already, until MPI_Win_wait",
            win.label()
        ));
    }
    for &origin in &origins {
        match win.part(origin) {
            Some(part) => raise(part.posts(win.plan, win.rank())),
            None => win.post_away(origin)?,
        }
    }
    rma::published();
    origins.iter().for_each(|&origin| win.wake(origin));
    general.exposed = Some(origins);
    Ok(())
}

/// `MPI_Win_start`: begin to access the members of `group`. Blocks until they have posted.
pub fn win_start(group: &Group, assert: i32, win: &Win) -> Result<()> {
    check_assert(assert, MODE_NOCHECK)?;
    win.check_idle("MPI_Win_start", win.epochs.mode())?;
    let targets = win.members_of(group)?;
    let mut wanted = Vec::with_capacity(targets.len());
    {
        let mut general = win.epochs.general();
        general.count_for(win.size);
        for &target in &targets {
            general.used_posts[target] = general.used_posts[target].wrapping_add(1);
            wanted.push((target, general.used_posts[target]));
        }
        general.started.clone_from(&targets);
    }
    let awaited = win.await_all(&wanted, |target| win.own.part.posts(win.plan, target));
    if let Err(error) = awaited {
        let mut general = win.epochs.general();
        for &target in &targets {
            general.used_posts[target] = general.used_posts[target].wrapping_sub(1);
        }
        return Err(error);
    }
    targets.iter().for_each(|&target| win.epochs.hold(target, STARTED));
    win.epochs.set_mode(Mode::Start);
    Ok(())
}

/// `MPI_Win_complete`: what was started since `MPI_Win_start` is over.
pub fn win_complete(win: &Win) -> Result<()> {
    if win.epochs.mode() != Mode::Start {
        return Err(fail!(
            RmaSync,
            "MPI_Win_complete on {} without MPI_Win_start",
            win.label()
        ));
    }
    // In any case the targets wait for us.
    let published = win.flow.publish();
    let kept = win.end_loans(|_| true);
    let targets = std::mem::take(&mut win.epochs.general().started);
    for &target in &targets {
        match win.part(target) {
            Some(part) => raise(part.completes(win.plan, win.rank())),
            None => win.complete_away(target)?,
        }
        win.epochs.hold(target, FREE);
    }
    rma::published();
    targets.iter().for_each(|&target| win.wake(target));
    win.epochs.set_mode(Mode::None);
    published?;
    kept
}

/// `MPI_Win_wait`: until all whom we posted for have completed. Blocks.
pub fn win_wait(win: &Win) -> Result<()> {
    let wanted = exposed(win, "MPI_Win_wait")?;
    let awaited = win.await_all(&wanted, |origin| win.own.part.completes(win.plan, origin));
    // Also where some have failed: what the others have left is theirs, and the memory is the program's from here on.
    rma::finish_left();
    awaited?;
    close(win, &wanted);
    win.forget_others();
    Ok(())
}

/// `MPI_Win_test`: have they? Then the exposure epoch is over, as after `MPI_Win_wait`.
pub fn win_test(win: &Win) -> Result<bool> {
    let wanted = exposed(win, "MPI_Win_test")?;
    let mut inside = enter();
    let look = |inside: &mut Entered| match win.look(inside, &wanted, |origin| win.own.part.completes(win.plan, origin))
    {
        Ok(false) => None,
        over => Some(over),
    };
    let over = try_now(&mut inside, look).unwrap_or(Ok(false));
    drop(inside);
    if !matches!(over, Ok(false)) {
        rma::finish_left();
    }
    let over = over?;
    if over {
        close(win, &wanted);
        win.forget_others();
    }
    Ok(over)
}

/// The origins of the exposure epoch that is open, and the completes that it ends with.
fn exposed(win: &Win, what: &str) -> Result<Vec<(usize, u16)>> {
    let general = win.epochs.general();
    match &general.exposed {
        Some(origins) => Ok(origins
            .iter()
            .map(|&origin| (origin, general.used_completes[origin].wrapping_add(1)))
            .collect()),
        None => Err(fail!(RmaSync, "{what} on {} without MPI_Win_post", win.label())),
    }
}

fn close(win: &Win, wanted: &[(usize, u16)]) {
    let mut general = win.epochs.general();
    for &(origin, count) in wanted {
        general.used_completes[origin] = count;
    }
    general.exposed = None;
}

/// A count that only this process changes.
pub(super) fn raise(count: &AtomicU16) {
    // SYNC: window-count
    count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
}

/// Has a count that wraps come as far as that?
fn is_reached(count: u16, until: u16) -> bool {
    count.wrapping_sub(until) as i16 >= 0
}

impl General {
    fn count_for(&mut self, members: usize) {
        if self.used_posts.is_empty() {
            self.used_posts = vec![0; members].into();
            self.used_completes = vec![0; members].into();
        }
    }
}

impl Win {
    /// The places of a group's members, all of which must be members of the window.
    fn members_of(&self, group: &Group) -> Result<Vec<usize>> {
        let place = |peer| self.group.rank_of(peer).map(|rank| rank as usize);
        group
            .members()
            .iter()
            .map(place)
            .collect::<Option<_>>()
            .ok_or_else(|| fail!(Group, "group has members that are not members of {}", self.label()))
    }

    /// Have all counts come as far as wanted? Fails if one will not, since its process has failed.
    fn look<'a>(
        &self,
        inside: &mut Entered,
        wanted: &[(usize, u16)],
        count: impl Fn(usize) -> &'a AtomicU16,
    ) -> Result<bool> {
        for &(member, until) in wanted {
            // SYNC: window-count
            if !is_reached(count(member).load(Ordering::Acquire), until) {
                if self.has_failed(inside, member) {
                    return Err(self.failed(member));
                }
                self.awaits(inside, member);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn await_all<'a>(
        &self,
        wanted: &[(usize, u16)],
        count: impl Fn(usize) -> &'a AtomicU16 + Send + Sync,
    ) -> Result<()> {
        let has_come = || {
            wanted.iter().all(|&(member, until)| {
                // SYNC: window-count
                is_reached(count(member).load(Ordering::Acquire), until)
            })
        };
        if rma::look_briefly(has_come) {
            return Ok(());
        }
        wait_until(|inside| match self.look(inside, wanted, &count) {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        })?
    }
}
