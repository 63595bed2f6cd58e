//! `test`: everything that must pass, one line per step, and one closing line that counts.

mod cuda;
mod kmod;
mod network;
mod outside;
mod slurm;
mod suite;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::process::{cargo, quiet, target};
use crate::tools::{self, Tool};
use crate::{docs, generate, layers};
use outside::{
    aarch64, arrays, cmake, coarrays, files, fortran, imb, mpi4py, mpich, openmpi, packages, rsmpi, shmem4py, solvers,
};
use suite::Suite;

pub use outside::openmpi::HPCC;

const BUILD: Duration = Duration::from_secs(1800);
const RUN: Duration = Duration::from_secs(900);
/// A thousand kills, sizes beyond 4 GiB, and more of everything.
const FULL_RUN: Duration = Duration::from_secs(7200);

/// What can be asked for by name. All of it must pass.
struct Part {
    name: &'static str,
    /// Whether it tests what is installed.
    installed: bool,
    /// Whether it is left out unless everything is wanted, or it by name.
    long: bool,
    run: fn(&mut Suite, &Circumstances),
}

/// The parts in which Global Arrays solve systems of equations.
const LINEAR_ALGEBRA: [&str; 3] = ["units", "ranks", "arrays"];

/// What parts may want to know.
struct Circumstances {
    full: bool,
    prefix: PathBuf,
}

const PARTS: &[Part] = &[
    sources("format", |suite, _| {
        let mut command = cargo();
        command.args(["fmt", "--all", "--check"]);
        suite.step("rustfmt", || quiet(&mut command, BUILD).map(drop));
    }),
    sources("clippy", |suite, _| {
        let mut command = cargo();
        command.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
        suite.step("clippy", || quiet(&mut command, BUILD).map(drop));
    }),
    sources("docs", |suite, _| {
        let mut command = cargo();
        command
            .args(["doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings");
        suite.step("documentation", || quiet(&mut command, BUILD).map(drop));
    }),
    sources("layers", |suite, _| {
        suite.step("dependencies point downward", || layers::run(&[]));
    }),
    sources("words", |suite, _| {
        suite.step("documents have heads, short lines and plain words", || docs::run(&[]));
    }),
    sources("generated", |suite, _| {
        suite.step("generated files are current", || generate::run(&["--check".into()]));
    }),
    sources("units", units),
    sources("loom", loom),
    installed("ranks", ranks),
    installed("network", |suite, around| {
        network::run(suite, &around.prefix, around.full)
    }),
    installed("mpi4py", |suite, around| {
        mpi4py::run(suite, &around.prefix, around.full)
    }),
    installed("files", |suite, around| files::run(suite, &around.prefix)),
    installed("shmem4py", |suite, around| shmem4py::run(suite, &around.prefix)),
    installed("arrays", |suite, around| {
        arrays::run(suite, &around.prefix, around.full)
    }),
    installed("imb", |suite, around| imb::run(suite, &around.prefix, around.full)),
    installed("mpich", |suite, around| mpich::run(suite, &around.prefix)),
    installed("openmpi", |suite, around| openmpi::run(suite, &around.prefix)),
    installed("fortran", |suite, around| {
        fortran::run(suite, &around.prefix, around.full)
    }),
    installed("solvers", |suite, around| {
        solvers::run(suite, &around.prefix, around.full)
    }),
    installed("coarrays", |suite, around| coarrays::run(suite, &around.prefix)),
    installed("kmod", |suite, around| kmod::run(suite, &around.prefix, around.full)),
    installed("cmake", |suite, around| cmake::run(suite, &around.prefix)),
    Part {
        long: true,
        ..installed("rsmpi", |suite, around| rsmpi::run(suite, &around.prefix))
    },
    Part {
        long: true,
        ..sources("packages", |suite, _| packages::run(suite))
    },
    Part {
        long: true,
        ..installed("aarch64", |suite, around| aarch64::run(suite, &around.prefix))
    },
    Part {
        long: true,
        ..installed("slurm", |suite, around| slurm::run(suite, &around.prefix))
    },
];

const fn sources(name: &'static str, run: fn(&mut Suite, &Circumstances)) -> Part {
    Part {
        name,
        installed: false,
        long: false,
        run,
    }
}

const fn installed(name: &'static str, run: fn(&mut Suite, &Circumstances)) -> Part {
    Part {
        name,
        installed: true,
        long: false,
        run,
    }
}

/// `test [--full] [--only PART]...`. Blocks for minutes.
pub fn run(arguments: &[String]) -> Result<()> {
    let (full, chosen) = parse(arguments)?;
    tools::need(&[
        Tool::C,
        Tool::Cxx,
        Tool::Fortran,
        Tool::CMake,
        Tool::PkgConfig,
        Tool::Python,
        Tool::Libfabric,
    ])?;
    if chosen.iter().any(|part| LINEAR_ALGEBRA.contains(&part.name)) {
        tools::want(&[Tool::Scalapack]);
    }
    let prefix = target().join("test/prefix");
    let around = Circumstances { full, prefix };
    let mut suite = Suite::default();
    let mut is_installed = None;
    for part in chosen {
        if part.installed {
            let install = || {
                suite.step("install into target/test/prefix", || {
                    install_quietly(&around.prefix, around.full)
                })
            };
            if !*is_installed.get_or_insert_with(install) {
                continue;
            }
        }
        suite.part(part.name, |suite| (part.run)(suite, &around));
    }
    suite.close()
}

/// Whether to test in full, and which parts.
fn parse(arguments: &[String]) -> Result<(bool, Vec<&'static Part>)> {
    let mut full = false;
    let mut only = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match (argument.as_str(), arguments.as_slice()) {
            ("--full", _) => full = true,
            ("--only", [name, ..]) => {
                only.push(name.as_str());
                arguments.next();
            }
            _ => bail!("usage: cargo xtask test [--full] [--only PART]..."),
        }
    }
    for name in &only {
        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        ensure!(
            names.contains(name),
            "no part '{name}'; there are: {}",
            names.join(", ")
        );
    }
    let wanted = |part: &&Part| {
        if only.is_empty() {
            full || !part.long
        } else {
            only.contains(&part.name)
        }
    };
    Ok((full, PARTS.iter().filter(wanted).collect()))
}

