//! rsmpi, the crate `mpi`: its examples and tests, compiled by our `mpicc` and run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::suite::Suite;
use super::{INSTALL, RUN, folder, mpiexec};
use crate::process::quiet;
use crate::tools::{self, Tool};

const VERSION: &str = "0.8.2";
/// Examples of what is not implemented yet, with its chapter.
const EXCLUDED: [(&str, &str); 2] = [("spawn", "dynamic processes"), ("spawn_multiple", "dynamic processes")];

/// All examples on 2 to 4 ranks, and all tests.
pub fn run(suite: &mut Suite, prefix: &Path) {
    let mut built = None;
    let build = || {
        // Its build reads our header with libclang.
        tools::need(&[Tool::Clang])?;
        let source = source()?;
        let examples = programs(&source, prefix, "--examples")?;
        let mut tests = programs(&source, prefix, "--tests")?;
        // The library's own tests: there are none.
        tests.retain(|(name, _)| name != "mpi");
        ensure!(examples.len() > 40, "there are only {} examples", examples.len());
        ensure!(!tests.is_empty(), "there are no tests");
        built = Some((examples, tests));
        Ok(())
    };
    if !suite.step(&format!("rsmpi {VERSION}: examples and tests build"), build) {
        return;
    }
    let Some((examples, tests)) = built else { return };
    suite.step(&format!("rsmpi: {} examples on 2 to 4 ranks", examples.len()), || {
        examples
            .iter()
            .try_for_each(|(name, program)| example(prefix, name, program))
    });
    for (name, program) in &tests {
        let mut run = mpiexec(prefix, 2);
        run.arg(program).arg("--test-threads=1");
        suite.cargo_tests(&format!("rsmpi: {name} on 2 ranks"), &mut run, RUN);
    }
}

fn example(prefix: &Path, name: &str, program: &Path) -> Result<()> {
    let mut on_ranks = (2..=4).map(|ranks| quiet(mpiexec(prefix, ranks).arg(program), RUN).map(drop));
    let Some((_, chapter)) = EXCLUDED.iter().find(|(excluded, _)| *excluded == name) else {
        return on_ranks.collect();
    };
    ensure!(
        on_ranks.any(|run| run.is_err()),
        "{name} passes: it is not to be excluded for {chapter} any more"
    );
    Ok(())
}

/// The crate's sources, in a folder of ours where it can be built as a whole.
fn source() -> Result<PathBuf> {
    let folder = folder("rsmpi");
    let source = folder.join(format!("mpi-{VERSION}"));
    // It comes last.
    let manifest = source.join("Cargo.toml");
    if std::fs::read_to_string(&manifest).is_ok_and(|text| text.contains("[workspace]")) {
        return Ok(source);
    }
    let asking = folder.join("asking");
    write(
        &asking.join("Cargo.toml"),
        &format!(
            "[package]\nname = \"asking\"\nedition = \"2024\"\n[dependencies]\nmpi = \"={VERSION}\"\n[workspace]\n"
        ),
    )?;
    write(&asking.join("src/lib.rs"), "")?;
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args(["metadata", "--format-version", "1", "--quiet"]);
    let text = quiet(metadata.current_dir(&asking), INSTALL)?;
    let json = text.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    let metadata: Value = serde_json::from_str(json).context("what cargo metadata says")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let fetched = packages
        .filter(|package| package["name"] == "mpi")
        .find_map(|package| package["manifest_path"].as_str())
        .and_then(|manifest| Path::new(manifest).parent())
        .context("cargo did not fetch the crate")?;
    let mut copy = Command::new("cp");
    copy.args(["-rT", "--no-preserve=mode"]).arg(fetched).arg(&source);
    quiet(&mut copy, RUN)?;
    let text = std::fs::read_to_string(&manifest).context("the crate's manifest")?;
    // It is no part of the workspace that it lies in.
    write(&manifest, &format!("{text}\n[workspace]\n"))?;
    Ok(source)
}

/// Build `kind` of targets. The answer is the name and the program of each.
fn programs(source: &Path, prefix: &Path, kind: &str) -> Result<Vec<(String, PathBuf)>> {
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", kind, "--features", "derive,complex", "--quiet"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(source)
        .env("CARGO_TARGET_DIR", folder("rsmpi").join("target"))
        .env("MPICC", prefix.join("bin/mpicc"));
    let text = quiet(&mut build, INSTALL)?;
    let said = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(said
        .filter_map(|said| {
            let program = said["executable"].as_str()?;
            Some((said["target"]["name"].as_str()?.to_owned(), program.into()))
        })
        .collect())
}

fn write(file: &Path, text: &str) -> Result<()> {
    let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(file, text))
        .with_context(|| format!("cannot write {}", file.display()))
}
