//! The C surface of OpenSHMEM, written from `standard/openshmem.txt`: header, entries, trampolines, and the program that calls them all.

mod conformance;
mod entry;
mod header;
mod near;
mod table;
mod trampoline;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use table::Table;

/// Everything that is generated, by path from the root of the repository.
pub fn generate(root: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let source = root.join("standard/openshmem.txt");
    let text = std::fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
    let table = Table::parse(&text)?;
    let mut files = BTreeMap::new();
    files.insert("include/shmem.h".into(), header::render(&table));
    files.insert("include/shmem-near.h".into(), near::render(&table));
    files.insert("crates/abi/trampoline/oshmem.S".into(), trampoline::render(&table));
    files.insert(
        "crates/shmem/src/generated.rs".into(),
        super::formatted(&entry::render(&table)?)?,
    );
    files.insert("tests/shmem/every_routine.h".into(), conformance::render(&table));
    Ok(files)
}
