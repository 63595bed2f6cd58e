//! Every descendant of this process.
//!
//! `mpiexec` adopts orphans, so whatever a rank starts, however it detaches itself, stays below it in the tree of
//! processes: the job *is* the set of descendants, less the children that `mpiexec` was born with (`cmd & exec mpiexec`).

use std::collections::{HashMap, HashSet};

/// The descendants of this process except `strangers` and theirs. One walk over `/proc`.
pub fn descendants(strangers: &HashSet<u32>) -> Vec<u32> {
    below(std::process::id(), &children(), strangers)
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

fn below(root: u32, children: &HashMap<u32, Vec<u32>>, strangers: &HashSet<u32>) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        for &child in children
            .get(&pid)
            .into_iter()
            .flatten()
            .filter(|child| !strangers.contains(child))
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
    parse_parent(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state parent ...`; the name may hold anything, parentheses too.
fn parse_parent(stat: &str) -> Option<u32> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let _state = fields.next()?;
    fields.next()?.parse().ok().filter(|&parent| parent != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        assert_eq!(parse_parent("7 (a b) R 3 1 1"), Some(3));
        assert_eq!(parse_parent("7 (odd) name) S 1 4) S 12 1 1"), Some(12));
        assert_eq!(parse_parent("1 (init) S 0 1 1"), None);
        assert_eq!(parse_parent("7 (cut"), None);
    }

    #[test]
    fn strangers_and_theirs_are_left_out() {
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
        assert!(!descendants(&HashSet::from([child.id()])).contains(&child.id()));
        child.kill().expect("our child");
        child.wait().expect("our child");
        assert!(!is_descendant(1));
    }
}
