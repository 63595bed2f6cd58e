//! `fuzz`: feed a target what libFuzzer comes up with, beginning with the corpus.
//!
//! It takes the stable compiler: coverage is a pass of LLVM that can be asked for, and the address sanitizer's run-time
//! library is there, though its flag is not stable (docs/decisions/0018).

#[path = "../../fuzz/src/corpus.rs"]
mod corpus;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Error, Result, bail, ensure};

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
    let archive = root.join("fuzz/corpus").join(&options.target).with_extension("txt");
    ensure!(
        archive.is_file(),
        "no such target: {}; there are: {}",
        options.target,
        targets(root)?
    );
    let inputs = read(&archive)?;
    let corpus = unpack(&options.target, &inputs)?;
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
        return minimize(command, &found(&options.target)?, &corpus, &inputs, &archive);
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

/// The inputs that are needed to reach the coverage of all of them, the shortest first, as the new archive. Inputs with
/// names of their own stay: each was a crash.
fn minimize(
    mut fuzzer: Command,
    found: &Path,
    corpus: &Path,
    inputs: &BTreeMap<String, Vec<u8>>,
    archive: &Path,
) -> Result<()> {
    let small = empty(&found.with_extension("small"))?;
    said_well(fuzzer.arg("-set_cover_merge=1").args([&small, found, corpus]))?;
    let is_digest = |name: &str| name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut kept = inputs.clone();
    kept.retain(|name, _| !is_digest(name));
    let own_names = kept.len();
    for entry in std::fs::read_dir(&small).with_context(|| format!("cannot read {}", small.display()))? {
        let path = entry?.path();
        let content = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.file_name().context("a file has a name")?.to_string_lossy();
        if !kept.values().any(|other| *other == content) {
            kept.insert(name.chars().take(DIGITS).collect(), content);
        }
    }
    std::fs::write(archive, render(&kept)?).with_context(|| format!("cannot write {}", archive.display()))?;
    println!(
        "{} inputs of {}, and {own_names} that have names, in {}",
        kept.len() - own_names,
        inputs.len() - own_names,
        archive.display()
    );
    Ok(())
}

/// The inputs of an archive, by name.
fn read(archive: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let text = std::fs::read_to_string(archive).with_context(|| format!("cannot read {}", archive.display()))?;
    let inputs = corpus::parse(&text).map_err(Error::msg);
    Ok(inputs
        .with_context(|| archive.display().to_string())?
        .into_iter()
        .collect())
}

/// As `corpus::parse` reads it.
fn render(inputs: &BTreeMap<String, Vec<u8>>) -> Result<String> {
    let mut text = String::new();
    for (name, input) in inputs {
        write!(text, "{name} ")?;
        for byte in input {
            write!(text, "{byte:02x}")?;
        }
        text.push('\n');
    }
    Ok(text)
}

/// Inputs as files of a folder, as libFuzzer wants them.
fn unpack(target: &str, inputs: &BTreeMap<String, Vec<u8>>) -> Result<PathBuf> {
    let folder = empty(&target_directory().join("fuzz/corpus").join(target))?;
    for (name, input) in inputs {
        std::fs::write(folder.join(name), input).with_context(|| format!("cannot write to {}", folder.display()))?;
    }
    Ok(folder)
}

/// A folder with nothing in it.
fn empty(folder: &Path) -> Result<PathBuf> {
    // It may not be there.
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.to_owned())
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
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_read_as_they_are_written() {
        let inputs = BTreeMap::from([("empty".to_owned(), vec![]), ("ends".to_owned(), vec![0, 255])]);
        let read = corpus::parse(&render(&inputs).unwrap()).unwrap();
        assert_eq!(read.into_iter().collect::<BTreeMap<_, _>>(), inputs);
    }
}
