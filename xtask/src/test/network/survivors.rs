//! Ranks of several nodes that go on when others fail, or do not.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{Job, SOON, wait};
use crate::process::quiet;

/// Of `survive.c`, each with ranks on each node.
const SURVIVED: [(&str, usize); 10] = [
    ("point_to_point", 1),
    ("point_to_point", 2),
    ("anybody", 2),
    ("collectives", 1),
    ("collectives", 2),
    ("collectives", 3),
    ("revoked", 1),
    ("revoked", 2),
    ("many_revoked", 2),
    ("cascade", 2),
];
/// Of `win_killed.c`.
const WINDOWS: [&str; 6] = ["locks", "operations", "swaps", "holder", "posts", "fences"];

/// How a job with deaths has ended.
pub(super) struct Ended {
    code: Option<i32>,
    survivors: usize,
    said: String,
}

impl Ended {
    fn deaths(&self) -> usize {
        self.said.matches(" was killed by signal 9 (Killed)").count()
    }
}

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    suite.step("ranks of 2 nodes go on when others fail", || {
        SURVIVED.iter().try_for_each(|&(scenario, ranks)| {
            let ended = job.survive("survive", ranks, &[scenario])?;
            job.all_account_for(&ended, 2 * ranks, scenario)
        })
    });
    suite.step("collectives of any kind on 2 nodes end when ranks are killed", || {
        // Each run has three kinds of collectives in turn, from that of its seed on.
        (1..=18).step_by(if job.full { 1 } else { 3 }).try_for_each(|seed| {
            let ended = job.survive("bad_collectives", 2, &["killed", &seed.to_string()])?;
            ensure!(ended.survivors == 1, "seed {seed}: {}", ended.said);
            job.all_account_for(&ended, 4, &format!("seed {seed}"))
        })
    });
    suite.step("windows on 2 nodes end when a rank is killed", || {
        WINDOWS.iter().try_for_each(|scenario| {
            let ended = job.survive("win_killed", 2, &[scenario, "1"])?;
            // That a lock is free again may be said, too.
            ensure!(
                ended.code == Some(137) && ended.deaths() == 1 && ended.survivors == 3,
                "{scenario}: {:?}, {} survived:\n{}",
                ended.code,
                ended.survivors,
                ended.said
            );
            Ok(())
        })
    });
    suite.step(
        "a rank of another node that does not want to go on ends the job",
        || job.unwilling(),
    );
    suite.step("ranks go on when a whole node is lost", || job.lost_node(false));
    let reads = "ranks go on when a node falls silent out of whose memory they read";
    match job.reads() {
        Ok(true) => {
            suite.step(reads, || job.lost_node(true));
        }
        _ => suite.skip(reads, "libfabric has no provider net here"),
    }
}

impl Job<'_> {
    fn survive(&self, program: &str, ranks: usize, arguments: &[&str]) -> Result<Ended> {
        let mut run = self.mpiexec(ranks);
        run.arg(self.compile(program)?).args(arguments);
        self.ended(&mut run)
    }

    /// What became of it, once nothing is left of it.
    pub(super) fn ended(&self, run: &mut Command) -> Result<Ended> {
        let output = run.stdin(Stdio::null()).output().context("cannot run mpiexec")?;
        self.nodes.emptied()?;
        let out = String::from_utf8_lossy(&output.stdout);
        Ok(Ended {
            code: output.status.code(),
            survivors: out.lines().filter(|line| *line == "survived").count(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }

    /// Each rank has died, and that was said, or has survived; and nothing else was said.
    pub(super) fn all_account_for(&self, ended: &Ended, ranks: usize, what: &str) -> Result<()> {
        let deaths = ended.deaths();
        let lines = ended.said.lines().count();
        ensure!(
            ended.code == Some(137) && deaths + ended.survivors == ranks && ended.survivors > 0 && lines == deaths,
            "{what}: code {:?}, {} survived:\n{}",
            ended.code,
            ended.survivors,
            ended.said
        );
        Ok(())
    }

    fn unwilling(&self) -> Result<()> {
        // With one rank a node, and with another beside the one that dies and the one that does not want to.
        for ranks in [1, 2] {
            let ended = self.survive("survive", ranks, &["unwilling"])?;
            ensure!(
                ended.code == Some(137) && ended.deaths() == 1 && ended.said.contains("; ending the job"),
                "unwilling: {:?}:\n{}",
                ended.code,
                ended.said
            );
            let ended = self.survive("survive", ranks, &["fatal"])?;
            let said = ended.said.contains("rank 0: MPI_Recv: MPIX_ERR_PROC_FAILED");
            ensure!(
                ended.code.is_some_and(|code| code != 0) && ended.deaths() == 1 && said,
                "fatal: {:?}:\n{}",
                ended.code,
                ended.said
            );
        }
        Ok(())
    }

    /// `is_silent`: its link is cut before, while long messages come from it.
    fn lost_node(&self, is_silent: bool) -> Result<()> {
        let (scenario, ranks) = if is_silent {
            ("lost_messages", 1)
        } else {
            ("lost_node", 2)
        };
        let mut run = self.mpiexec(ranks);
        if is_silent {
            run.env("ISTHMUS_FABRIC", "net");
        }
        run.arg(self.compile("survive")?).arg(scenario);
        run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mpiexec = run.spawn().context("cannot start mpiexec")?;
        wait("the ranks are not connected", || self.nodes.are_connected())?;
        let daemon = self.last_daemon()?;
        if is_silent {
            // In the middle of the messages.
            std::thread::sleep(Duration::from_millis(300));
            self.nodes.link(2, false)?;
        }
        let killed = quiet(Command::new("kill").args(["-9", &daemon.to_string()]), SOON);
        let output = mpiexec.wait_with_output().context("cannot wait for mpiexec");
        if is_silent {
            self.nodes.link(2, true)?;
        }
        killed?;
        let output = output?;
        let said = String::from_utf8_lossy(&output.stderr);
        let out = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.code() == Some(1)
                && out.lines().filter(|line| *line == "survived").count() == ranks
                && said.contains("the others go on without its ranks"),
            "{}:\n{out}\n{said}",
            output.status
        );
        self.nodes.emptied()
    }
}
