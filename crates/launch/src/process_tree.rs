//! Every descendant of this process.
//!
//! `mpiexec` adopts orphans, so whatever a rank starts, however it detaches itself, stays below it in the tree of
//! processes: the job *is* the set of descendants, less the children that `mpiexec` was born with (`cmd & exec mpiexec`).

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The descendants of this process except `foreign` and theirs. One walk over `/proc`.
pub fn descendants(foreign: &HashSet<u32>) -> Vec<u32> {
    below(std::process::id(), &children(), foreign)
}

fn children() -> HashMap<u32, Vec<u32>> {
    let mut children = HashMap::<u32, Vec<u32>>::new();
    for pid in processes() {
        if let Some(parent) = parent(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    children
}

/// A process and all below it. One walk over `/proc`.
pub fn tree(root: u32) -> Vec<u32> {
    let mut found = below(root, &children(), &HashSet::new());
    found.push(root);
    found
}

/// The same by the kernel's lists of children, which are read in microseconds, however many processes there are. `None` where the kernel keeps no
/// such lists, or `root` has gone.
pub fn listed(root: u32) -> Option<Vec<u32>> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            match std::fs::read_to_string(thread.path().join("children")) {
                Ok(children) => found.extend(
                    children
                        .split_ascii_whitespace()
                        .filter_map(|pid| pid.parse::<u32>().ok()),
                ),
                // A thread that has ended has no children.
                Err(_) if next > 0 => {}
                Err(_) => return None,
            }
        }
        next += 1;
    }
    Some(found)
}

/// What changes when a process is made in this namespace of processes: the last number that was given.
pub fn last_made() -> Option<u32> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_ascii_whitespace().nth(4)?.parse().ok()
}

/// Can processes be seen?
pub fn is_visible() -> bool {
    parent(std::process::id()).is_some()
}

/// Every process of this user with this variable in the environment that its program began with.
pub fn with_variable(name: &str, value: &str) -> Vec<u32> {
    let wanted = format!("{name}={value}");
    let has = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        *pid != std::process::id() && environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
    };
    processes().filter(has).collect()
}

/// Is `pid` one of them?
pub fn is_descendant(mut pid: u32) -> bool {
    let own = std::process::id();
    while let Some(parent) = parent(pid) {
        if parent == own {
            return true;
        }
        pid = parent;
    }
    false
}

/// Has this process left the job: is it in another session than this one, and is neither its standard output nor its standard error one of
/// `outputs` (as [`output`] names them)? False where the kernel does not tell.
pub fn is_detached(pid: u32, outputs: &HashSet<PathBuf>) -> bool {
    let is_elsewhere = |descriptor: i32| match output(pid, descriptor) {
        Ok(file) => file == Path::new("/dev/null") || !outputs.contains(&file),
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    let left_session = session(pid).is_some_and(|other| Some(other) != session(std::process::id()));
    left_session && [1, 2].into_iter().all(is_elsewhere)
}

/// The file, pipe or terminal behind a descriptor of a process, in a form that is alike for all who have it.
pub fn output(pid: u32, descriptor: i32) -> std::io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}"))
}

/// Does this process catch or ignore the signal? True where the kernel does not tell.
pub fn takes(pid: u32, signal: i32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else {
        return true;
    };
    let mask = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        u64::from_str_radix(line.trim(), 16).ok()
    };
    let taken = mask("SigCgt:").unwrap_or(u64::MAX) | mask("SigIgn:").unwrap_or(0);
    taken >> (signal - 1) & 1 == 1
}

fn below(root: u32, children: &HashMap<u32, Vec<u32>>, foreign: &HashSet<u32>) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        for &child in children
            .get(&pid)
            .into_iter()
            .flatten()
            .filter(|child| !foreign.contains(child))
        {
            found.push(child);
            open.push(child);
        }
    }
    found
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The parent of a process; `None` for one that has gone, and for the first.
fn parent(pid: u32) -> Option<u32> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, 0)
}

/// The session of a process; `None` for one that has gone.
fn session(pid: u32) -> Option<u32> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, 2)
}

/// `pid (name) state parent group session ...`; the name may hold anything, parentheses too. The number that comes so many behind the state;
/// `None` for 0.
fn parse(stat: &str, behind: usize) -> Option<u32> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    fields.nth(1 + behind)?.parse().ok().filter(|&number| number != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        assert_eq!(parse("7 (a b) R 3 1 2", 0), Some(3));
        assert_eq!(parse("7 (a b) R 3 1 2", 2), Some(2));
        assert_eq!(parse("7 (odd) name) S 1 4) S 12 1 1", 0), Some(12));
        assert_eq!(parse("1 (init) S 0 1 1", 0), None);
        assert_eq!(parse("7 (cut", 0), None);
        assert_eq!(parse("7 (cut) S 1", 2), None);
    }

    #[test]
    fn foreign_processes_are_left_out() {
        let children = HashMap::from([(1, vec![2, 3]), (2, vec![4]), (3, vec![5])]);
        let mut found = below(1, &children, &HashSet::from([3]));
        found.sort_unstable();
        assert_eq!(found, [2, 4]);
    }

    #[test]
    fn a_child_is_found() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().expect("sleep");
        assert!(descendants(&HashSet::new()).contains(&child.id()));
        assert!(is_descendant(child.id()));
        if let Some(listed) = listed(std::process::id()) {
            assert!(listed.contains(&child.id()) && last_made().is_some());
        }
        assert!(!descendants(&HashSet::from([child.id()])).contains(&child.id()));
        child.kill().expect("our child");
        child.wait().expect("our child");
        assert!(!is_descendant(1));
    }
}
