//! Buffers in the memory of CUDA devices on two nodes, by the driver that stands in for NVIDIA's (`tests/cuda`).

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::super::suite::Suite;
use super::{Job, RUN};
use crate::process::{quiet, root, target};

const PROGRAMS: [&str; 6] = ["messages", "collectives", "reductions", "layouts", "windows", "files"];

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

/// The folder that has it.
pub(in super::super) fn driver(prefix: &Path) -> Result<PathBuf> {
    let folder = target().join("test/cuda");
    std::fs::create_dir_all(&folder).context("cannot make a folder")?;
    let options = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-lpthread"];
    let library = compile(prefix, &folder, "libcuda", &options)?;
    let link = folder.join("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    symlink(library, &link).context("cannot link the driver")?;
    Ok(folder)
}

fn compile(prefix: &Path, folder: &Path, name: &str, options: &[&str]) -> Result<PathBuf> {
    let program = folder.join(name);
    let mut mpicc = Command::new(prefix.join("bin/mpicc"));
    mpicc.args(["-std=gnu11", "-O1", "-o"]).arg(&program);
    mpicc.arg(root().join("tests/cuda").join(name).with_extension("c"));
    quiet(mpicc.args(options), RUN)?;
    Ok(program)
}
