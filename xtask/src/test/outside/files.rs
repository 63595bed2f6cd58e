//! Libraries for files, as Debian built them: programs that know the header of another MPI library write and read one file from several ranks.
//! HDF5 for MPICH runs on our `libmpi.so.12`; HDF5, netCDF-4, PnetCDF and h5py for Open MPI run on our `libmpi.so.40`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::openmpi::WRAPPER;
use super::{INSTALL, RUN, folder, mpiexec};
use crate::process::{quiet, root};
use crate::tools::{self, Tool};

/// Headers only: what runs comes by [`Tool::ParallelFiles`].
const HEADERS: [&str; 2] = ["libmpich-dev", "libhdf5-mpich-dev"];

/// The program, and what it is linked with.
const PROGRAM: (&str, &str) = ("hdf5", "libhdf5_mpich.so.103");

/// Programs for Open MPI: where their headers are, and what they are linked with.
const FOR_OPEN_MPI: [(&str, &str, &str); 3] = [
    ("hdf5", "/usr/include/hdf5/openmpi", "libhdf5_openmpi.so.103"),
    (
        "netcdf",
        "/usr/lib/x86_64-linux-gnu/netcdf/mpi/include",
        "libnetcdf_mpi.so.19",
    ),
    ("pnetcdf", "/usr/include", "libpnetcdf.so"),
];

/// Debian's own, which its packages of modules belong to.
const PYTHON: &str = "/usr/bin/python3";

/// The programs, on 1 to 4 ranks.
pub fn run(suite: &mut Suite, prefix: &Path) {
    for_mpich(suite, prefix);
    let name = "HDF5, netCDF and PnetCDF for Open MPI install";
    if !Path::new("/etc/debian_version").exists() || std::env::consts::ARCH != "x86_64" {
        suite.skip(name, "Debian's packages for x86-64 are what is tested");
        return;
    }
    if suite.step(name, || tools::need(&[Tool::OpenMpi, Tool::OpenMpiFiles])) {
        for_open_mpi(suite, prefix);
    }
}

fn for_open_mpi(suite: &mut Suite, prefix: &Path) {
    for (name, headers, library) in FOR_OPEN_MPI {
        suite.step(&format!("a file of {library} from 1 to 4 ranks"), || {
            let folder = folder("openmpi-files");
            std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            let program = folder.join(name);
            let mut compile = Command::new(WRAPPER);
            compile.args(["-O1", "-Wall", "-o"]).arg(&program).arg(source(name));
            quiet(compile.arg("-I").arg(headers).arg(format!("-l:{library}")), RUN)?;
            (1..=4).try_for_each(|ranks| write_and_read(prefix, &[&program], &program, ranks))
        });
    }
    suite.step("a file of Debian's h5py from 1 to 4 ranks", || {
        let script = root().join("tests/files/h5py_together.py");
        let file = folder("openmpi-files").join("h5py");
        (1..=4).try_for_each(|ranks| write_and_read(prefix, &[Path::new(PYTHON), &script], &file, ranks))
    });
}

fn for_mpich(suite: &mut Suite, prefix: &Path) {
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
        (1..=4).try_for_each(|ranks| write_and_read(prefix, &[&program], &program, ranks))
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
    compile.arg(source(name));
    for folder in [include.clone(), include.join("hdf5/mpich"), mpich] {
        compile.arg("-I").arg(folder);
    }
    compile.arg(format!("-l:{library}"));
    compile.arg(prefix.join("lib/libmpi.so.12"));
    quiet(&mut compile, RUN)?;
    Ok(program)
}

fn source(name: &str) -> PathBuf {
    root().join("tests/files").join(name).with_extension("c")
}

/// Run the command, which is told of a file beside `near`.
fn write_and_read(prefix: &Path, command: &[&Path], near: &Path, ranks: usize) -> Result<()> {
    let file = near.with_extension("data");
    let mut run = mpiexec(prefix, ranks);
    run.args(command).arg(&file);
    run.env("LD_LIBRARY_PATH", prefix.join("lib"));
    let said = quiet(&mut run, RUN)?;
    // It is there only if the program failed in between.
    let _ = std::fs::remove_file(&file);
    ensure!(said.contains("all is there"), "{ranks} ranks said: {said}");
    Ok(())
}
