//! The checking mode: what `ISTHMUS_CHECK` asks for, and where the program made what it holds (docs/checking.md).
//!
//! Each check stands where it belongs: calls that all members make in `coll/check.rs`, accesses to windows in `win/record.rs`, buffers and
//! types of messages in `ledger.rs`, and leftovers at the end in `environment/leftovers.rs`.

pub(crate) mod sites;

use std::sync::atomic::{AtomicU8, Ordering};

use isthmus_engine::tunables::CHECK;

/// Off.
const OFF: u8 = 0;
/// On.
const ON: u8 = 1;
/// On, and each standard send is synchronous.
const SYNCHRONOUS: u8 = 2;

static LEVEL: AtomicU8 = AtomicU8::new(OFF);

/// The process has joined its job: as the tunable `check` says from now on.
pub(crate) fn begin() {
    let level = match CHECK.get() {
        0 => OFF,
        1 => ON,
        _ => SYNCHRONOUS,
    };
    LEVEL.store(level, Ordering::Relaxed);
}

/// Are programs to be checked?
#[inline(always)]
pub(crate) fn is_on() -> bool {
    LEVEL.load(Ordering::Relaxed) != OFF
}

/// Is each standard send to be synchronous, so that programs which need them to be buffered deadlock?
#[inline(always)]
pub(crate) fn is_synchronous() -> bool {
    LEVEL.load(Ordering::Relaxed) == SYNCHRONOUS
}
