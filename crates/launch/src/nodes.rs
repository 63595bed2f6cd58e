//! Which hosts a job runs on, and which of its ranks on which.

use std::ops::Range;

use crate::failure::{Failure, Result};
use crate::hosts;
use crate::options::Command;

/// What the command line says of hosts.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct HostOptions {
    /// In the order in which they were named.
    pub hosts: Vec<Host>,
    /// Ranks per host, where a host says nothing itself.
    pub per_host: Option<u32>,
    /// The command that starts another on a host: `ssh` if none is named.
    pub launcher: Option<String>,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// As the user wrote it, with `user@` if there is one.
    pub name: String,
    /// Ranks that it takes.
    pub slots: Option<u32>,
}

impl HostOptions {
    /// Add the hosts of a comma-separated list (`a,b:4,user@c`).
    pub fn add_list(&mut self, list: &str) -> Result<()> {
        for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            self.hosts.push(host(entry)?);
        }
        Ok(())
    }

    /// Add the hosts of a file: a line each (`name`, `name:4`, `name slots=4`; `#` starts a comment).
    pub fn add_file(&mut self, path: &str) -> Result<()> {
        let text = isthmus_os::small_file::read(path)
            .map_err(|error| Failure::usage(format!("cannot read the host file {path}: {error}")))?;
        for line in text.lines().map(|line| line.split('#').next().unwrap_or("")) {
            let mut words = line.split_whitespace();
            let Some(entry) = words.next() else { continue };
            let mut host = host(entry)?;
            for slots in words.filter_map(|word| word.strip_prefix("slots=")) {
                host.slots = Some(slots_of(entry, slots)?);
            }
            self.hosts.push(host);
        }
        Ok(())
    }

    /// How many hosts are named, each once.
    pub fn count(&self) -> usize {
        let mut names: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }

    /// Must anything run on another machine?
    pub fn is_elsewhere(&self) -> bool {
        self.launcher.is_some() && self.hosts.len() > 1 || self.hosts.iter().any(|host| !is_here(&host.name))
    }
}

/// Is this host the machine that `mpiexec` runs on?
pub fn is_here(name: &str) -> bool {
    hosts::is_here(name.rsplit('@').next().unwrap_or(name))
}

fn host(entry: &str) -> Result<Host> {
    // `name:4` states slots; more than one colon is an IPv6 address.
    match entry.split_once(':') {
        Some((name, slots)) if !slots.contains(':') => Ok(Host {
            name: name.into(),
            slots: Some(slots_of(entry, slots)?),
        }),
        _ => Ok(Host {
            name: entry.into(),
            slots: None,
        }),
    }
}

fn slots_of(entry: &str, slots: &str) -> Result<u32> {
    let number = slots.parse().ok().filter(|slots| *slots > 0);
    number.ok_or_else(|| Failure::usage(format!("host {entry}: '{slots}' is not a number of ranks")))
}

/// A host and the ranks that it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub host: String,
    /// Neighbouring ranks.
    pub ranks: Range<u32>,
}

/// Deal the ranks of `commands` out to the hosts, each in turn as many as it takes. Hosts that get none are left out; a host that is
/// named again takes more.
pub fn assign(wanted: &HostOptions, commands: &[Command]) -> Result<Vec<Node>> {
    let ranks: u32 = commands.iter().map(|command| command.ranks).sum();
    let mut hosts: Vec<Host> = Vec::new();
    for host in &wanted.hosts {
        match hosts.iter_mut().find(|known| known.name == host.name) {
            Some(known) => known.slots = Some(known.slots.unwrap_or(1) + host.slots.unwrap_or(1)),
            None => hosts.push(host.clone()),
        }
    }
    let count = hosts.len() as u32;
    let is_limited = hosts.iter().any(|host| host.slots.is_some()) || wanted.per_host.is_some();
    let even = ranks.div_ceil(count.max(1));
    let mut nodes = Vec::new();
    let mut next = 0;
    for host in hosts {
        let takes = match (wanted.per_host, host.slots, is_limited) {
            (Some(per_host), _, _) => per_host,
            (None, Some(slots), _) => slots,
            (None, None, true) => 1,
            (None, None, false) => even,
        };
        let end = ranks.min(next + takes);
        if end > next {
            nodes.push(Node {
                host: host.name,
                ranks: next..end,
            });
        }
        next = end;
    }
    if next < ranks {
        return Err(Failure::usage(format!(
            "{ranks} ranks, and room for {next} on the hosts that are named: name more, or more slots (--host a:4,b:4)"
        )));
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deal(list: &str, per_host: Option<u32>, ranks: u32) -> Result<Vec<(String, Range<u32>)>> {
        let mut wanted = HostOptions {
            per_host,
            ..HostOptions::default()
        };
        wanted.add_list(list)?;
        let command = Command {
            ranks,
            ..Command::default()
        };
        let nodes = assign(&wanted, &[command])?;
        Ok(nodes.into_iter().map(|node| (node.host, node.ranks)).collect())
    }

    #[test]
    fn ranks_are_dealt_out() {
        let dealt = |list, per_host, ranks| deal(list, per_host, ranks).expect(list);
        assert_eq!(dealt("a:2,b:2", None, 4), [("a".into(), 0..2), ("b".into(), 2..4)]);
        assert_eq!(dealt("a:2,b:2", None, 3), [("a".into(), 0..2), ("b".into(), 2..3)]);
        assert_eq!(dealt("a:2,b:2", None, 2), [("a".into(), 0..2)]);
        assert_eq!(dealt("a,b", None, 5), [("a".into(), 0..3), ("b".into(), 3..5)]);
        assert_eq!(dealt("a,b,a", None, 3), [("a".into(), 0..2), ("b".into(), 2..3)]);
        assert_eq!(dealt("a,b,c", Some(1), 2), [("a".into(), 0..1), ("b".into(), 1..2)]);
        assert_eq!(dealt("me@a,::1:2:3", None, 2).len(), 2);
    }

    #[test]
    fn too_many_ranks() {
        let message = deal("a:2,b:1", None, 4).expect_err("no room").message;
        assert!(message.contains("room for 3"), "{message}");
        assert!(deal("a:x", None, 1).is_err() && deal("a:0", None, 1).is_err());
    }
}
