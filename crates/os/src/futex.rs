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
    wait_as(word, expected, u32::MAX, crate::clock::now() + limit)
}

/// As [`wait`], until `deadline` by [`crate::clock::now`], as a sleeper whom [`wake`] and [`wake_those`] of any of `bits`
/// wake. `bits` is not 0.
pub fn wait_as(word: &AtomicU32, expected: u32, bits: u32, deadline: Duration) -> Woken {
    let time = libc::timespec {
        tv_sec: deadline.as_secs() as i64,
        tv_nsec: i64::from(deadline.subsec_nanos()),
    };
    let operation = libc::FUTEX_WAIT_BITSET;
    // SAFETY: the word is live for the call and the time is ours. No FUTEX_PRIVATE_FLAG: other processes wake us.
    let result = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, expected, &time, 0, bits) };
    if result == 0 {
        return Woken::Maybe;
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Woken::Changed,
        Some(libc::ETIMEDOUT) => Woken::TimedOut,
        _ => Woken::Maybe,
    }
}

/// Wake one who sleeps on `word`, whatever its bits. Does not block.
pub fn wake(word: &AtomicU32) {
    // SAFETY: the word is live for the call; a wake reads no memory of ours.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1, 0, 0, 0) };
}

/// Wake all who sleep on `word` and have one of `bits`, which is not 0. Does not block.
pub fn wake_those(word: &AtomicU32, bits: u32) {
    let operation = libc::FUTEX_WAKE_BITSET;
    // SAFETY: as in `wake`.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, i32::MAX, 0, 0, bits) };
}
