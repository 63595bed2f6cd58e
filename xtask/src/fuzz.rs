//! `fuzz`: feed a target what libFuzzer comes up with, beginning with the corpus.
//!
//! It takes the stable compiler: coverage is a pass of LLVM that can be asked for, and the address sanitizer's run-time
//! library is there, though its flag is not stable (docs/decisions/0018).

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::process::target as target_directory;

const USAGE: &str = "usage: cargo xtask fuzz TARGET [--minutes N] [--minimize] [FILE...]";

/// As cargo-fuzz sets them.
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Zsanitizer=address",
    "--cfg=fuzzing",
];

/// An input takes milliseconds; the rest is for machines that are busy.
const HANG_SECONDS: u32 = 60;

struct Options {
    target: String,
    minutes: u32,
    minimize: bool,
    files: Vec<OsString>,
}

/// `fuzz TARGET`. Blocks for the minutes given (10), or until something is found.
pub fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask/ is in the workspace")?;
    let corpus = root.join("fuzz/corpus").join(&options.target);
    ensure!(
        corpus.is_dir(),
        "no such target: {}; there are: {}",
        options.target,
        targets(root)?
    );
    let runner = build(root)?;
    let mut command = Command::new(runner);
    command.env("ISTHMUS_FUZZ_TARGET", &options.target);
    // An allocation that is too large is refused, as it would be without the sanitizer. Segments that are mapped for good and
    // objects of a process that goes on are no leaks.
    command.env(
        "ASAN_OPTIONS",
        "allocator_may_return_null=1:detect_leaks=0:handle_segv=1",
    );
    command.args(["-rss_limit_mb=3000", "-malloc_limit_mb=1000000"]);
    command.arg(format!("-timeout={HANG_SECONDS}"));
    if !options.files.is_empty() {
        command.args(&options.files);
    } else if options.minimize {
        return minimize(command, &found(&options.target)?, &corpus);
    } else {
        let found = found(&options.target)?;
        let dictionary = root.join("fuzz/words").join(&options.target);
        if dictionary.is_file() {
            command.arg(format!("-dict={}", dictionary.display()));
        }
        command.arg(format!("-max_total_time={}", options.minutes * 60));
        command.arg(format!("-artifact_prefix={}/", found.display()));
        // Calls depend on those before them, so inputs are long from the start.
        command.args(["-max_len=512", "-len_control=0", "-print_final_stats=1"]);
        command.args([&found, &corpus]);
    }
    said_well(&mut command)
}

/// The inputs that are needed to reach the coverage of all of them, the shortest first, as the new corpus. Files with
/// names of their own stay: each was a crash.
fn minimize(mut fuzzer: Command, found: &Path, corpus: &Path) -> Result<()> {
    let small = found.with_extension("small");
    // It may not be there.
    let _ = std::fs::remove_dir_all(&small);
    std::fs::create_dir_all(&small).with_context(|| format!("cannot make {}", small.display()))?;
    said_well(fuzzer.arg("-set_cover_merge=1").args([&small, found, corpus]))?;
    let files = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        entries.map(|entry| Ok(entry?.path())).collect()
    };
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let is_digest = |name: &String| name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (mut own_names, mut contents) = (0, Vec::new());
    for path in files(corpus)? {
        if name(&path).as_ref().is_some_and(is_digest) {
            std::fs::remove_file(&path)?;
        } else {
            own_names += 1;
            contents.push(std::fs::read(&path)?);
        }
    }
    let mut kept = 0;
    for path in files(&small)? {
        let content = std::fs::read(&path)?;
        if let Some(name) = name(&path)
            && !contents.contains(&content)
        {
            std::fs::write(corpus.join(&name[..DIGITS.min(name.len())]), content)?;
            kept += 1;
        }
    }
    println!(
        "{kept} inputs, and {own_names} that have names, in {}",
        corpus.display()
    );
    Ok(())
}

/// As many digits of an input's digest name it.
const DIGITS: usize = 12;

fn said_well(command: &mut Command) -> Result<()> {
    let status = command.status().context("cannot run the fuzzer")?;
    ensure!(status.success(), "the fuzzer ended with {status}");
    Ok(())
}

/// Where new inputs are kept until they are looked at.
fn found(target: &str) -> Result<PathBuf> {
    let folder = target_directory().join("fuzz/found").join(target);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

fn targets(root: &Path) -> Result<String> {
    let entries = std::fs::read_dir(root.join("fuzz/corpus")).context("fuzz/corpus")?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    Ok(names.join(", "))
}

/// The fuzzer, with everything in it instrumented.
fn build(root: &Path) -> Result<PathBuf> {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let directory = target_directory().join("fuzz");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--release", "--quiet", "--target", &triple, "--manifest-path"])
        .arg(root.join("fuzz/runner/Cargo.toml"))
        .arg("--target-dir")
        .arg(&directory)
        .env("RUSTFLAGS", COVERAGE.join(" "))
        // For the sanitizer's flag alone.
        .env("RUSTC_BOOTSTRAP", "1");
    said_well(&mut cargo)?;
    Ok(directory.join(triple).join("release/isthmus-fuzz-runner"))
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut rest = arguments.iter();
    let Some(target) = rest.next().filter(|name| !name.starts_with('-')) else {
        bail!("{USAGE}");
    };
    let mut options = Options {
        target: target.clone(),
        minutes: 10,
        minimize: false,
        files: Vec::new(),
    };
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--minutes" => {
                let number = rest.next().and_then(|text| text.parse().ok());
                options.minutes = number.context("--minutes wants a number")?;
            }
            "--minimize" => options.minimize = true,
            flag if flag.starts_with('-') => bail!("{flag}: {USAGE}"),
            file => options.files.push(file.into()),
        }
    }
    Ok(options)
}
