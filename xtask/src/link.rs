//! Linking the libraries: the engine library from the static library of `crates/abi`, and the trampolines onto it.
//!
//! `cc` does it rather than rustc: version scripts and sonames belong here, and weak aliases survive (a `cdylib` drops
//! them from its exports).

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::process::root;

/// The one engine of a process, in which every ABI has its entries.
const ENGINE: &str = "libisthmus.so.0";

/// A library that programs link: its name, its source, and names under which it is found too.
const TRAMPOLINES: [(&str, &str, &[&str]); 6] = [
    ("libmpi_abi.so.1", "mpi_abi", &["libmpi_abi.so"]),
    ("libmpi.so.12", "mpi", &["libmpi.so", "libmpich.so.12", "libmpich.so"]),
    ("libmpi.so.40", "openmpi", &[]),
    ("liboshmem.so.0", "oshmem", &["liboshmem.so", "libsma.so"]),
    ("libarmci.so.0", "armci", &["libarmci.so"]),
    ("libga.so.0", "ga", &["libga.so"]),
];

/// Open MPI's inner libraries: programs are linked to them by accident, and call nothing in them; its own launcher does.
const INNER: [&str; 2] = ["libopen-rte.so.40", "libopen-pal.so.40"];

/// Libraries that stand in for those of hardware that is not there: see `crates/fabric/src/absent.rs`.
const ABSENT: [(&str, &str); 2] = [("libpsm_infinipath.so.1", "psm_infinipath"), ("libpsm2.so.2", "psm2")];

/// What the Rust standard library needs of the system.
const SYSTEM: [&str; 5] = ["-lgcc_s", "-lpthread", "-lm", "-ldl", "-lc"];

/// Link everything that belongs in `lib` from what cargo left in `built`.
pub fn libraries(built: &Path, lib: &Path) -> Result<()> {
    let sources = root().join("crates/abi/trampoline");
    let mut cc = never_unloaded(&sources, ENGINE, "isthmus");
    cc.args(["-Wl,--gc-sections", "-Wl,--whole-archive"])
        .arg(built.join("libisthmus_abi.a"))
        .arg("-Wl,--no-whole-archive")
        // What it opens for others to call finds our libraries before the system's.
        .arg("-Wl,-rpath,$ORIGIN")
        .args(SYSTEM);
    link(cc, lib, ENGINE)?;
    for (name, source, links) in TRAMPOLINES {
        let mut cc = never_unloaded(&sources, name, source);
        cc.args(["-nostdlib", "-Wl,-rpath,$ORIGIN"])
            .arg(sources.join(source).with_extension("S"))
            .arg(lib.join(ENGINE));
        link(cc, lib, name)?;
        for link in links {
            let path = lib.join(link);
            // There may be one from before.
            let _ = std::fs::remove_file(&path);
            symlink(name, &path).with_context(|| format!("cannot link {}", path.display()))?;
        }
    }
    Ok(())
}

/// Link what stands in for Open MPI's inner libraries into `folder`, which `mpiexec` adds for the programs that need them.
pub fn inner(folder: &Path) -> Result<()> {
    let sources = root().join("crates/abi/trampoline");
    for name in INNER {
        let mut cc = shared(&sources, name, "nothing");
        cc.arg("-nostdlib").arg(sources.join("nothing.S"));
        link(cc, folder, name)?;
    }
    Ok(())
}

/// `cc` on its way to a shared library called `name` that exports what the version script says.
fn shared(sources: &Path, name: &str, script: &str) -> Command {
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    let script = sources.join(script).with_extension("map");
    cc.args(["-shared", "-O2", "-g"])
        .arg(format!("-Wl,-soname,{name}"))
        .arg(format!("-Wl,--version-script={}", script.display()))
        .args(["-Wl,-z,defs", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,--as-needed"]);
    cc
}

/// User callbacks and thread-local destructors may run until the process ends.
fn never_unloaded(sources: &Path, name: &str, script: &str) -> Command {
    let mut cc = shared(sources, name, script);
    cc.arg("-Wl,-z,nodelete");
    cc
}

/// Link what stands in for libraries of hardware into `folder`, where nobody looks but us.
pub fn absent(folder: &Path) -> Result<()> {
    let sources = root().join("crates/fabric/absent");
    for (name, source) in ABSENT {
        let mut cc = shared(&sources, name, source);
        cc.args(["-fPIC", "-nostdlib", "-fvisibility=default"]);
        cc.arg(sources.join(source).with_extension("c"));
        link(cc, folder, name)?;
    }
    Ok(())
}

/// Run it, and put the library in its place by renaming, so that programs that run keep theirs.
fn link(mut cc: Command, lib: &Path, name: &str) -> Result<()> {
    let new = lib.join(format!("{name}.new"));
    let output = cc
        .arg("-o")
        .arg(&new)
        .output()
        .context("cannot run cc: install a C compiler")?;
    ensure!(
        output.status.success(),
        "cannot link {name}:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::rename(&new, lib.join(name)).with_context(|| format!("cannot write {name}"))
}
