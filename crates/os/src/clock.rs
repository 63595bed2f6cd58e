//! Monotonic time.

use std::time::Duration;

/// Time since an arbitrary point that all processes of this boot share (`CLOCK_MONOTONIC`).
pub fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and `time` is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The processor's own counter: cheap to read, in a unit of its own, good for comparing short spans.
#[inline]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    {
        now().as_nanos() as u64
    }
}

/// Resolution of [`now`].
pub fn resolution() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 1 };
    // SAFETY: as above.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
