//! How much memory can still be had. A cgroup at its limit kills rather than refuses, so ask before taking.

use std::fs;

use crate::cgroup;

/// Bytes that can be allocated before the machine or our cgroup runs out, as far as the kernel tells; `u64::MAX` if it
/// tells nothing.
pub fn available() -> u64 {
    let group = cgroup::memory().map_or(u64::MAX, |memory| memory.limit.saturating_sub(memory.used));
    machine().unwrap_or(u64::MAX).min(group)
}

fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}
