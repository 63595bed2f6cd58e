//! Global Arrays: every program of `tests/ga` on as many ranks as its first line says.

use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Run, command, compile_in, programs, scratch};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let trials = programs("ga").into_iter().map(|(name, ranks)| {
        let title = format!("{name} on {ranks}");
        Trial::test(title, move || run(&name, &ranks))
    });
    let headers = HEADERS.into_iter().flat_map(|header| {
        [("mpicc", "c", "c99"), ("mpicxx", "c++", "c++17")].map(|(compiler, language, standard)| {
            Trial::test(format!("{header} as {standard}"), move || {
                is_accepted(header, compiler, language, standard).map_err(|error| format!("{error:#}").into())
            })
        })
    });
    let solvers = [("lapack", LAPACK), ("scalapack", SCALAPACK)]
        .into_iter()
        .flat_map(|(solver, file)| {
            ["1", "2", "3", "4"].map(|ranks| {
                Trial::test(format!("linear algebra by {solver} on {ranks}"), move || {
                    solves(solver, ranks).map_err(|error| format!("{error:#}").into())
                })
                .with_ignored_flag(!is_found(file))
            })
        });
    let missing = Trial::test("without ScaLAPACK an error names the package", || {
        names_the_package().map_err(|error| format!("{error:#}").into())
    });
    let trials = trials.chain(headers).chain(solvers).chain([missing]);
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Files of the system's libraries that Global Arrays open.
const LAPACK: &str = "liblapack.so.3";
const SCALAPACK: &str = "libscalapack-mpich.so.2.2";

/// Does the loader know a library? What is not installed cannot be tried.
fn is_found(file: &str) -> bool {
    let cache = Command::new("/sbin/ldconfig").arg("-p").output();
    cache.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).contains(file))
}

fn linear(solver: &str, ranks: &str) -> Result<Run> {
    let program = compile_in("ga", "linear", &["-lga"])?;
    let run = Run::mpiexec("-n")
        .words(ranks)
        .arg(program)
        .limit(Duration::from_secs(90));
    Ok(run.env("ISTHMUS_GA_LINEAR", solver))
}

fn solves(solver: &str, ranks: &str) -> Result<()> {
    linear(solver, ranks)?.succeed().map(drop)
}

/// Files of its names that are no libraries stand before the system's.
fn names_the_package() -> Result<()> {
    let folder = scratch("ga")?.join("no-scalapack");
    std::fs::create_dir_all(&folder)?;
    for file in [SCALAPACK, "libscalapack-mpich.so.2.1", "libscalapack.so.2.2"] {
        std::fs::write(folder.join(file), "no library")?;
    }
    let run = linear("scalapack", "2")?.env("LD_LIBRARY_PATH", &folder);
    let finished = run.finish()?;
    ensure!(
        finished.code != Some(0) && finished.err.contains("apt-get install libscalapack-mpich2.2"),
        "it exits with {:?} and says:\n{}",
        finished.code,
        finished.err
    );
    Ok(())
}

/// What programs of Global Arrays and ARMCI include.
const HEADERS: [&str; 5] = ["ga.h", "ga-mpi.h", "macdecls.h", "armci.h", "message.h"];

/// Does a compiler take a header by itself, without a warning?
fn is_accepted(header: &str, compiler: &str, language: &str, standard: &str) -> Result<()> {
    let source = scratch("ga")?.join(format!("{header}.{compiler}"));
    std::fs::write(
        &source,
        format!("#include <{header}>\nint main(void) {{ return 0; }}\n"),
    )?;
    let output = Command::new(command(compiler))
        .args(["-x", language, &format!("-std={standard}")])
        .args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror"])
        .arg(&source)
        .output()
        .with_context(|| format!("cannot run {compiler}"))?;
    ensure!(
        output.status.success(),
        "it says:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

fn run(name: &str, ranks: &str) -> Result<(), Failed> {
    let run = || {
        let program = compile_in("ga", name, &["-lga"])?;
        Run::mpiexec("-n")
            .words(ranks)
            .arg(program)
            .limit(Duration::from_secs(90))
            .succeed()
    };
    run()
        .map(drop)
        .map_err(|error: anyhow::Error| format!("{error:#}").into())
}
