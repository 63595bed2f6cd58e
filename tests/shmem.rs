//! OpenSHMEM: every program of `tests/shmem` whose first line says `// ranks: 1 2 4`, on so many PEs each, and bad input.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Run, command, compile_ahead, folder, full, once, scratch};
use libtest_mimic::{Arguments, Failed, Trial};

/// A mistake, the number of PEs, the text of its line, and the exit code.
const BAD: [(&str, &str, &[&str]); 17] = [
    ("pe", "2", &["shmem_int_p", "pe=2"]),
    ("negative", "2", &["shmem_int_get", "pe=-1"]),
    ("address", "2", &["shmem_int_put", "dest=0x", "symmetric"]),
    ("beyond", "2", &["shmem_putmem", "dest=0x", "beyond symmetric memory"]),
    ("team", "3", &["shmem_team_sync", "team="]),
    ("context", "1", &["shmem_ctx_quiet", "ctx="]),
    ("size", "2", &["shmem_malloc", "size=100", "size=1100"]),
    ("count", "3", &["shmem_int_sum_reduce", "nreduce=1", "nreduce=0"]),
    ("root", "2", &["shmem_int_broadcast", "PE_root=0", "PE_root=1"]),
    ("routine", "2", &["another routine"]),
    ("free", "1", &["shmem_free", "ptr=0x"]),
    ("twice", "2", &["shmem_free", "ptr=0x"]),
    ("align", "1", &["shmem_align", "alignment=24"]),
    ("misaligned", "1", &["shmem_int_atomic_inc", "dest=0x"]),
    ("comparison", "1", &["shmem_int_wait_until", "cmp=17"]),
    ("unlock", "2", &["shmem_clear_lock", "nobody"]),
    ("late", "1", &["shmem_int_p", "shmem_finalize"]),
];

/// The program that calls every routine, in the oldest standards that `shmem.h` must do with.
const STANDARDS: [(&str, &str); 3] = [
    ("every_routine.c", "c99"),
    ("every_generic.c", "c11"),
    ("every_overload.cpp", "c++17"),
];

/// And, in the full test, in later ones.
const LATER_STANDARDS: [(&str, &str); 4] = [
    ("every_routine.c", "c11"),
    ("every_routine.c", "c17"),
    ("every_generic.c", "c17"),
    ("every_overload.cpp", "c++20"),
];

