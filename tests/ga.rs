//! Global Arrays: every program of `tests/ga` on as many ranks as its first line says.

use std::process::ExitCode;
use std::time::Duration;

use isthmus_tests::{Run, compile_in, programs};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let trials = programs("ga").into_iter().map(|(name, ranks)| {
        let title = format!("{name} on {ranks}");
        Trial::test(title, move || run(&name, &ranks))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
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
