//! The Fortran libraries, compiled from C (docs/decisions/0140), that of Global Arrays, and the modules, for the gfortran that is there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::{root, show};
use crate::tools::{self, Tool};

/// A library: its name, other names, the C library that it calls, and what its sources are compiled with.
struct Library {
    name: &'static str,
    links: &'static [&'static str],
    on: &'static str,
    /// The folder of its ABI's `mpi.h`.
    include: &'static str,
    flags: &'static [&'static str],
    /// Sources that it has alone.
    own: &'static [&'static str],
    /// Whether module `mpi_f08` passes descriptors of arrays.
    has_descriptors: bool,
}

const LIBRARIES: [Library; 3] = [
    Library {
        name: "libmpifort_abi.so.1",
        links: &["libmpifort_abi.so"],
        on: "libmpi_abi.so.1",
        include: "include",
        flags: &[],
        own: &[],
        has_descriptors: true,
    },
    // Debian's MPICH calls the same library by the second name.
    Library {
        name: "libmpifort.so.12",
        links: &["libmpifort.so", "libmpichfort.so.12", "libmpichfort.so"],
        on: "libmpi.so.12",
        include: "include/isthmus/mpich",
        flags: &["-DMPICH_ABI"],
        own: &["mpich_constants.c"],
        has_descriptors: true,
    },
    // Open MPI has three: for mpif.h, and for its modules, which call nothing in one another here.
    Library {
        name: "libmpi_mpifh.so.40",
        links: &["libmpi_usempi_ignore_tkr.so.40", "libmpi_usempif08.so.40"],
        on: "libmpi.so.40",
        include: "include/isthmus/openmpi",
        flags: &["-DOPENMPI_ABI"],
        own: &["openmpi_constants.c"],
        has_descriptors: false,
    },
];

/// A source, and the options it is compiled with, each time to an object of its own.
const SOURCES: [(&str, &[&[&str]]); 8] = [
    ("variables.c", &[&[]]),
    ("convert.c", &[&[]]),
    ("section.c", &[&[]]),
    ("predefined.c", &[&[]]),
    ("entries.c", &[&[], &["-DPROFILING"]]),
    ("by_hand.c", &[&[], &["-DPROFILING"]]),
    ("callbacks.c", &[&[], &["-DPROFILING"]]),
    (
        "choice.c",
        &[
            &[],
            &["-DPROFILING"],
            &["-DGFORTRAN_DESCRIPTOR"],
            &["-DGFORTRAN_DESCRIPTOR", "-DPROFILING"],
        ],
    ),
];

/// What works with descriptors of arrays.
const OF_DESCRIPTORS: [&str; 2] = ["section.c", "choice.c"];

/// Compile and link the libraries into `lib`, where the C libraries are. Objects stay in `outputs`.
pub fn libraries(outputs: &Path, lib: &Path) -> Result<()> {
    for library in &LIBRARIES {
        let objects = outputs.join("fortran").join(library.name);
        std::fs::create_dir_all(&objects).with_context(|| format!("cannot make {}", objects.display()))?;
        let mut all = Vec::new();
        let mut sources = SOURCES.to_vec();
        if !library.has_descriptors {
            sources.retain(|(source, _)| !OF_DESCRIPTORS.contains(source));
        }
        sources.extend(library.own.iter().map(|source| (*source, &[&[] as &[_]] as &[&[_]])));
        for (source, variants) in sources {
            for flags in variants {
                let object = objects.join(format!("{source}{}.o", flags.concat()));
                compile(
                    &root().join("fortran/library"),
                    source,
                    library.include,
                    &[library.flags, flags].concat(),
                    &object,
                )?;
                all.push(object);
            }
        }
        link(lib, library.name, library.links, &all, &[library.on])?;
    }
    Ok(())
}

/// The interface of Global Arrays: for INTEGERs of 4 bytes and of 8.
const ARRAYS: [(&str, &str); 2] = [
    ("libga_fortran.so", "-DINTEGER_BYTES=4"),
    ("libga_fortran_i8.so", "-DINTEGER_BYTES=8"),
];

