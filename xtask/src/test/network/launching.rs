//! Options of `mpiexec` on several nodes, the order of ends there, and nodes where another `mpiexec` is installed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::Job;
use crate::process::target;

/// Starts a copy of `mpiexec` in which its version is another one.
const OTHER_VERSION: &str = r#"#!/bin/sh
copy=$0.$1
own=$2
shift 2
sed 's/0\.1\.0/0.0.9/g' "$own" > "$copy" && chmod +x "$copy" && exec "$copy" "$@"
"#;

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    suite.step("options of mpiexec hold on all nodes", || options(job));
    suite.step("a file of hosts and -ppn place ranks", || host_file(job));
    suite.step("a debugger on several nodes is refused", || {
        job.ends_in_error(
            job.mpiexec(1).args(["-gdb", "true"]),
            ["-gdb opens windows on this machine", "gdb -p PID"],
        )
    });
    suite.step("ranks of all nodes that wait are told of once", || hang(job));
    suite.step(
        "ranks that wait for one that computes on another node are no hang",
        || computes(job),
    );
    suite.step("a node with another version is named", || other_version(job));
}

/// What a script on each of two nodes writes, by lines, in order; and what is said beside it.
fn script(
    job: &Job<'_>,
    options: &[&str],
    environment: &[(&str, &str)],
    script: &str,
) -> Result<(Vec<String>, String)> {
    let mut run = job.mpiexec(1);
    run.args(options).envs(environment.iter().copied());
    run.args(["/bin/sh", "-c", script]).stdin(Stdio::piped());
    run.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = run.spawn().context("cannot start mpiexec")?;
    if let Some(mut input) = child.stdin.take() {
        // A program that wants none does not read it.
        let _ = std::io::Write::write_all(&mut input, b"from the user\n");
    }
    let output = child.wait_with_output().context("cannot wait for mpiexec")?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{options:?}: {}: {errors}", output.status);
    job.nodes.emptied()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    Ok((lines, errors))
}

fn expect(what: &str, found: &[String], wanted: &[&str]) -> Result<()> {
    ensure!(found == wanted, "{what}: {found:?}, not {wanted:?}");
    Ok(())
}

fn options(job: &Job<'_>) -> Result<()> {
    let cat = "read -r line; echo $ISTHMUS_RANK: $line";
    let (lines, _) = script(job, &[], &[], cat)?;
    expect("input", &lines, &["0: from the user", "1:"])?;
    let (lines, _) = script(job, &["--stdin", "1"], &[], cat)?;
    expect("--stdin 1", &lines, &["0:", "1: from the user"])?;
    let (lines, _) = script(job, &["--stdin", "none"], &[], cat)?;
    expect("--stdin none", &lines, &["0:", "1:"])?;

    let environment = [("ONE", "1"), ("TWO", "2")];
    let show = "echo $ONE-$TWO";
    let (lines, _) = script(job, &[], &environment, show)?;
    expect("all variables", &lines, &["1-2", "1-2"])?;
    let (lines, _) = script(job, &["-genvlist", "TWO"], &environment, show)?;
    expect("-genvlist", &lines, &["-2", "-2"])?;
    let (lines, _) = script(job, &["-genvnone", "-genv", "ONE", "3"], &environment, show)?;
    expect("-genvnone", &lines, &["3-", "3-"])?;

    let (lines, _) = script(job, &["--timestamp-output"], &[], "echo here")?;
    let is_timed = |line: &String| {
        let time = line.strip_suffix(" here").and_then(|time| time.parse::<f64>().ok());
        time.is_some_and(|seconds| seconds < 100.0)
    };
    ensure!(
        lines.len() == 2 && lines.iter().all(is_timed),
        "--timestamp-output: {lines:?}"
    );
    let (_, said) = script(job, &["--report-bindings"], &[], "true")?;
    for rank in ["rank 0 may use CPUs", "rank 1 may use CPUs"] {
        ensure!(said.contains(rank), "--report-bindings: {said}");
    }

    let folder = target().join("test/network/output");
    // What an earlier run has left.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).context("cannot make a folder")?;
    let name = folder.join("of").display().to_string();
    let (lines, _) = script(
        job,
        &["--output-filename", &name],
        &[],
        "echo out $ISTHMUS_RANK; echo err $ISTHMUS_RANK >&2",
    )?;
    expect("--output-filename", &lines, &[])?;
    for (file, wanted) in [
        ("of.0.out", "out 0"),
        ("of.1.out", "out 1"),
        ("of.0.err", "err 0"),
        ("of.1.err", "err 1"),
    ] {
        let text = std::fs::read_to_string(folder.join(file)).with_context(|| format!("no file {file}"))?;
        ensure!(text.trim() == wanted, "{file} has {text:?}");
    }
    Ok(())
}

