//! Fortran programs compiled with the modules and headers of Debian's MPICH and of Intel MPI: they run on our `libmpifort.so.12`; ours run on MPICH's
//! `libmpi_abi.so.1`. And our own modules, made for other compilers than the one that was there when they were installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::python::Environment;
use super::{INSTALL, RUN, folder, mpiexec};
use crate::process::{quiet, root};
use crate::tools::Tool;

/// Where Debian's packages have files of this processor.
const HERE: &str = "x86_64-linux-gnu";

/// Our own test programs that other modules and libraries understand, too.
const PROGRAMS: [&str; 5] = [
    "include.f",
    "module.f90",
    "f08.f90",
    "sections.f90",
    "random_sections.F90",
];

/// Our own test programs, as others' modules understand them. Debian has the packages; elsewhere there is nothing to try.
pub fn run(suite: &mut Suite, prefix: &Path, full: bool) {
    if !Tool::Fortran.is_there() || !has_packages() {
        return;
    }
    intel(suite, prefix);
    on_mpich(suite, prefix);
    other_compilers(suite, prefix, full);
    let unpacked = folder("mpich-fortran");
    if !suite.step("Debian's MPICH for Fortran is fetched", || {
        fetch(&unpacked, &["libmpich-dev", "libmpich12"])
    }) {
        return;
    }
    for source in PROGRAMS {
        let name = format!("{source}, compiled with MPICH's modules, runs on our libmpichfort.so.12");
        let sources = [root().join("tests/fortran").join(source)];
        suite.step(&name, || {
            program(&unpacked, prefix, source, &of_mpich(&unpacked), &sources)
        });
    }
    for (form, flags) in FORMS {
        let name = format!(
            "calls of every procedure by {form}, compiled with MPICH's modules, are right on our libmpichfort.so.12"
        );
        suite.step(&name, || {
            let flags = format!("{flags} -DOLD -cpp -J {} {}", unpacked.display(), of_mpich(&unpacked));
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

/// Another version of gfortran, and flang: unpacked from Debian's packages, whichever are there.
fn other_compilers(suite: &mut Suite, prefix: &Path, full: bool) {
    let version = |text: String| text.trim().split('.').next().unwrap_or_default().to_owned();
    let own = quiet(Command::new("gfortran").arg("-dumpversion"), RUN).map(version);
    let another = own.ok().and_then(|own| {
        let mut versions = ["11", "13", "12", "14", "15"].into_iter();
        versions.find(|version| **version != own && has_package(&format!("gfortran-{version}")))
    });
    match another {
        None => suite.skip("another version of gfortran", "Debian has one version only"),
        Some(version) => {
            let packages = of_version(&["gfortran-@", "gcc-@", "libgcc-@-dev", "libgfortran-@-dev"], version);
            another_compiler(suite, prefix, &format!("gfortran-{version}"), &packages);
        }
    }
    // 600 MB, of which most is not needed.
    if !full {
        return;
    }
    let flang = ["22", "21", "20", "19"]
        .into_iter()
        .find(|version| has_package(&format!("flang-{version}")));
    match flang {
        None => suite.skip("flang", "Debian has none that knows descriptors of arrays"),
        Some(version) => {
            let mut packages = of_version(&["flang-@", "libflang-@-dev", "libllvm@", "libclang-cpp@"], version);
            packages.extend(Some(format!("libmlir-{version}")).filter(|name| has_package(name)));
            another_compiler(suite, prefix, &format!("flang-{version}"), &packages);
        }
    }
}

/// Names of packages, `@` for the version.
fn of_version(names: &[&str], version: &str) -> Vec<String> {
    names.iter().map(|name| name.replace('@', version)).collect()
}

fn has_package(name: &str) -> bool {
    let said = Command::new("apt-cache").args(["show", name]).output();
    said.is_ok_and(|said| said.status.success() && !said.stdout.is_empty())
}

/// mpifort tells what is missing for a compiler, what it tells makes it, and programs in all forms are right.
fn another_compiler(suite: &mut Suite, prefix: &Path, name: &str, packages: &[String]) {
    let unpacked = folder(name);
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    if !suite.step(&format!("{name} is fetched"), || fetch(&unpacked, &packages)) {
        return;
    }
    let compiler = unpacked.join("usr/bin").join(name);
    let all = prefix.join("lib/isthmus/fortran").join(env!("CARGO_PKG_VERSION"));
    let default = all.join("default");
    let before = std::fs::read_link(&default);
    let made = suite.step(
        &format!("mpifort names the command that makes modules for {name}, which does"),
        || missing_modules(prefix, &compiler),
    );
    if made {
        for (form, flags) in FORMS {
            suite.step(
                &format!("calls of every procedure by {form}, compiled by {name}, are right"),
                || forms_by(prefix, &compiler, &unpacked, form, flags),
            );
        }
    }
    // What pkg-config tells is as before; and the next run finds no modules again.
    if let (Ok(before), Ok(now)) = (before, std::fs::read_link(&default))
        && before != now
    {
        suite.step(&format!("modules for {name} are removed"), || {
            std::fs::remove_dir_all(all.join(now)).context("cannot remove the modules")?;
            std::fs::remove_file(&default).context("cannot remove a link")?;
            std::os::unix::fs::symlink(before, &default).context("cannot make a link")
        });
    }
}

/// A compilation by `mpifort` with another compiler, which finds its libraries beside itself.
fn by(prefix: &Path, compiler: &Path) -> Command {
    let mut command = Command::new(prefix.join("bin/mpifort"));
    command.env("ISTHMUS_FC", compiler);
    command.env("LD_LIBRARY_PATH", beside(compiler));
    command
}

/// The folder of libraries of an unpacked compiler.
fn beside(compiler: &Path) -> PathBuf {
    compiler.ancestors().nth(2).unwrap_or(compiler).join("lib").join(HERE)
}

fn missing_modules(prefix: &Path, compiler: &Path) -> Result<()> {
    let source = root().join("tests/fortran/f08.f90");
    let mut compile = by(prefix, compiler);
    let output = compile
        .args(["-c", "-o", "/dev/null"])
        .arg(source)
        .output()
        .context("cannot run mpifort")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let cure = said.split("this makes them: ").nth(1).unwrap_or_default().trim();
    ensure!(
        !output.status.success() && cure.starts_with("isthmus fortran --fc"),
        "it names no command:\n{said}"
    );
    let path = std::env::var("PATH").unwrap_or_default();
    let mut make = Command::new("sh");
    make.args(["-c", cure])
        .env("PATH", format!("{}:{path}", prefix.join("bin").display()));
    quiet(make.env("LD_LIBRARY_PATH", beside(compiler)), INSTALL).map(drop)
}

fn forms_by(prefix: &Path, compiler: &Path, unpacked: &Path, form: &str, flags: &str) -> Result<()> {
    let modules = unpacked.join(format!("modules-{form}"));
    std::fs::create_dir_all(&modules).with_context(|| format!("cannot make {}", modules.display()))?;
    let program = unpacked.join(format!("every-{form}"));
    let mut compile = by(prefix, compiler);
    compile.args(["-cpp", "-O0", "-w"]).args(flags.split_whitespace());
    if compiler.to_string_lossy().contains("gfortran") {
        compile.arg("-ffree-line-length-none");
    }
    compile
        .arg("-J")
        .arg(&modules)
        .arg("-o")
        .arg(&program)
        .args(families()?);
    quiet(&mut compile, RUN)?;
    for ranks in [1, 2, 4] {
        let said = quiet(
            mpiexec(prefix, ranks).arg(&program).arg(program.with_extension("data")),
            RUN,
        )?;
        ensure!(said.contains("right: "), "on {ranks} ranks: {said}");
    }
    Ok(())
}

/// Where Debian's package has MPICH's modules, and the library that its wrapper links.
fn of_mpich(unpacked: &Path) -> String {
    let usr = unpacked.join("usr");
    format!(
        "-I {} -L {} -lmpichfort -lmpich",
        usr.join("include").join(HERE).join("mpich").display(),
        usr.join("lib").join(HERE).display()
    )
}

/// The interfaces that Intel's wheel has for gfortran: `mpif.h` and module `mpi`. What Intel's library lacks of them is linked with ours.
fn intel(suite: &mut Suite, prefix: &Path) {
    let environment = Environment::new("impi-devel");
    if !suite.step("Intel's interfaces for Fortran (wheel) install", || {
        environment.make()?;
        environment.install("impi-devel", &["--no-deps", "impi-devel==2021.19.0"], &[])
    }) {
        return;
    }
    let include = environment.folder.join("include");
    for (form, flags) in &FORMS[..2] {
        let name = format!(
            "calls of every procedure by {form}, compiled with Intel's interfaces, are right on our libmpifort.so.12"
        );
        suite.step(&name, || {
            let flags = format!(
                "{flags} -DOLD -cpp -J {} -I {} -I {} -L {} -lmpifort -lmpi",
                environment.folder.display(),
                include.join("mpi/gfortran/12.4.0").display(),
                include.display(),
                prefix.join("lib").display()
            );
            program(
                &environment.folder,
                prefix,
                &format!("every-{form}"),
                &flags,
                &families()?,
            )
        });
    }
}

/// Our Fortran library and modules on another library of the standard ABI: MPICH's, as its wheel has it.
fn on_mpich(suite: &mut Suite, prefix: &Path) {
    let Some(environment) = super::mpich::wheels(suite) else {
        return;
    };
    let alone = environment.folder.join("fortran");
    for source in PROGRAMS {
        let name = format!("{source}, compiled by our mpifort, runs on MPICH's libmpi_abi.so.1");
        suite.step(&name, || {
            std::fs::create_dir_all(&alone).with_context(|| format!("cannot make {}", alone.display()))?;
            std::fs::copy(
                prefix.join("lib/libmpifort_abi.so.1"),
                alone.join("libmpifort_abi.so.1"),
            )?;
            let program = alone.join(source).with_extension("program");
            let mut compile = Command::new(prefix.join("bin/mpifort"));
            compile.args(["-w", "-ffree-line-length-none", "-o"]).arg(&program);
            quiet(compile.arg(root().join("tests/fortran").join(source)), RUN)?;
            let mut run = Command::new(environment.program("mpiexec"));
            // Its path to our libraries is a RUNPATH, before which this comes.
            let path = std::env::join_paths([&alone, &environment.folder.join("lib")])?;
            run.env("LD_LIBRARY_PATH", &path);
            quiet(run.args(["-n", "2"]).arg(&program).arg(alone.join("data")), RUN)?;
            let loaded = quiet(Command::new("ldd").arg(&program).env("LD_LIBRARY_PATH", &path), RUN)?;
            ensure!(!loaded.contains("libisthmus"), "it ran on ours:\n{loaded}");
            Ok(())
        });
    }
}

fn program(unpacked: &Path, prefix: &Path, name: &str, flags: &str, sources: &[PathBuf]) -> Result<()> {
    let program = unpacked.join(name).with_extension("program");
    let mut compile = Command::new("gfortran");
    compile
        .args(["-fallow-argument-mismatch", "-w", "-ffree-line-length-none", "-o"])
        .arg(&program)
        .args(sources)
        .args(flags.split_whitespace());
    quiet(&mut compile, RUN)?;
    let libraries = quiet(
        Command::new("ldd")
            .arg(&program)
            .env("LD_LIBRARY_PATH", prefix.join("lib")),
        RUN,
    )?;
    let ours =
        ["libmpichfort.so.12", "libmpifort.so.12"].map(|name| prefix.join("lib").join(name).display().to_string());
    ensure!(
        ours.iter().any(|path| libraries.contains(path)),
        "{name} loads another library than {}:\n{libraries}",
        ours[0]
    );
    for ranks in [1, 2, 4] {
        let file = program.with_extension("data");
        quiet(mpiexec(prefix, ranks).arg(&program).arg(file), RUN)?;
    }
    Ok(())
}
