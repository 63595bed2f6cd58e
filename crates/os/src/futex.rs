//! Waiting on a word of shared memory (`futex(2)`), across processes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Why [`wait`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Somebody called [`wake`], a signal came, or there was no reason at all.
    Maybe,
    /// The word did not hold the expected value.
    Changed,
    /// The time was over.
    TimedOut,
}

/// Sleep while `word` holds `expected`, at most for `limit`. Blocks.
pub fn wait(word: &AtomicU32, expected: u32, limit: Duration) -> Woken {
    let time = libc::timespec {
        tv_sec: limit.as_secs() as i64,
        tv_nsec: i64::from(limit.subsec_nanos()),
    };
    // SAFETY: the word is live for the call and the time is ours. No FUTEX_PRIVATE_FLAG: other processes wake us.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, &time, 0, 0) };
    if result == 0 {
        return Woken::Maybe;
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Woken::Changed,
        Some(libc::ETIMEDOUT) => Woken::TimedOut,
        _ => Woken::Maybe,
    }
}

/// Wake everybody who sleeps on `word`. Does not block.
pub fn wake(word: &AtomicU32) {
    // SAFETY: the word is live for the call; a wake reads no memory of ours.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX, 0, 0, 0) };
}
