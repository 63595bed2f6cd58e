//! Nonsense from a rank of the job, whose frames are damaged on their way out (`ISTHMUS_FAULT=frame:DAMAGED`).

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::super::suite::Suite;
use super::Job;
use crate::process::target;

/// A byte of the frames that is damaged, by the layout of `crates/engine/src/channel/network/frame.rs`; how the ranks exchange them
/// (`tests/programs/broken_link.c`); and who is said to send what.
struct Damage(u32, &'static str, [&'static str; 2]);

const NO_FRAME: &str = "sends a frame that makes no sense";
const DAMAGES: [Damage; 12] = [
    // The magic, the sender, who cannot be named then, and the number.
    Damage(0, "always", ["rank 1, on another node, ", NO_FRAME]),
    Damage(5, "always", ["a rank on another node ", NO_FRAME]),
    Damage(
        17,
        "always",
        ["the connection to rank 1 ", "what it sent before has not come"],
    ),
    // Credit, length, flags, and what has come.
    Damage(
        30,
        "always",
        [
            "rank 1, on another node, ",
            "that it has handled what was never sent to it",
        ],
    ),
    Damage(33, "always", ["rank 1, on another node, ", NO_FRAME]),
    Damage(35, "always", ["rank 1, on another node, ", NO_FRAME]),
    Damage(
        38,
        "always",
        [
            "rank 1, on another node, ",
            "that frames have come which were never sent to it",
        ],
    ),
    // Of the first record the handler and the length.
    Damage(
        40,
        "always",
        ["rank 1, on another node, ", "a record that makes no sense"],
    ),
    Damage(
        40,
        "puts",
        ["rank 1, on another node, ", "a record that makes no sense"],
    ),
    Damage(
        42,
        "always",
        ["rank 1, on another node, ", "a record that does not fit its frame"],
    ),
    Damage(
        43,
        "puts",
        ["rank 1, on another node, ", "a record that does not fit its frame"],
    ),
    // The highest byte of the rank that it says it is from.
    Damage(
        55,
        "always",
        ["rank 1, on another node, ", "a message from a rank that there is not"],
    ),
];

/// Frames that go well before. Puts go without frames after the first ones.
fn after(how: &str) -> &'static [u32] {
    match how {
        "puts" => &[0, 1],
        _ => &[0, 1, 20],
    }
}

/// The job ends within this, the time of `mpiexec` among it.
const LIMIT: Duration = Duration::from_secs(60);

/// All of it.
pub fn run(suite: &mut Suite, job: &Job<'_>) {
    suite.step(
        "a rank that sends nonsense to another node ends the job with a line",
        || {
            let of = |(number, damage): (usize, &'static Damage)| {
                let after = after(damage.1);
                // In turn one of them.
                let one = number % after.len();
                let tried = if job.full { after } else { &after[one..=one] };
                tried.iter().map(move |after| (damage, after))
            };
            DAMAGES
                .iter()
                .enumerate()
                .flat_map(of)
                .try_for_each(|(Damage(at, how, says), after)| {
                    let fault = format!("frame:DAMAGED:at={at}:after={after}:rank=1");
                    ends(job, &fault, how, says).with_context(|| format!("{fault}, {how}"))
                })
        },
    );
}

fn ends(job: &Job<'_>, fault: &str, how: &str, says: &[&str]) -> Result<()> {
    let folder = target().join("test/network/nonsense");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).context("cannot make a folder")?;
    // They need not wait for each other.
    std::fs::write(folder.join("go"), "").context("cannot write a file")?;
    let mut run = job.tuned("broken_link", 1, &["connect_timeout_ms=1000"])?;
    run.arg(&folder).arg(how).env("ISTHMUS_FAULT", fault);
    let began = Instant::now();
    let output = run.stdin(Stdio::null()).output().context("cannot run mpiexec")?;
    let text = String::from_utf8_lossy(&output.stderr);
    job.nodes.emptied()?;
    let all_said = text.starts_with("isthmus: rank 0") && says.iter().all(|part| text.contains(part));
    ensure!(
        output.status.code() == Some(1) && all_said && text.lines().count() == 1,
        "mpiexec ended with {}:\n{text}",
        output.status
    );
    let took = began.elapsed();
    ensure!(took < LIMIT, "it took {} s", took.as_secs_f64());
    Ok(())
}
