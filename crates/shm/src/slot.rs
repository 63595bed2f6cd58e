//! What a rank shows to the others.
//!
//! # Layout
//! Identity on lines of its own (written once, while joining), then the doorbell on lines of its own.
//!
//! # Fields
//! Everything but the doorbell is written by the owner; the identity before it publishes `state`, `endures` at any time.
//!
//! # Ordering
//! `state` is claimed by compare-and-swap and published by a release store; read the rest only after an acquire load
//! that shows `READY`.

use crate::doorbell::Doorbell;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

const CLAIMED: u32 = 1;
/// The rank has joined.
const READY: u32 = 2;

/// One rank's slot.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Slot {
    state: AtomicU32,
    pid: AtomicU32,
    /// A secret of this process, and where its own copy lies in its address space: whoever reads the same bytes there
    /// by `process_vm_readv` has the right process, and the permission.
    nonce: [AtomicU64; 2],
    nonce_address: AtomicU64,
    place: AtomicU64,
    access: [AtomicU64; 2],
    /// Nonzero: the rank wants to go on when others fail. Read by the launcher.
    endures: AtomicU32,
    identity_ends: u32,
    /// Nonzero: the rank has given its CPU away, and has not got it back. On a line of its own: it changes often.
    away: AtomicU32,
    doorbell: Doorbell,
}

/// Who a rank says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Process id, in its own pid namespace.
    pub pid: u32,
    /// Its secret.
    pub nonce: [u64; 2],
    /// Where its own copy of the secret lies.
    pub nonce_address: u64,
    /// Where on the machine it runs, as a number that only those who use it understand.
    pub place: u64,
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
        self.place.store(identity.place, Ordering::Relaxed);
        for (word, value) in self.access.iter().zip(identity.access) {
            word.store(value, Ordering::Relaxed);
        }
        // SYNC: slot-state
        self.state.store(READY, Ordering::Release);
    }

    /// Who the rank is, if it has joined.
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
            place: self.place.load(Ordering::Relaxed),
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

    /// Has the rank got a CPU, as far as it knows itself? Not if it gave it away, or sleeps.
    #[inline]
    pub fn is_at_work(&self) -> bool {
        self.away.load(Ordering::Relaxed) == 0 && !self.doorbell.is_armed()
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