fn units(suite: &mut Suite, around: &Circumstances) {
    let units = ["test", "--workspace", "--exclude", "isthmus-tests", "--no-fail-fast"];
    let mut unit_tests = cargo();
    unit_tests.args(units);
    if around.full {
        unit_tests.env("ISTHMUS_TEST_FULL", "1");
    }
    suite.cargo_tests("unit tests and conformance kits", &mut unit_tests, BUILD);
}

fn loom(suite: &mut Suite, _: &Circumstances) {
    let loom = ["test", "-p", "isthmus-shm", "--release", "--lib", "loom"];
    let mut loom_tests = cargo();
    // A directory of its own: the flag would make cargo build everything again, twice.
    loom_tests
        .args(loom)
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16")
        .env("CARGO_TARGET_DIR", target().join("loom"));
    suite.cargo_tests("lock-free parts under loom", &mut loom_tests, BUILD);
}

fn ranks(suite: &mut Suite, around: &Circumstances) {
    // Of the workspace, as unit tests are: of this package alone cargo would build all crates again, with other features.
    let mut build = cargo();
    build.args(["test", "--workspace", "--no-run"]);
    build.args(files_of_tests().flat_map(|file| ["--test", file]));
    suite.step("tests of programs are built", || quiet(&mut build, BUILD).map(drop));
    // A step each: the limit is for one file, and a slow one is seen.
    for file in files_of_tests() {
        let mut ranks = cargo();
        ranks.args(["test", "--workspace", "--no-fail-fast", "--test", file]);
        ranks.args(["--", "--test-threads=1"]);
        ranks.env("ISTHMUS_PREFIX", &around.prefix);
        let mut limit = RUN;
        if around.full {
            ranks.env("ISTHMUS_TEST_FULL", "1");
            limit = FULL_RUN;
        }
        suite.cargo_tests(&format!("tests/{file}.rs"), &mut ranks, limit);
    }
}

/// Files of the package of tests, by its manifest.
fn files_of_tests() -> impl Iterator<Item = &'static str> {
    let manifest = include_str!("../../tests/Cargo.toml");
    let files = manifest.split("[[test]]").skip(1);
    files.filter_map(|file| file.split('"').nth(1))
}

/// In full as users have it; else without optimization across crates, which takes a third of the time of an installation.
fn install_quietly(prefix: &Path, full: bool) -> Result<()> {
    let mut install = cargo();
    install.args(["xtask", "install", "--prefix"]).arg(prefix);
    if !full {
        install
            .env("CARGO_PROFILE_RELEASE_LTO", "off")
            .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    }
    quiet(&mut install, BUILD).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name() {
        let chosen = |line: &str| {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            parse(&arguments).map(|(full, parts)| (full, parts.iter().map(|part| part.name).collect::<Vec<_>>()))
        };
        let (full, all) = chosen("").expect("what is quick");
        assert!(!full && all.contains(&"units") && !all.contains(&"rsmpi") && !all.contains(&"slurm"));
        assert_eq!(chosen("--full").expect("more").1.len(), PARTS.len());
        assert_eq!(chosen("--only rsmpi").expect("one").1, ["rsmpi"]);
        assert_eq!(
            chosen("--only imb --full --only layers").expect("two"),
            (true, vec!["layers", "imb"])
        );
        assert!(chosen("--only nothing").is_err());
        assert!(chosen("--only").is_err());
        assert!(chosen("imb").is_err());
    }

    #[test]
    fn every_file_of_tests_is_run() {
        let mut named: Vec<String> = files_of_tests().map(|file| format!("{file}.rs")).collect();
        named.sort();
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests")).expect("the folder of tests");
        let names = folder.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let mut there: Vec<String> = names.filter(|name| name.ends_with(".rs")).collect();
        there.sort();
        assert_eq!(named, there);
    }
}
