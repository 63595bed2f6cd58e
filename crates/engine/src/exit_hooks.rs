//! What a thread does when it leaves the engine, beside leaving, as bits, so that having nothing to do costs one branch.

use std::sync::atomic::{AtomicU8, Ordering};

/// One or several.
#[derive(Debug, Clone, Copy)]
pub struct ExitHooks(u8);

impl ExitHooks {
    /// Release a lock, which it took when it entered: several threads may call at a time.
    pub const LOCK: Self = Self(1);
    /// Flush the first frames of a connection to another node.
    pub const FLUSH_FIRST_FRAMES: Self = Self(2);
}

static ALL: AtomicU8 = AtomicU8::new(0);

/// From now on, until it is [cleared](clear).
pub fn set(hook: ExitHooks) {
    ALL.fetch_or(hook.0, Ordering::SeqCst);
}

/// No longer. True: it was set.
pub fn clear(hook: ExitHooks) -> bool {
    ALL.fetch_and(!hook.0, Ordering::SeqCst) & hook.0 != 0
}

/// Are any set?
#[inline(always)]
pub fn are_set() -> bool {
    ALL.load(Ordering::Relaxed) != 0
}

/// Is this one set?
#[inline(always)]
pub fn is_set(hook: ExitHooks) -> bool {
    ALL.load(Ordering::Relaxed) & hook.0 != 0
}
