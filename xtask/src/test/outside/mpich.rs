//! What MPICH's and others' packages say of the C surface, and what MPICH's wrapper compiles.

use std::path::Path;
use std::process::Command;

use super::super::suite::Suite;
use super::python::Environment;
use super::{RUN, mpiexec};
use crate::process::{quiet, root};

/// The C surface against what others say of it, and programs compiled by MPICH's wrapper for the standard ABI.
pub fn run(suite: &mut Suite, prefix: &Path) {
    const PROGRAMS: [&str; 4] = ["point_to_point", "collectives", "communicators", "attributes"];
    let environment = Environment::new("mpich");
    let install = || {
        environment
            .make()
            .and_then(|()| environment.install("mpich", &["mpich==5.0.2", "pympistandard==0.2.0"], &[]))
    };
    if !suite.step("MPICH and pympistandard (wheels) install", install) {
        return;
    }
    suite.step("prototypes, constants, symbols, interception, garbage handles", || {
        let mut check = Command::new(environment.program("python"));
        quiet(check.arg(root().join("tests/abi/check.py")).arg(prefix), RUN).map(drop)
    });
    suite.step("programs compiled by MPICH's mpicc_abi run on our library", || {
        PROGRAMS.iter().try_for_each(|name| {
            let program = environment.folder.join(name);
            let mut compile = Command::new(environment.program("mpicc_abi"));
            compile.arg("-O2").arg("-o").arg(&program);
            compile
                .arg(root().join("tests/programs").join(name).with_extension("c"))
                .arg("-lm");
            quiet(&mut compile, RUN)?;
            quiet(mpiexec(prefix, 4).arg(&program), RUN).map(drop)
        })
    });
}
