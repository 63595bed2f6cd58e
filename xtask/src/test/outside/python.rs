//! Where Python's packages are installed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::{INSTALL, folder};
use crate::process::quiet;

/// A virtual environment of Python.
pub struct Environment {
    pub folder: PathBuf,
}

impl Environment {
    /// In `target/outside`.
    pub fn new(name: &str) -> Self {
        Self { folder: folder(name) }
    }

    /// A program that was installed in it.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// Make it, unless it is there.
    pub fn make(&self) -> Result<()> {
        if self.program("pip").exists() {
            return Ok(());
        }
        quiet(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&self.folder),
            INSTALL,
        )
        .map(drop)
    }

    /// Let pip install `what`, and remember that as `name`. What is there already, made under the same circumstances, is not
    /// asked for again.
    pub fn install(&self, name: &str, what: &[&str], variables: &[(&str, &str)]) -> Result<()> {
        let done = self.folder.join(format!("installed-{name}"));
        let wanted = format!("{what:?} {variables:?}");
        if std::fs::read_to_string(&done).is_ok_and(|text| text == wanted) {
            return Ok(());
        }
        quiet(self.pip("install").args(what).envs(variables.iter().copied()), INSTALL)?;
        std::fs::write(&done, wanted).with_context(|| format!("cannot write {}", done.display()))
    }

    /// One of pip's commands.
    pub fn pip(&self, command: &str) -> Command {
        let mut pip = Command::new(self.program("python"));
        pip.args(["-m", "pip", command, "--quiet", "--disable-pip-version-check"]);
        pip
    }
}
