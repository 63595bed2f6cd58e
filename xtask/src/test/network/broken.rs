//! Connections between ranks that break after they were made.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::super::suite::Suite;
use super::{Job, Nodes, OWN, SOON, ip, models, wait};
use crate::process::{quiet, target};

/// How the ranks of `broken_link.c` talk while their connection is reset again and again.
const TALKS: [&str; 4] = ["always", "puts", "counts", "collectives"];

/// Programs of other models, which do the same meanwhile.
const MODELS: [(&str, &str); 6] = [
    ("shmem", "order"),
    ("shmem", "collectives"),
    ("armci", "random"),
    ("armci", "operations"),
    ("ga", "random"),
    ("ga", "elements"),
];

/// The same, while a link is cut.
const CUT: [(&str, &str); 4] = [
    ("shmem", "histories"),
    ("shmem", "order"),
    ("armci", "random"),
    ("ga", "random"),
];

/// So long connections are reset, with pauses in which something may go.
fn under_load(job: &Job<'_>) -> Duration {
    Duration::from_millis(if job.full { 3000 } else { 600 })
}

const PAUSE: Duration = Duration::from_millis(40);
/// The same where there was no connection to reset.
const SHORT_PAUSE: Duration = Duration::from_millis(2);
/// It was reset often enough.
const ENOUGH: u32 = 5;

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    let idle_name = "a connection that is reset while nothing is under way is made again";
    let gone = "a connection that is reset, and cannot be made again, ends the job with a line";
    let parts = "of two ranks whose connection cannot be made again where errors return one ends";
    let talks = TALKS.map(|how| format!("{how} over a connection that is reset again and again arrive, once"));
    let models = MODELS.map(|(folder, name)| {
        format!("{folder}/{name} on 2 nodes x 2 over connections that are reset again and again")
    });
    if !can_reset(job.nodes) {
        let why = "ss(8) does not close connections here (iproute2, and a kernel with CONFIG_INET_DIAG_DESTROY)";
        let texts = talks.iter().chain(&models).map(String::as_str);
        return [idle_name, gone, parts]
            .into_iter()
            .chain(texts)
            .for_each(|name| suite.skip(name, why));
    }
    suite.step(idle_name, || idle(job));
    for (how, name) in TALKS.iter().zip(&talks) {
        suite.step(name, || goes_on(job, how));
    }
    for ((folder, program), name) in MODELS.iter().zip(&models) {
        suite.step(name, || model_goes_on(job, folder, program));
    }
    suite.step(gone, || ends(job));
    suite.step(parts, || returns(job));
    let cuts: &[u64] = if job.full { &[500, 5000] } else { &[500] };
    for &millis in cuts {
        suite.step(
            &format!("a cut of {millis} ms between two that talk costs time only"),
            || cut(job, Duration::from_millis(millis)),
        );
        for (folder, program) in CUT {
            suite.step(
                &format!("{folder}/{program} on 2 nodes x 2 over a link that is cut for {millis} ms ends well"),
                || model_is_cut(job, folder, program, Duration::from_millis(millis)),
            );
        }
    }
}

/// Every connection between the first two nodes is reset: how many there were.
fn reset(nodes: &Nodes) -> Result<u32> {
    let there = nodes.address(1);
    let mut kill = Command::new("ip");
    kill.args(["netns", "exec", &nodes.names[1], "ss", "-H", "-K", "dst", &there]);
    // It shows those that it has closed.
    let closed = quiet(&mut kill, SOON)?;
    Ok(closed.lines().filter(|line| line.contains(&there)).count() as u32)
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
        .args(["--set", "connect_timeout_ms=1000"])
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
    ensure!(output.status.success(), "mpiexec ended with {}:\n{text}", output.status);
    Ok(())
}

fn has_ended(child: &mut Child) -> bool {
    child.try_wait().is_ok_and(|status| status.is_some())
}

/// Reset for a while, or until it has ended. How often there was a connection to reset.
fn reset_for_a_while(job: &Job<'_>, child: &mut Child) -> Result<u32> {
    let (began, mut resets) = (Instant::now(), 0);
    // How often there is one depends on how fast it is made again.
    while (began.elapsed() < under_load(job) || resets <= ENOUGH && began.elapsed() < SOON) && !has_ended(child) {
        resets += u32::from(reset(job.nodes)? > 0);
        std::thread::sleep(PAUSE);
    }
    Ok(resets)
}

/// It ends well, and in time.
fn ends_well(job: &Job<'_>, mut child: Child, resets: Result<u32>) -> Result<()> {
    let ended = wait("the job still runs", || resets.is_err() || has_ended(&mut child));
    if ended.is_err() || resets.is_err() {
        child.kill().context("cannot end mpiexec")?;
    }
    let (output, text) = end(job, child)?;
    let resets = resets?;
    ended.with_context(|| text.clone())?;
    ensure!(output.status.success(), "mpiexec ended with {}:\n{text}", output.status);
    ensure!(resets > ENOUGH, "there were connections {resets} times only");
    Ok(())
}

