//! Where the PEs of a team meet: cells in memory of the job that all its members find by name.
//!
//! # Layout
//! Two cells per member, used in turn:
//! ```text
//! step      u64         the meeting it is for, counted from 1; 0: none yet
//! terms     2 x u64     what members must agree about: the routine, and a value
//! payload   232 bytes   what the member has for the others
//! ```
//!
//! # Ordering
//! A member fills its cell and publishes it by a release store of the step; then it waits until all others have published
//! theirs. It may write a cell again two meetings later: then everyone has come to the meeting between, and so has read what the
//! cell held.
//!
//! # Safety
//! What a member wrote is data: whoever reads a place out of a payload checks it. A member that dies is missed by all, and the job
//! ends. Memory of a team that is no more serves another one; steps go on where they were, so a member that is late to look whether all
//! have come to the last meeting still sees that they have.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_engine::{Peer, is_oversubscribed, symmetric, wait_until};

use crate::call::Call;
use crate::job::Job;

/// Bytes that a member can show the others at a meeting.
pub const INLINE: usize = 232;
/// Looks before a member waits as everybody does, if each has a CPU.
const LOOKS: u32 = 200;

#[repr(C, align(128))]
struct Cell {
    step: AtomicU64,
    terms: [AtomicU64; 2],
    payload: [AtomicU64; INLINE / 8],
}

const _: () = assert!(size_of::<Cell>() == 256);

/// Bytes of memory for `members`.
pub fn bytes_for(members: usize) -> u64 {
    (members * 2 * size_of::<Cell>()) as u64
}

/// What all members of a meeting must pass alike.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// The routine.
    pub call: Call,
    /// An argument's name, and its value.
    pub argument: (&'static str, u64),
}

/// The cells, as one member sees them.
#[derive(Debug)]
pub struct Board {
    base: NonNull<u8>,
    members: Box<[u32]>,
    me: usize,
    /// Meetings so far.
    step: AtomicU64,
}

// SAFETY: the memory is atomics that last as long as the job.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

/// A meeting to which all have come. What they showed may be read until the next one.
#[derive(Debug, Clone, Copy)]
pub struct Meeting<'a> {
    board: &'a Board,
    step: u64,
}

impl Board {
    /// The cells at `base`, [`bytes_for`] the members, of which the caller is the `me`-th; they have met `step` times.
    pub fn new(base: NonNull<u8>, members: Box<[u32]>, me: usize, step: u64) -> Self {
        Self {
            base,
            members,
            me,
            step: AtomicU64::new(step),
        }
    }

    /// As [`new`](Self::new), at what the job calls `key`.
    pub fn named(key: u64, members: Box<[u32]>, me: usize, step: u64) -> isthmus_engine::Result<Self> {
        let base = symmetric::named(key, bytes_for(members.len()))?;
        Ok(Self::new(base, members, me, step))
    }

    /// PEs of the world, in the order of the team.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Which of them we are.
    pub fn me(&self) -> usize {
        self.me
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Meetings so far.
    pub fn step(&self) -> u64 {
        self.step.load(Ordering::Relaxed)
    }

    #[inline]
    fn cell(&self, member: usize, step: u64) -> &Cell {
        debug_assert!(member < self.members.len());
        // SAFETY: whoever made the board vouched for the memory of all members' cells; cells are atomics.
        unsafe { self.base.cast::<Cell>().add(member * 2 + (step % 2) as usize).as_ref() }
    }

    /// Come, show some words and bytes behind them (at most [`INLINE`] bytes together), and wait until everybody has come. Blocks. PEs that
    /// do not agree about the terms end the job.
    pub fn meet(&self, job: &Job, terms: Terms, words: &[u64], data: &[u8]) -> Meeting<'_> {
        let step = self.step.load(Ordering::Relaxed) + 1;
        self.step.store(step, Ordering::Relaxed);
        let hash = terms.call.hash();
        let mine = self.cell(self.me, step);
        mine.terms[0].store(hash, Ordering::Relaxed);
        mine.terms[1].store(terms.argument.1, Ordering::Relaxed);
        assert!(words.len() * 8 + data.len() <= INLINE);
        for (cell, &word) in mine.payload.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
        // SAFETY: there is room; nobody reads the cell before the step is published.
        unsafe {
            let to = mine.payload.as_ptr().add(words.len()).cast::<u8>().cast_mut();
            std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len());
        }
        // SYNC: board
        mine.step.store(step, Ordering::Release);
        job.bells.order();
        for (member, &pe) in self.members.iter().enumerate() {
            if member != self.me {
                job.bells.ring(Peer(pe));
            }
        }
        self.await_all(terms.call, step);
        let meeting = Meeting { board: self, step };
        for member in 0..self.members.len() {
            self.check(member, step, hash, terms);
        }
        meeting
    }

    fn await_all(&self, call: Call, step: u64) {
        let mut next = 0;
        let mut look = || {
            while next < self.members.len() {
                // SYNC: board
                if self.cell(next, step).step.load(Ordering::Acquire) < step {
                    return false;
                }
                next += 1;
            }
            true
        };
        let looks = if is_oversubscribed() { 1 } else { LOOKS };
        for _ in 0..looks {
            if look() {
                return;
            }
            std::hint::spin_loop();
        }
        if let Err(error) = wait_until(|_| look().then_some(())) {
            call.refuse(error);
        }
    }

    fn check(&self, member: usize, step: u64, hash: u64, terms: Terms) {
        let theirs = self.cell(member, step);
        let agreed = theirs.terms[0].load(Ordering::Relaxed) == hash
            && theirs.terms[1].load(Ordering::Relaxed) == terms.argument.1;
        if !agreed && theirs.step.load(Ordering::Relaxed) == step {
            self.disagree(member, step, hash, terms);
        }
    }

    #[cold]
    fn disagree(&self, member: usize, step: u64, hash: u64, terms: Terms) -> ! {
        let theirs = self.cell(member, step);
        let pe = self.members[member];
        let (name, value) = terms.argument;
        if theirs.terms[0].load(Ordering::Relaxed) != hash {
            terms.call.refuse(format!(
                "PE {pe} calls another routine at the same time; all PEs of a team must call the same"
            ));
        }
        let other = theirs.terms[1].load(Ordering::Relaxed);
        terms.call.refuse(format!(
            "{name}={value} here and {name}={other} on PE {pe}: all PEs must pass the same"
        ))
    }
}

impl Meeting<'_> {
    /// What a member has shown behind so many words.
    #[inline]
    pub fn data(&self, member: usize, words: usize) -> *const u8 {
        assert!(member < self.board.size() && words * 8 <= INLINE);
        let payload = &self.board.cell(member, self.step).payload;
        payload.as_ptr().wrapping_add(words).cast()
    }

    /// The `index`-th word of it.
    #[inline]
    pub fn word(&self, member: usize, index: usize) -> u64 {
        assert!(member < self.board.size());
        self.board.cell(member, self.step).payload[index].load(Ordering::Relaxed)
    }
}
