//! Locks in shared memory that outlive their holder: the word says who holds it, and whoever waits for a dead holder takes
//! the lock over and says so.
//!
//! # Fields
//! `word`: 0, or the holder's number and one. Any process may exchange it. `waiting`, of a [`SleepLock`]: a bit per process that waits
//! for it; set and cleared by that process, read by the unlocking process.
//!
//! # Ordering
//! Taking the word acquires what its last holder released with it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use isthmus_engine::backoff::{LOOKS_AT_HOLDER, ShortWait};
use isthmus_engine::{allows_threads, enter, fault_events, ring, rma};
use isthmus_os::process::say;

use crate::error::{Result, argument, line};
use crate::group::Group;

/// One for short stretches, on a line of its own: a process that waits for it looks, and pauses.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct ShortLock {
    word: AtomicU32,
}

impl ShortLock {
    /// Take it, as `me` of `world`. Blocks.
    #[inline]
    pub fn lock(&self, me: usize, world: &Group) {
        let mine = me as u32 + 1;
        if self
            .word
            .compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            self.wait(mine, world);
        }
    }

    #[cold]
    fn wait(&self, mine: u32, world: &Group) {
        let mut wait = ShortWait::default();
        loop {
            let is_free = self.word.load(Ordering::Relaxed) == 0;
            if is_free
                && self
                    .word
                    .compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return;
            }
            wait.pause();
            if wait.looks().is_multiple_of(LOOKS_AT_HOLDER.count()) && take_over(&self.word, mine, world) {
                return;
            }
        }
    }

    /// Give it back.
    #[inline]
    pub fn unlock(&self) {
        self.word.store(0, Ordering::Release);
    }
}

/// If the holder is dead, the lock is ours.
fn take_over(word: &AtomicU32, mine: u32, world: &Group) -> bool {
    let held = word.load(Ordering::Relaxed);
    let holder = held.wrapping_sub(1) as usize;
    if holder >= world.size() {
        return false;
    }
    let is_dead = {
        let mut inside = enter();
        inside.progress();
        fault_events() > 0 && inside.has_failed(world.peer(holder))
    };
    let taken = is_dead
        && word
            .compare_exchange(held, mine, Ordering::Acquire, Ordering::Relaxed)
            .is_ok();
    if taken {
        say(&line(
            "a lock",
            &format!("its holder, process {holder}, has failed; taken over"),
        ));
    }
    taken
}

/// One that may be held for long: a waiter sleeps on its own doorbell, and makes progress meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct SleepLock<'a> {
    word: &'a AtomicU32,
    waiting: &'a [AtomicU64],
}

impl<'a> SleepLock<'a> {
    /// Bytes of one, for so many processes: whole lines.
    pub fn bytes(processes: usize) -> usize {
        (8 + processes.div_ceil(64) * 8).next_multiple_of(64)
    }

    /// The one at `base`.
    ///
    /// # Safety
    /// There must be [`bytes`](Self::bytes) for so many processes, at a multiple of 8, zeroed before it is first used, and
    /// touched by nobody in another way.
    pub unsafe fn at(base: *mut u8, processes: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            Self {
                word: &*base.cast::<AtomicU32>(),
                waiting: std::slice::from_raw_parts(base.add(8).cast::<AtomicU64>(), processes.div_ceil(64)),
            }
        }
    }

    /// Take it, as `me` of `world`. Blocks.
    ///
    /// # Errors
    /// The calling process, which has one thread, holds it: it would wait for itself.
    pub fn lock(&self, me: usize, world: &Group) -> Result<()> {
        let mine = me as u32 + 1;
        if self.try_lock(mine) {
            return Ok(());
        }
        if self.word.load(Ordering::Relaxed) == mine && !allows_threads() {
            return Err(argument("the calling process holds this mutex already"));
        }
        self.waiting[me / 64].fetch_or(1 << (me % 64), Ordering::SeqCst);
        let mut inside = enter();
        let taken_over = inside.wait(|inside| {
            if self.try_lock(mine) {
                return Some(None);
            }
            let held = self.word.load(Ordering::Relaxed);
            let holder = held.wrapping_sub(1) as usize;
            let is_dead = fault_events() > 0 && holder < world.size() && inside.has_failed(world.peer(holder));
            let taken = is_dead
                && self
                    .word
                    .compare_exchange(held, mine, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok();
            taken.then_some(Some(holder))
        })?;
        self.waiting[me / 64].fetch_and(!(1 << (me % 64)), Ordering::SeqCst);
        if let Some(holder) = taken_over {
            say(&line(
                "a mutex",
                &format!("its holder, process {holder}, has failed; taken over"),
            ));
        }
        Ok(())
    }

    /// Take it for process `origin` of `world`, if it is free, or its holder is dead. Does not enter the engine.
    ///
    /// # Errors
    /// That process holds it.
    pub fn try_for(&self, origin: usize, world: &Group) -> Result<bool> {
        let theirs = origin as u32 + 1;
        let held = self.word.load(Ordering::Relaxed);
        if held == theirs {
            return Err(argument("the calling process holds this mutex already"));
        }
        let holder = held.wrapping_sub(1) as usize;
        if fault_events() == 0 || holder >= world.size() || !rma::has_died(world.peer(holder)) {
            return Ok(self.try_lock(theirs));
        }
        let taken = self
            .word
            .compare_exchange(held, theirs, Ordering::Acquire, Ordering::Relaxed)
            .is_ok();
        if taken {
            say(&line(
                "a mutex",
                &format!("its holder, process {holder}, has failed; taken over"),
            ));
        }
        Ok(taken)
    }

    fn try_lock(&self, mine: u32) -> bool {
        self.word
            .compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Give it back, and wake one who waits: the next by number. Does not block.
    ///
    /// # Errors
    /// The calling process does not hold it.
    pub fn unlock(&self, me: usize, world: &Group) -> Result<()> {
        let mine = me as u32 + 1;
        let given = self
            .word
            .compare_exchange(mine, 0, Ordering::Release, Ordering::Relaxed);
        if let Err(held) = given {
            return Err(argument(match held {
                0 => "nobody holds this mutex".to_owned(),
                holder => format!("process {} holds this mutex, not the calling one", holder - 1),
            }));
        }
        fence(Ordering::SeqCst);
        if let Some(next) = self.next_after(me, world.size()) {
            ring(world.peer(next));
        }
        Ok(())
    }

    fn next_after(&self, me: usize, processes: usize) -> Option<usize> {
        if self.waiting.iter().all(|word| word.load(Ordering::Relaxed) == 0) {
            return None;
        }
        let is_waiting = |proc: &usize| self.waiting[proc / 64].load(Ordering::Relaxed) & 1 << (proc % 64) != 0;
        (me + 1..processes).chain(0..me).find(is_waiting)
    }
}
