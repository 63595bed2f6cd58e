//! Switches that are off in most processes, as bits of one word: a call asks with one load and one branch, and its reader looks into one
//! file. Each switch belongs to the part that turns it on; nothing but the bits lies here.

use std::sync::atomic::{AtomicU8, Ordering};

/// Something that is off unless the process has asked for it, or needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Switch {
    /// Several threads may call at a time: a thread takes the lock of the engine when it enters, and releases it when it leaves.
    Threads = 1,
    /// A thread that leaves the engine flushes the first frames of a connection to another node.
    FirstFrames = 2,
    /// Addresses are asked about, since they may be memory of a device.
    Devices = 4,
    /// Programs are checked (docs/checking.md).
    Check = 8,
    /// A counter that a tool has asked about has counted: the tool is called back before the call returns (MPI-5.0 §15.3.8).
    Events = 16,
    /// A process of the job has failed, a message space is revoked, or a call is given up: operations and calls look whether that concerns them.
    Faults = 32,
}

static ON: AtomicU8 = AtomicU8::new(0);

impl Switch {
    /// Is it on?
    #[inline(always)]
    pub fn is_on(self) -> bool {
        ON.load(Ordering::Relaxed) & self as u8 != 0
    }

    /// Is it on, or that one?
    #[inline(always)]
    pub fn is_on_or(self, other: Self) -> bool {
        ON.load(Ordering::Relaxed) & (self as u8 | other as u8) != 0
    }

    /// On, until it is [turned off](Self::turn_off).
    pub fn turn_on(self) {
        ON.fetch_or(self as u8, Ordering::SeqCst);
    }

    /// Off.
    pub fn turn_off(self) {
        ON.fetch_and(!(self as u8), Ordering::SeqCst);
    }

    /// On or off.
    pub fn turn(self, on: bool) {
        if on {
            self.turn_on();
        } else {
            self.turn_off();
        }
    }
}
