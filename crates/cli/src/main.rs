//! The `isthmus` command: what was built, what this machine allows, how fast it is.
//!
//! The command line is parsed by clap, without colours, suggestions and terminal-size detection (`default-features = false`): there are
//! subcommands with options of their own, some shared by all of `bench`. `mpiexec` does not use clap, which knows none of its options'
//! forms (`crates/launch/src/options.rs`).

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

mod algorithms;
mod bench;
mod doctor;
mod fortran;
mod info;
mod manual;
mod prefix;
mod show;

/// Look at Isthmus, at this machine, and at how fast the one is on the other.
#[derive(Parser)]
#[command(name = "isthmus", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print version, build, tunables, counters, and the machine as Isthmus sees it
    Info {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Print which protocol should win at which size, and why
        #[arg(long, conflicts_with = "json", group = "table")]
        protocols: bool,
        /// Print which algorithm does which collective at which size, and why
        #[arg(long, conflicts_with = "json", group = "table")]
        collectives: bool,
        /// Print every constant that decides how ranks wait
        #[arg(long, conflicts_with = "json", group = "table")]
        waiting: bool,
        /// Print every size and count that decides how bytes travel, with its machine and decision
        #[arg(long, conflicts_with = "json", group = "table")]
        limits: bool,
        /// For so many ranks (as many as there are CPUs if not said)
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        ranks: Option<u64>,
    },
    /// Test what this machine and container allow, and say what to change
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Measure, beside the floors of this machine and other MPI libraries
    Bench(Box<bench::Arguments>),
    /// Measure each algorithm of each collective on this machine, and make rules of what is faster than the choice
    Tune(bench::tune::Arguments),
    /// Make the Fortran modules mpi and mpi_f08 for a compiler
    Fortran(fortran::Arguments),
    /// The other process of what `doctor` tries with memory of a GPU
    #[command(hide = true)]
    TryDeviceMemory {
        /// What the first process has exported
        export: String,
    },
    /// Half of what `bench network` compares with
    #[command(hide = true)]
    BareFabric(bench::bare_fabric::Arguments),
    /// Print the manual page of tunables, or the completion of this command for a shell; write its manual pages
    #[command(hide = true)]
    Print {
        /// What
        what: Printed,
        /// The folder that the manual pages are written into
        folder: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Printed {
    Manual,
    Tunables,
    Bash,
    Zsh,
    Fish,
}

fn main() -> ExitCode {
    isthmus_os::process::end_with_broken_pipes();
    isthmus_os::process::end_where_output_fails("isthmus");
    let outcome = match Arguments::parse().command {
        Command::Info {
            protocols: true, ranks, ..
        } => Ok(info::protocols(ranks)),
        Command::Info {
            collectives: true,
            ranks,
            ..
        } => algorithms::run(ranks),
        Command::Info { waiting: true, .. } => Ok(info::waiting_limits()),
        Command::Info { limits: true, .. } => Ok(info::limits()),
        Command::Info { json, ranks, .. } => info::run(json, ranks),
        Command::Doctor { json } => doctor::run(json),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Tune(arguments) => bench::tune::run(&arguments),
        Command::Fortran(arguments) => fortran::run(&arguments),
        Command::TryDeviceMemory { export } => doctor::try_memory(&export),
        Command::BareFabric(arguments) => bench::bare_fabric::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Print { what, folder } => print(what, folder),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("isthmus: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What an installation has of this command beside it.
fn print(what: Printed, folder: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let mut command = Arguments::command();
    let shell = match what {
        Printed::Manual => {
            let folder = folder.unwrap_or_else(|| ".".into());
            clap_mangen::generate_to(command, &folder)
                .with_context(|| format!("cannot write manual pages into {}", folder.display()))?;
            return Ok(ExitCode::SUCCESS);
        }
        Printed::Tunables => {
            print!("{}", manual::tunables());
            return Ok(ExitCode::SUCCESS);
        }
        Printed::Bash => Shell::Bash,
        Printed::Zsh => Shell::Zsh,
        Printed::Fish => Shell::Fish,
    };
    clap_complete::generate(shell, &mut command, "isthmus", &mut std::io::stdout());
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_command_is_suggested() {
        let error = Arguments::try_parse_from(["isthmus", "docter"])
            .err()
            .map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("'doctor'")));
    }
}
