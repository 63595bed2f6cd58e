//! Programs that nobody here wrote, from registries: they find our library by its path alone.
//!
//! Packages of PyPI are installed into a virtual environment of its own under `target/outside` (some packages carry a
//! `libmpi.so.12` themselves), and stays there for the next run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::target;

pub mod aarch64;
pub mod arrays;
pub mod cmake;
pub mod coarrays;
pub mod files;
pub mod fortran;
pub mod imb;
pub mod mpi4py;
pub mod mpich;
pub mod openmpi;
pub mod packages;
pub mod python;
pub mod rsmpi;
pub mod shmem4py;
pub mod solvers;

const INSTALL: Duration = Duration::from_secs(900);
const RUN: Duration = Duration::from_secs(120);

/// Where what is fetched stays.
fn folder(name: &str) -> PathBuf {
    target().join("outside").join(name)
}

fn mpiexec(prefix: &Path, ranks: usize) -> Command {
    let mut command = Command::new(prefix.join("bin/mpiexec"));
    command.args(["-n", &ranks.to_string()]);
    command
}
