//! Writes the table of C functions and constants that the targets `calls` and `calls-mpich` draw from, out of `standard/`.
#![allow(missing_docs, dead_code)] // Modules of xtask's generator are used in part.

#[path = "../xtask/src/generate/c.rs"]
mod c;
#[path = "build/functions.rs"]
mod functions;
#[path = "../xtask/src/generate/rust.rs"]
mod rust;
#[path = "../xtask/src/generate/standard.rs"]
mod standard;

use std::path::Path;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("fuzz/ is in the workspace")?;
    for used in ["standard", "xtask/src/generate", "fuzz/build"] {
        println!("cargo::rerun-if-changed={}", root.join(used).display());
    }
    let text = functions::render(&standard::Standard::read(root)?)?;
    let folder = std::env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?;
    std::fs::write(Path::new(&folder).join("functions.rs"), text).context("cannot write functions.rs")
}
