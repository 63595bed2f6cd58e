//! Notifications: a process tells another that what it put before is there.

use std::sync::atomic::Ordering;

use isthmus_engine::{enter, fault_events, ring};

use crate::elsewhere;
use crate::error::{Error, Result};
use crate::far::Change;
use crate::life::job;

/// Notify `proc`, after everything that the calling process put before: how often it has.
///
/// # Errors
/// There is no such process.
pub fn notify(proc: i32) -> Result<i32> {
    let job = job()?;
    let target = job.process(proc)?;
    if let Some(far) = job.far(target) {
        let (one, counter) = (1_u64, job.controls.address_of_notifications(target, job.me));
        let ends = ((&raw const one).cast(), std::ptr::null_mut());
        // SAFETY: the operand is ours.
        unsafe { elsewhere::change(job, far, Change::Add, ("proc", counter, 8), ends, target) }?;
        return Ok(far.notifies(target) as i32 + 1);
    }
    // SYNC: armci-notify
    let before = job
        .controls
        .notifications(target, job.me)
        .fetch_add(1, Ordering::Release);
    if target != job.me {
        ring(job.peer(target));
    }
    Ok(before as i32 + 1)
}

/// Wait for the next notification by `proc`: which it is, counted from 1. Blocks; sleeps while it waits.
///
/// # Errors
/// There is no such process, or it has failed.
pub fn wait(proc: i32) -> Result<i32> {
    let job = job()?;
    let origin = job.process(proc)?;
    let awaited = job.controls.wait_for_next(origin);
    let counter = job.controls.notifications(job.me, origin);
    let peer = job.peer(origin);
    // SYNC: armci-notify
    let is_there = || counter.load(Ordering::Acquire) >= u64::from(awaited);
    if !is_there() {
        enter().wait(|inside| {
            if is_there() {
                return Some(Ok(()));
            }
            (fault_events() > 0 && inside.has_failed(peer)).then_some(Err(Error::Failed(origin)))
        })??;
    }
    Ok(awaited as i32)
}
