//! The driver that stands in for NVIDIA's (`tests/cuda/libcuda.c`), and programs that use it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::{quiet, root, target};

const RUN: Duration = Duration::from_secs(120);

/// The folder that has it.
pub fn driver(prefix: &Path) -> Result<PathBuf> {
    let folder = target().join("test/cuda");
    std::fs::create_dir_all(&folder).context("cannot make a folder")?;
    let options = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-lpthread"];
    let library = compile(prefix, &folder, "libcuda", &options)?;
    let link = folder.join("libcuda.so.1");
    let _ = std::fs::remove_file(&link);
    symlink(library, &link).context("cannot link the driver")?;
    Ok(folder)
}

/// Compile a program of `tests/cuda` into a folder.
pub fn compile(prefix: &Path, folder: &Path, name: &str, options: &[&str]) -> Result<PathBuf> {
    let program = folder.join(name);
    let mut mpicc = Command::new(prefix.join("bin/mpicc"));
    mpicc.args(["-std=gnu11", "-O1", "-o"]).arg(&program);
    mpicc.arg(root().join("tests/cuda").join(name).with_extension("c"));
    quiet(mpicc.args(options), RUN)?;
    Ok(program)
}
