//! Frames with checksums (`ISTHMUS_NETWORK_CHECKSUM`), and bytes of them that change on the way.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{Job, RUN};
use crate::process::quiet;

const CHECKSUM: &str = "network_checksum=1";
/// A byte of a record's payload, which nothing else looks at.
const CHANGED: &str = "frame:DAMAGED:at=100:after=20:times=1:rank=1";

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    for (name, ranks) in [
        ("requests", 1),
        ("many_frames", 1),
        ("point_to_point", 2),
        ("win_random", 2),
    ] {
        suite.step(&format!("{name} on 2 nodes x {ranks}, with checksums"), || {
            quiet(&mut job.tuned(name, ranks, &[CHECKSUM])?, RUN)?;
            job.nodes.emptied()
        });
    }
    suite.step(
        "a byte that changes on the way is found by its checksum, and the sender is named",
        || changed(job),
    );
}

fn changed(job: &Job<'_>) -> Result<()> {
    let mut run = job.tuned("flood", 1, &[CHECKSUM])?;
    let output = run.env("ISTHMUS_FAULT", CHANGED).stdin(Stdio::null()).output();
    let output = output.context("cannot run mpiexec")?;
    let text = String::from_utf8_lossy(&output.stderr);
    job.nodes.emptied()?;
    let says = [
        "isthmus: rank 0 on host ",
        "bytes from rank 1 on node 1 at ",
        "was changed on the way",
    ];
    ensure!(
        output.status.code() == Some(1) && says.iter().all(|part| text.contains(part)) && text.lines().count() == 1,
        "mpiexec ended with {}:\n{text}",
        output.status
    );
    Ok(())
}
