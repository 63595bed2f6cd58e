//! `test`: everything that must pass, one line per step, and one closing line that counts.

mod outside;
mod suite;

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::process::{cargo, quiet, target};
use crate::tools::{self, Tool};
use crate::{generate, layers};
use suite::Suite;

const BUILD: Duration = Duration::from_secs(1800);
const RUN: Duration = Duration::from_secs(900);

/// `test [--full]`. Blocks for minutes.
pub fn run(arguments: &[String]) -> Result<()> {
    let full = match arguments {
        [] => false,
        [option] if option == "--full" => true,
        _ => bail!("usage: cargo xtask test [--full]"),
    };
    tools::need(&[Tool::C, Tool::Cxx, Tool::CMake, Tool::PkgConfig, Tool::Python])?;
    let mut suite = Suite::default();
    sources(&mut suite, full);
    let prefix = target().join("test/prefix");
    if suite.step("install into target/test/prefix", || install_quietly(&prefix)) {
        let mut ranks = cargo();
        ranks.args([
            "test",
            "-p",
            "isthmus-tests",
            "--no-fail-fast",
            "--",
            "--test-threads=1",
        ]);
        ranks.env("ISTHMUS_PREFIX", &prefix);
        if full {
            ranks.env("ISTHMUS_TEST_FULL", "1");
        }
        suite.cargo_tests("programs on several ranks, launches, bad days", &mut ranks, RUN);
        outside::run(&mut suite, &prefix);
    }
    suite.close()
}

/// What needs no installation.
fn sources(suite: &mut Suite, full: bool) {
    suite.step("rustfmt", || {
        quiet(cargo().args(["fmt", "--all", "--check"]), BUILD).map(drop)
    });
    suite.step("clippy", || {
        let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        quiet(cargo().args(clippy), BUILD).map(drop)
    });
    suite.step("dependencies point downward", || layers::run(&[]));
    suite.step("generated files are current", || generate::run(&["--check".into()]));
    let units = ["test", "--workspace", "--exclude", "isthmus-tests", "--no-fail-fast"];
    let mut unit_tests = cargo();
    unit_tests.args(units);
    if full {
        unit_tests.env("ISTHMUS_TEST_FULL", "1");
    }
    suite.cargo_tests("unit tests and conformance kits", &mut unit_tests, BUILD);
    let loom = ["test", "-p", "isthmus-shm", "--release", "--lib", "loom"];
    let mut loom_tests = cargo();
    // A directory of its own: the flag would make cargo build everything again, twice.
    loom_tests
        .args(loom)
        .env("RUSTFLAGS", "--cfg loom")
        .env("CARGO_TARGET_DIR", target().join("loom"));
    suite.cargo_tests("lock-free parts under loom", &mut loom_tests, BUILD);
}

fn install_quietly(prefix: &Path) -> Result<()> {
    quiet(cargo().args(["xtask", "install", "--prefix"]).arg(prefix), BUILD).map(drop)
}
