//! Noticing Ctrl-C (SIGINT) and SIGTERM without ending at once, so that what was made can be removed first.
//!
//! Unlike a blocked signal, a handled one does not spread to children: `exec` puts the default back.

use std::sync::atomic::{AtomicBool, Ordering};

static NOTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    NOTED.store(true, Ordering::Relaxed);
}

/// From now on SIGINT and SIGTERM do not end this process; [`noted`] tells that one came. Those that are ignored stay
/// ignored.
pub fn take_note() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores to an atomic; an all-zero sigaction is a valid out parameter.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            if action.sa_sigaction != libc::SIG_IGN {
                action.sa_sigaction = note as *const () as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

/// Has SIGINT or SIGTERM come?
pub fn noted() -> bool {
    NOTED.load(Ordering::Relaxed)
}
