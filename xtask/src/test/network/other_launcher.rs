//! Jobs on several nodes that MPICH's launcher starts: it tells the ranks of each other by PMI-1.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::outside::mpich::wheels;
use super::super::outside::python::Environment;
use super::super::suite::Suite;
use super::{Job, OWN, RUN};
use crate::process::{quiet, target};

/// Programs, and ranks that go to a node before the next one gets some: with 1, neighbours are on different nodes.
const PROGRAMS: [(&str, u32); 4] = [
    ("point_to_point", 1),
    ("collectives", 1),
    ("collectives", 2),
    ("win_random", 2),
];

/// A command with the arguments of `ssh`.
const REMOTE_SHELL: &str = "#!/bin/sh
while [ \"${1#-}\" != \"$1\" ]; do shift; done
host=$1
shift
exec ip netns exec \"$host\" unshare --ipc --mount --pid --fork --kill-child --mount-proc sh -c \"$*\"
";

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    let Some(environment) = wheels(suite) else { return };
    suite.step("programs on 2 nodes started by MPICH's own launcher (PMI-1)", || {
        PROGRAMS.iter().try_for_each(|&(name, per_node)| {
            let program = job.compile(name)?;
            quiet(hydra(&environment, job, 4, per_node)?.arg(program), RUN)?;
            job.nodes.emptied()
        })
    });
    suite.step("deaths and aborts on 2 nodes under MPICH's own launcher", || {
        let program = job.compile("act")?;
        // Which code the job ends with is the launcher's choice if it notices first; 124 is that of timeout(1). With 2 ranks nobody is
        // left on the node of the one that dies.
        for (ranks, act, says) in [
            (
                4,
                ["1", "abort=7"],
                ["MPI_Abort: errorcode=7", "called MPI_Abort with code 7"],
            ),
            (4, ["1", "exit=3"], ["rank 1 (pid ", "EXIT CODE: "]),
            (4, ["2", "signal=9"], ["rank 2 (pid ", "Killed (signal 9)"]),
            (2, ["0", "exit=3"], ["rank 0 (pid ", "EXIT CODE: "]),
            (2, ["1", "signal=9"], ["rank 1 (pid ", "Killed (signal 9)"]),
        ] {
            let mut run = hydra(&environment, job, ranks, ranks / 2)?;
            let output = run.arg(&program).args(act).output()?;
            let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
            let ended = output.status;
            ensure!(
                !ended.success() && ended.code() != Some(124) && says.iter().any(|says| text.contains(says)),
                "{act:?} of {ranks}: {ended}: {text}"
            );
            job.nodes.emptied()?;
        }
        Ok(())
    });
}

/// So many ranks, by the launcher of the wheel, which finds our library.
fn hydra(environment: &Environment, job: &Job<'_>, ranks: u32, per_node: u32) -> Result<Command> {
    let shell: PathBuf = target().join("test/network/remote-shell");
    std::fs::write(&shell, REMOTE_SHELL).context("cannot write the remote shell")?;
    std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).context("chmod")?;
    let mut run = Command::new("timeout");
    run.arg("60").arg(environment.program("mpiexec"));
    run.args(["-launcher", "ssh", "-launcher-exec"]).arg(shell);
    run.args([
        "-localhost",
        &job.nodes.address(OWN),
        "-hosts",
        &job.nodes.names.join(","),
    ]);
    run.args(["-n", &ranks.to_string(), "-ppn", &per_node.to_string()]);
    run.env("LD_LIBRARY_PATH", job.prefix.join("lib"));
    Ok(run)
}
