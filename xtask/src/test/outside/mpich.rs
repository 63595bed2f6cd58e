//! What MPICH's and others' packages say of the C surface, and what MPICH's wrapper compiles.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;

use super::super::suite::Suite;
use super::python::Environment;
use super::{RUN, mpiexec};
use crate::process::{quiet, root};

/// The C surface against what others say of it, and programs compiled by MPICH's wrapper for the standard ABI.
pub fn run(suite: &mut Suite, prefix: &Path) {
    const PROGRAMS: [&str; 4] = ["point_to_point", "collectives", "communicators", "attributes"];
    let Some(environment) = wheels(suite) else { return };
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
    suite.step(
        "programs compiled by our mpicc for both of its ABIs run on MPICH's library",
        || {
            ["standard", "mpich"].iter().try_for_each(|abi| {
                let program = environment.folder.join(format!("each_abi-{abi}"));
                let mut compile = Command::new(prefix.join("bin/mpicc"));
                compile.arg(format!("-abi={abi}")).arg("-o").arg(&program);
                quiet(compile.arg(root().join("tests/abi/each_abi.c")), RUN)?;
                let mut run = Command::new(environment.program("mpiexec"));
                // Its path to our libraries is a RUNPATH, before which this comes.
                run.env("LD_LIBRARY_PATH", environment.folder.join("lib"));
                let text = quiet(run.args(["-n", "2"]).arg(&program), RUN)?;
                ensure!(!text.contains("Isthmus"), "it ran on ours:\n{text}");
                Ok(())
            })
        },
    );
    suite.step("the same programs started by MPICH's own launcher (PMI-1)", || {
        PROGRAMS
            .iter()
            .try_for_each(|name| quiet(&mut hydra(&environment, prefix, name, &[]), RUN).map(drop))
    });
    suite.step("MPICH's own launcher inside a rank of ours starts one job", || {
        let program = environment.folder.join("act");
        compile_act(prefix, &program)?;
        let mut run = mpiexec(prefix, 1);
        run.args(["--timeout", "60"])
            .arg(environment.program("mpiexec"))
            .args(["-n", "4"]);
        let output = run.arg(&program).args(["3", "abort=7"]).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(text.contains("rank 3 gives up"), "{}: {text}", output.status);
        Ok(())
    });
    suite.step("aborts and deaths under MPICH's own launcher", || {
        let act = environment.folder.join("act");
        compile_act(prefix, &act)?;
        // Which code the job ends with is the launcher's choice.
        for (act, said) in [
            (["1", "abort=7"], "MPI_Abort"),
            (["1", "exit=3"], "ended without calling MPI_Finalize"),
            (["1", "exit=0"], "ended without calling MPI_Finalize"),
        ] {
            let output = hydra(&environment, prefix, "act", &act).output()?;
            let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
            ensure!(
                !output.status.success() && text.contains(said),
                "{act:?}: {}: {text}",
                output.status
            );
        }
        Ok(())
    });
}

/// What Python's packages have of MPICH, installed. `None`: it cannot be.
pub fn wheels(suite: &mut Suite) -> Option<Environment> {
    let environment = Environment::new("mpich");
    let install = || {
        environment
            .make()
            .and_then(|()| environment.install("mpich", &["mpich==5.0.2", "pympistandard==0.2.0"], &[]))
    };
    suite
        .step("MPICH and pympistandard (wheels) install", install)
        .then_some(environment)
}

fn compile_act(prefix: &Path, program: &Path) -> anyhow::Result<()> {
    let mut compile = Command::new(prefix.join("bin/mpicc"));
    compile.arg("-o").arg(program).arg(root().join("tests/programs/act.c"));
    quiet(&mut compile, RUN).map(drop)
}

/// A program on 4 ranks by the launcher of the wheel, which finds our library.
fn hydra(environment: &Environment, prefix: &Path, name: &str, arguments: &[&str]) -> Command {
    let mut run = Command::new(environment.program("mpiexec"));
    run.args(["-n", "4"]).arg(environment.folder.join(name)).args(arguments);
    run.env("LD_LIBRARY_PATH", prefix.join("lib"));
    run
}
