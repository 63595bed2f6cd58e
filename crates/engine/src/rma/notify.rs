//! Telling a target that its data is there.

use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_shm::backoff::{self, LOOKS_AT_NOTICE};
use isthmus_shm::doorbell;
use isthmus_shm::occupancy;

use super::progressing::Progressing;
use super::{Flow, Target, home, mailbox};
use crate::types::Peer;
use crate::{Error, Result, Watch, counters, wait_until};

/// Add `by` to a counter of 8 aligned bytes at `at` of the target, after everything that `flow` has put there before, and wake the
/// target if it sleeps. A process that sees the new count ([`wait_for`]) sees the data. Does not block.
///
/// # Errors
/// The counter is not in the region, or the region not in memory that both sides map.
pub fn notify(flow: &Flow, target: &Target, at: u64, by: u64) -> Result<()> {
    target.check(at, 8)?;
    let Some(first) = target.mapped().filter(|_| at.is_multiple_of(8)) else {
        return Err(Error::Mismatch(
            "a counter must be aligned, in memory that both sides map",
        ));
    };
    flow.order();
    // SAFETY: in the region, aligned, and mapped; counters are accessed by atomics.
    let counter = unsafe { AtomicU64::from_ptr(first.as_ptr().add(at as usize).cast()) };
    // SYNC: notify
    counter.fetch_add(by, Ordering::Release);
    wake(target.peer())
}

/// Wake a process if it sleeps: something that it may wait for has been written to memory that it looks at. Does not block.
///
/// # Errors
/// There is no such process.
#[inline]
pub fn wake(peer: Peer) -> Result<()> {
    let home = home()?;
    if peer.0 >= home.segment.ranks() {
        return Err(Error::Mismatch("no such process"));
    }
    doorbell::order(home.fence_needed);
    if home.segment.slot(peer.0).doorbell().alert() {
        counters::WAKES.add_anywhere(1);
    }
    Ok(())
}

/// Between writing to shared memory and looking there who waits for it: what whoever sleeps by now has seen, or else shows. Does not
/// block.
#[inline]
pub fn published() {
    doorbell::order(home().is_ok_and(|home| home.fence_needed));
}

/// Has `ready` come, or does it within a microsecond or two? For what others write to shared memory in the same step of a program, and before
/// a wait that makes progress: meanwhile only what is asked of this process's memory is done. Does not wait where CPUs are shared.
#[inline]
pub fn look_briefly(mut ready: impl FnMut() -> bool) -> bool {
    if ready() {
        return true;
    }
    if occupancy::is_oversubscribed() {
        return false;
    }
    let _progressing = Progressing::begin();
    let mut looks = 0_u32;
    backoff::look_briefly(&LOOKS_AT_NOTICE, || {
        looks += 1;
        if looks.is_multiple_of(8) {
            mailbox::serve();
        }
        ready()
    })
}

/// Wait until a counter of this process, which others raise by [`notify`], is at least that high: what it is then. Blocks, and makes
/// progress.
pub fn wait_for(counter: &AtomicU64, at_least: u64) -> Result<u64> {
    wait_until(|_| {
        // SYNC: notify
        let count = counter.load(Ordering::Acquire);
        (count >= at_least).then_some(count)
    })
}

/// Wait until `ready` answers, who looks at memory that others change without waking anybody. Blocks, and makes progress.
pub(super) fn wait_watching<T: Send>(mut ready: impl FnMut() -> Option<T> + Send) -> Result<T> {
    let _watch = Watch::begin();
    wait_until(|_| ready())
}
