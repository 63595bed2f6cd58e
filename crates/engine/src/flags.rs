//! Flags that a group of ranks raise for each other: shared control of collectives.
//!
//! # Layout
//! One word per member, 128 bytes apart. A word has one writer, its member, and only grows.
//!
//! # Ordering
//! A release store raises it, an acquire load sees it, so whatever was done before is visible after. Waiting for it is
//! done with [`crate::wait_until`], on the rank's one doorbell, so messages and death are noticed meanwhile; who raises
//! a flag therefore rings the others' doorbells.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_shm::Offset;

use crate::types::Peer;
use crate::{Entered, Result};

/// Bytes between two members' words.
const STRIDE: usize = 128;

/// The flags of one group.
#[derive(Debug)]
pub struct Flags {
    base: NonNull<u8>,
    members: Vec<Peer>,
    me: usize,
}

// SAFETY: the words are atomics in the job segment, which stays mapped until the process exits.
unsafe impl Send for Flags {}
// SAFETY: as above.
unsafe impl Sync for Flags {}

impl Flags {
    /// Take memory for the flags of `members` ranks. One of them does, and tells the others the number that comes back,
    /// which is never zero.
    pub fn allocate(inside: &mut Entered, members: usize) -> Result<u64> {
        let engine = inside.engine();
        let Offset(offset) = engine.arena.allocate(engine.segment, (members * STRIDE) as u64)?;
        Ok(offset)
    }

    /// The flags at `offset`, as member `me` of `members` sees them. `None` if there is no such memory.
    pub fn attach(inside: &mut Entered, offset: u64, members: Vec<Peer>, me: usize) -> Option<Self> {
        let length = (members.len() * STRIDE) as u64;
        let base = inside.engine().segment.at(Offset(offset), length)?;
        Some(Self { base, members, me })
    }

    fn word(&self, member: usize) -> &AtomicU64 {
        assert!(member < self.members.len());
        // SAFETY: `attach` checked that every member's word lies in memory that was taken.
        unsafe { self.base.add(member * STRIDE).cast().as_ref() }
    }

    /// Raise our own flag to `value`, and wake those who sleep.
    pub fn raise(&self, inside: &mut Entered, value: u64) {
        // SYNC: flags
        self.word(self.me).store(value, Ordering::Release);
        let engine = inside.engine();
        engine.order();
        for (member, peer) in self.members.iter().enumerate() {
            if member != self.me {
                engine.wake(peer.0);
            }
        }
    }

    /// Have all members raised their flags to `value`?
    #[inline]
    pub fn all_reached(&self, value: u64) -> bool {
        // SYNC: flags
        (0..self.members.len()).all(|member| self.word(member).load(Ordering::Acquire) >= value)
    }
}
