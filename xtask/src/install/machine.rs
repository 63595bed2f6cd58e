//! The kind of machine that an installation is for.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::target;

/// By default the machine that builds.
#[derive(Debug, Default)]
pub struct Machine {
    /// As Rust names it.
    triple: Option<String>,
}

impl Machine {
    /// A kind that Rust has this name for.
    pub fn named(triple: String) -> Self {
        Self { triple: Some(triple) }
    }

    /// Is it the machine that builds?
    pub fn is_this(&self) -> bool {
        self.triple.is_none()
    }

    /// Tell cargo what to build for, and to link by the C compiler that `CC` names.
    pub fn tell<'a>(&self, cargo: &'a mut Command) -> &'a mut Command {
        if let Some(triple) = &self.triple {
            cargo.args(["--target", triple]);
            if let Some(compiler) = std::env::var_os("CC") {
                cargo.env(Self::variable(triple, "LINKER"), compiler);
            }
        }
        cargo
    }

    /// Where cargo and compilers leave what they make for it.
    pub fn outputs(&self) -> PathBuf {
        match &self.triple {
            None => target(),
            Some(triple) => target().join(triple),
        }
    }

    /// A program that was built for it, as it is run here: by the emulator that cargo's variable names. `None`: there is none.
    pub fn run(&self, program: &Path) -> Option<Command> {
        let Some(triple) = &self.triple else {
            return Some(Command::new(program));
        };
        let runner = std::env::var(Self::variable(triple, "RUNNER")).ok()?;
        let mut words = runner.split_whitespace();
        let mut command = Command::new(words.next()?);
        command.args(words).arg(program);
        Some(command)
    }

    fn variable(triple: &str, what: &str) -> String {
        let name = triple.replace(['-', '.'], "_").to_uppercase();
        format!("CARGO_TARGET_{name}_{what}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_variables_are_named() {
        assert_eq!(
            Machine::variable("aarch64-unknown-linux-gnu", "RUNNER"),
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER"
        );
        assert!(Machine::default().run(Path::new("true")).is_some());
    }
}
