//! Looking at processes from outside, by `/proc`, and sending them signals.

use std::process::Command;
use std::time::Duration;

/// The children of a process, and theirs, in no order.
pub fn children(pid: u32) -> Vec<u32> {
    let all: Vec<(u32, u32)> = numbers().filter_map(|child| Some((child, parent(child)?))).collect();
    let mut found = vec![pid];
    let mut next = 0;
    while next < found.len() {
        let parent = found[next];
        found.extend(all.iter().filter(|&&(_, its)| its == parent).map(|&(child, _)| child));
        next += 1;
    }
    found.split_off(1)
}

/// Processes whose command line contains `text`, of those that run in this repository: tests of another may run beside us.
pub fn named(text: &str) -> Vec<u32> {
    let is_ours = |pid: u32| {
        let repository = super::folder().parent().expect("in the repository");
        let repository = repository.canonicalize().expect("it is there");
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder.starts_with(repository))
    };
    numbers()
        .filter(|&pid| pid != std::process::id() && command_line(pid).contains(text) && is_ours(pid))
        .collect()
}

/// Processor time that a process has used, its threads included. Counted in ticks of 10 ms.
pub fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat[stat.rfind(')')? + 2..].split_whitespace().collect();
    // utime and stime are fields 14 and 15 of the line, the state (third) is the first here.
    let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

/// Abstract sockets of Isthmus on this machine.
pub fn abstract_sockets() -> Vec<String> {
    let text = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let names = text.lines().filter_map(|line| line.split_whitespace().nth(7));
    names
        .filter(|name| name.starts_with("@isthmus-"))
        .map(str::to_owned)
        .collect()
}

/// The abstract socket of the job that a process was started for.
pub fn job_socket(pid: u32) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let text = String::from_utf8_lossy(&environment);
    let value = |name: &str| text.split('\0').find_map(|variable| variable.strip_prefix(name));
    let nonce = isthmus_engine::control::Nonce::parse(value("ISTHMUS_JOB=")?)?;
    let node = value("ISTHMUS_NODE=")?.parse().ok()?;
    Some(format!("@{}", nonce.socket_name(node)))
}

/// Send a signal: `KILL`, `TERM`, ... One that has gone is no failure.
pub fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill")
        .args(["-s", name, &pid.to_string()])
        .stderr(std::process::Stdio::null())
        .status();
}

/// Kill a process and all below it.
pub fn end(pid: u32) {
    let below = children(pid);
    signal(pid, "KILL");
    below.into_iter().for_each(|child| signal(child, "KILL"));
}

/// The processes, and where each waits: for the report of a run that hangs.
pub fn listing(pid: u32) -> String {
    let line = |pid: u32| {
        let fact = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
        format!(
            "  {pid} {} (in {}, used {:?})",
            command_line(pid),
            fact("wchan"),
            cpu_time(pid).unwrap_or_default()
        )
    };
    children(pid).into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn numbers() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A zombie has no parent to speak of: it has ended.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    fields.next()?.parse().ok().filter(|_| state != "Z")
}

fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
