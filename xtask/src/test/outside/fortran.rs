//! Fortran programs compiled with the modules and headers of Debian's MPICH: they run on our `libmpichfort.so.12`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{INSTALL, RUN, folder, mpiexec};
use crate::process::{quiet, root};
use crate::tools::Tool;

/// Where Debian's packages have files of this processor.
const HERE: &str = "x86_64-linux-gnu";

/// Our own test programs, as MPICH's modules understand them. Debian has the packages; elsewhere there is nothing to try.
pub fn run(suite: &mut Suite, prefix: &Path) {
    const PROGRAMS: [&str; 5] = [
        "include.f",
        "module.f90",
        "f08.f90",
        "sections.f90",
        "random_sections.F90",
    ];
    if !Tool::Fortran.is_there() || !has_packages() {
        return;
    }
    let unpacked = folder("mpich-fortran");
    if !suite.step("Debian's MPICH for Fortran is fetched", || {
        fetch(&unpacked, &["libmpich-dev", "libmpich12"])
    }) {
        return;
    }
    for source in PROGRAMS {
        let name = format!("{source}, compiled with MPICH's modules, runs on our libmpichfort.so.12");
        let sources = [root().join("tests/fortran").join(source)];
        suite.step(&name, || program(&unpacked, prefix, source, "", &sources));
    }
    for (form, flags) in FORMS {
        let name = format!(
            "calls of every procedure by {form}, compiled with MPICH's modules, are right on our libmpichfort.so.12"
        );
        suite.step(&name, || {
            let flags = format!("{flags} -DOLD -cpp -J {}", unpacked.display());
            program(&unpacked, prefix, &format!("every-{form}"), &flags, &families()?)
        });
    }
}

/// The forms of `tests/fortran/every`.
const FORMS: [(&str, &str); 4] = [
    ("mpif.h", "-DINCLUDE"),
    ("mpi", "-DMODULE"),
    ("mpi_f08", "-DF08"),
    ("mpi_f08-large", "-DF08 -DLARGE"),
];

/// Its sources, in the order in which they need each other.
fn families() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join("tests/fortran/every"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "F90") {
            found.push(path);
        }
    }
    found.sort_by_key(|path| (!path.ends_with("form.F90"), path.clone()));
    Ok(found)
}

/// Does this machine have Debian's packages for this processor?
pub fn has_packages() -> bool {
    Path::new("/etc/debian_version").exists() && std::env::consts::ARCH == "x86_64"
}

/// The packages' files, without installing them.
pub fn fetch(unpacked: &Path, packages: &[&str]) -> Result<()> {
    if unpacked.join("usr").exists() {
        return Ok(());
    }
    std::fs::create_dir_all(unpacked).with_context(|| format!("cannot make {}", unpacked.display()))?;
    let mut download = Command::new("apt-get");
    download.arg("download").args(packages).current_dir(unpacked);
    quiet(&mut download, INSTALL)?;
    for entry in std::fs::read_dir(unpacked)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            quiet(Command::new("dpkg").arg("-x").arg(&path).arg(unpacked), INSTALL)?;
        }
    }
    Ok(())
}

fn program(unpacked: &Path, prefix: &Path, name: &str, flags: &str, sources: &[PathBuf]) -> Result<()> {
    let program = unpacked.join(name).with_extension("program");
    let mut compile = Command::new("gfortran");
    compile
        .args(["-fallow-argument-mismatch", "-w", "-ffree-line-length-none", "-o"])
        .arg(&program)
        .args(flags.split_whitespace())
        .arg("-I")
        .arg(unpacked.join("usr/include").join(HERE).join("mpich"))
        .args(sources)
        .arg("-L")
        .arg(unpacked.join("usr/lib").join(HERE))
        .args(["-lmpichfort", "-lmpich"]);
    quiet(&mut compile, RUN)?;
    let libraries = quiet(
        Command::new("ldd")
            .arg(&program)
            .env("LD_LIBRARY_PATH", prefix.join("lib")),
        RUN,
    )?;
    let ours = prefix.join("lib/libmpichfort.so.12").display().to_string();
    ensure!(
        libraries.contains(&ours),
        "{name} loads another library than {ours}:\n{libraries}"
    );
    for ranks in [1, 2, 4] {
        let file = program.with_extension("data");
        quiet(mpiexec(prefix, ranks).arg(&program).arg(file), RUN)?;
    }
    Ok(())
}
