//! Locks (OpenSHMEM 1.6, "Distributed Locking Routines").
//!
//! Of the `long` that all PEs have, one PE's is the lock: which PE follows from its place in its page, which is the same on all PEs wherever their
//! programs and libraries are loaded, so that locks are spread. In it stand the
//! holder's PE, counted from 1, in the lower half, and how many PEs wait, in the upper one. A waiting PE sleeps as one that watches memory;
//! the release of an awaited lock rings all watching PEs. Jobs on several nodes have a queue instead (`queue.rs`).

mod queue;

use std::ffi::{c_int, c_long};
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_engine::Cause;

use crate::call::Call;
use crate::job::{Job, job};
use crate::order;
use crate::wait;

use queue::Queue;

/// Load addresses of one object differ by multiples of it.
const PAGE: usize = 4096;
const LINE: usize = 64;
const HOLDER: u64 = u32::MAX as u64;
const WAITER: u64 = 1 << 32;

/// The queue of a lock, where the job is on several nodes.
fn queue(job: &Job, call: Call, lock: *mut c_long) -> Option<Queue<'_>> {
    if !lock.is_aligned() {
        call.refuse(format!("lock={lock:p} is not a multiple of 8"));
    }
    job.far.as_ref().map(|_| Queue::of(job, call, lock))
}

fn word(job: &Job, call: Call, lock: *mut c_long) -> &'static AtomicU64 {
    let home = home(job, lock.addr());
    let at = job.remote(call, "lock", lock.addr(), size_of::<c_long>(), home);
    // SAFETY: symmetric memory, aligned, which lasts as long as the job.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(at) }
}

/// The PE whose word is the lock.
fn home(job: &Job, lock: usize) -> u32 {
    (lock % PAGE / LINE) as u32 % job.size
}

/// Take it, if nobody has it.
fn take(word: &AtomicU64, me: u64) -> bool {
    let free = |now: u64| (now & HOLDER == 0).then_some(now | me);
    word.fetch_update(Ordering::AcqRel, Ordering::Acquire, free).is_ok()
}

/// `shmem_set_lock`. Blocks until the lock is ours.
///
/// # Safety
/// `lock` must be 0 on all PEs at first, and be used by these routines alone.
pub unsafe fn set_lock(call: Call, lock: *mut c_long) {
    let job = job(call);
    if let Some(queue) = queue(job, call, lock) {
        return queue.lock();
    }
    let word = word(job, call, lock);
    let me = u64::from(job.me) + 1;
    if take(word, me) {
        return;
    }
    if word.load(Ordering::Acquire) & HOLDER == me && !isthmus_engine::allows_threads() {
        call.refuse(format!(
            "lock={lock:p} is held by this PE already: it would wait for itself"
        ));
    }
    word.fetch_add(WAITER, Ordering::AcqRel);
    let home = home(job, lock.addr());
    let cause = || {
        let holder = (word.load(Ordering::Relaxed) & HOLDER) as u32;
        Cause::Lock(home, holder.checked_sub(1))
    };
    wait::until_said(job, call, &cause, || take(word, me).then_some(()));
    word.fetch_sub(WAITER, Ordering::AcqRel);
}

/// `shmem_test_lock`: 0: it is ours now; 1: somebody has it.
///
/// # Safety
/// As for [`set_lock`].
pub unsafe fn test_lock(call: Call, lock: *mut c_long) -> c_int {
    let job = job(call);
    let taken = match queue(job, call, lock) {
        Some(queue) => queue.try_lock(),
        None => take(word(job, call, lock), u64::from(job.me) + 1),
    };
    if !taken {
        wait::test_failed();
    }
    c_int::from(!taken)
}

/// `shmem_clear_lock`: stores under it are seen by the next holder.
///
/// # Safety
/// As for [`set_lock`].
pub unsafe fn clear_lock(call: Call, lock: *mut c_long) {
    let job = job(call);
    if let Some(queue) = queue(job, call, lock) {
        return queue.unlock();
    }
    let word = word(job, call, lock);
    let me = u64::from(job.me) + 1;
    order::complete(job, call);
    let now = word.load(Ordering::Acquire);
    if now & HOLDER != me {
        let holder = match now & HOLDER {
            0 => "nobody".to_owned(),
            other => format!("PE {}", other - 1),
        };
        call.refuse(format!("lock={lock:p} is not held by this PE, but by {holder}"));
    }
    if word.fetch_and(!HOLDER, Ordering::AcqRel) & !HOLDER != 0 {
        job.tell_everyone();
    }
}
