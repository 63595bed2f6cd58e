//! What those who enter and leave the engine have to do besides, as bits, so that having nothing to do costs one branch.

use std::sync::atomic::{AtomicU8, Ordering};

/// One or several.
#[derive(Debug, Clone, Copy)]
pub struct Duties(u8);

impl Duties {
    /// Take a lock: several threads may call at a time.
    pub const LOCK: Self = Self(1);
    /// On the way out see to the first frames of a connection to another node.
    pub const SEE_OFF: Self = Self(2);
}

static ALL: AtomicU8 = AtomicU8::new(0);

/// From now on, until it is [taken away](take).
pub fn add(duty: Duties) {
    ALL.fetch_or(duty.0, Ordering::SeqCst);
}

/// No longer. True: it was to be done.
pub fn take(duty: Duties) -> bool {
    ALL.fetch_and(!duty.0, Ordering::SeqCst) & duty.0 != 0
}

/// Is there anything to do?
#[inline(always)]
pub fn are_there() -> bool {
    ALL.load(Ordering::Relaxed) != 0
}

/// Is this to be done?
#[inline(always)]
pub fn are_to(duty: Duties) -> bool {
    ALL.load(Ordering::Relaxed) & duty.0 != 0
}
