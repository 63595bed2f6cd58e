//! HDF5, as Debian built it for MPICH: a program that knows MPICH's header writes and reads one file from several ranks, on our
//! `libmpi.so.12`; and h5py, built against it. (Debian's PnetCDF and parallel netCDF are built for Open MPI.)

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::python::Environment;
use super::{INSTALL, RUN, folder, mpiexec};
use crate::process::{quiet, root};
use crate::tools::{self, Tool};

/// Headers only: what runs comes by [`Tool::ParallelFiles`].
const HEADERS: [&str; 2] = ["libmpich-dev", "libhdf5-mpich-dev"];

/// The program, and what it is linked with.
const PROGRAM: (&str, &str) = ("hdf5", "libhdf5_mpich.so.103");

const H5PY: &str = "3.11.0";
/// Where Debian's libraries are.
const SYSTEM: &str = "/usr/lib/x86_64-linux-gnu";
/// What h5py is linked with beside HDF5.
const HIGH_LEVEL: &str = "libhdf5_mpich_hl.so.100";

/// The program, and one of h5py, on 1 to 4 ranks.
pub fn run(suite: &mut Suite, prefix: &Path) {
    let mut headers = None;
    if !suite.step("HDF5 for MPICH installs", || {
        tools::need(&[Tool::C, Tool::Python, Tool::ParallelFiles])?;
        headers = Some(unpacked()?);
        Ok(())
    }) {
        return;
    }
    let Some(headers) = headers else { return };
    let environment = Environment::new("h5py");
    if suite.step(&format!("h5py {H5PY} is built for {}", PROGRAM.1), || {
        built(&environment, &headers, prefix)
    }) {
        suite.step("a file of h5py from 1 to 4 ranks", || {
            (1..=4).try_for_each(|ranks| by_h5py(prefix, &environment, ranks))
        });
    }
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

/// h5py for files of several ranks: its packages are made without. mpi4py's wheel and it speak MPICH's ABI.
fn built(environment: &Environment, headers: &Path, prefix: &Path) -> Result<()> {
    environment.make()?;
    // h5py looks for libraries under these names, which the packages of headers do not bring whole.
    let libraries = headers.join("libraries");
    std::fs::create_dir_all(&libraries).with_context(|| format!("cannot make {}", libraries.display()))?;
    for (name, library) in [("libhdf5.so", PROGRAM.1), ("libhdf5_hl.so", HIGH_LEVEL)] {
        let link = libraries.join(name);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(Path::new(SYSTEM).join(library), &link)
            .with_context(|| format!("cannot make {}", link.display()))?;
    }
    let tools = [
        "mpi4py==4.1.2",
        "numpy",
        "Cython<3.1",
        "pkgconfig",
        "setuptools",
        "wheel",
    ];
    environment.install("tools", &tools, &[])?;
    let text = |path: PathBuf| path.display().to_string();
    let include = headers.join("usr/include");
    let compiler = format!("cc -I{}", text(include.join("x86_64-linux-gnu/mpich")));
    let link = format!("-L{} -l:libmpi.so.12", text(prefix.join("lib")));
    let variables = [
        ("HDF5_MPI", "ON"),
        ("HDF5_VERSION", "1.10.8"),
        ("HDF5_INCLUDEDIR", &text(include.join("hdf5/mpich"))),
        ("HDF5_LIBDIR", &text(libraries)),
        ("CC", &compiler),
        ("LDFLAGS", &link),
        // It is megabytes of generated C, of which nothing is ours.
        ("CFLAGS", "-O0"),
    ];
    let package = format!("h5py=={H5PY}");
    let what = [
        "--no-binary=h5py",
        "--no-build-isolation",
        "--no-deps",
        "--no-cache-dir",
        &package,
    ];
    environment.install("h5py", &what, &variables)
}

fn by_h5py(prefix: &Path, environment: &Environment, ranks: usize) -> Result<()> {
    let file = environment.folder.join("together.data");
    let mut run = mpiexec(prefix, ranks);
    run.arg(environment.program("python"));
    run.arg(root().join("tests/files/h5py_together.py")).arg(&file);
    run.env("LD_LIBRARY_PATH", prefix.join("lib"));
    let said = quiet(&mut run, RUN)?;
    // It is there only if the program failed in between.
    let _ = std::fs::remove_file(&file);
    ensure!(said.contains("all is there"), "{ranks} ranks said: {said}");
    Ok(())
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
