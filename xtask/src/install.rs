//! `install`: a release build, laid out in a prefix that may be moved as a whole.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::fortran;
use crate::link;
use crate::process::{cargo, root, show, target};
use crate::tools::{self, Tool};

/// `install [--prefix DIR]`
pub fn run(arguments: &[String]) -> Result<()> {
    let prefix = match arguments {
        [] => root().join("dist"),
        [option, prefix] if option == "--prefix" => std::env::current_dir()?.join(prefix),
        [option] if option.starts_with("--prefix=") => std::env::current_dir()?.join(&option["--prefix=".len()..]),
        _ => bail!("usage: cargo xtask install [--prefix DIR]"),
    };
    into(&prefix)?;
    println!("installed in {}", prefix.display());
    Ok(())
}

/// Build and install into `prefix`. Cargo shows its progress.
pub fn into(prefix: &Path) -> Result<()> {
    tools::need(&[Tool::C])?;
    show(cargo().args([
        "build",
        "--release",
        "-p",
        "isthmus-abi",
        "-p",
        "isthmus-launch",
        "-p",
        "isthmus-cli",
    ]))?;
    let built = target().join("release");
    let bin = folder(prefix, "bin")?;
    copy(&built.join("mpiexec"), &bin.join("mpiexec"))?;
    copy(&built.join("isthmus"), &bin.join("isthmus"))?;
    for (name, api, [language, variable, flag, compiler, package]) in [
        ("mpicc", &MPI, C),
        ("mpicxx", &MPI, CXX),
        ("oshcc", &OPENSHMEM, C),
        ("oshcxx", &OPENSHMEM, CXX),
    ] {
        let text = wrapper(api, language, variable, flag, compiler, package);
        write(&bin.join(name), &plain(&text), 0o755)?;
    }
    let [language, variable, flag, compiler, package] = FORTRAN;
    let text = wrapper(&MPI_FORTRAN, language, variable, flag, compiler, package);
    write(&bin.join("mpifort"), &with_modules(&text), 0o755)?;
    for (link, to) in [
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
    ] {
        point(&bin.join(link), to)?;
    }
    link::libraries(&built, &folder(prefix, "lib")?)?;
    link::absent(&folder(prefix, "lib/isthmus")?)?;
    fortran::libraries(&folder(prefix, "lib")?)?;
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
    let documents = folder(prefix, "share/doc/isthmus")?;
    for name in ["unfinished.md", "debugging.md", "checking.md", "profiling.md"] {
        copy(&root().join("docs").join(name), &documents.join(name))?;
    }
    let manual = printed(&built.join("mpiexec"), "--print-manual")?;
    let pages = folder(prefix, "share/man/man1")?;
    write(&pages.join("mpiexec.1"), &manual, 0o644)?;
    point(&pages.join("mpirun.1"), "mpiexec.1")?;
    write(
        &pages.join("isthmus.1"),
        &printed(&built.join("isthmus"), "print manual")?,
        0o644,
    )?;
    let completion = printed(&built.join("mpiexec"), "--print-completion")?;
    let completions = folder(prefix, "share/bash-completion/completions")?;
    write(&completions.join("mpiexec"), &completion, 0o644)?;
    point(&completions.join("mpirun"), "mpiexec")?;
    let completion = printed(&built.join("isthmus"), "print completion")?;
    write(&completions.join("isthmus"), &completion, 0o644)?;
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
    fortran::modules(prefix)
}

/// What a program that was just built prints.
fn printed(program: &Path, arguments: &str) -> Result<String> {
    let output = std::process::Command::new(program)
        .args(arguments.split_whitespace())
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    Ok(String::from_utf8(output.stdout)?)
}

/// What a wrapper compiles for: its name, what is said of it beside, and what links it.
struct Api {
    name: &'static str,
    against: &'static str,
    libraries: &'static str,
}

const MPI: Api = Api {
    name: "MPI",
    against: ", for the standard ABI or another (-abi)",
    libraries: "$library",
};
const MPI_FORTRAN: Api = Api {
    libraries: "-lmpifort_abi $library",
    ..MPI
};
/// Programs that use MPI too need nothing else.
const OPENSHMEM: Api = Api {
    name: "OpenSHMEM",
    against: "",
    libraries: "-loshmem -Wl,--push-state,--as-needed $library -Wl,--pop-state",
};

/// Language, variable, option, compiler, package.
const C: [&str; 5] = ["C", "CC", "-cc", "cc", "gcc"];
const CXX: [&str; 5] = ["C++", "CXX", "-cxx", "c++", "g++"];
const FORTRAN: [&str; 5] = ["Fortran", "FC", "-fc", "gfortran", "gfortran"];

/// A wrapper without the lines that only Fortran needs; these end in `# Fortran`.
fn plain(text: &str) -> String {
    lines(text, "  # Fortran").replace("  # C\n", "\n")
}

/// A wrapper with them, and without those of the other languages.
fn with_modules(text: &str) -> String {
    lines(text, "  # C").replace("  # Fortran\n", "\n")
}

/// A text without the lines that end so.
fn lines(text: &str, end: &str) -> String {
    let kept = text.lines().filter(|line| !line.ends_with(end));
    kept.map(|line| format!("{line}\n")).collect()
}

fn wrapper(api: &Api, language: &str, variable: &str, flag: &str, compiler: &str, package: &str) -> String {
    versioned(include_str!("../templates/mpicc.sh"))
        .replace("@API@", api.name)
        .replace("@AGAINST@", api.against)
        .replace("@LIBRARIES@", api.libraries)
        .replace("@LANGUAGE@", language)
        .replace("@VARIABLE@", variable)
        .replace("@FLAG@", flag)
        .replace("@COMPILER@", compiler)
        .replace("@PACKAGE@", package)
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
