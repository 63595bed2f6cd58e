//! Nodes that are not alike: what one of them has is missing on the other, or is another there.

use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};

use super::super::suite::Suite;
use super::Job;
use crate::process::target;

/// Enters a node as the usual launcher does, and changes it before it runs what it is told to. It is the node's own: no other process sees it.
const LAUNCHER: &str = "#!/bin/sh
host=$1
shift
exec ip netns exec \"$host\" unshare --ipc --mount --pid --fork --kill-child --mount-proc sh -c 'CHANGE; exec \"$@\"' \"$host\" \"$@\"
";

/// How both nodes, or the second alone, are changed, in the words of sh(1), and what must be said.
const CHANGES: [(&str, &str, [&str; 2]); 2] = [
    (
        "a node without libfabric is named",
        "for file in $(ldconfig -p | sed -n \"s,.*libfabric.so.1.*=> ,,p\"); do mount --bind /dev/null $file; done",
        ["on host", "libfabric cannot be opened"],
    ),
    (
        "a node whose ranks send by another provider is named",
        "case $0 in *-2) export ISTHMUS_FABRIC=tcp;; esac",
        ["libfabric's provider", "set ISTHMUS_FABRIC and FI_PROVIDER alike"],
    ),
];

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    for (name, change, says) in CHANGES {
        suite.step(name, || fails(job, change, says));
    }
}

fn fails(job: &Job<'_>, change: &str, says: [&str; 2]) -> Result<()> {
    let launcher = target().join("test/network/enter-unlike");
    std::fs::write(&launcher, LAUNCHER.replace("CHANGE", change)).context("cannot write the launcher")?;
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).context("chmod")?;
    let mut run = job.mpiexec(1);
    // The last one counts.
    run.arg("--launcher").arg(&launcher);
    run.arg(job.compile("requests")?);
    job.ends_in_error(&mut run, says)
}
