//! A tree of daemons: 8 nodes, of which `mpiexec` and each branch start 2. A process that enters a node stays in the process namespace of this
//! machine, so that nothing but the launcher itself ends what it has started.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{Job, Nodes, RUN, SOON, wait};
use crate::process::{quiet, target};

const NODES: u32 = 8;

const LAUNCHER: &str = "#!/bin/sh
host=$1
shift
exec ip netns exec \"$host\" \"$@\"
";

struct Tree<'a> {
    job: Job<'a>,
    launcher: PathBuf,
}

/// All of it.
pub fn run(suite: &mut Suite, prefix: &Path, full: bool) {
    let nodes = match Nodes::make(NODES) {
        Ok(nodes) => nodes,
        Err(error) => return suite.skip("a tree of daemons", &format!("{error:#}")),
    };
    let job = Job {
        prefix,
        nodes: &nodes,
        full,
    };
    let launcher = target().join("test/network/enter-only");
    let tree = Tree { job, launcher };
    suite.step("a tree of daemons starts a job on 8 nodes, and is one", || {
        std::fs::write(&tree.launcher, LAUNCHER).context("cannot write the launcher")?;
        std::fs::set_permissions(&tree.launcher, std::fs::Permissions::from_mode(0o755)).context("chmod")?;
        tree.runs()
    });
    suite.step(
        "output, input, signals and exit codes go along a tree of daemons",
        || {
            tree.output()?;
            tree.signals()?;
            tree.dead_rank()
        },
    );
    suite.step("ranks of 8 nodes go on when others fail", || tree.survives());
    suite.step("a host that is not there is named by its branch", || {
        tree.unknown_host()
    });
    suite.step("nothing is left of a tree of daemons after kill -9 of a branch", || {
        tree.dead_branch()
    });
    suite.step("nothing is left of a tree of daemons after kill -9 of mpiexec", || {
        tree.dead_mpiexec()
    });
}

impl Tree<'_> {
    fn hosts(&self) -> String {
        self.job.nodes.names.join(",")
    }

    fn mpiexec(&self, hosts: &str) -> Command {
        let mut command = Command::new(self.job.prefix.join("bin/mpiexec"));
        command.env("ISTHMUS_FAN_OUT", "2");
        command.args(["--timeout", "100", "--host", hosts, "-n", &NODES.to_string()]);
        command.arg("--launcher").arg(&self.launcher);
        command
    }

    fn runs(&self) -> Result<()> {
        let program = self.job.compile("collectives")?;
        quiet(self.mpiexec(&self.hosts()).arg(program), RUN)?;
        self.job.nodes.emptied()
    }

    fn survives(&self) -> Result<()> {
        let program = self.job.compile("survive")?;
        for scenario in ["collectives", "revoked"] {
            let ended = self
                .job
                .ended(self.mpiexec(&self.hosts()).arg(&program).arg(scenario))?;
            self.job.all_account_for(&ended, NODES as usize, scenario)?;
        }
        Ok(())
    }

    fn output(&self) -> Result<()> {
        let mut child = self
            .mpiexec(&self.hosts())
            .args(["sh", "-c", "echo here is $ISTHMUS_RANK; test $ISTHMUS_RANK != 0 || cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start mpiexec")?;
        let mut input = child.stdin.take().context("no input")?;
        std::io::Write::write_all(&mut input, b"for rank 0\n").context("cannot write")?;
        drop(input);
        let output = child.wait_with_output().context("cannot wait for mpiexec")?;
        let mut lines: Vec<String> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort_unstable();
        let mut all: Vec<String> = (0..NODES).map(|rank| format!("here is {rank}")).collect();
        all.insert(0, "for rank 0".into());
        ensure!(output.status.success() && lines == all, "{}: {lines:?}", output.status);
        self.job.nodes.emptied()
    }

    /// Ranks that wait, but that one does something first.
    fn waiting(&self, rank: u32, does: &str) -> Result<Child> {
        let script = format!("test $ISTHMUS_RANK = {rank} && {does}; sleep 1000");
        let child = self
            .mpiexec(&self.hosts())
            .args(["sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        child.context("cannot start mpiexec")
    }

    fn all_wait(&self) -> Result<()> {
        wait("the ranks are not there", || self.job.sleepers() == NODES as usize)
            .with_context(|| format!("{:?}", self.job.nodes.processes()))
    }

    fn signals(&self) -> Result<()> {
        let mpiexec = self
            .mpiexec(&self.hosts())
            .args(["sh", "-c", "trap 'exit 7' USR1; sleep 1000 & wait"])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start mpiexec")?;
        self.all_wait()?;
        quiet(Command::new("kill").args(["-USR1", &mpiexec.id().to_string()]), SOON)?;
        self.job.ends_with(mpiexec, 7)
    }

    fn dead_rank(&self) -> Result<()> {
        self.job.ends_with(self.waiting(6, "kill -9 $$")?, 137)
    }

    fn unknown_host(&self) -> Result<()> {
        let hosts = self.hosts();
        let (known, _) = hosts.rsplit_once(',').context("one host")?;
        let mut run = self.mpiexec(&format!("{known},no-such-host"));
        self.job
            .ends_in_error(run.arg("true"), ["host no-such-host", "its launcher ended"])
    }

    fn dead_branch(&self) -> Result<()> {
        let mpiexec = self.waiting(99, "true")?;
        self.all_wait()?;
        let all = self.job.nodes.processes();
        let branches: Vec<u32> = all
            .iter()
            .filter(|(_, line)| line.contains("--branch"))
            .map(|(pid, _)| *pid)
            .collect();
        let is_of_branch = |pid: &&u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
            parent.is_some_and(|parent| branches.contains(&parent.trim().parse().unwrap_or(0)))
        };
        // One that another has started.
        let inner = branches.iter().find(is_of_branch).context("no branch of a branch")?;
        quiet(Command::new("kill").args(["-9", &inner.to_string()]), SOON)?;
        self.job.ends_with(mpiexec, 1)
    }

    fn dead_mpiexec(&self) -> Result<()> {
        let mut mpiexec = self.waiting(99, "true")?;
        self.all_wait()?;
        mpiexec.kill().context("cannot kill mpiexec")?;
        mpiexec.wait().context("cannot wait for mpiexec")?;
        self.job.nodes.emptied()
    }
}
