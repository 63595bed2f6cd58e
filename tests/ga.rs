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
    libtest_mimic::run(&Arguments::from_args(), trials.chain(headers).collect()).exit_code()
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