fn host_file(job: &Job<'_>) -> Result<()> {
    let file = target().join("test/network/hosts");
    let [first, second] = [0, 1].map(|node| job.nodes.names()[node].clone());
    let show = "echo $ISTHMUS_RANK $MPI_LOCALRANKID of $MPI_LOCALNRANKS";
    for (text, options, wanted) in [
        (
            format!("# two hosts\n{first} slots=2\n{second}:1\n"),
            vec!["-n", "3"],
            ["0 0 of 2", "1 1 of 2", "2 0 of 1"].as_slice(),
        ),
        (
            format!("{first}\n{second}\n"),
            vec!["-ppn", "2", "-n", "4"],
            &["0 0 of 2", "1 1 of 2", "2 0 of 2", "3 1 of 2"],
        ),
    ] {
        std::fs::write(&file, &text).context("cannot write the file of hosts")?;
        let mut run = Command::new(job.prefix.join("bin/mpiexec"));
        run.args(["--timeout", "60", "--hostfile"]).arg(&file);
        run.arg("--launcher").arg(&job.nodes.launcher);
        run.args(options).args(["/bin/sh", "-c", show]).stdin(Stdio::null());
        let output = run.output().context("cannot run mpiexec")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {errors}", output.status);
        let said = String::from_utf8_lossy(&output.stdout);
        let mut lines: Vec<String> = said.lines().map(str::to_owned).collect();
        lines.sort();
        expect(&text, &lines, wanted)?;
        job.nodes.emptied()?;
    }
    Ok(())
}

/// The report of a job of `stuck` that is ended after some seconds.
fn stuck(job: &Job<'_>, program: &Path, does: &[&str]) -> Result<String> {
    let mut run = job.mpiexec(2);
    run.args(["--report-hang", "0.5", "--timeout", "6"]).arg(program);
    let output = run
        .args(does)
        .stdin(Stdio::null())
        .output()
        .context("cannot run mpiexec")?;
    job.nodes.emptied()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(
        output.status.code() == Some(124),
        "mpiexec ended with {}: {said}",
        output.status
    );
    Ok(said)
}

fn hang(job: &Job<'_>) -> Result<()> {
    let said = stuck(job, &job.compile("stuck")?, &[])?;
    let count = |part: &str| said.lines().filter(|line| line.contains(part)).count();
    ensure!(count("every rank has waited for") == 1, "{said}");
    // When all wait, and when the time is over.
    ensure!(
        count("rank 0 (pid ") == 2 && count("has waited in MPI_Recv for") == 2,
        "{said}"
    );
    ensure!(count("has waited in MPI_Barrier for") == 6, "{said}");
    Ok(())
}

fn computes(job: &Job<'_>) -> Result<()> {
    let said = stuck(job, &job.compile("stuck")?, &["compute"])?;
    ensure!(!said.contains("every rank"), "{said}");
    let computes = said
        .lines()
        .filter(|line| line.contains("rank 3 (pid ") && line.contains("does not wait in MPI"));
    ensure!(computes.count() == 1, "{said}");
    Ok(())
}

fn other_version(job: &Job<'_>) -> Result<()> {
    let launcher = target().join("test/network/other-version");
    std::fs::write(&launcher, OTHER_VERSION).context("cannot write the launcher")?;
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).context("chmod")?;
    let mut run = job.mpiexec(1);
    // The last one counts.
    run.arg("--launcher").arg(&launcher).arg("true");
    job.ends_in_error(
        &mut run,
        ["its mpiexec is of version 0.0.9", "install the same on all nodes"],
    )
}
