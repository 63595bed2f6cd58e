//! HDF5, as Debian built it for MPICH: a program that knows MPICH's header writes and reads one file from several ranks, on our
//! `libmpi.so.12`. (Debian's PnetCDF is built for Open MPI.)

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{INSTALL, RUN, folder, mpiexec};
use crate::process::{quiet, root};
use crate::tools::{self, Tool};

/// Headers only: what runs comes by [`Tool::ParallelFiles`].
const HEADERS: [&str; 2] = ["libmpich-dev", "libhdf5-mpich-dev"];

/// The program, and what it is linked with.
const PROGRAM: (&str, &str) = ("hdf5", "libhdf5_mpich.so.103");

/// The program, on 1 to 4 ranks.
pub fn run(suite: &mut Suite, prefix: &Path) {
    let mut headers = None;
    if !suite.step("HDF5 for MPICH installs", || {
        tools::need(&[Tool::C, Tool::ParallelFiles])?;
        headers = Some(unpacked()?);
        Ok(())
    }) {
        return;
    }
    let Some(headers) = headers else { return };
    let (name, library) = PROGRAM;
    suite.step(&format!("a file of {library} from 1 to 4 ranks"), || {
        let program = compiled(&headers, prefix, name, library)?;
        (1..=4).try_for_each(|ranks| write_and_read(prefix, &program, ranks))
    });
}

/// The headers, where they are after this.
fn unpacked() -> Result<PathBuf> {
    let folder = folder("parallel-files");
    // It comes last.
    let done = folder.join("unpacked");
    if done.exists() {
        return Ok(folder);
    }
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut download = Command::new("apt-get");
    download.args(["-qq", "download"]).args(HEADERS).current_dir(&folder);
    quiet(&mut download, INSTALL)?;
    for entry in std::fs::read_dir(&folder).context("packages")? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "deb") {
            quiet(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&folder), INSTALL)?;
            std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
    }
    std::fs::write(&done, "").with_context(|| format!("cannot write {}", done.display()))?;
    Ok(folder)
}

/// The program: compiled with MPICH's header, linked with our library under MPICH's name.
fn compiled(headers: &Path, prefix: &Path, name: &str, library: &str) -> Result<PathBuf> {
    let program = headers.join(name);
    let include = headers.join("usr/include");
    let mpich = include.join("x86_64-linux-gnu/mpich");
    let mut compile = Command::new("cc");
    compile.args(["-O1", "-Wall", "-o"]).arg(&program);
    compile.arg(root().join("tests/files").join(name).with_extension("c"));
    for folder in [include.clone(), include.join("hdf5/mpich"), mpich] {
        compile.arg("-I").arg(folder);
    }
    compile.arg(format!("-l:{library}"));
    compile.arg(prefix.join("lib/libmpi.so.12"));
    quiet(&mut compile, RUN)?;
    Ok(program)
}

fn write_and_read(prefix: &Path, program: &Path, ranks: usize) -> Result<()> {
    let file = program.with_extension("data");
    let mut run = mpiexec(prefix, ranks);
    run.arg(program).arg(&file);
    run.env("LD_LIBRARY_PATH", prefix.join("lib"));
    let said = quiet(&mut run, RUN)?;
    // It is there only if the program failed in between.
    let _ = std::fs::remove_file(&file);
    ensure!(said.contains("all is there"), "{ranks} ranks said: {said}");
    Ok(())
}
