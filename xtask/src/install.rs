//! `install`: a release build, laid out in a prefix that may be moved as a whole.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

mod documents;
mod machine;
mod wrappers;

use crate::fortran;
use crate::link;
use crate::process::{cargo, root, show};
use crate::tools::{self, Tool};
use machine::Machine;

const USAGE: &str = "usage: cargo xtask install [--prefix DIR] [--destdir DIR] [--target TRIPLE]";

/// Other names of commands.
const LINKS: [(&str, &str); 11] = [
    ("mpirun", "mpiexec"),
    ("mpicc_abi", "mpicc"),
    ("mpicxx_abi", "mpicxx"),
    ("mpic++", "mpicxx"),
    ("mpif77", "mpifort"),
    ("mpif90", "mpifort"),
    ("mpifort_abi", "mpifort"),
    ("oshc++", "oshcxx"),
    ("oshCC", "oshcxx"),
    ("oshrun", "mpiexec"),
    ("shmemrun", "mpiexec"),
];

/// `install [--prefix DIR] [--destdir DIR] [--target TRIPLE]`: with a destination, into `DESTDIR/PREFIX`. No file has the prefix in it, so what a
/// package is made of is moved there later. With a target, for the machines of that name, by a Rust that knows it, and the C compiler in `CC`.
pub fn run(arguments: &[String]) -> Result<()> {
    let (mut prefix, mut destination, mut machine) = (None, None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let (option, value) = match argument.split_once('=') {
            Some((option, value)) => (option, Some(value.to_owned())),
            None => (argument.as_str(), rest.next().cloned()),
        };
        let value = value.context(USAGE)?;
        let place = match option {
            "--prefix" => &mut prefix,
            "--destdir" => &mut destination,
            "--target" => {
                machine = Some(Machine::named(value));
                continue;
            }
            _ => bail!(USAGE),
        };
        *place = Some(std::env::current_dir()?.join(value));
    }
    let prefix = prefix.unwrap_or_else(|| root().join("dist"));
    let into_folder = match destination {
        Some(destination) => destination.join(prefix.strip_prefix("/").context("a prefix is absolute")?),
        None => prefix,
    };
    for_machine(&machine.unwrap_or_default(), &into_folder)?;
    println!("installed in {}", into_folder.display());
    documents::told(&into_folder);
    Ok(())
}

/// Build and install into `prefix`. Cargo shows its progress.
pub fn into(prefix: &Path) -> Result<()> {
    for_machine(&Machine::default(), prefix)
}

/// The same for machines of any kind. What only such a machine makes is left out for others: Fortran's modules, and pages that commands print of
/// themselves unless an emulator runs them.
fn for_machine(machine: &Machine, prefix: &Path) -> Result<()> {
    tools::need(&[Tool::C])?;
    let mut build = cargo();
    build.args([
        "build",
        "--release",
        "-p",
        "isthmus-abi",
        "-p",
        "isthmus-launch",
        "-p",
        "isthmus-cli",
    ]);
    show(machine.tell(&mut build))?;
    let built = machine.outputs().join("release");
    let bin = folder(prefix, "bin")?;
    copy(&built.join("mpiexec"), &bin.join("mpiexec"))?;
    copy(&built.join("isthmus"), &bin.join("isthmus"))?;
    for (name, text) in wrappers::all() {
        write(&bin.join(name), &text, 0o755)?;
    }
    for (link, to) in LINKS {
        point(&bin.join(link), to)?;
    }
    link::libraries(&built, &folder(prefix, "lib")?)?;
    link::absent(&folder(prefix, "lib/isthmus")?)?;
    link::inner(&folder(prefix, "lib/isthmus/openmpi")?)?;
    fortran::libraries(&machine.outputs(), &folder(prefix, "lib")?)?;
    fortran::arrays(&machine.outputs(), &folder(prefix, "lib")?)?;
    let include = folder(prefix, "include")?;
    for below in ["", "mpp", "isthmus/mpich", "isthmus/openmpi"] {
        let to = folder(&include, below)?;
        for header in files(&root().join("include").join(below))? {
            copy(&header, &to.join(header.file_name().context("a file has a name")?))?;
        }
    }
    let pkgconfig = folder(prefix, "lib/pkgconfig")?;
    write(
        &pkgconfig.join("isthmus.pc"),
        &versioned(include_str!("../templates/isthmus.pc")),
        0o644,
    )?;
    point(&pkgconfig.join("mpi.pc"), "isthmus.pc")?;
    let valgrind = folder(prefix, "share/isthmus")?;
    write(
        &valgrind.join("valgrind.supp"),
        include_str!("../templates/valgrind.supp"),
        0o644,
    )?;
    for (package, template) in [
        ("armci.pc", include_str!("../templates/armci.pc")),
        ("ga.pc", include_str!("../templates/ga.pc")),
        ("isthmus-fortran.pc", include_str!("../templates/isthmus-fortran.pc")),
        ("oshmem.pc", include_str!("../templates/oshmem.pc")),
    ] {
        write(&pkgconfig.join(package), &versioned(template), 0o644)?;
    }
    point(&pkgconfig.join("mpi-fort.pc"), "isthmus-fortran.pc")?;
    let modules = folder(prefix, "share/isthmus/fortran")?;
    for source in files(&root().join("fortran/include"))? {
        let name = source.file_name().context("a file has a name")?;
        let to = if name == "mpif.h" { &include } else { &modules };
        copy(&source, &to.join(name))?;
    }
    let module = folder(prefix, "lib/python/isthmus/ga")?;
    for source in files(&root().join("python/isthmus/ga"))? {
        copy(&source, &module.join(source.file_name().context("a file has a name")?))?;
    }
    write(
        &bin.join("ga-config"),
        &versioned(include_str!("../templates/ga-config.sh")),
        0o755,
    )?;
    let bench = folder(prefix, "share/isthmus/bench")?;
    for source in files(&root().join("bench"))? {
        copy(&source, &bench.join(source.file_name().context("a file has a name")?))?;
    }
    // One of them calls the kernel module.
    copy(&root().join("kmod/isthmus_uapi.h"), &bench.join("isthmus_uapi.h"))?;
    if machine.is_this() {
        fortran::modules(prefix)?;
    }
    documents::install(machine, prefix)
}

fn versioned(template: &str) -> String {
    template.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
}

fn folder(prefix: &Path, name: &str) -> Result<PathBuf> {
    let path = prefix.join(name);
    std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
    Ok(path)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect())
}

/// Put a file in its place by renaming, so that a program that runs from there keeps its own.
fn place(to: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<()> {
    let new = to.with_extension("new");
    // There may be one from an install that was interrupted.
    let _ = std::fs::remove_file(&new);
    let placed = make(&new).and_then(|()| std::fs::rename(&new, to));
    placed.with_context(|| format!("cannot write {}", to.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    place(to, |new| std::fs::copy(from, new).map(drop)).with_context(|| format!("copying {}", from.display()))
}

fn write(to: &Path, text: &str, mode: u32) -> Result<()> {
    place(to, |new| {
        std::fs::write(new, text)?;
        std::fs::set_permissions(new, std::fs::Permissions::from_mode(mode))
    })
}

fn point(link: &Path, to: &str) -> Result<()> {
    place(link, |new| symlink(to, new))
}
