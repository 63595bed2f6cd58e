//! Limits that the control groups around this process set, version 1 and 2, the tightest from our own group up.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";

/// A limit on memory and how much of it is in use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Beyond it the kernel kills rather than refuses.
    pub limit: u64,
    /// What the group, with everything else in it, has now, without the file cache, which makes room when asked.
    pub used: u64,
}

/// CPU time per wall-clock time that our group may use (`cpu.max`): 1.5 is one and a half CPUs. `None`: no limit.
pub fn cpu_quota() -> Option<f64> {
    let own = own();
    let version_2 = groups(&own, "").into_iter().filter_map(|group| {
        let text = fs::read_to_string(group.join("cpu.max")).ok()?;
        let (quota, period) = text.trim().split_once(' ')?;
        ratio(quota, period)
    });
    let version_1 = groups(&own, "cpu").into_iter().filter_map(|group| {
        let quota = fs::read_to_string(group.join("cpu.cfs_quota_us")).ok()?;
        let period = fs::read_to_string(group.join("cpu.cfs_period_us")).ok()?;
        ratio(quota.trim(), period.trim())
    });
    version_2.chain(version_1).min_by(f64::total_cmp)
}

/// The limit on memory that leaves us the least. `None`: no limit.
pub fn memory() -> Option<MemoryLimit> {
    let own = own();
    let version_2 = groups(&own, "")
        .into_iter()
        .filter_map(|group| limit(&group, "memory.max", "memory.current"));
    let version_1 = groups(&own, "memory")
        .into_iter()
        .filter_map(|group| limit(&group, "memory.limit_in_bytes", "memory.usage_in_bytes"));
    version_2
        .chain(version_1)
        .min_by_key(|memory| memory.limit.saturating_sub(memory.used))
}

fn limit(group: &Path, limit: &str, used: &str) -> Option<MemoryLimit> {
    // Version 1 says "no limit" by a number near the largest one.
    const NO_LIMIT: u64 = 1 << 62;
    let number = |file: &str| fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    // The rest costs more to read.
    let limit = number(limit).filter(|&limit| limit < NO_LIMIT)?;
    let used = number(used)?.saturating_sub(file_cache(group));
    Some(MemoryLimit { limit, used })
}

/// File cache of the group and of those in it, in bytes. It counts as used, but the kernel drops it before it kills.
fn file_cache(group: &Path) -> u64 {
    let text = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    // Version 1 has both forms, and only the one with `total_` covers the groups below.
    let total = text.lines().any(|line| line.starts_with("total_inactive_file "));
    let names = if total {
        ["total_inactive_file ", "total_active_file "]
    } else {
        ["inactive_file ", "active_file "]
    };
    text.lines()
        .filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)))
        .filter_map(|bytes| bytes.trim().parse::<u64>().ok())
        .sum()
}

/// `max` and `-1` are no limit and parse as none.
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then(|| quota as f64 / period as f64)
}

/// The groups of this process, a line for each controller.
fn own() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap_or_default()
}

/// The directories of our group and of those around it, for a version 1 `controller`, or version 2 if it is empty.
fn groups(own: &str, controller: &str) -> Vec<PathBuf> {
    let Some(path) = own_path(own, controller) else {
        return Vec::new();
    };
    let mounted = if controller.is_empty() && Path::new(ROOT).join("unified").is_dir() {
        Path::new(ROOT).join("unified") // both versions at once
    } else {
        Path::new(ROOT).join(controller)
    };
    // In a container the path may be the host's and not exist here; the group's files are then at the mount itself.
    path.ancestors()
        .map(|path| mounted.join(path.strip_prefix("/").unwrap_or(path)))
        .collect()
}

/// Our path in lines like `4:cpu,cpuacct:/path` and, for version 2, `0::/path`.
fn own_path<'a>(own: &'a str, controller: &str) -> Option<&'a Path> {
    own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        controllers
            .split(',')
            .any(|name| name == controller)
            .then_some(Path::new(path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_path_by_controller() {
        let own = "9:name=systemd:/\n4:cpu,cpuacct:/a/b\n0::/user.slice\n";
        assert_eq!(own_path(own, "cpu"), Some(Path::new("/a/b")));
        assert_eq!(own_path(own, ""), Some(Path::new("/user.slice")));
        assert_eq!(own_path(own, "memory"), None);
    }

    #[test]
    fn quotas() {
        assert_eq!(ratio("150000", "100000"), Some(1.5));
        assert_eq!(ratio("max", "100000"), None);
        assert_eq!(ratio("-1", "100000"), None);
        assert_eq!(ratio("1", "0"), None);
    }
}
