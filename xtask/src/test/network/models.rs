//! OpenSHMEM, ARMCI and Global Arrays on two nodes: the programs that show them on one.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::super::suite::Suite;
use super::{Job, RUN};
use crate::process::{quiet, root, target};

/// A model: the compiler, what programs are linked with, the folder, and the programs.
const MODELS: [(&str, &[&str], &str, &[&str]); 3] = [
    (
        "oshcc",
        &["-lm"],
        "shmem",
        &[
            "basics",
            "examples",
            "order",
            "collectives",
            "every_routine",
            "histories",
            "computing",
        ],
    ),
    (
        "mpicc",
        &["-larmci", "-lm"],
        "armci",
        &[
            "operations",
            "synchronization",
            "random",
            "messages",
            "entries",
            "mixed",
        ],
    ),
    (
        "mpicc",
        &["-lga", "-larmci", "-lm"],
        "ga",
        &[
            "arrays", "elements", "groups", "margins", "inquiry", "matrices", "sparse", "random", "taken", "started",
        ],
    ),
];

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    for (compiler, libraries, folder, programs) in MODELS {
        for name in programs {
            suite.step(&format!("{folder}/{name} on 2 nodes x 2"), || {
                quiet(
                    job.mpiexec(2).arg(compile(job, compiler, libraries, folder, name)?),
                    RUN,
                )?;
                job.nodes.emptied()
            });
        }
    }
    suite.step(
        "shmem/order on 2 nodes x 2, where every put and get that can go by RMA does",
        || {
            let (compiler, libraries, folder, _) = MODELS[0];
            let mut run = job.mpiexec(2);
            run.args(["--set", "network_rma=1"]);
            quiet(run.arg(compile(job, compiler, libraries, folder, "order")?), RUN)?;
            job.nodes.emptied()
        },
    );
}

/// A program of a model's folder.
pub(super) fn compile_of(job: &Job<'_>, folder: &str, name: &str) -> Result<PathBuf> {
    let of_folder = MODELS.iter().find(|model| model.2 == folder);
    let (compiler, libraries, ..) = of_folder.context("no such model")?;
    compile(job, compiler, libraries, folder, name)
}

fn compile(job: &Job<'_>, compiler: &str, libraries: &[&str], folder: &str, name: &str) -> Result<PathBuf> {
    let source = root().join("tests").join(folder).join(format!("{name}.c"));
    let program = target().join("test/network").join(format!("{folder}_{name}"));
    let mut compile = Command::new(job.prefix.join("bin").join(compiler));
    compile.args(["-std=gnu11", "-O1", "-pthread", "-o"]).arg(&program);
    quiet(compile.arg(source).args(libraries), RUN)?;
    Ok(program)
}
