//! Locks of jobs on several nodes: a queue of PEs, each of which waits for a word of its own memory, so that it sleeps until the one before it
//! writes there.
//!
//! J. Mellor-Crummey and M. Scott, *Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors*, TOCS 1991.
//!
//! # Fields
//! The lower half of a PE's `long` is its place in the queue: [`WAITS`] or [`HOLDS`], and the PE behind it, counted from 1. The PE itself writes
//! it, but for the PE behind, which names itself, and the one before, which hands the lock over. The upper half, of the home PE, is the last PE
//! of the queue, counted from 1; 0: nobody has the lock.

use std::ffi::c_long;
use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_engine::{Cause, rma};

use super::home;
use crate::atomic::{atomic_compare_swap, atomic_or, atomic_swap, atomic_xor};
use crate::call::Call;
use crate::context::ContextHandle;
use crate::job::Job;
use crate::{order, setup, wait};

const HOLDS: u32 = 1 << 31;
const WAITS: u32 = 1 << 30;
/// The PE behind.
const NEXT: u32 = WAITS - 1;
const WORLD: ContextHandle = ContextHandle::DEFAULT;

/// A lock as this PE sees it.
pub struct Queue<'a> {
    job: &'a Job,
    call: Call,
    lock: *mut c_long,
    own: &'a AtomicU32,
    /// This PE, counted from 1, and the home PE.
    me: u32,
    home: i32,
}

impl<'a> Queue<'a> {
    pub fn of(job: &'a Job, call: Call, lock: *mut c_long) -> Self {
        let at = job.remote(call, "lock", lock.addr(), size_of::<c_long>(), job.me);
        Self {
            job,
            call,
            lock,
            // SAFETY: our own symmetric memory, aligned, which lasts as long as the job.
            own: unsafe { &*std::ptr::with_exposed_provenance::<AtomicU32>(at) },
            me: job.me + 1,
            home: home(job, lock.addr()).cast_signed(),
        }
    }

    /// A PE's place in the queue.
    fn place(&self) -> *mut u32 {
        self.lock.cast()
    }

    /// The last of the queue.
    fn last(&self) -> *mut u32 {
        self.lock.cast::<u32>().wrapping_add(1)
    }

    /// Another thread of this PE has no place in the queue. True: ours has one now.
    fn claim(&self) -> bool {
        self.own
            .compare_exchange(0, WAITS, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    fn own(&self) -> u32 {
        self.own.load(Ordering::Acquire)
    }

    fn await_own(&self, holder: Option<u32>, mut is_there: impl FnMut() -> bool) {
        let home = self.home.cast_unsigned();
        let cause = || Cause::Lock(home, holder);
        wait::until_said(self.job, self.call, &cause, || is_there().then_some(()));
    }

    /// Blocks until the lock is ours.
    pub fn lock(&self) {
        if !self.claim() {
            if !setup::has_threads() {
                self.call.refuse(format!(
                    "lock={:p} is held by this PE already: it would wait for itself",
                    self.lock
                ));
            }
            self.await_own(Some(self.job.me), || self.claim());
        }
        // SAFETY: nothing is needed.
        let before = unsafe { atomic_swap(self.call, WORLD, self.last(), self.me, self.home) };
        let Some(before) = before.checked_sub(1) else {
            self.own.fetch_xor(WAITS | HOLDS, Ordering::AcqRel);
            return;
        };
        // SAFETY: nothing is needed.
        unsafe { atomic_or(self.call, WORLD, self.place(), self.me, before.cast_signed()) };
        self.await_own(Some(before), || self.own() & HOLDS != 0);
    }

    /// True: the lock is ours now.
    pub fn try_lock(&self) -> bool {
        if !self.claim() {
            return false;
        }
        // SAFETY: nothing is needed.
        let before = unsafe { atomic_compare_swap(self.call, WORLD, self.last(), 0, self.me, self.home) };
        if before == 0 {
            self.own.fetch_xor(WAITS | HOLDS, Ordering::AcqRel);
            return true;
        }
        self.leave();
        false
    }

    /// Another thread of this PE may have a place in the queue.
    fn leave(&self) {
        self.own.store(0, Ordering::Release);
        self.job.tell_of_write(self.job.me);
    }

    /// Stores under it are seen by the next holder. Blocks while a PE that comes has not told its name.
    pub fn unlock(&self) {
        order::complete(self.job, self.call);
        if self.own() & HOLDS == 0 {
            self.call.refuse(format!("lock={:p} is not held by this PE", self.lock));
        }
        if self.own() & NEXT == 0 {
            // SAFETY: nothing is needed.
            let last = unsafe { atomic_compare_swap(self.call, WORLD, self.last(), self.me, 0, self.home) };
            if last == self.me {
                return self.leave();
            }
            self.await_own(None, || self.own() & NEXT != 0);
        }
        let next = (self.own() & NEXT) - 1;
        self.leave();
        // SAFETY: nothing is needed.
        unsafe { atomic_xor(self.call, WORLD, self.place(), WAITS | HOLDS, next.cast_signed()) };
        rma::send_kept();
    }
}
