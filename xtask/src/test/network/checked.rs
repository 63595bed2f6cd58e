//! The checking mode (`ISTHMUS_CHECK=1`) on several nodes: accesses to windows and fences are compared between nodes, too.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{Job, RUN};
use crate::process::quiet;

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    suite.step("mistakes with windows are found between nodes", || {
        let said = quiet(job.tuned("win_wrong", 1, &[])?.env("ISTHMUS_CHECK", "1"), RUN)?;
        ensure!(!said.contains("isthmus:"), "it says:\n{said}");
        job.nodes.emptied()
    });
    suite.step("puts from two nodes to the same bytes are named", || conflict(job));
    suite.step("win_random on 2 nodes x 2, checked", || {
        let mut run = job.tuned("win_random", 2, &[])?;
        quiet(run.args(["7", "60"]).env("ISTHMUS_CHECK", "1"), RUN)?;
        job.nodes.emptied()
    });
}

fn conflict(job: &Job<'_>) -> Result<()> {
    let mut run = job.tuned("win_wrong", 1, &[])?;
    let output = run.arg("fatal").env("ISTHMUS_CHECK", "1").stdin(Stdio::null()).output();
    let output = output.context("cannot run mpiexec")?;
    let text = String::from_utf8_lossy(&output.stderr);
    job.nodes.emptied()?;
    let line = "isthmus: rank 1: MPI_Put: MPI_ERR_RMA_CONFLICT: bytes 8 to 15 of rank 1 of a window of 2 ranks, which rank 1 accesses, \
                have been put by rank 0 in the same epoch";
    ensure!(
        !output.status.success() && text.lines().any(|said| said == line),
        "mpiexec ended with {}:\n{text}",
        output.status
    );
    Ok(())
}
