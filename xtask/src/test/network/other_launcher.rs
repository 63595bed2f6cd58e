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

/// What is called as `ssh` is.
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
            quiet(hydra(&environment, job, per_node)?.arg(program), RUN)?;
            job.nodes.emptied()
        })
    });
    suite.step("deaths and aborts on 2 nodes under MPICH's own launcher", || {
        let program = job.compile("act")?;
        // Which code the job ends with is the launcher's choice; 124 is that of timeout(1).
        // The launcher may have ended all before our own line is out, and says the same then.
        for (act, says) in [
            (
                ["1", "abort=7"],
                ["MPI_Abort: errorcode=7", "called MPI_Abort with code 7"],
            ),
            (["1", "exit=3"], ["rank 1 (pid ", "EXIT CODE: 3"]),
            (["2", "signal=9"], ["rank 2 (pid ", "Killed (signal 9)"]),
        ] {
            let output = hydra(&environment, job, 2)?.arg(&program).args(act).output()?;
            let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
            let ended = output.status;
            ensure!(
                !ended.success() && ended.code() != Some(124) && says.iter().any(|says| text.contains(says)),
                "{act:?}: {ended}: {text}"
            );
            job.nodes.emptied()?;
        }
        Ok(())
    });
}

/// 4 ranks, by the launcher of the wheel, which finds our library.
fn hydra(environment: &Environment, job: &Job<'_>, per_node: u32) -> Result<Command> {
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
    run.args(["-n", "4", "-ppn", &per_node.to_string()]);
    run.env("LD_LIBRARY_PATH", job.prefix.join("lib"));
    Ok(run)
}
