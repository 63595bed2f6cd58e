//! What a rank shows to the others.
//!
//! # Layout
//! Identity on lines of its own (written once, while joining), then the doorbell on lines of its own.
//!
//! # Fields
//! Everything but the doorbell is written by the owner; the identity before it publishes `state`, `endures` at any time, `taken` ten times a second
//! at most, what it awaits only once it has waited for long.
//!
//! # Ordering
//! `state` is claimed by compare-and-swap and published by a release store; read the rest only after an acquire load
//! that shows `READY`.

use std::time::Duration;

use crate::doorbell::Doorbell;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Bits of [`Slot::taken`] that hold tenths of percents; above them is when they were shown.
const TENTHS: u32 = 10;
/// Ticks for which they count.
const FRESH: u32 = 8;

/// A clock that wraps after days.
fn ticks(now: Duration) -> u32 {
    (now.as_millis() / 128) as u32
}

const CLAIMED: u32 = 1;
/// The rank has joined.
const READY: u32 = 2;

/// One rank's slot.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Slot {
    state: AtomicU32,
    pid: AtomicU32,
    /// A secret of this process, and where its own copy lies in its address space: a process that reads the same bytes there
    /// by `process_vm_readv` has the right process, and the permission.
    nonce: [AtomicU64; 2],
    nonce_address: AtomicU64,
    locality: AtomicU64,
    access: [AtomicU64; 2],
    /// Nonzero: the rank wants to go on when others fail. Read by the launcher.
    endures: AtomicU32,
    /// How much of its time others took its CPU: [`Slot::show_taken`]. 0: not known.
    taken: AtomicU32,
    /// Nonzero: the rank has given its CPU away, and has not got it back. On a line of its own: it changes often.
    away: AtomicU32,
    /// What it has waited for, for long: [`Awaits`]. 0: nothing. Above [`KIND`]: when a call last tested for it, counted from 1; 0: a call waits.
    awaits: AtomicU32,
    since: AtomicU64,
    call: [AtomicU64; CALL / 8],
    peer: AtomicU32,
    tag: AtomicU32,
    context: AtomicU32,
    /// The CPU that the rank ran on when it last looked, counted from 1; 0: not known.
    cpu: AtomicU32,
    doorbell: Doorbell,
}

/// Bytes of a procedure's name.
const CALL: usize = 32;

/// What a rank waits for, for people who ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awaits {
    /// The procedure that it called; empty if that is not known.
    pub call: String,
    /// When the waiting began, in milliseconds of `CLOCK_MONOTONIC`.
    pub since: u64,
    /// The call does not block: it has been made again and again without success.
    pub tests: bool,
    /// What it waits for in that.
    pub cause: Cause,
}

/// What ends a wait. Processes are ranks of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cause {
    /// Not known.
    #[default]
    Unknown,
    /// A message from a rank, if one in particular, with a tag, if any in particular, in a message space.
    Receives(Option<u32>, Option<i32>, u32),
    /// A rank that receives such a message.
    Sends(u32, Option<i32>, u32),
    /// Members of a communicator, or one in particular, that do their part of a collective in a message space.
    Collective(Option<u32>, u32),
    /// A rank that comes to the call that goes with this one.
    Comes(u32),
    /// The lock of a target, which a rank has that is known or not.
    Lock(u32, Option<u32>),
    /// A value in memory that any rank may write.
    Value,
    /// A rank that answers one-sided operations on its memory.
    Answers(u32),
}

const UNKNOWN: u32 = 1;
const SENDS: u32 = 2;
const RECEIVES: u32 = 3;
const COLLECTIVE: u32 = 4;
const COMES: u32 = 5;
const LOCK: u32 = 6;
const VALUE: u32 = 7;
const ANSWERS: u32 = 8;
/// Anybody; any tag.
const ANY: u32 = u32::MAX;

/// Bits of [`Slot::awaits`] that say what is awaited.
const KIND: u32 = 8;

/// When a call tested, as [`Slot::awaits`] has it. Never 0.
fn tested(now: Duration) -> u32 {
    (ticks(now) & (u32::MAX >> KIND)).max(1)
}

/// The identity that a rank shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Process id, in its own pid namespace.
    pub pid: u32,
    /// Its secret.
    pub nonce: [u64; 2],
    /// Where its own copy of the secret lies.
    pub nonce_address: u64,
    /// Where on the machine it runs, as a number that only those who use it understand.
    pub locality: u64,
    /// By what a device gives access to its memory: XPMEM's id, or the kernel module's cookie; zeros: none does.
    pub access: [u64; 2],
}

