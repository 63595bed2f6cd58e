//! Buffers in the memory of CUDA devices on two nodes, by the driver that stands in for NVIDIA's (`tests/cuda`).

use super::super::cuda::{compile, driver};
use super::super::suite::Suite;
use super::{Job, RUN};
use crate::process::quiet;

const PROGRAMS: [&str; 6] = ["messages", "collectives", "reductions", "layouts", "files", "windows"];

/// All of it.
pub(super) fn run(suite: &mut Suite, job: &Job<'_>) {
    let mut folder = None;
    if !suite.step("a driver that stands in for CUDA's is built", || {
        folder = Some(driver(job.prefix)?);
        Ok(())
    }) {
        return;
    }
    let Some(folder) = folder else { return };
    for name in PROGRAMS {
        suite.step(&format!("cuda/{name} on 2 nodes x 1"), || {
            let program = compile(job.prefix, &folder, name, &["-ldl", "-lpthread", "-lm"])?;
            let mut run = job.mpiexec(1);
            run.env("LD_LIBRARY_PATH", &folder)
                .env("ISTHMUS_TEST_DEVICES", "2")
                .args(["--set", "device_memory=2"]);
            quiet(run.arg(program).arg("own").arg(folder.join("file")), RUN)?;
            job.nodes.emptied()
        });
    }
}