fn main() -> ExitCode {
    let mut trials = Vec::new();
    let mut sources: Vec<PathBuf> = std::fs::read_dir(folder().join("shmem"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    sources.sort();
    for source in sources {
        let text = std::fs::read_to_string(&source).unwrap_or_default();
        let Some(ranks) = text.lines().next().and_then(|line| line.strip_prefix("// ranks:")) else {
            continue;
        };
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for ranks in ranks.split_whitespace() {
            let (name, ranks) = (name.clone(), ranks.to_owned());
            trials.push(Trial::test(format!("{name} on {ranks}"), move || {
                said(run(&name, &ranks, "", &[]))
            }));
        }
    }
    for (what, ranks, parts) in BAD {
        trials.push(Trial::test(format!("bad {what}"), move || {
            said(bad(what, ranks, parts))
        }));
    }
    for pes in ["1", "2", "3", "4", "8"] {
        trials.push(Trial::test(format!("every_routine.c optimised on {pes}"), move || {
            said(optimised(pes))
        }));
    }
    trials.push(Trial::test(
        "a profiling library hears of calls that are done in place",
        || said(profiled()),
    ));
    trials.push(Trial::test("mpi first", || said(run("both.c", "4", "first", &[]))));
    for pes in ["1", "2", "4"] {
        trials.push(Trial::test(
            format!("histories of several threads on {pes}"),
            move || said(run("histories.c", pes, "threads", &[])),
        ));
    }
    trials.push(Trial::test("without single copies", || {
        said(run(
            "basics.c",
            "4",
            "",
            &[("ISTHMUS_CMA", "0"), ("ISTHMUS_MECHANISM", "ring")],
        ))
    }));
    let later = LATER_STANDARDS.into_iter().filter(|_| full());
    for (file, standard) in STANDARDS.into_iter().chain(later) {
        trials.push(Trial::test(format!("{file} as {standard}"), move || {
            said(is_accepted(file, standard))
        }));
    }
    for pes in ["1", "2", "3", "4"] {
        trials.push(Trial::test(format!("static data of a library on {pes}"), move || {
            said(with_library(pes))
        }));
    }
    trials.push(Trial::test("bad heap size", || said(bad_size())));
    trials.push(Trial::test("a full heap", || said(run("bad.c", "2", "full", &[]))));
    trials.push(Trial::test("the end by one", || said(end("exit", "4", 7))));
    trials.push(Trial::test("a dead PE", || said(end("dead", "4", 134))));
    trials.push(Trial::test("a dead holder of a lock", || said(end("holder", "4", 134))));
    let arguments = Arguments::from_args();
    compile_ahead(&arguments, vec!["every_routine.c".into()], compile_optimised);
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn said(result: Result<()>) -> Result<(), Failed> {
    result.map_err(|error| format!("{error:#}").into())
}

/// A program of `tests/shmem`, compiled by our oshcc or oshcxx, once per run of the tests.
fn compile(name: &str) -> Result<PathBuf> {
    once(&format!("shmem/{name}"), || make(name))
}

fn make(name: &str) -> Result<PathBuf> {
    let source = folder().join("shmem").join(name);
    let program = scratch("shmem")?.join(name.replace('.', "_"));
    let (compiler, standard) = match name.ends_with(".cpp") {
        true => ("oshcxx", "-std=c++17"),
        false => ("oshcc", "-std=gnu11"),
    };
    // Thousands of calls: what a debugger wants takes seconds.
    let options = match is_long(name) {
        true => ["-O0", "-g0"],
        false => ["-O1", "-g"],
    };
    let output = Command::new(command(compiler))
        .args([standard, "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .arg(&program)
        .arg(&source)
        .args(options)
        .arg("-lm")
        .output()
        .with_context(|| format!("cannot run {compiler}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{} does not compile:\n{said}",
        source.display()
    );
    Ok(program)
}

/// Does the program call every routine?
fn is_long(name: &str) -> bool {
    name.starts_with("every")
}

/// Does the compiler take it, without a warning, with `shmem-near.h` and without?
fn is_accepted(file: &str, standard: &str) -> Result<()> {
    is_accepted_with("-O0", file, standard)?;
    is_accepted_with("-O1", file, standard)
}

fn is_accepted_with(level: &str, file: &str, standard: &str) -> Result<()> {
    let compiler = if file.ends_with(".cpp") { "oshcxx" } else { "oshcc" };
    let output = Command::new(command(compiler))
        .arg(format!("-std={standard}"))
        .args([
            level,
            "-fsyntax-only",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-D_POSIX_C_SOURCE=200809L",
        ])
        .arg(folder().join("shmem").join(file))
        .output()
        .with_context(|| format!("cannot run {compiler}"))?;
    ensure!(
        output.status.success(),
        "with {level} it says:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// Compile an optimised program, or a library.
fn build(words: &[&str], source: &str, to: &Path) -> Result<()> {
    let output = Command::new(command("oshcc"))
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .arg(to)
        .arg(folder().join("shmem").join(source))
        .args(words)
        .output()
        .context("cannot run oshcc")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{source} does not compile:\n{said}");
    Ok(())
}

fn on_pes(pes: &str, program: &Path) -> Run {
    let run = Run::program(command("oshrun")).words("-n").words(pes).arg(program);
    run.limit(Duration::from_secs(90))
}

/// Every routine with every type, where the program does the shortest ones by itself.
fn optimised(pes: &str) -> Result<()> {
    on_pes(pes, &compile_optimised("every_routine.c")?).succeed().map(drop)
}

fn compile_optimised(name: &str) -> Result<PathBuf> {
    once(&format!("shmem/{name} optimised"), || {
        let to = scratch("shmem")?.join("every_routine_optimised");
        // Enough for calls that are done in place.
        build(&["-Og", "-lm"], name, &to)?;
        Ok(to)
    })
}

/// A library that has routines of its own before ours: by name it hears of all calls, of an optimised program too.
fn profiled() -> Result<()> {
    let scratch = scratch("shmem")?.join("profiled");
    std::fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let (library, program) = (scratch.join("libprofile.so"), scratch.join("program"));
    build(&["-shared", "-fPIC"], "profile.c", &library)?;
    build(&[], "profiled.c", &program)?;
    on_pes("2", &program).succeed()?;
    let run = on_pes("2", &program).words("counted");
    run.env("LD_PRELOAD", library.display().to_string()).succeed().map(drop)
}

/// A program with a library of its own.
fn with_library(pes: &str) -> Result<()> {
    let scratch = scratch("shmem")?.join(format!("with_library_{pes}"));
    std::fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    build(&["-shared", "-fPIC"], "library.c", &scratch.join("libexample.so"))?;
    let (path, program) = (scratch.display().to_string(), scratch.join("program"));
    let (search, found) = (format!("-L{path}"), format!("-Wl,-rpath,{path}"));
    build(&[&search, &found, "-lexample"], "with_library.c", &program)?;
    on_pes(pes, &program).succeed().map(drop)
}

fn launch(name: &str, ranks: &str, argument: &str, variables: &[(&str, &str)]) -> Result<Run> {
    let program = compile(name)?;
    let run = Run::program(command("oshrun"))
        .words("-n")
        .words(ranks)
        .arg(program)
        .words(argument);
    let run = variables.iter().fold(run, |run, (name, value)| run.env(name, value));
    Ok(run.limit(Duration::from_secs(if full() { 600 } else { 90 })))
}

fn run(name: &str, ranks: &str, argument: &str, variables: &[(&str, &str)]) -> Result<()> {
    launch(name, ranks, argument, variables)?.succeed().map(drop)
}

fn bad(what: &str, ranks: &str, parts: &[&str]) -> Result<()> {
    let finished = launch("bad.c", ranks, what, &[])?.finish()?;
    ensure!(finished.code != Some(0), "it went well\n{}", finished.err);
    let line = finished
        .err
        .lines()
        .find(|line| parts.iter().all(|part| line.contains(part)));
    ensure!(line.is_some(), "no line says {parts:?}:\n{}", finished.err);
    Ok(())
}

fn bad_size() -> Result<()> {
    let finished = launch("bad.c", "2", "", &[("SHMEM_SYMMETRIC_SIZE", "nonsense")])?.finish()?;
    ensure!(finished.code != Some(0), "it went well");
    ensure!(
        finished.err.contains("SHMEM_SYMMETRIC_SIZE=nonsense"),
        "it says:\n{}",
        finished.err
    );
    Ok(())
}

fn end(what: &str, ranks: &str, code: i32) -> Result<()> {
    let finished = launch("bad.c", ranks, what, &[])?.finish()?;
    ensure!(
        finished.code == Some(code),
        "exit code {:?}, {}",
        finished.code,
        finished.err
    );
    ensure!(!finished.err.is_empty(), "it says nothing");
    Ok(())
}
