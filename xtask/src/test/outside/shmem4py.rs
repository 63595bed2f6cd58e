//! shmem4py: built from its source distribution by our oshcc, and its own test suite, whole, on 1, 2 and 4 PEs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::python::Environment;
use super::{INSTALL, RUN, folder};
use crate::process::quiet;

const VERSION: &str = "1.0.0";
/// Its arrays are those of NumPy 1: with NumPy 2 it fails without a library, too.
const NUMPY: &str = "numpy<2";

/// Build it, and run its tests.
pub fn run(suite: &mut Suite, prefix: &Path) {
    let environment = Environment::new("shmem4py");
    if !suite.step(&format!("shmem4py {VERSION} is built from source by our oshcc"), || {
        build(&environment, prefix)
    }) {
        return;
    }
    let mut sources = None;
    if !suite.step(&format!("shmem4py {VERSION} comes with its tests"), || {
        sources = Some(unpacked(&environment)?);
        Ok(())
    }) {
        return;
    }
    let Some(sources) = sources else { return };
    for pes in [1, 2, 4] {
        let name = format!("shmem4py's own suite on {pes} {}", if pes == 1 { "PE" } else { "PEs" });
        suite.step(&name, || own_suite(prefix, &environment, &sources, pes));
    }
}

fn build(environment: &Environment, prefix: &Path) -> Result<()> {
    environment.make()?;
    let oshcc = prefix.join("bin/oshcc").display().to_string();
    let header = std::fs::read(prefix.join("include/shmem.h")).context("our shmem.h")?;
    let mut digest = DefaultHasher::new();
    header.hash(&mut digest);
    let digest = digest.finish().to_string();
    environment.install("needs", &[NUMPY, "cffi"], &[])?;
    // A wheel that pip built before is not what this oshcc makes.
    let package = format!("shmem4py=={VERSION}");
    let fresh = [
        "--force-reinstall",
        "--no-deps",
        "--no-cache-dir",
        "--no-binary",
        "shmem4py",
        &package,
    ];
    let variables = [("OSHCC", oshcc.as_str()), ("CFLAGS", "-O0"), ("SHMEM_H", &digest)];
    environment.install("shmem4py", &fresh, &variables)
}

/// The sources, suite included, where they are after this.
fn unpacked(environment: &Environment) -> Result<PathBuf> {
    let folder = folder("shmem4py-sources");
    let sources = folder.join(format!("shmem4py-{VERSION}"));
    if sources.join("test").exists() {
        return Ok(sources);
    }
    let package = format!("shmem4py=={VERSION}");
    let mut download = environment.pip("download");
    download.args(["--no-deps", "--no-binary", "shmem4py", &package, "--dest"]);
    quiet(download.arg(&folder), INSTALL)?;
    let mut unpack = Command::new(environment.program("python"));
    unpack.args(["-m", "tarfile", "-e"]);
    unpack
        .arg(folder.join(format!("shmem4py-{VERSION}.tar.gz")))
        .arg(&folder);
    quiet(&mut unpack, INSTALL)?;
    Ok(sources)
}

/// None may fail. unittest says `OK` for each PE; with what was left out behind it, if anything was.
fn own_suite(prefix: &Path, environment: &Environment, sources: &Path, pes: usize) -> Result<()> {
    let mut run = Command::new(prefix.join("bin/oshrun"));
    run.args(["-n", &pes.to_string()])
        .arg(environment.program("python"))
        .args(["-m", "unittest", "discover", "-q", "-s"])
        .arg(sources.join("test"));
    let text = quiet(&mut run, RUN)?;
    let (ran, well) = (text.matches("Ran ").count(), text.matches("OK").count());
    ensure!(
        ran == pes && well == pes && !text.contains("skipped"),
        "{well} of {pes} PEs passed all; they said:\n{text}"
    );
    Ok(())
}
