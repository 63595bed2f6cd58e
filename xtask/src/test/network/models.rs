//! OpenSHMEM, ARMCI and Global Arrays on two nodes: the programs that show them on one.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::{Job, RUN, SOON, wait};
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
            "contexts",
        ],
    ),
    (
        "mpicc",
        &["-larmci", "-lm"],
        "armci",
        &[
            "operations",
            "synchronization",
            "nonblocking",
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
            "arrays",
            "elements",
            "groups",
            "margins",
            "inquiry",
            "mirrored",
            "matrices",
            "nonblocking",
            "sparse",
            "random",
            "taken",
            "started",
        ],
    ),
];

/// Every put and get that can go by the provider's RMA does.
const ALL_BY_RMA: [&str; 2] = ["--set", "network_rma=1"];

/// Programs that run so, too.
const BY_RMA: &[(&str, &str)] = &[
    ("shmem", "order"),
    ("shmem", "computing"),
    ("armci", "nonblocking"),
    ("armci", "operations"),
    ("armci", "random"),
    ("ga", "nonblocking"),
    ("ga", "random"),
];

/// A process of the second node dies in the middle of these.
const KILLED: [(&str, &[&str]); 12] = [
    ("shmem", &["3"]),
    ("shmem", &["2"]),
    ("armci", &["put", "3"]),
    ("armci", &["acc", "3"]),
    ("armci", &["gets", "3"]),
    ("armci", &["rmw", "3"]),
    ("armci", &["mutex", "3"]),
    ("ga", &["put", "1", "3"]),
    ("ga", &["acc", "1", "3"]),
    ("ga", &["read_inc", "1", "3"]),
    ("ga", &["ghosts", "1", "3"]),
    ("ga", &["product", "1", "3"]),
];

/// The second node is lost in the middle of these, in which no process dies by itself.
const NODE_LOST: [(&str, &[&str]); 9] = [
    ("shmem", &["-1"]),
    ("armci", &["put", "-1"]),
    ("armci", &["acc", "-1"]),
    ("armci", &["gets", "-1"]),
    ("armci", &["mutex", "-1"]),
    ("ga", &["put", "1", "-2"]),
    ("ga", &["acc", "1", "-2"]),
    ("ga", &["read_inc", "1", "-2"]),
    ("ga", &["product", "1", "-2"]),
];
/// And in the middle of these, whose errors return: the processes of the first node go on.
const NODE_SURVIVED: [&str; 3] = ["put", "acc", "ghosts"];

/// Once as it is, once by RMA.
const WITH_AND_WITHOUT_RMA: [(&str, &[&str]); 2] = [("", &[]), (", by RMA", &ALL_BY_RMA)];

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
    for (folder, name) in BY_RMA {
        suite.step(
            &format!("{folder}/{name} on 2 nodes x 2, all by RMA that can be"),
            || {
                quiet(job.mpiexec(2).args(ALL_BY_RMA).arg(compile_of(job, folder, name)?), RUN)?;
                job.nodes.emptied()
            },
        );
    }
    for (how, set) in WITH_AND_WITHOUT_RMA {
        suite.step(
            &format!("non-blocking gets of ARMCI return before a target that computes has served them{how}"),
            || {
                let mut run = job.mpiexec(2);
                run.args(["--set", "progress_thread=0"]).args(set);
                quiet(run.arg(compile_of(job, "armci", "nonblocking")?).arg("still"), RUN)?;
                job.nodes.emptied()
            },
        );
    }
    for (folder, arguments) in KILLED {
        let what = arguments.join(" ");
        suite.step(
            &format!("a process that dies in {folder}/killed {what} on 2 nodes x 2 ends the job"),
            || {
                let mut run = job.mpiexec(2);
                run.arg(compile_of(job, folder, "killed")?).args(arguments);
                let child = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                job.ends_with(child.spawn().context("cannot start mpiexec")?, 137)
            },
        );
    }
    for (folder, arguments) in NODE_LOST {
        let what = arguments.join(" ");
        suite.step(
            &format!("a node that is lost in {folder}/killed {what} ends the job"),
            || {
                let mut run = job.mpiexec(2);
                run.args(LIMIT).arg(compile_of(job, folder, "killed")?).args(arguments);
                let child = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                let child = child.spawn().context("cannot start mpiexec")?;
                lose_node(job)?;
                job.ends_with(child, 1)
            },
        );
    }
    suite.step(
        "processes of Global Arrays whose errors return go on when a node is lost",
        || {
            NODE_SURVIVED.iter().try_for_each(|what| {
                let mut run = job.mpiexec(2);
                run.args(LIMIT)
                    .arg(compile_of(job, "ga", "killed")?)
                    .args([*what, "1", "-2", "returns"]);
                run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let child = run.spawn().context("cannot start mpiexec")?;
                lose_node(job)?;
                let output = child.wait_with_output().context("cannot wait for mpiexec")?;
                let (out, said) = (
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr),
                );
                let survived = out.lines().filter(|line| line.starts_with("survived")).count();
                ensure!(survived == 2, "{what}: {}:\n{out}\n{said}", output.status);
                job.nodes.emptied()
            })
        },
    );
    for (how, set) in WITH_AND_WITHOUT_RMA {
        suite.step(
            &format!("a process that dies while others get from it, and do not wait, ends the job{how}"),
            || {
                let mut run = job.mpiexec(2);
                run.args(set)
                    .arg(compile_of(job, "armci", "killed")?)
                    .args(["nbget", "3"]);
                let child = run.stdin(Stdio::null()).stderr(Stdio::null()).spawn();
                job.ends_with(child.context("cannot start mpiexec")?, 137)
            },
        );
    }
}

/// A job that its lost node does not end is ended.
const LIMIT: [&str; 2] = ["--timeout", "60"];

/// In the middle of what all processes do.
fn lose_node(job: &Job<'_>) -> Result<()> {
    wait("the processes are not connected", || job.nodes.are_connected())?;
    std::thread::sleep(Duration::from_millis(300));
    let daemon = job.last_daemon()?;
    quiet(Command::new("kill").args(["-9", &daemon.to_string()]), SOON).map(drop)
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
    // One of them calls every routine: optimizing it takes longer than all of its runs.
    compile.args(["-std=gnu11", "-O0", "-pthread", "-o"]).arg(&program);
    quiet(compile.arg(source).args(libraries), RUN)?;
    Ok(program)
}
