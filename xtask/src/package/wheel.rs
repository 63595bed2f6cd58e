//! `wheel`: a package of Python that holds an installation in a folder of its own, so that nothing of another MPI is replaced.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::{VERSION, entries, folder, glibc, remove, run, staged, write};
use crate::process::root;
use crate::tools::{self, Tool};

/// Longer files are not copied for a second name, but called.
const SHORT: u64 = 1 << 16;

/// `wheel [--try]`: make it; with `--try` also install it in a fresh environment, and run mpi4py there.
pub fn run_command(arguments: &[String]) -> Result<()> {
    let tried = match arguments {
        [] => false,
        [option] if option == "--try" => true,
        _ => bail!("usage: cargo xtask wheel [--try]"),
    };
    let wheel = make()?;
    println!("{}", wheel.display());
    if tried {
        try_out(&wheel)?;
        println!("tried beside mpi4py and mpich");
    }
    Ok(())
}

/// Build the wheel, which stays in `target/package`.
pub fn make() -> Result<PathBuf> {
    tools::need(&[Tool::Python])?;
    let stage = staged()?;
    let work = folder().join("wheel");
    remove(&work)?;
    let package = work.join("isthmus");
    let prefix = package.join("prefix");
    std::fs::create_dir_all(&package).with_context(|| format!("cannot make {}", package.display()))?;
    run(Command::new("cp").arg("-a").arg(&stage).arg(&prefix))?;
    // Modules are for one compiler: `isthmus fortran` makes them where they are used. Python's package is beside the prefix.
    remove(&prefix.join("lib/isthmus/fortran"))?;
    remove(&prefix.join("lib/python"))?;
    // Archives of Python have no links.
    without_links(&prefix, &prefix)?;
    run(Command::new("cp")
        .arg("-a")
        .arg(root().join("python/isthmus/ga"))
        .arg(package.join("ga")))?;
    remove(&package.join("ga/__pycache__"))?;
    let sources = root().join("packaging/python");
    for name in ["commands.py", "__main__.py"] {
        copy(&sources.join(name), &package.join(name))?;
    }
    let (major, minor) = glibc(&prefix)?;
    let tag = format!("py3-none-manylinux_{major}_{minor}_{}", std::env::consts::ARCH);
    let about = work.join(format!("isthmus-{VERSION}.dist-info"));
    let metadata = std::fs::read_to_string(sources.join("METADATA")).context("cannot read METADATA")?;
    write(&about.join("METADATA"), &metadata.replace("@VERSION@", VERSION))?;
    write(
        &about.join("WHEEL"),
        &format!("Wheel-Version: 1.0\nGenerator: cargo xtask wheel {VERSION}\nRoot-Is-Purelib: false\nTag: {tag}\n"),
    )?;
    copy(&sources.join("entry_points.txt"), &about.join("entry_points.txt"))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&root().join(licence), &about.join("licenses").join(licence))?;
    }
    let environment = environment("tools", &["wheel"])?;
    let mut pack = Command::new(environment.join("bin/python"));
    pack.args(["-m", "wheel", "pack"])
        .arg(&work)
        .arg("--dest-dir")
        .arg(folder());
    run(&mut pack)?;
    remove(&work)?;
    let wheel = folder().join(format!("isthmus-{VERSION}-{tag}.whl"));
    ensure!(wheel.exists(), "{} was not made", wheel.display());
    Ok(wheel)
}