fn goes_on(job: &Job<'_>, how: &str) -> Result<()> {
    let mut child = start(job, how)?;
    go()?;
    let resets = reset_for_a_while(job, &mut child);
    tell("stop")?;
    ends_well(job, child, resets)
}

/// Again and again, until it was reset often enough or for a while, but at least once: a program may be over before there is much to reset.
fn model_goes_on(job: &Job<'_>, folder: &str, program: &str) -> Result<()> {
    let program = models::compile_of(job, folder, program)?;
    let (began, mut resets) = (Instant::now(), 0);
    while resets < ENOUGH && began.elapsed() < under_load(job) || resets == 0 && began.elapsed() < SOON {
        let mut run = job.mpiexec(2);
        run.arg(&program)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = run.spawn().context("cannot start mpiexec")?;
        let reset = reset_meanwhile(job, &mut child, began, &mut resets);
        let has_ended = has_ended(&mut child);
        if !has_ended {
            child.kill().context("cannot end mpiexec")?;
        }
        let (output, text) = end(job, child)?;
        reset?;
        ensure!(has_ended, "the job still runs after {} s:\n{text}", SOON.as_secs());
        ensure!(output.status.success(), "mpiexec ended with {}:\n{text}", output.status);
    }
    ensure!(resets > 0, "nothing was reset in {} s", SOON.as_secs());
    Ok(())
}

/// While it runs, for a while since it first `began`, or until something was reset.
fn reset_meanwhile(job: &Job<'_>, child: &mut Child, began: Instant, resets: &mut u32) -> Result<()> {
    let started = Instant::now();
    while !has_ended(child) && started.elapsed() < SOON {
        let is_due = *resets == 0 || began.elapsed() < under_load(job);
        let closed = if is_due { reset(job.nodes)? } else { 0 };
        *resets += u32::from(closed > 0);
        std::thread::sleep(if is_due && closed == 0 { SHORT_PAUSE } else { PAUSE });
    }
    Ok(())
}

/// The connection is reset where none can be made again until the job has ended.
fn stays_broken(job: &Job<'_>, how: &str) -> Result<(Output, String)> {
    let mut child = start(job, how)?;
    go()?;
    // Of ranks only: mpiexec is elsewhere.
    let route = |change: &str| {
        [(0, 2), (1, 1)].iter().try_for_each(|&(from, to)| {
            ip(&format!(
                "-n {} route {change} unreachable {}/32",
                job.nodes.names[from],
                job.nodes.address(to)
            ))
        })
    };
    let reset = route("add").and_then(|()| reset(job.nodes).map(drop));
    let ended = wait("the job still runs", || reset.is_err() || has_ended(&mut child));
    let removed = route("del");
    if ended.is_err() || reset.is_err() {
        child.kill().context("cannot end mpiexec")?;
    }
    let result = end(job, child)?;
    reset?;
    removed?;
    ended.with_context(|| result.1.clone())?;
    Ok(result)
}

fn ends(job: &Job<'_>) -> Result<()> {
    let (output, text) = stays_broken(job, "always")?;
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

fn returns(job: &Job<'_>) -> Result<()> {
    let (output, text) = stays_broken(job, "returns")?;
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

/// A link is cut while the program runs.
fn model_is_cut(job: &Job<'_>, folder: &str, program: &str, length: Duration) -> Result<()> {
    let program = models::compile_of(job, folder, program)?;
    let mut run = job.mpiexec(2);
    run.arg(&program)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = run.spawn().context("cannot start mpiexec")?;
    let connected = wait("the ranks are not connected", || {
        job.nodes.are_connected() || has_ended(&mut child)
    });
    job.nodes.link(2, false)?;
    std::thread::sleep(length);
    let was_cut = job.still_runs(&mut child);
    job.nodes.link(2, true)?;
    let ended = wait("the job still runs", || has_ended(&mut child));
    if ended.is_err() {
        child.kill().context("cannot end mpiexec")?;
    }
    let (output, text) = end(job, child)?;
    connected?;
    was_cut?;
    ended.with_context(|| text.clone())?;
    ensure!(output.status.success(), "mpiexec ended with {}:\n{text}", output.status);
    Ok(())
}

fn cut(job: &Job<'_>, length: Duration) -> Result<()> {
    // It stands still from the cut on, which comes at once.
    let mut child = job.random_program(1000)?;
    job.nodes.link(2, false)?;
    std::thread::sleep(length);
    let was_cut = job.still_runs(&mut child);
    job.nodes.link(2, true)?;
    was_cut?;
    job.ends_well(child)
}
