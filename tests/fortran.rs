//! Fortran: every program of `tests/fortran` whose first line says `! ranks: 1 2 4`, compiled by our mpifort; the wrapper; modules for a second compiler.
//! Without gfortran they count as ignored.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Run, command, folder, prefix, scratch, trial};
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let allowed = allowed();
    let mut trials = vec![
        trial("the_wrapper_shows_what_it_does", Ok(()), shows),
        trial("what_makes_integers_longer_is_refused", Ok(()), refused),
        trial("modules_that_are_missing_are_named_and_made", allowed, other_compiler),
        trial("an_error_ends_the_job_with_its_line", allowed, errors),
        trial("no_conversion_has_many_names", allowed, no_conversion),
        trial("pkg_config", Ok(()), pkg_config),
    ];
    match programs() {
        Ok(programs) => trials.extend(programs.into_iter().map(|(source, ranks)| {
            let title = format!("{source} on {ranks}");
            let test = move || run(&source, &ranks).map_err(|error| format!("{error:#}").into());
            match allowed {
                Ok(()) => Trial::test(title, test),
                Err(missing) => Trial::test(title, test).with_kind(missing).with_ignored_flag(true),
            }
        })),
        Err(error) => {
            eprintln!("tests/fortran: {error:#}");
            return ExitCode::FAILURE;
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Is there a compiler?
fn allowed() -> Result<(), &'static str> {
    let gfortran = Command::new("gfortran").arg("--version").output();
    gfortran.map(drop).map_err(|_| "there is no gfortran")
}

/// Sources and numbers of ranks.
fn programs() -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder().join("fortran"))? {
        let path = entry?.path();
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(ranks) = text.strip_prefix("! ranks:").and_then(|rest| rest.lines().next()) {
            found.extend(ranks.split_whitespace().map(|ranks| (name.clone(), ranks.to_owned())));
        }
    }
    found.sort();
    ensure!(!found.is_empty(), "there is no program");
    Ok(found)
}

/// `tests/fortran/<source>` as a program. Each test compiles its own, which takes no second.
fn compile(source: &str, name: &str) -> Result<PathBuf> {
    let program = scratch("fortran")?.join(name);
    Run::program(command("mpifort"))
        .words("-O1 -g -o")
        .arg(&program)
        .arg(folder().join("fortran").join(source))
        .succeed()?;
    Ok(program)
}

fn run(source: &str, ranks: &str) -> Result<()> {
    let program = compile(source, &format!("{source}.{ranks}"))?;
    Run::mpiexec("-n").words(ranks).arg(program).succeed().map(drop)
}

fn shows() -> Result<()> {
    for name in ["mpifort", "mpif90", "mpif77", "mpifort_abi"] {
        for option in ["-show", "-compile-info", "-link-info"] {
            let text = Run::program(command(name))
                .words(option)
                .env("ISTHMUS_FC", "gfortran")
                .succeed()?
                .out;
            for part in [
                format!("-I{}", prefix().join("include").display()),
                format!("-L{}", prefix().join("lib").display()),
                "-lmpifort_abi -lmpi_abi".into(),
                format!("lib/isthmus/fortran/{}/", env!("CARGO_PKG_VERSION")),
            ] {
                ensure!(
                    text.starts_with("gfortran ") && text.contains(&part),
                    "{name} {option} lacks {part}: {text}"
                );
            }
        }
    }
    let text = Run::program(command("mpifort"))
        .words("-fc=flang -show a.f90")
        .succeed()?
        .out;
    ensure!(text.starts_with("flang a.f90 "), "{text}");
    Ok(())
}

fn refused() -> Result<()> {
    for (option, wanted) in [
        ("-fdefault-integer-8", "INTEGER"),
        ("-i8", "INTEGER"),
        ("-r8", "MPI_REAL8"),
        ("-finteger-4-integer-8", "INTEGER"),
        ("-freal-4-real-8", "MPI_REAL8"),
        ("-integer-size 64", "INTEGER"),
        ("-real-size 64", "MPI_REAL8"),
    ] {
        let run = Run::program(command("mpifort"))
            .words(option)
            .words("-c a.f90")
            .finish()?;
        ensure!(
            run.code == Some(1) && run.err.lines().count() == 1 && run.err.contains(option) && run.err.contains(wanted),
            "{option}: {:?}: {}",
            run.code,
            run.err
        );
    }
    let shown = Run::program(command("mpifort"))
        .words("-fc=ifx -show -integer-size 32 a.f90")
        .succeed()?
        .out;
    ensure!(shown.starts_with("ifx -integer-size 32 a.f90 "), "{shown}");
    Ok(())
}