impl Slot {
    /// Claim the slot. False: somebody else has it.
    pub fn claim(&self) -> bool {
        self.state
            .compare_exchange(0, CLAIMED, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Show who we are. By the claimer.
    pub fn publish(&self, identity: Identity) {
        self.pid.store(identity.pid, Ordering::Relaxed);
        self.nonce[0].store(identity.nonce[0], Ordering::Relaxed);
        self.nonce[1].store(identity.nonce[1], Ordering::Relaxed);
        self.nonce_address.store(identity.nonce_address, Ordering::Relaxed);
        self.locality.store(identity.locality, Ordering::Relaxed);
        for (word, value) in self.access.iter().zip(identity.access) {
            word.store(value, Ordering::Relaxed);
        }
        // SYNC: slot-state
        self.state.store(READY, Ordering::Release);
    }

    /// The rank's identity, if it has joined.
    pub fn identity(&self) -> Option<Identity> {
        // SYNC: slot-state
        if self.state.load(Ordering::Acquire) != READY {
            return None;
        }
        Some(Identity {
            pid: self.pid.load(Ordering::Relaxed),
            nonce: [
                self.nonce[0].load(Ordering::Relaxed),
                self.nonce[1].load(Ordering::Relaxed),
            ],
            nonce_address: self.nonce_address.load(Ordering::Relaxed),
            locality: self.locality.load(Ordering::Relaxed),
            access: [
                self.access[0].load(Ordering::Relaxed),
                self.access[1].load(Ordering::Relaxed),
            ],
        })
    }

    /// The rank wants to go on when others fail. By the owner.
    pub fn endure(&self) {
        self.endures.store(1, Ordering::Release);
    }

    /// Does the rank want to go on when others fail?
    pub fn endures(&self) -> bool {
        self.endures.load(Ordering::Acquire) != 0
    }

    /// The rank gives its CPU to others, or has got it back. By the owner.
    #[inline]
    pub fn set_away(&self, away: bool) {
        self.away.store(u32::from(away), Ordering::Relaxed);
    }

    /// The rank runs on this CPU. By the owner.
    #[inline]
    pub fn set_cpu(&self, cpu: u32) {
        let shown = cpu.wrapping_add(1);
        if self.cpu.load(Ordering::Relaxed) != shown {
            self.cpu.store(shown, Ordering::Relaxed);
        }
    }

    /// The CPU that the rank ran on when it last looked, if it is known.
    #[inline]
    pub fn cpu(&self) -> Option<u32> {
        self.cpu.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Of the time that the rank wanted a CPU, others took so many percent, as it knows now. By the owner.
    pub fn show_taken(&self, percent: f64, now: Duration) {
        let tenths = (percent.clamp(0.0, 100.0) * 10.0) as u32 + 1;
        self.taken.store(ticks(now) << TENTHS | tenths, Ordering::Relaxed);
    }

    /// What it showed last, unless that was more than a second or two ago.
    pub fn taken(&self, now: Duration) -> Option<f64> {
        let shown = self.taken.load(Ordering::Relaxed);
        let age = ticks(now).wrapping_sub(shown >> TENTHS) & (u32::MAX >> TENTHS);
        let tenths = (shown & ((1 << TENTHS) - 1)).checked_sub(1)?;
        (age <= FRESH).then(|| f64::from(tenths) / 10.0)
    }

    /// Has the rank got a CPU, as far as it knows itself? Not if it gave it away, or sleeps.
    #[inline]
    pub fn is_at_work(&self) -> bool {
        self.away.load(Ordering::Relaxed) == 0 && !self.doorbell.is_armed()
    }

    /// Show what we have waited for, for long, or that we wait no more. What calls test for counts for a second: see [`Self::show_test`]. By
    /// the owner.
    pub fn show_awaited(&self, awaits: Option<&Awaits>, now: Duration) {
        self.awaits.store(0, Ordering::Relaxed);
        let Some(awaits) = awaits else { return };
        let mut name = [0; CALL];
        let length = awaits.call.len().min(CALL);
        name[..length].copy_from_slice(&awaits.call.as_bytes()[..length]);
        for (word, bytes) in self.call.iter().zip(name.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        self.since.store(awaits.since, Ordering::Relaxed);
        let tag_word = |tag: Option<i32>| tag.map(i32::cast_unsigned);
        let (kind, peer, tag, context) = match awaits.cause {
            Cause::Unknown => (UNKNOWN, None, None, 0),
            Cause::Receives(peer, tag, context) => (RECEIVES, peer, tag_word(tag), context),
            Cause::Sends(peer, tag, context) => (SENDS, Some(peer), tag_word(tag), context),
            Cause::Collective(peer, context) => (COLLECTIVE, peer, None, context),
            Cause::Comes(peer) => (COMES, Some(peer), None, 0),
            Cause::Lock(target, holder) => (LOCK, Some(target), holder, 0),
            Cause::Value => (VALUE, None, None, 0),
            Cause::Answers(peer) => (ANSWERS, Some(peer), None, 0),
        };
        self.peer.store(peer.unwrap_or(ANY), Ordering::Relaxed);
        self.tag.store(tag.unwrap_or(ANY), Ordering::Relaxed);
        self.context.store(context, Ordering::Relaxed);
        // SYNC: slot-awaits
        let tested = if awaits.tests { tested(now) } else { 0 };
        self.awaits.store(kind | tested << KIND, Ordering::Release);
    }

    /// A call has tested once more for what the slot shows. By the owner.
    pub fn show_test(&self, now: Duration) {
        let shown = self.awaits.load(Ordering::Relaxed);
        let kind = shown & ((1 << KIND) - 1);
        let again = kind | tested(now) << KIND;
        // A wait of another thread stays one.
        if shown >> KIND != 0 && shown != again {
            self.awaits.store(again, Ordering::Relaxed);
        }
    }

    /// What the rank has waited for, for long, or has tested for within the last second. It may go on while we look: then the answer may mix
    /// two.
    pub fn awaited(&self, now: Duration) -> Option<Awaits> {
        // SYNC: slot-awaits
        let shown = self.awaits.load(Ordering::Acquire);
        let (kind, last) = (shown & ((1 << KIND) - 1), shown >> KIND);
        let age = tested(now).wrapping_sub(last) & (u32::MAX >> KIND);
        if last != 0 && age > FRESH {
            return None;
        }
        let mut name = Vec::with_capacity(CALL);
        for word in &self.call {
            name.extend(word.load(Ordering::Relaxed).to_le_bytes());
        }
        name.retain(u8::is_ascii_graphic);
        let any = |word: &AtomicU32| Some(word.load(Ordering::Relaxed)).filter(|word| *word != ANY);
        let (peer, tag, context) = (any(&self.peer), any(&self.tag), self.context.load(Ordering::Relaxed));
        let known = peer.unwrap_or(ANY);
        let cause = match kind {
            UNKNOWN => Cause::Unknown,
            SENDS => Cause::Sends(known, tag.map(u32::cast_signed), context),
            RECEIVES => Cause::Receives(peer, tag.map(u32::cast_signed), context),
            COLLECTIVE => Cause::Collective(peer, context),
            COMES => Cause::Comes(known),
            LOCK => Cause::Lock(known, tag),
            VALUE => Cause::Value,
            ANSWERS => Cause::Answers(known),
            _ => return None,
        };
        Some(Awaits {
            call: String::from_utf8_lossy(&name).into_owned(),
            since: self.since.load(Ordering::Relaxed),
            tests: last != 0,
            cause,
        })
    }

    /// Its doorbell.
    #[inline]
    pub fn doorbell(&self) -> &Doorbell {
        &self.doorbell
    }
}

#[cfg(not(loom))]
const _: () = assert!(
    size_of::<Slot>() == 256 && std::mem::offset_of!(Slot, away) == 64 && std::mem::offset_of!(Slot, doorbell) == 128
);

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use super::{Awaits, Cause, Slot};

    #[test]
    fn what_others_took_is_known_for_a_second() {
        let slot = Slot::default();
        let seconds = Duration::from_secs_f64;
        assert_eq!(slot.taken(seconds(0.5)), None);
        slot.show_taken(0.0, seconds(7.0));
        assert_eq!(slot.taken(seconds(7.0)), Some(0.0));
        slot.show_taken(33.34, seconds(7.0));
        assert_eq!(slot.taken(seconds(8.0)), Some(33.3));
        assert_eq!(slot.taken(seconds(9.5)), None);
    }

    #[test]
    fn what_is_awaited_is_read_as_it_was_shown() {
        let slot = Slot::default();
        let now = Duration::from_secs(7);
        assert_eq!(slot.awaited(now), None);
        for cause in [
            Cause::Unknown,
            Cause::Receives(Some(3), Some(-7), 4),
            Cause::Receives(None, None, 2),
            Cause::Sends(5, Some(0), 0),
            Cause::Collective(None, 1),
            Cause::Collective(Some(0), 9),
            Cause::Comes(6),
            Cause::Lock(1, None),
            Cause::Lock(0, Some(2)),
            Cause::Value,
            Cause::Answers(4),
        ] {
            let awaits = Awaits {
                call: "MPI_Win_lock".to_owned(),
                since: 12,
                tests: false,
                cause,
            };
            slot.show_awaited(Some(&awaits), now);
            assert_eq!(slot.awaited(now * 9), Some(awaits));
        }
        slot.show_awaited(None, now);
        assert_eq!(slot.awaited(now), None);
    }

    #[test]
    fn what_is_tested_for_is_forgotten_after_a_second() {
        let slot = Slot::default();
        let seconds = Duration::from_secs_f64;
        let awaits = Awaits {
            call: "MPI_Test".to_owned(),
            since: 12,
            tests: true,
            cause: Cause::Value,
        };
        slot.show_awaited(Some(&awaits), seconds(7.0));
        assert_eq!(slot.awaited(seconds(7.5)).as_ref(), Some(&awaits));
        assert_eq!(slot.awaited(seconds(9.0)), None);
        slot.show_test(seconds(9.0));
        assert_eq!(slot.awaited(seconds(9.5)).as_ref(), Some(&awaits));
    }
}
