//! Packages: recipes are linted; wheel and Debian packages are made, installed, used and removed.

use std::path::Path;
use std::process::Command;

use super::super::suite::Suite;
use super::RUN;
use super::python::Environment;
use crate::package::{deb, wheel};
use crate::process::{quiet, root};
use crate::tools;

/// All of it. The packages are made of an installation of their own.
pub fn run(suite: &mut Suite) {
    let environment = Environment::new("packages");
    if suite.step("linters of recipes install", || {
        environment.make()?;
        environment.install("linters", &["py-rattler-build==0.73.0", "ruff"], &[])
    }) {
        suite.step("recipes for Conda and Spack are well-formed", || {
            let mut lint = Command::new(environment.program("python"));
            quiet(lint.arg(root().join("packaging/lint.py")), RUN).map(drop)
        });
    }
    suite.step(
        "a wheel goes with mpi4py and MPICH's wheel in one environment, and leaves nothing",
        || wheel::try_out(&wheel::make()?),
    );
    let name = "Debian's packages run its programs, and leave nothing";
    if !Path::new("/etc/debian_version").exists() || !tools::is_root() {
        suite.skip(name, "they are installed on Debian, by root");
        return;
    }
    suite.step(name, || deb::try_out(&deb::make()?).map(drop));
}