/// Put something in the place of each link: of libraries what the linker or the loader follows, of commands a call, of other files a copy.
fn without_links(prefix: &Path, below: &Path) -> Result<()> {
    for path in entries(below)? {
        let data = path
            .symlink_metadata()
            .with_context(|| format!("cannot look at {}", path.display()))?;
        if data.is_dir() {
            without_links(prefix, &path)?;
        }
        if !data.is_symlink() {
            continue;
        }
        let to = path
            .canonicalize()
            .with_context(|| format!("{} leads nowhere", path.display()))?;
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (own, other) = (name(&path), name(&to));
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        if below != prefix.join("lib") {
            let length = to
                .metadata()
                .with_context(|| format!("cannot look at {}", to.display()))?
                .len();
            if length <= SHORT {
                copy(&to, &path)?;
            } else {
                write(
                    &path,
                    &format!("#!/bin/sh\nexec \"$(dirname -- \"$(readlink -f -- \"$0\")\")/{other}\" \"$@\"\n"),
                )?;
                let executable = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(&path, executable).with_context(|| format!("cannot make {own} executable"))?;
            }
        } else if own.ends_with(".so") {
            // For the linker alone.
            write(&path, &format!("INPUT({other})\n"))?;
        } else {
            // A second name for the loader: a library without code, which needs the other. A copy would have variables of its own.
            let mut cc = Command::new("cc");
            cc.args([
                "-shared",
                "-nostdlib",
                "-Wl,--no-as-needed",
                "-Wl,-rpath,$ORIGIN",
                "-Wl,-z,nodelete",
            ])
            .arg(format!("-Wl,-soname,{own}"))
            .arg(&to)
            .arg("-o")
            .arg(&path);
            run(&mut cc)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let copied = std::fs::copy(from, to);
    copied
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// A fresh virtual environment with packages of PyPI in it.
fn environment(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let environment = folder().join(format!("environment-{name}"));
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&environment))?;
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(packages);
    run(&mut pip)?;
    Ok(environment)
}

/// A program for the second ABI, compiled by the wheel's wrapper.
const PROGRAM: &str = "#include <mpi.h>\n#include <stdio.h>\nint main(void) { int n, length; char text[MPI_MAX_LIBRARY_VERSION_STRING]; \
                       MPI_Init(NULL, NULL); MPI_Comm_size(MPI_COMM_WORLD, &n); MPI_Get_library_version(text, &length); \
                       printf(\"%d ranks, %s\\n\", n, text); return MPI_Finalize(); }\n";

/// Install it beside mpi4py and MPICH's wheel: both MPIs have their files, and mpi4py uses the one whose launcher is called.
pub fn try_out(wheel: &Path) -> Result<()> {
    let wheel = wheel.to_string_lossy().into_owned();
    let environment = environment("trial", &["mpi4py", "mpich", &wheel])?;
    let bin = environment.join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let call = |name: &str, words: &str| {
        let mut command = Command::new(bin.join(name));
        command
            .args(words.split_whitespace())
            .env("PATH", &path)
            .current_dir(&environment);
        command
    };
    let python = |name: &str| -> Result<String> {
        let version = "from mpi4py import MPI; print(f'{MPI.COMM_WORLD.size} ranks:', MPI.Get_library_version())";
        run(call(name, "-n 2 python -c").arg(version))
    };
    let ours = python("isthmus-mpiexec")?;
    ensure!(
        ours.matches("2 ranks:").count() == 2 && ours.contains("Isthmus"),
        "mpi4py did not run on ours: {ours}"
    );
    let theirs = python("mpiexec")?;
    ensure!(!theirs.contains("Isthmus"), "MPICH's mpiexec was replaced: {theirs}");
    let output = call("isthmus-mpiexec", "-n 1 true")
        .output()
        .context("cannot run isthmus-mpiexec")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        said.contains("mpich is in this environment, too"),
        "not a word of mpich: {said}"
    );
    run(&mut call("isthmus-mpiexec", "-n 2 python -m mpi4py.bench ringtest"))?;
    write(&environment.join("program.c"), PROGRAM)?;
    for (abi, wanted) in [
        ("standard", "Isthmus"),
        ("mpich", "MPICH Version"),
        ("openmpi", "Open MPI"),
    ] {
        run(&mut call("isthmus-mpicc", &format!("-abi={abi} program.c -o program")))?;
        let text = run(&mut call("isthmus-mpiexec", "-n 2 ./program"))?;
        ensure!(text.contains("2 ranks") && text.contains(wanted), "{abi}: {text}");
    }
    if Tool::Fortran.is_there() {
        run(&mut call("isthmus", "fortran --fc gfortran"))?;
        let source = root().join("tests/fortran/module.f90");
        run(call("isthmus-mpifort", "-o fortran").arg(source))?;
        run(&mut call("isthmus-mpiexec", "-n 2 ./fortran"))?;
    }
    let info = run(&mut call("isthmus", "info"))?;
    ensure!(info.contains("\nSupported\n"), "{info}");
    let mut pip = call("python", "-m pip uninstall --yes --quiet isthmus");
    run(&mut pip)?;
    let left = entries(&environment.join("lib"))?
        .into_iter()
        .map(|python| python.join("site-packages/isthmus/prefix/bin"));
    ensure!(
        left.into_iter().all(|folder| !folder.exists()),
        "pip left something of the wheel"
    );
    remove(&environment)
}
