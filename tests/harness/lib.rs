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
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::{Arguments, Trial};

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

/// One test of a list. `allowed`: whether it can be tried on this machine, or what is missing; then it counts as ignored.
pub fn trial(name: &str, allowed: Result<(), &'static str>, test: fn() -> Result<()>) -> Trial {
    let run = move || test().map_err(|error| format!("{error:#}").into());
    match allowed {
        Ok(()) => Trial::test(name, run),
        Err(missing) => Trial::test(name, run).with_kind(missing).with_ignored_flag(true),
    }
}

/// A test by its name, and what this machine must allow for it.
#[macro_export]
macro_rules! test {
    ($name:ident) => {
        $crate::trial(stringify!($name), Ok(()), $name)
    };
    ($name:ident, $allowed:ident) => {
        $crate::trial(stringify!($name), $allowed(), $name)
    };
}

/// A folder below `target/` for what tests make.
pub fn scratch(name: &str) -> Result<PathBuf> {
    let folder = folder().with_file_name("target").join("test").join(name);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// Wait for this to hold, at most for `limit`.
pub fn within(limit: Duration, what: &str, holds: impl Fn() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !holds() {
        ensure!(begun.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// `tests/programs/<name>.c`, compiled by our mpicc, once per installation.
pub fn compile(name: &str) -> Result<PathBuf> {
    compile_in("programs", name, &[])
}

/// As [`compile`], `tests/<sources>/<name>.c`, linked with these libraries, too (`-larmci`).
pub fn compile_in(sources: &str, name: &str, libraries: &[&str]) -> Result<PathBuf> {
    once(&format!("{sources}/{name}"), || make(sources, name, libraries))
}

/// Made by the first thread that asks for it; the others wait. An error is its text.
type Made = Arc<OnceLock<Result<PathBuf, String>>>;

/// The program of this name, made once per run of the tests.
pub fn once(name: &str, make: impl FnOnce() -> Result<PathBuf>) -> Result<PathBuf> {
    static MADE: Mutex<Option<HashMap<String, Made>>> = Mutex::new(None);
    let made = {
        let mut all = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        Made::clone(all.get_or_insert_default().entry(name.to_owned()).or_default())
    };
    let made = made.get_or_init(|| make().map_err(|error| format!("{error:#}")));
    made.clone().map_err(|error| anyhow!(error))
}

/// Compile programs in a thread, while tests run that leave a CPU idle now and then; not if a part of the tests is run. A program
/// that does not compile fails its test.
pub fn compile_ahead(arguments: &Arguments, names: Vec<String>, compile: fn(&str) -> Result<PathBuf>) {
    if arguments.filter.is_none() && !arguments.list {
        std::thread::spawn(move || names.iter().for_each(|name| drop(compile(name))));
    }
}

fn make(sources: &str, name: &str, libraries: &[&str]) -> Result<PathBuf> {
    let source = folder().join(sources).join(name).with_extension("c");
    let program = scratch(sources)?.join(name);
    if is_current(&program, &folder().join(sources)) {
        return Ok(program);
    }
    // A program that is found under its own name is complete.
    let unfinished = program.with_extension(format!("{}.unfinished", std::process::id()));
    let mut mpicc = Command::new(command("mpicc"));
    mpicc.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]);
    let output = mpicc
        .arg(&unfinished)
        .arg(&source)
        .args(libraries)
        .arg("-lm")
        .output()
        .context("cannot run mpicc")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{} does not compile:\n{said}",
        source.display()
    );
    std::fs::rename(&unfinished, &program).with_context(|| format!("cannot rename {}", unfinished.display()))?;
    Ok(program)
}

/// Is a program younger than every source beside its own, the installation that it is linked with, and this file's options?
fn is_current(program: &Path, sources: &Path) -> bool {
    let made = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    let linked = last_linked(program);
    let (Some(program), Ok(entries), Ok(options), Ok(linked)) = (
        made(program),
        std::fs::read_dir(sources),
        std::env::current_exe(),
        linked,
    ) else {
        return false;
    };
    let sources = entries.flatten().map(|entry| entry.path());
    let all = sources.chain([command("mpicc"), prefix().join("lib/libisthmus.so.0"), options, linked]);
    all.map(|path| made(&path))
        .all(|older| older.is_some_and(|older| older < program))
}

/// The file beside a program that names the installation which programs there have been linked with since it was written.
fn last_linked(program: &Path) -> std::io::Result<PathBuf> {
    let file = program.with_file_name("installation");
    let prefix = prefix().display().to_string();
    if std::fs::read_to_string(&file).ok().as_ref() != Some(&prefix) {
        std::fs::write(&file, prefix)?;
    }
    Ok(file)
}

/// Programs of a folder of `tests`, whose first line says on how many ranks (`// ranks: 1 2 4`), the second on which more in full: name and number, in order.
pub fn programs(sources: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder().join(sources))
        .into_iter()
        .flatten()
        .flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let ranks = text.lines().next().and_then(|line| line.strip_prefix("// ranks:"));
        let more = text.lines().nth(1).and_then(|line| line.strip_prefix("// more ranks:"));
        let more = more.filter(|_| full()).unwrap_or_default();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for ranks in ranks
            .unwrap_or_default()
            .split_whitespace()
            .chain(more.split_whitespace())
        {
            found.push((name.clone(), ranks.to_owned()));
        }
    }
    found
}
