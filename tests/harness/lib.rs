//! What the tests on several ranks share: the installed prefix, compiled programs, and runs with a time limit.
//!
//! `cargo xtask test` installs and sets `ISTHMUS_PREFIX`; by hand, for one test:
//! `ISTHMUS_PREFIX=$PWD/dist cargo test -p isthmus-tests --test launch -- exit`.

mod control_group;
mod processes;
mod run;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, ensure};

pub use control_group::ControlGroup;
pub use processes::{abstract_sockets, children, cpu_time, end, job_socket, listing, named, signal};
pub use run::{Finished, Run, Running};

/// The installation under test.
///
/// # Panics
/// If nobody says where it is.
pub fn prefix() -> PathBuf {
    match std::env::var_os("ISTHMUS_PREFIX") {
        Some(prefix) => prefix.into(),
        None => panic!("ISTHMUS_PREFIX does not name an installation; `cargo xtask test` makes one and sets it"),
    }
}

/// A command of the installation.
pub fn command(name: &str) -> PathBuf {
    prefix().join("bin").join(name)
}

/// The repository's `tests` folder.
pub fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Bad days are tried more often (`cargo xtask test --full`).
pub fn full() -> bool {
    std::env::var_os("ISTHMUS_TEST_FULL").is_some()
}

/// A folder below `target/` for what tests make.
pub fn scratch(name: &str) -> Result<PathBuf> {
    let folder = folder().with_file_name("target").join("test").join(name);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// `tests/programs/<name>.c`, compiled by our mpicc, once per run of the tests.
pub fn compile(name: &str) -> Result<PathBuf> {
    static COMPILED: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = compiled.get_or_insert_default();
    if let Some(program) = compiled.get(name) {
        return Ok(program.clone());
    }
    let source = folder().join("programs").join(name).with_extension("c");
    let program = scratch("programs")?.join(name);
    let mut mpicc = Command::new(command("mpicc"));
    mpicc.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]);
    let output = mpicc
        .arg(&program)
        .arg(&source)
        .arg("-lm")
        .output()
        .context("cannot run mpicc")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{} does not compile:\n{said}",
        source.display()
    );
    compiled.insert(name.to_owned(), program.clone());
    Ok(program)
}