/// Compile and link it into `lib`, where `libga.so` is. Objects stay in `outputs`.
pub fn arrays(outputs: &Path, lib: &Path) -> Result<()> {
    let folder = root().join("fortran/ga");
    for (name, flags) in ARRAYS {
        let objects = outputs.join("fortran").join(name);
        std::fs::create_dir_all(&objects).with_context(|| format!("cannot make {}", objects.display()))?;
        let mut all = Vec::new();
        for source in [
            "create.c",
            "onesided.c",
            "whole.c",
            "process.c",
            "memory.c",
            "sparse.c",
            "bins.c",
            "steps.c",
        ] {
            let object = objects.join(format!("{source}.o"));
            compile(&folder, source, "include", &[flags], &object)?;
            all.push(object);
        }
        link(
            lib,
            &format!("{name}.0"),
            &[name],
            &all,
            &["libga.so.0", "libmpi_abi.so.1"],
        )?;
    }
    Ok(())
}

/// Link objects into a library with other names, on those that it calls.
fn link(lib: &Path, name: &str, links: &[&str], objects: &[PathBuf], on: &[&str]) -> Result<()> {
    let new = lib.join(format!("{name}.new"));
    let mut cc = compiler();
    cc.args([
        "-shared",
        "-Wl,-z,defs",
        "-Wl,-z,relro",
        "-Wl,-z,nodelete",
        "-Wl,-rpath,$ORIGIN",
    ])
    .arg(format!("-Wl,-soname,{name}"))
    .args(objects)
    .args(on.iter().map(|one| lib.join(one)))
    .args(["-lpthread", "-o"])
    .arg(&new);
    run(cc, name)?;
    std::fs::rename(&new, lib.join(name)).with_context(|| format!("cannot write {name}"))?;
    for link in links {
        let path = lib.join(link);
        // There may be one from before.
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(name, &path).with_context(|| format!("cannot link {}", path.display()))?;
    }
    Ok(())
}

/// Compile a source, unless the object is newer than all of them.
fn compile(folder: &Path, source: &str, include: &str, flags: &[&str], object: &Path) -> Result<()> {
    let include = root().join(include);
    if is_current(object, folder, &include.join("mpi.h"))? {
        return Ok(());
    }
    let mut cc = compiler();
    cc.args([
        "-std=gnu11",
        "-O2",
        "-g",
        "-fPIC",
        "-Wall",
        "-Wextra",
        "-Wno-attribute-alias",
        "-Wno-unused-function",
    ])
    .args(flags)
    .arg("-I")
    .arg(include)
    .arg("-c")
    .arg(folder.join(source))
    .arg("-o")
    .arg(object);
    run(cc, source)
}

fn is_current(object: &Path, folder: &Path, header: &Path) -> Result<bool> {
    let time = |path: &Path| std::fs::metadata(path).and_then(|found| found.modified());
    let Ok(made) = time(object) else { return Ok(false) };
    let mut sources: Vec<PathBuf> = vec![header.to_owned(), root().join("xtask/src/fortran.rs")];
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        sources.push(entry?.path());
    }
    for source in sources {
        if time(&source)? >= made {
            return Ok(false);
        }
    }
    Ok(true)
}

/// CC may be several words, as in `ccache gcc`.
fn compiler() -> Command {
    let named = std::env::var("CC").unwrap_or_default();
    let mut words = named.split_whitespace();
    let mut cc = Command::new(words.next().unwrap_or("cc"));
    cc.args(words);
    cc
}

fn run(mut cc: Command, what: &str) -> Result<()> {
    let output = cc.output().context("cannot run cc: install a C compiler")?;
    ensure!(
        output.status.success(),
        "cannot compile {what}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// Make the modules of an installation for gfortran, which is installed where we may. Without it they are made later.
pub fn modules(prefix: &Path) -> Result<()> {
    tools::want(&[Tool::Fortran]);
    if !Tool::Fortran.is_there() {
        println!(
            "no gfortran: the Fortran modules are not made; {}/bin/isthmus fortran makes them",
            prefix.display()
        );
        return Ok(());
    }
    show(Command::new(prefix.join("bin/isthmus")).args(["fortran", "--fc", "gfortran"]))
}
