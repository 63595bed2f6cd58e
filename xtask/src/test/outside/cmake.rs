//! CMake's own search for an MPI.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::RUN;
use crate::process::{quiet, root, target};
use crate::tools::Tool;

/// A project that asks for MPI is configured, built and tested.
pub fn run(suite: &mut Suite, prefix: &Path) {
    suite.step("CMake finds us (FindMPI), builds and runs", || project(prefix));
}

fn project(prefix: &Path) -> Result<()> {
    let build = target().join("test/cmake");
    if build.exists() {
        std::fs::remove_dir_all(&build).context("cannot empty target/test/cmake")?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(prefix.join("bin")).chain(std::env::split_paths(&path)))?;
    let mut configure = Command::new("cmake");
    configure
        .arg("-S")
        .arg(root().join("tests/cmake"))
        .arg("-B")
        .arg(&build)
        .env("PATH", &path);
    if Tool::Fortran.is_there() {
        configure.arg("-DWITH_FORTRAN=ON");
    }
    let text = quiet(&mut configure, RUN)?;
    ensure!(text.contains("Found MPI"), "FindMPI did not find us; it said:\n{text}");
    let cache = std::fs::read_to_string(build.join("CMakeCache.txt")).context("CMake's cache")?;
    let ours = prefix.join("bin/mpiexec").display().to_string();
    ensure!(cache.contains(&ours), "FindMPI found another MPI than {ours}");
    quiet(Command::new("cmake").arg("--build").arg(&build), RUN)?;
    let mut test = Command::new("ctest");
    quiet(test.arg("--output-on-failure").current_dir(&build), RUN).map(drop)
}
