//! `wheel` and `deb`: an installation as package managers have it.

pub mod deb;
mod deb_try;
pub mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::install;
use crate::process::target;
use crate::tools::{self, Tool};

/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where packages are made, and stay.
pub fn folder() -> PathBuf {
    target().join("package")
}

/// An installation without symbols for debuggers, in a folder that packages are made of.
fn staged() -> Result<PathBuf> {
    tools::need(&[Tool::Binutils])?;
    let stage = folder().join("stage");
    // A file of an older version would stay in the packages.
    remove(&stage)?;
    install::into(&stage)?;
    for file in binaries(&stage)? {
        run(Command::new("strip").arg("--strip-unneeded").arg(&file))?;
    }
    Ok(stage)
}

/// The programs and libraries of an installation, links left out.
fn binaries(prefix: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for below in ["bin", "lib", "lib/isthmus"] {
        for path in entries(&prefix.join(below))? {
            let is_file = path.symlink_metadata().is_ok_and(|data| data.is_file());
            if is_file && is_elf(&path)? {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn is_elf(path: &Path) -> Result<bool> {
    use std::io::Read;
    let mut magic = [0; 4];
    let mut file = std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    Ok(file.read(&mut magic).is_ok_and(|length| length == 4) && magic == *b"\x7fELF")
}

/// The entries of a folder, in order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    Ok(entries)
}

/// The newest version of glibc that any of the binaries asks for, as (major, minor): a system with an older one does not load it.
fn glibc(prefix: &Path) -> Result<(u32, u32)> {
    let mut newest = (2, 0);
    for file in binaries(prefix)? {
        let text = run(Command::new("readelf").args(["-V", "-W"]).arg(&file))?;
        newest = versions(&text).max().unwrap_or(newest).max(newest);
    }
    Ok(newest)
}

fn versions(text: &str) -> impl Iterator<Item = (u32, u32)> {
    text.split("GLIBC_").skip(1).filter_map(|rest| {
        let mut numbers = rest.split(|letter: char| !letter.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    })
}

fn remove(folder: &Path) -> Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Run it, and give what it printed.
fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_glibc_is_found() {
        let text = "Name: GLIBC_2.2.5  Flags: none\nName: GLIBC_2.34 Flags: none\nGLIBC_2.4";
        assert_eq!(versions(text).max(), Some((2, 34)));
    }
}
