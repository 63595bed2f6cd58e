//! How much memory can still be had. A cgroup at its limit kills rather than refuses, so ask before taking.

use std::fs;
use std::sync::OnceLock;

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

/// May pages of a memfd that were not reserved be touched as long as there is memory? Not where the kernel refuses what processes together could
/// touch (`vm.overcommit_memory` = 2): there a page that it has not counted is a SIGBUS.
pub fn comes_when_touched() -> bool {
    static COMES: OnceLock<bool> = OnceLock::new();
    *COMES.get_or_init(|| fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() != "2"))
}
