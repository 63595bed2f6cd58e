//! Files on bad days: no room, no permission, files that somebody else removes or cuts, ranks that are killed while they write.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Run, children, compile, named, scratch, signal, within};

use super::traces;

const PROGRAM: &str = "file_bad_days";

/// A new folder.
fn folder(name: &str) -> Result<PathBuf> {
    let folder = scratch(name)?;
    std::fs::remove_dir_all(&folder)?;
    std::fs::create_dir(&folder)?;
    Ok(folder)
}

/// A run on so many ranks, in a mount namespace where this was done before.
fn after(mounting: &str, ranks: usize, scenario: &str, folder: &PathBuf) -> Result<Run> {
    let run = Run::program("unshare")
        .words("--mount sh -c")
        .arg(format!("folder=$1; shift; {mounting} && exec \"$@\""))
        .arg("sh")
        .arg(folder)
        .arg(isthmus_tests::command("mpiexec"));
    let run = run.arg("-n").arg(ranks.to_string()).arg(compile(PROGRAM)?);
    Ok(run.arg(scenario).arg(folder).limit(Duration::from_secs(60)))
}

/// A collective write to a full file system fails on all ranks alike, and later ones that fit go well.
pub fn a_full_file_system() -> Result<()> {
    let folder = folder("files-full")?;
    let small = "mount -t tmpfs -o size=512k none \"$folder\"";
    for ranks in [1, 2, 4] {
        after(small, ranks, "full", &folder)?.succeed()?;
    }
    Ok(())
}

/// Files of a read-only file system can be read; every other call on them fails.
pub fn a_read_only_file_system() -> Result<()> {
    let folder = folder("files-read-only")?;
    let read_only =
        "mount -t tmpfs none \"$folder\" && : > \"$folder/isthmus-file\" && mount -o remount,ro \"$folder\"";
    for ranks in [1, 3] {
        after(read_only, ranks, "read-only", &folder)?.succeed()?;
    }
    Ok(())
}

/// A file that the last rank alone may not open is opened by none.
pub fn a_file_that_one_rank_may_not_open() -> Result<()> {
    let folder = folder("files-denied")?;
    for ranks in [1, 3] {
        after("true", ranks, "denied", &folder)?.succeed()?;
    }
    Ok(())
}

/// Somebody else cuts a file and removes it; accesses of more than 2^31 bytes; a name that is a folder's.
pub fn files_that_vanish_and_long_accesses() -> Result<()> {
    let folder = folder("files-vanish")?;
    for (scenario, ranks) in [("vanished", 1), ("vanished", 3), ("many", 1), ("many", 3)] {
        let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(compile(PROGRAM)?);
        run.arg(scenario)
            .arg(&folder)
            .limit(Duration::from_secs(60))
            .succeed()?;
    }
    let left = std::fs::read_dir(&folder)?.count();
    ensure!(left == 0, "{left} files are left");
    Ok(())
}

/// A rank is killed while all write, in atomic mode: what was synchronised before is there, and the next job finds no lock and no other file.
pub fn killed_in_the_middle_of_a_write() -> Result<()> {
    let folder = folder("files-killed")?;
    let job = |scenario: &str| -> Result<Run> {
        let run = Run::mpiexec("-n 3").arg(compile(PROGRAM)?).arg(scenario);
        Ok(run.arg(&folder).limit(Duration::from_secs(60)))
    };
    for milliseconds in [0, 7, 40] {
        let running = job("writes")?.start()?;
        let marker = folder.join("isthmus-file.synced");
        within(Duration::from_secs(20), "synchronised", || marker.exists())?;
        std::fs::remove_file(&marker)?;
        std::thread::sleep(Duration::from_millis(milliseconds));
        let victim = children(running.pid()).pop().context("a rank")?;
        signal(victim, "KILL");
        let run = running.finish()?;
        ensure!(run.code == Some(137), "{:?}\n{}", run.code, run.err);
        job("again")?.succeed()?;
        let left = std::fs::read_dir(&folder)?.count();
        ensure!(left == 0, "{left} files are left");
    }
    Ok(())
}

/// A rank dies while it has the turn at a pipe, and others wait for theirs.
pub fn killed_with_the_turn_at_a_pipe() -> Result<()> {
    let program = compile("file_turns")?;
    let before = traces();
    for (scenario, ranks) in [
        ("shared", 3),
        ("started", 3),
        ("ordered", 3),
        ("shared", 2),
        ("started", 2),
        ("fatal", 3),
    ] {
        let folder = folder("files-turns")?;
        let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
        let run = run.arg(scenario).arg(&folder).limit(Duration::from_secs(60)).finish()?;
        let survivors = run.out.lines().filter(|line| *line == "survived").count();
        let what = format!("{scenario} on {ranks}: {:?}\n{}{}", run.code, run.out, run.err);
        let expected = if scenario == "fatal" { 0 } else { ranks - 1 };
        ensure!(run.code == Some(137) && survivors == expected, "{what}");
        ensure!(run.err.contains("rank 0"), "{what}");
    }
    within(Duration::from_secs(1), "all processes gone", || {
        named("programs/file_turns").is_empty()
    })?;
    ensure!(traces() == before, "left behind: {:?}", traces().difference(&before));
    Ok(())
}
