//! The link is cut before two ranks have ever talked with each other.

use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::{Job, RUN, ip, wait};
use crate::process::{quiet, target};

/// How the way from the first node to the second is cut.
#[derive(Debug, Clone, Copy)]
pub enum Cut {
    /// The kernel refuses to send anything.
    Route,
    /// A message that is never answered.
    Link,
}

impl Cut {
    fn set(self, job: &Job, cut: bool) -> Result<()> {
        let route = match cut {
            true => "add",
            false => "del",
        };
        let (first, second) = (&job.nodes.names[0], job.nodes.address(2));
        match self {
            Self::Link => return job.nodes.link(2, !cut),
            Self::Route => ip(&format!("-n {first} route {route} unreachable {second}/32"))?,
        }
        match cut {
            true => Ok(()),
            false => job.nodes.is_back(2),
        }
    }
}

/// It comes back after a second: that costs time only.
pub fn comes_back(job: &Job, cut: Cut) -> Result<()> {
    let child = first_message(job, 60_000, None)?;
    cut.set(job, true)?;
    let told = go();
    std::thread::sleep(Duration::from_secs(1));
    cut.set(job, false)?;
    told?;
    succeeds(job, child)
}

/// It never does: the job ends, with one line that says who cannot reach whom.
pub fn stays_away(job: &Job, cut: Cut) -> Result<()> {
    let child = first_message(job, 500, None)?;
    cut.set(job, true)?;
    let told = go();
    let output = child.wait_with_output().context("cannot wait for mpiexec");
    cut.set(job, false)?;
    told?;
    let output = output?;
    let text = String::from_utf8_lossy(&output.stderr);
    // A rank of the second node may see its daemon killed, which could not be told of the end, before it is killed itself.
    let lines = text.lines().filter(|line| !line.contains("rank 1: mpiexec is gone"));
    ensure!(
        output.status.code() == Some(1),
        "mpiexec ended with {}:\n{text}",
        output.status
    );
    let says =
        text.contains("rank 0 on host ") && text.contains(&format!("rank 1 on node 1 at {}:", job.nodes.address(2)));
    ensure!(
        says && text.contains("cannot be reached") && lines.count() == 1,
        "it says:\n{text}"
    );
    job.nodes.emptied()
}

/// The link is well, but the other computes for longer than an unreachable one is tried.
pub fn computes(job: &Job) -> Result<()> {
    let child = first_message(job, 500, Some("2000"))?;
    go()?;
    succeeds(job, child)
}

/// The first frame is lost silently, and its sender computes.
pub fn is_lost(job: &Job) -> Result<()> {
    for fault in [
        "frame:LOST:times=1",
        "frame:LOST:times=2",
        "frame:LOST:times=1:rank=0",
        "frame:LOST:times=1:rank=1",
        "frame:LOST:after=1:times=1",
    ] {
        let _ = std::fs::remove_dir_all(folder());
        std::fs::create_dir_all(folder()).context("cannot make a folder")?;
        let mut run = job.tuned("first_frames", 1, &[])?;
        quiet(run.arg(folder()).env("ISTHMUS_FAULT", fault), RUN).context(fault)?;
        job.nodes.emptied()?;
    }
    Ok(())
}

/// The provider does not take the peer's address, as often as it is tried: that is said.
pub fn is_refused(job: &Job) -> Result<()> {
    let _ = std::fs::remove_dir_all(folder());
    std::fs::create_dir_all(folder()).context("cannot make a folder")?;
    go()?;
    let mut run = job.tuned("first_message", 1, &["connect_timeout_ms=500"])?;
    run.arg(folder()).env("ISTHMUS_FAULT", "address:DAMAGED:rank=0");
    let output = run.stdin(Stdio::null()).output().context("cannot start mpiexec")?;
    let text = String::from_utf8_lossy(&output.stderr);
    let says = [
        "rank 0 on host ",
        "rank 1 on node 1 at ",
        " cannot be reached: fi_av_insert: ",
    ];
    ensure!(
        output.status.code() == Some(1) && says.iter().all(|part| text.contains(part)),
        "mpiexec ended with {}:\n{text}",
        output.status
    );
    job.nodes.emptied()
}

/// Later ones are lost silently, over a connection that has proved good: short ones, long ones, and the last.
pub fn is_lost_later(job: &Job) -> Result<()> {
    for (program, fault) in [
        ("many_frames", "frame:LOST:after=100:times=1:rank=1"),
        ("many_frames", "frame:LOST:after=100:times=3"),
        ("many_frames", "frame:LOST:after=1999:times=3:rank=0"),
        ("flood", "frame:LOST:after=20:times=2"),
        ("point_to_point", "frame:LOST:after=40:times=2"),
    ] {
        let mut run = job.tuned(program, 1, &[])?;
        quiet(run.env("ISTHMUS_FAULT", fault), RUN).with_context(|| format!("{program}, {fault}"))?;
        job.nodes.emptied()?;
    }
    Ok(())
}

fn succeeds(job: &Job, child: Child) -> Result<()> {
    let output = child.wait_with_output().context("cannot wait for mpiexec")?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "mpiexec ended with {}:\n{text}", output.status);
    job.nodes.emptied()
}

fn folder() -> std::path::PathBuf {
    target().join("test/network/first")
}

/// The program, when both of its ranks wait to be told to [`go`].
fn first_message(job: &Job, timeout_ms: u32, computes: Option<&str>) -> Result<Child> {
    let program = job.compile("first_message")?;
    // What an earlier one has left.
    let _ = std::fs::remove_dir_all(folder());
    std::fs::create_dir_all(folder()).context("cannot make a folder")?;
    let mut child = job
        .mpiexec(1)
        .args(["--set", &format!("connect_timeout_ms={timeout_ms}")])
        .arg(program)
        .arg(folder())
        .args(computes)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start mpiexec")?;
    let are_ready = || (0..2).all(|rank| folder().join(format!("ready-{rank}")).exists());
    wait("the ranks are not there", are_ready).inspect_err(|_| drop(child.kill()))?;
    Ok(child)
}

fn go() -> Result<()> {
    std::fs::write(folder().join("go"), "").context("cannot write a file")
}
