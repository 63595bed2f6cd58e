//! Peers that compute and take nothing, with more messages to and from them than can be under way: others are served meanwhile.

use std::process::Command;

use anyhow::{Context, Result};

use super::super::suite::Suite;
use super::{Job, RUN, SOON};
use crate::process::{quiet, target};

/// Ranks of a node.
const RANKS: usize = 6;
/// What sockets keep at most (bytes, as in `tcp_wmem`), so that little is under way outside the library.
const SMALL: &str = "4096 65536 65536";
const SETTINGS: [&str; 2] = ["tcp_wmem", "tcp_rmem"];

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    suite.step("peers that compute hold up no messages of others", || {
        let before = SETTINGS.map(|setting| read(job, setting));
        SETTINGS.iter().try_for_each(|setting| write(job, setting, SMALL))?;
        // Long messages are read out of their senders' memory where the provider net is.
        let ran = goes_on(job, "").and_then(|()| match job.reads()? {
            true => goes_on(job, "net"),
            false => Ok(()),
        });
        for (setting, value) in SETTINGS.iter().zip(before) {
            write(job, setting, &value?)?;
        }
        ran
    });
}

fn goes_on(job: &Job<'_>, provider: &str) -> Result<()> {
    let folder = target().join("test/network/shares");
    // What an earlier run has left.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).context("cannot make a folder")?;
    let program = job.compile("network_shares")?;
    let mut run = job.mpiexec(RANKS);
    if !provider.is_empty() {
        run.env("ISTHMUS_FABRIC", provider);
    }
    quiet(run.arg(program).arg(folder), RUN)?;
    job.nodes.emptied()
}

/// A setting of the first node's; all have the same.
fn read(job: &Job<'_>, setting: &str) -> Result<String> {
    on(&job.nodes.names[0], &format!("cat /proc/sys/net/ipv4/{setting}"))
}

fn write(job: &Job<'_>, setting: &str, value: &str) -> Result<()> {
    let line = format!("echo {} > /proc/sys/net/ipv4/{setting}", value.trim());
    job.nodes.names.iter().try_for_each(|name| on(name, &line).map(drop))
}

fn on(node: &str, line: &str) -> Result<String> {
    quiet(Command::new("ip").args(["netns", "exec", node, "sh", "-c", line]), SOON)
}
