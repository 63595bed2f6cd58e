//! Where this Isthmus is installed: known from the executable's own place, so the prefix may be moved.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// An installation.
#[derive(Debug, Clone)]
pub struct Prefix(PathBuf);

impl Prefix {
    /// The one that this executable belongs to.
    pub fn own() -> Result<Self> {
        let executable = std::env::current_exe().context("cannot tell where this executable is")?;
        let prefix = executable.parent().and_then(|bin| bin.parent());
        let prefix = prefix.context("this executable is not in a bin directory")?.to_owned();
        ensure!(
            prefix.join("bin/mpiexec").exists(),
            "{} is not an installation of Isthmus (no bin/mpiexec); `cargo xtask install` makes one",
            prefix.display()
        );
        Ok(Self(prefix))
    }

    /// One that is made up.
    #[cfg(test)]
    pub fn at(root: PathBuf) -> Self {
        Self(root)
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// Where the Fortran modules of this version are, in a folder for each compiler.
    pub fn fortran_modules(&self) -> PathBuf {
        self.libraries().join("isthmus/fortran").join(env!("CARGO_PKG_VERSION"))
    }

    /// A command of this installation.
    pub fn command(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }

    /// Where the libraries are.
    pub fn libraries(&self) -> PathBuf {
        self.0.join("lib")
    }

    /// The sources of the Fortran modules.
    pub fn fortran_sources(&self) -> PathBuf {
        self.0.join("share/isthmus/fortran")
    }

    /// The C programs of the experiments.
    pub fn bench_sources(&self) -> PathBuf {
        self.0.join("share/isthmus/bench")
    }
}
