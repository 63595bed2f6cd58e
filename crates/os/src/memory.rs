//! How much memory can still be had. A cgroup at its limit kills rather than refuses, so ask before taking.

use std::fs;

/// Bytes that can be allocated before the machine or our cgroup runs out, as far as the kernel tells; `u64::MAX` if it
/// tells nothing.
pub fn available() -> u64 {
    machine().unwrap_or(u64::MAX).min(cgroup().unwrap_or(u64::MAX))
}

fn machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The tightest `memory.max - memory.current` from our cgroup (version 2) up to the root.
fn cgroup() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mut directory = std::path::PathBuf::from("/sys/fs/cgroup").join(path.trim_start_matches('/'));
    let mut tightest = None;
    while directory.starts_with("/sys/fs/cgroup") {
        if let (Some(max), Some(current)) = (number(&directory, "memory.max"), number(&directory, "memory.current")) {
            let left = max.saturating_sub(current);
            tightest = Some(tightest.map_or(left, |known: u64| known.min(left)));
        }
        directory.pop();
    }
    tightest
}

fn number(directory: &std::path::Path, file: &str) -> Option<u64> {
    fs::read_to_string(directory.join(file)).ok()?.trim().parse().ok()
}
