//! `gen`: the C surface of all ABIs, written from the facts in `standard/`.

mod argument;
mod body;
mod c;
mod constants;
mod entry;
mod fortran;
mod header;
pub mod manual;
mod openmpi;
mod openshmem;
mod pieces;
mod rust;
mod standard;
mod trampoline;
mod unfinished;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::compatibility;
use standard::{Library, Standard};

/// Where generated Rust goes; every file in it is ours.
const GENERATED: &str = "crates/abi/src/generated";

/// One-sided models: the list of their functions in `standard/`, and their library.
const MODELS: [(&str, &str); 2] = [("armci", "libarmci.so.0: ARMCI"), ("ga", "libga.so.0: Global Arrays")];

/// Writes everything that is generated; with `--check` writes nothing and fails on any difference.
pub fn run(arguments: &[String]) -> Result<()> {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => bail!("usage: cargo xtask gen [--check]"),
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask/ is in the workspace")?;
    let standard = Standard::read(root)?;
    let mut files = generate(&standard)?;
    files.extend(openshmem::generate(root)?);
    files.extend(fortran::render(&standard, root)?);
    files.insert("docs/compatibility.md".into(), compatibility::page(root)?);
    for (model, what) in MODELS {
        let list = root.join("standard").join(model).with_extension("txt");
        let list = std::fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
        let path = Path::new("crates/abi/trampoline").join(model).with_extension("S");
        files.insert(path, trampoline::model(&list, model, what));
    }
    let stale: Vec<PathBuf> = existing(&root.join(GENERATED))?
        .into_iter()
        .map(|name| Path::new(GENERATED).join(name))
        .filter(|path| !files.contains_key(path))
        .collect();
    if check {
        let mut wrong: Vec<String> = stale.iter().map(|path| path.display().to_string()).collect();
        for (path, content) in &files {
            if std::fs::read_to_string(root.join(path)).ok().as_ref() != Some(content) {
                wrong.push(path.display().to_string());
            }
        }
        ensure!(
            wrong.is_empty(),
            "these differ from what standard/ says, run cargo xtask gen: {}",
            wrong.join(" ")
        );
        return Ok(());
    }
    for path in stale {
        std::fs::remove_file(root.join(&path)).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    for (path, content) in files {
        let path = root.join(path);
        if std::fs::read_to_string(&path).ok().as_ref() == Some(&content) {
            continue;
        }
        let folder = path.parent().context("a file is in a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Everything that is generated, by path from the root of the repository.
fn generate(standard: &Standard) -> Result<BTreeMap<PathBuf, String>> {
    let mut files = BTreeMap::new();
    for abi in &header::ABIS {
        files.insert(abi.path.into(), header::render(standard, abi)?);
    }
    for (path, library) in [
        ("include/mpi-ext.h", Library::Standard),
        ("include/isthmus/openmpi/mpi-ext.h", Library::OpenMpi),
    ] {
        files.insert(path.into(), header::extensions(standard, library)?);
    }
    files.insert("docs/unfinished.md".into(), unfinished::render(standard));
    for (library, text) in trampoline::render(standard) {
        files.insert(Path::new("crates/abi/trampoline").join(library), text);
    }
    files.insert("crates/abi/trampoline/openmpi.S".into(), openmpi::render(standard)?);
    let mut rust = entry::render(standard)?;
    rust.insert("constants.rs".to_owned(), constants::render(standard)?);
    for (name, text) in rust {
        files.insert(Path::new(GENERATED).join(name), formatted(&text)?);
    }
    Ok(files)
}

/// As rustfmt leaves it.
fn formatted(text: &str) -> Result<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", "max_width=120"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run rustfmt")?;
    let mut input = rustfmt.stdin.take().context("rustfmt's standard input")?;
    input.write_all(text.as_bytes()).context("cannot write to rustfmt")?;
    drop(input);
    let output = rustfmt.wait_with_output().context("rustfmt")?;
    ensure!(output.status.success(), "rustfmt does not like:\n{text}");
    String::from_utf8(output.stdout).context("rustfmt's output")
}

fn existing(folder: &Path) -> Result<Vec<String>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect())
}
