//! Puts and gets by the provider's RMA.

use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{Job, RUN};
use crate::process::quiet;

/// Every put and get that can go so does.
const ALL: &str = "network_rma=1";

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    let direct = "network_windows on 2 nodes x 2";
    match has_rma(job) {
        Ok(false) => return suite.skip(direct, "libfabric has no provider net here"),
        ran => {
            suite.step(direct, || ran.map(drop));
        }
    }
    for (name, ranks) in [
        ("win_random", 1),
        ("win_random", 2),
        ("win_flavors", 2),
        ("win_many", 2),
        ("win_results", 2),
        ("win_computing", 2),
    ] {
        suite.step(&format!("{name} on 2 nodes x {ranks}, by RMA"), || {
            quiet(&mut job.tuned(name, ranks, &[ALL])?, RUN)?;
            job.nodes.emptied()
        });
    }
    suite.step("win_random on 2 nodes x 2, without RMA", || {
        quiet(&mut job.tuned("win_random", 2, &["network_rma=0"])?, RUN)?;
        job.nodes.emptied()
    });
    suite.step(
        "a rank that dies while others read and write its window ends the job",
        || {
            let mut run = job.tuned("network_windows", 2, &[])?;
            let child = run.arg("die").stdin(Stdio::null()).stderr(Stdio::null()).spawn();
            job.ends_with(child.context("cannot start mpiexec")?, 137)
        },
    );
}

/// Long puts and gets go by RMA with the provider net. False: it is not here.
fn has_rma(job: &Job<'_>) -> Result<bool> {
    let mut run = job.tuned("network_windows", 2, &[])?;
    let output = run.env("ISTHMUS_FABRIC", "net").stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    job.nodes.emptied()?;
    if text.contains("libfabric has no provider here that serves") {
        return Ok(false);
    }
    ensure!(output.status.success(), "mpiexec ended with {}:\n{text}", output.status);
    Ok(true)
}