/// A compiler of another version, as far as its name for itself goes.
fn other_compiler() -> Result<()> {
    let other = scratch("fortran")?.join("other-gfortran");
    let version = format!("another Fortran {}", std::process::id());
    let text = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{version}' && exit\nexec gfortran \"$@\"\n");
    std::fs::write(&other, text)?;
    Run::program("chmod").words("+x").arg(&other).succeed()?;
    let name = other.display().to_string();
    let all = prefix().join("lib/isthmus/fortran").join(env!("CARGO_PKG_VERSION"));
    let folder_of = all.join(version.replace(' ', "-"));
    let default = std::fs::read_link(all.join("default")).context("no modules by default")?;
    let compile = |program: &str| {
        Run::program(command("mpifort"))
            .env("ISTHMUS_FC", &name)
            .words("-o")
            .arg(scratch("fortran").unwrap_or_default().join("other"))
            .arg(folder().join("fortran").join(program))
    };
    let failed = compile("f08.f90").finish()?;
    let cure = format!("isthmus fortran --fc '{name}'");
    ensure!(
        failed.code != Some(0) && failed.err.contains(&cure),
        "no word of {cure}: {}",
        failed.err
    );
    // An error about something else is not about modules.
    let wrong = scratch("fortran")?.join("wrong.f90");
    std::fs::write(&wrong, "program wrong\n  call\nend program\n")?;
    let failed = Run::program(command("mpifort"))
        .env("ISTHMUS_FC", &name)
        .words("-c -o /dev/null")
        .arg(&wrong)
        .finish()?;
    ensure!(
        failed.code != Some(0) && failed.err.contains("wrong.f90") && !failed.err.contains("isthmus fortran"),
        "an error of the program: {:?}: {}",
        failed.code,
        failed.err
    );
    Run::program(command("isthmus"))
        .words("fortran --fc")
        .arg(&name)
        .succeed()?;
    let compiled = compile("f08.f90").succeed();
    let newest = std::fs::read_link(all.join("default"))?;
    let link = all.join("default.before");
    std::os::unix::fs::symlink(&default, &link)?;
    std::fs::rename(&link, all.join("default"))?;
    ensure!(folder_of.ends_with(&newest), "by default: {}", newest.display());
    std::fs::remove_dir_all(&folder_of).with_context(|| format!("no modules in {}", folder_of.display()))?;
    compiled.map(drop)
}

/// A wrong handle, without `ierror`, from both kinds of interface.
fn errors() -> Result<()> {
    for (source, wanted) in [("bad_handle.f90", "MPI_Send"), ("bad_handle_f08.f90", "MPI_Send")] {
        let run = Run::mpiexec("-n 1").arg(compile(source, source)?).finish()?;
        ensure!(
            run.code != Some(0) && run.err.contains(wanted) && run.err.contains("comm"),
            "{source}: {:?}: {}",
            run.code,
            run.err
        );
    }
    Ok(())
}

/// Callbacks of MPI's own are known by all of their names.
fn no_conversion() -> Result<()> {
    let program = scratch("fortran")?.join("no_conversion");
    Run::program(command("mpifort"))
        .words("-O1 -fno-pie -no-pie -o")
        .arg(&program)
        .arg(folder().join("fortran/no_conversion.f90"))
        .succeed()?;
    let file = scratch("fortran")?.join("no_conversion.data");
    Run::mpiexec("-n 1").arg(program).arg(file).succeed().map(drop)
}

fn pkg_config() -> Result<()> {
    for name in ["isthmus-fortran", "mpi-fort"] {
        let text = Run::program("pkg-config")
            .words("--cflags --libs")
            .arg(name)
            .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"))
            .succeed()?
            .out;
        ensure!(
            text.contains("-lmpifort_abi") && text.contains(concat!("fortran/", env!("CARGO_PKG_VERSION"), "/default")),
            "{text}"
        );
    }
    Ok(())
}
