//! Connections between ranks that break after they were made.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};

use super::super::suite::Suite;
use super::{Job, Nodes, OWN, SOON, ip, wait};
use crate::process::{quiet, target};

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    let names = [
        "a connection that is reset while nothing is under way is made again, or missed",
        "a connection that is reset again and again ends the job with a line",
        "of two ranks whose connection breaks where errors return one ends",
        "puts and gets over a connection that is reset again and again go on, or end the job with a line",
    ];
    if !can_reset(job.nodes) {
        let why = "ss(8) does not close connections here (iproute2, and a kernel with CONFIG_INET_DIAG_DESTROY)";
        return names.iter().for_each(|name| suite.skip(name, why));
    }
    suite.step(names[0], || idle(job));
    suite.step(names[1], || ends(job));
    suite.step(names[2], || returns(job));
    suite.step(names[3], || puts(job));
    suite.step("a cut of 5 s between two that talk costs time only", || cut(job));
}

/// A job whose connection was reset ends so soon after the last message that came over it. It is told within 3 s; here connections are reset again
/// meanwhile.
const TOLD: Duration = Duration::from_secs(6);

/// Every connection between the first two nodes is reset.
fn reset(nodes: &Nodes) -> Result<()> {
    let mut kill = Command::new("ip");
    kill.args(["netns", "exec", &nodes.names[1], "ss", "-K", "dst", &nodes.address(1)]);
    quiet(&mut kill, SOON).map(drop)
}

/// Is a connection of this machine's own gone once it is closed?
fn can_reset(nodes: &Nodes) -> bool {
    let Ok(listener) = TcpListener::bind((nodes.address(OWN), 0)) else {
        return false;
    };
    let Ok(port) = listener.local_addr().map(|address| address.port()) else {
        return false;
    };
    let Ok(mut one) = TcpStream::connect((nodes.address(OWN), port)) else {
        return false;
    };
    let kill = quiet(Command::new("ss").args(["-K", "dport", "=", &port.to_string()]), SOON);
    kill.is_ok() && one.write_all(b"x").is_err()
}

fn folder() -> std::path::PathBuf {
    target().join("test/network/broken")
}

/// The program, when both ranks have talked and wait to be told to [`go`].
fn start(job: &Job<'_>, how: &str) -> Result<Child> {
    let program = job.compile("broken_link")?;
    // What an earlier one has left.
    let _ = std::fs::remove_dir_all(folder());
    std::fs::create_dir_all(folder()).context("cannot make a folder")?;
    let mut child = job
        .mpiexec(1)
        .arg(program)
        .arg(folder())
        .arg(how)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start mpiexec")?;
    let are_ready = || (0..2).all(|rank| folder().join(format!("ready-{rank}")).exists());
    let ended = |child: &mut Child| child.try_wait().is_ok_and(|status| status.is_some());
    let waited = wait("the ranks have not talked", || are_ready() || ended(&mut child));
    if are_ready() {
        return Ok(child);
    }
    // It may have ended.
    let _ = child.kill();
    let (output, text) = end(job, child)?;
    waited?;
    bail!(
        "the ranks have not talked, mpiexec ended with {}:\n{text}",
        output.status
    )
}

fn go() -> Result<()> {
    tell("go")
}

/// To go, or to stop.
fn tell(what: &str) -> Result<()> {
    std::fs::write(folder().join(what), "").context("cannot write a file")
}

fn end(job: &Job<'_>, child: Child) -> Result<(Output, String)> {
    let output = child.wait_with_output().context("cannot wait for mpiexec")?;
    let ended = SystemTime::now();
    // Ranks that were there note each message.
    let last = |rank| folder().join(format!("last-{rank}")).metadata().ok()?.modified().ok();
    if let Some(last) = (0..2).filter_map(last).max() {
        let took = ended.duration_since(last).unwrap_or_default();
        ensure!(
            output.status.success() || took <= TOLD,
            "it takes {took:?} to tell:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    job.nodes.emptied()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output, text))
}

fn idle(job: &Job<'_>) -> Result<()> {
    let child = start(job, "once")?;
    ensure!(job.nodes.are_connected(), "no connection");
    reset(job.nodes)?;
    wait("the connection is still there", || !job.nodes.are_connected())?;
    go()?;
    let (output, text) = end(job, child)?;
    // The provider may not know that it is gone when it is handed the first frame, and says nothing of a short one.
    match output.status.success() {
        true => Ok(()),
        false => says_so(&output, &text),
    }
}

/// Reset until the job has ended, as it must: what a socket had taken is lost sooner or later.
fn reset_until_over(job: &Job<'_>, how: &str) -> Result<(Output, String)> {
    let mut child = start(job, how)?;
    go()?;
    let mut failed = Ok(());
    let ended = wait("the job still runs", || {
        failed = reset(job.nodes);
        failed.is_err() || child.try_wait().is_ok_and(|status| status.is_some())
    });
    if ended.is_err() || failed.is_err() {
        child.kill().context("cannot end mpiexec")?;
    }
    let result = end(job, child)?;
    failed?;
    ended.with_context(|| result.1.clone())?;
    Ok(result)
}

fn ends(job: &Job<'_>) -> Result<()> {
    let (output, text) = reset_until_over(job, "always")?;
    says_so(&output, &text)
}

/// A line or two: each end may have found it out.
fn says_so(output: &Output, text: &str) -> Result<()> {
    ensure!(
        output.status.code() == Some(1),
        "mpiexec ended with {}:\n{text}",
        output.status
    );
    let says = |line: &&str| line.contains(" on host ") && line.contains(": is the link up, and no");
    let found = text.lines().filter(says).count();
    ensure!((1..=2).contains(&found), "it says:\n{text}");
    Ok(())
}

/// Pieces of puts and gets are made again, so it may be that nothing is lost.
fn puts(job: &Job<'_>) -> Result<()> {
    const LONG_ENOUGH: Duration = Duration::from_secs(5);
    let mut child = start(job, "puts")?;
    go()?;
    let began = Instant::now();
    let has_ended = |child: &mut Child| child.try_wait().is_ok_and(|status| status.is_some());
    while began.elapsed() < LONG_ENOUGH && !has_ended(&mut child) {
        if let Err(error) = reset(job.nodes) {
            child.kill().context("cannot end mpiexec")?;
            return Err(error);
        }
    }
    tell("stop")?;
    let ended = wait("the job still runs", || has_ended(&mut child));
    if ended.is_err() {
        child.kill().context("cannot end mpiexec")?;
    }
    let (output, text) = end(job, child)?;
    ended.with_context(|| text.clone())?;
    match output.status.success() {
        true => Ok(()),
        false => says_so(&output, &text),
    }
}

fn returns(job: &Job<'_>) -> Result<()> {
    let (output, text) = reset_until_over(job, "returns")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.code() == Some(1) && said.matches("parted").count() == 1,
        "mpiexec ended with {}:\n{said}\n{text}",
        output.status
    );
    let says = ["so that rank is ended and the others go on", "was killed by signal 9"];
    ensure!(says.iter().all(|part| text.contains(part)), "it says:\n{text}");
    Ok(())
}

fn cut(job: &Job<'_>) -> Result<()> {
    let mut child = job.long_program()?;
    let port = job.nodes.port(2);
    ip(&format!("link set {port} down"))?;
    std::thread::sleep(Duration::from_secs(5));
    let was_cut = job.still_runs(&mut child);
    ip(&format!("link set {port} up"))?;
    was_cut?;
    job.ends_well(child)
}
