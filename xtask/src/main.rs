//! `cargo xtask`: build, install, generate, check and test Isthmus.

use std::process::ExitCode;

mod compatibility;
mod demo;
mod docs;
mod fortran;
mod fuzz;
mod generate;
mod install;
mod kmod;
mod layers;
mod link;
mod package;
mod process;
mod test;
mod tools;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  demo                   build, install, run examples/heat.c on 4 ranks, print a ping-pong table
  install [--prefix DIR] [--destdir DIR] [--target TRIPLE]
                         build for release and install (default prefix: dist); with a destination, into DESTDIR/PREFIX;
                         with a target, for other machines, by the C compiler in CC
  wheel [--try]          make a package for Python (PyPI); --try: install it in a fresh environment, beside mpi4py and mpich
  deb [--try]            make packages for Debian; --try: install them over a copy of this system, run Debian's programs, remove
  test [--full] [--only PART]...
                         everything that must pass; --full: other people's suites whole, bad days more often;
                         --only: these parts alone (a wrong name lists them)
  compatibility [--prefix DIR] [PROGRAM]...
                         run the programs of tests/compatibility that are installed, and write docs/compatibility.md
  fuzz TARGET [--minutes N] [--minimize] [FILE...]
                         feed a target what libFuzzer comes up with (10 minutes), or these files;
                         --minimize makes what was found the corpus
  gen [--check]          write (or check) what is generated from standard/
  kmod [--kernel RELEASE]
                         build the kernel module into target/kmod/RELEASE (default: the running kernel)
  check-layers           crates use only crates below them, parts of a crate only parts below them
  check-docs [--write]   decision pages have heads and an index, lines are short, words are plain; --write writes
                         the index and lowers the maxima of words";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    let outcome = match command {
        "demo" => demo::run(rest),
        "install" => install::run(rest),
        "wheel" => package::wheel::run_command(rest),
        "deb" => package::deb::run_command(rest),
        "compatibility" => compatibility::run(rest).and(generate::run(&[])),
        "test" => test::run(rest),
        "fuzz" => fuzz::run(rest),
        "gen" => generate::run(rest),
        "kmod" => kmod::run(rest),
        "check-layers" => layers::run(rest),
        "check-docs" => docs::run(rest),
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(anyhow::anyhow!("no such command: {other}\n{USAGE}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
