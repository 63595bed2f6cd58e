//! Single copies that are refused, interrupted, stopped and killed: the data is right all the same, and one line says why
//! it came more slowly.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Finished, Run, Running, children, command, compile, full, named, signal};

const STRUCK: &str = "injected fault";

/// The injected fault, and the one line of each process that meets it; `None`: nothing.
type Case = (&'static str, Option<&'static str>);

/// Each rank tells of every copy, so that it is known that the fault struck.
fn with_fault(ranks: u32, program: &str, mechanism: &str, fault: &str) -> Result<Finished> {
    Run::mpiexec("-n")
        .arg(ranks.to_string())
        .arg(compile(program)?)
        .env("ISTHMUS_MECHANISM", mechanism)
        .env("ISTHMUS_FAULT", fault)
        .env("ISTHMUS_TRACE", "1")
        .limit(Duration::from_secs(120))
        .succeed()
        .with_context(|| format!("{program} on {ranks}, {mechanism}, {fault}"))
}

/// A line of the trace, and not one that is for the user.
fn is_trace(line: &&str) -> bool {
    line.contains(" bytes took ")
}

/// Faults that struck, by rank.
fn struck(run: &Finished) -> BTreeMap<&str, usize> {
    let lines = run.err.lines().filter(is_trace).filter(|line| line.contains(STRUCK));
    lines.fold(BTreeMap::new(), |mut counts, line| {
        let rank = line.split(':').nth(1).unwrap_or_default();
        *counts.entry(rank).or_default() += 1;
        counts
    })
}

/// The fault strikes, is told of once per process that meets it, and nothing else is said.
fn check(run: &Finished, (fault, line): Case, ranks: u32) -> Result<()> {
    let what = || {
        let telling = |line: &&str| line.contains(STRUCK) || !is_trace(line);
        let lines: Vec<&str> = run.err.lines().filter(telling).collect();
        format!("{fault} on {ranks}:\n{}", lines.join("\n"))
    };
    ensure!(!struck(run).is_empty(), "nothing was injected: {}", what());
    let said: Vec<&str> = run.err.lines().filter(|line| !is_trace(line)).collect();
    match line {
        Some(line) => {
            ensure!(!said.is_empty() && said.len() <= ranks as usize, "{}", what());
            ensure!(said.iter().all(|one| one.contains(line)), "{}", what());
        }
        None => ensure!(said.is_empty(), "{}", what()),
    }
    Ok(())
}

/// From the start, in one direction or both, after many transfers, once, and in the middle of a copy.
#[test]
fn refusals_and_holes_change_speed_only() -> Result<()> {
    let cases: [Case; 9] = [
        ("any:EPERM", Some("Operation not permitted")),
        ("pull:ENOSYS", Some("Function not implemented")),
        ("pull:EPERM:rank=1", Some("Operation not permitted")),
        ("any:EPERM:after=40", Some("Operation not permitted")),
        ("pull:EFAULT:at=5000:after=7", Some("Bad address")),
        ("pull:EFAULT:at=5001:after=3:times=1", Some("Bad address")),
        ("any:ENOMEM:at=1:after=20:rank=0", Some("Cannot allocate memory")),
        ("pull:EFAULT:at=1G:after=2", Some("Bad address")),
        // What a dead peer's memory says: the launcher knows better, so nothing is said.
        ("pull:ESRCH:at=70000:after=5:times=1:rank=0", None),
    ];
    for case in cases {
        for ranks in [2, 3] {
            let run = with_fault(ranks, "large_messages", "cma", case.0)?;
            check(&run, case, ranks)?;
        }
    }
    Ok(())
}

/// Where nothing goes wrong nothing is said, and what is asked for is used.
#[test]
fn each_mechanism_by_itself() -> Result<()> {
    for mechanism in ["cma", "mapped"] {
        let run = with_fault(2, "large_messages", mechanism, "")?;
        ensure!(run.err.lines().all(|line| is_trace(&line)), "{mechanism}: {}", run.err);
        ensure!(
            run.err.contains(&format!(": {mechanism} Pull")),
            "{mechanism} is not used"
        );
    }
    let run = with_fault(2, "large_messages", "ring", "")?;
    ensure!(run.err.is_empty(), "ring: {}", run.err);
    Ok(())
}

/// What the user says about sides is done: the receiver reads, the sender writes, or both take part.
#[test]
fn each_side_by_itself() -> Result<()> {
    for (mechanism, pulls, pushes) in [
        ("cma_read", true, false),
        ("cma_write", false, true),
        ("cma_both", true, true),
    ] {
        let run = with_fault(2, "large_messages", mechanism, "")?;
        ensure!(run.err.lines().all(|line| is_trace(&line)), "{mechanism}: {}", run.err);
        ensure!(
            run.err.contains(": cma Pull") == pulls,
            "{mechanism} pulls: {}",
            run.err
        );
        ensure!(
            run.err.contains(": cma Push") == pushes,
            "{mechanism} pushes: {}",
            run.err
        );
    }
    Ok(())
}

const STREAMS: [&str; 3] = ["vmsplice", "writev", "loopback"];

/// Pipes and sockets carry every message that is announced, whatever its layout, and no other way is taken.
#[test]
fn streams_by_themselves() -> Result<()> {
    for stream in STREAMS {
        for (ranks, program) in [
            (2, "large_messages"),
            (2, "derived"),
            (2, "cancel"),
            (4, "storm"),
            (3, "point_to_point"),
        ] {
            let run = with_fault(ranks, program, stream, "")?;
            let other = run
                .err
                .lines()
                .find(|line| !is_trace(line) || !line.contains(&format!(": {stream} P")));
            ensure!(other.is_none(), "{stream}, {program}: {other:?}");
        }
        let run = with_fault(2, "large_messages", stream, "")?;
        for direction in ["Push", "Pull"] {
            ensure!(
                run.err.contains(&format!(": {stream} {direction}")),
                "{stream} is not used"
            );
        }
    }
    Ok(())
}

/// A stream that fails at either end, at once, in the middle, or late: the ring carries the rest, and one line says so.
#[test]
fn streams_that_fail_change_speed_only() -> Result<()> {
    let cases: [Case; 6] = [
        ("push:EPERM", Some("Operation not permitted")),
        ("pull:EPERM:rank=1", Some("Operation not permitted")),
        ("push:ENOMEM:after=9:at=1000", Some("Cannot allocate memory")),
        ("pull:EFAULT:after=5:at=70:rank=0", Some("Bad address")),
        ("any:ENOSYS:after=20:at=1", Some("Function not implemented")),
        ("push:ESRCH:after=3:rank=0", None),
    ];
    for stream in STREAMS {
        for case in cases {
            let run = with_fault(2, "large_messages", stream, case.0)?;
            check(&run, case, 2).with_context(|| stream)?;
        }
    }
    Ok(())
}

/// A peer that dies while it feeds or drains ends the job with its line, and leaves nothing.
#[test]
fn streams_of_the_dead() -> Result<()> {
    for stream in STREAMS {
        for fault in ["push:KILL:after=30:at=1000:rank=1", "pull:KILL:after=30:rank=0"] {
            let run = Run::mpiexec("-n 2")
                .arg(compile("large_messages")?)
                .env("ISTHMUS_MECHANISM", stream)
                .env("ISTHMUS_FAULT", fault)
                .limit(Duration::from_secs(60))
                .finish()?;
            ensure!(run.code != Some(0), "{stream} {fault}: nobody died");
            ensure!(run.err.contains("signal 9"), "{stream} {fault}: {}", run.err);
        }
    }
    Ok(())
}

/// Bytes of each copy of a trace, in one direction, by rank.
fn copies<'a>(run: &'a Finished, direction: &str) -> BTreeMap<&'a str, Vec<usize>> {
    let what = format!(" {direction} of ");
    let mut copies = BTreeMap::<&str, Vec<usize>>::new();
    for line in run.err.lines().filter(is_trace) {
        if let (Some(rank), Some((_, rest))) = (line.split(':').nth(1), line.split_once(&what))
            && let Some(bytes) = rest.split(' ').next().and_then(|bytes| bytes.parse().ok())
        {
            copies.entry(rank).or_default().push(bytes);
        }
    }
    copies
}

/// Can these be the pulls of one rank in `large_messages` if it makes at most one of each message: all of it, or the chunks
/// that its sender has not claimed?
fn one_of_each(pulls: &[usize]) -> bool {
    const PAGE: usize = 4 << 10;
    let mut rounds = 0..60;
    pulls.iter().all(|&bytes| {
        rounds.any(|round| {
            let length: usize = 30000 + round * 7919 * 131 % 3_000_000;
            let received = if round % 5 == 4 { length - length / 3 } else { length };
            let chunk = (received / 2).min(128 << 10).max(received / 8).min(512 << 10);
            let chunk = chunk.next_multiple_of(PAGE);
            bytes == received || bytes < received && bytes.is_multiple_of(chunk)
        })
    })
}

/// A side that has lost its CPU in the middle of its chunk would stall the other: only one at a time copies. So a receiver
/// makes one copy of a message, of all of it or of what is left by the sender that claimed it before.
#[test]
fn nothing_is_shared_with_more_ranks_than_cpus() -> Result<()> {
    let cpus = std::thread::available_parallelism()?.get();
    let traced = |ranks: usize, mechanism: &str, peer_silence_us: &str| {
        Run::mpiexec("-n")
            .arg(ranks.to_string())
            .arg(compile("large_messages")?)
            .env("ISTHMUS_MECHANISM", mechanism)
            .env("ISTHMUS_PEER_SILENCE_US", peer_silence_us)
            .env("ISTHMUS_TRACE", "1")
            .limit(Duration::from_secs(120))
            .succeed()
    };
    for mechanism in ["cma", "mapped"] {
        let mut claimed = 0;
        for peer_silence_us in ["0", "10"] {
            let run = traced(cpus + 1, mechanism, peer_silence_us)?;
            let pulls = copies(&run, "Pull");
            ensure!(!pulls.is_empty(), "{mechanism}: no pulls");
            let shared = pulls.iter().find(|(_, pulls)| !one_of_each(pulls));
            ensure!(shared.is_none(), "{mechanism}, {peer_silence_us} us: {shared:?}");
            claimed += copies(&run, "Push").len();
        }
        ensure!(claimed > 0, "{mechanism}: nobody has claimed a receive");
        if cpus > 1 {
            let run = traced(2, mechanism, "10")?;
            let shared = !copies(&run, "Pull").values().all(|pulls| one_of_each(pulls));
            ensure!(shared, "{mechanism}: nothing is shared with a CPU for each rank");
        }
    }
    Ok(())
}

/// Nobody asks a machine again that has refused.
#[test]
fn a_refusal_is_met_once_per_peer() -> Result<()> {
    let run = with_fault(3, "large_messages", "cma", "pull:EPERM")?;
    let met = struck(&run);
    // Everybody receives from one neighbour only.
    ensure!(met.len() == 3 && met.values().all(|&times| times == 1), "{met:?}");
    Ok(())
}

/// What the machine refuses is not tried again, in that direction. A hole in one buffer, or a kernel short of memory,
/// stops one transfer.
#[test]
fn a_failure_stops_what_its_cause_stops() -> Result<()> {
    // What the other numbers mean stands in a table of the engine's.
    for (errno, lasts) in [("EPERM", true), ("EFAULT", false), ("ENOMEM", false)] {
        // In this program rank 0 only pushes, and rank 1 pulls, and pushes at the end.
        for (direction, other, rank) in [("pull", Some("push"), 1), ("push", None, 0)] {
            let fault = format!("{direction}:{errno}:at=5000:after=2:times=1:rank={rank}");
            let run = with_fault(2, "pieces", "cma", &fault)?;
            let ours = format!(" rank {rank}: ");
            let mut later = run.err.lines().filter(|line| is_trace(line) && line.contains(&ours));
            ensure!(later.any(|line| line.contains(STRUCK)), "{fault}: nothing was injected");
            let lines: Vec<String> = later.map(str::to_lowercase).collect();
            let goes_on = |direction: &str| lines.iter().any(|line| line.contains(&format!("cma {direction} ")));
            ensure!(goes_on(direction) != lasts, "{fault}: {direction}s after it");
            ensure!(other.is_none_or(goes_on), "{fault}: no {other:?} after it");
        }
    }
    Ok(())
}

/// The sender may not write where the receiver may read.
#[test]
fn pushes_alone_are_refused() -> Result<()> {
    for fault in [
        "cma.push:EPERM",
        "push:EFAULT:at=10000:after=2:times=1",
        "cma.push:EPERM:after=100",
    ] {
        let run = with_fault(2, "large_messages", "cma", fault)?;
        let pushes = run.err.lines().filter(|line| line.contains("Push")).count();
        // With too few CPUs nobody pushes, and nothing can be refused.
        if pushes > 0 && !fault.contains("after=100") {
            check(&run, (fault, Some("cannot write")), 2)?;
        }
        ensure!(struck(&run).values().all(|&times| times <= 1), "{}", run.err);
    }
    Ok(())
}

/// Data that lies here and there at one end is copied once by that end, and comes through the ring when it may not be.
#[test]
fn scattered_at_one_end() -> Result<()> {
    for (mechanism, argument) in [("cma", ""), ("mapped", "mapped")] {
        for fault in ["", "push:EPERM", "pull:EPERM:rank=1", "any:EFAULT:at=70000:after=20"] {
            let run = Run::mpiexec("-n 2")
                .arg(compile("pieces")?)
                .words(argument)
                .env("ISTHMUS_MECHANISM", mechanism)
                .env("ISTHMUS_FAULT", fault)
                .env("ISTHMUS_TRACE", "1")
                .limit(Duration::from_secs(120))
                .succeed()
                .with_context(|| format!("{mechanism}, {fault}"))?;
            for direction in ["Pull", "Push"] {
                let line = format!(": {mechanism} {direction}");
                ensure!(run.err.contains(&line), "{mechanism}, {fault}: no {direction}");
            }
            ensure!(fault.is_empty() == struck(&run).is_empty(), "{mechanism}, {fault}");
        }
    }
    Ok(())
}

/// Memory that both map cannot be refused, but an address may be wrong.
#[test]
fn holes_in_mapped_memory() -> Result<()> {
    for fault in [
        "mapped.pull:EFAULT:at=30000:after=3",
        "mapped.any:EFAULT:after=1:times=1",
    ] {
        let run = with_fault(2, "large_messages", "mapped", fault)?;
        ensure!(!struck(&run).is_empty(), "{fault}: nothing was injected");
    }
    Ok(())
}

/// Without any forced mechanism, other programs.
#[test]
fn everything_goes_wrong_now_and_then() -> Result<()> {
    let fault = "pull:EFAULT:at=3000:after=5:times=1,push:EPERM:after=4,pull:EPERM:after=60:rank=1";
    for (program, ranks) in [
        ("large_messages", 3),
        ("point_to_point", 4),
        ("collectives", 4),
        ("derived", 2),
    ] {
        Run::mpiexec("-n")
            .arg(ranks.to_string())
            .arg(compile(program)?)
            .env("ISTHMUS_FAULT", fault)
            .limit(Duration::from_secs(120))
            .succeed()?;
    }
    Ok(())
}

/// Operations on windows of ordinary memory go on by other means, and right, where single copies are refused in one direction, at one rank,
/// from some moment on, or once in the middle of one.
#[test]
fn windows_where_copies_fail() -> Result<()> {
    for fault in [
        "push:EPERM",
        "pull:EPERM:rank=1",
        "any:EPERM:after=50",
        "any:EPERM:after=20:rank=0",
        "pull:EFAULT:at=100:after=10:times=1,push:EFAULT:after=15:times=1",
    ] {
        for program in ["win_random", "win_results"] {
            let run = with_fault(3, program, "cma", fault)?;
            ensure!(!struck(&run).is_empty(), "{program}, {fault}: nothing was injected");
        }
    }
    Ok(())
}

#[test]
fn a_plan_that_makes_no_sense_is_said_so() -> Result<()> {
    let run = Run::mpiexec("-n 2")
        .arg(compile("large_messages")?)
        .env("ISTHMUS_FAULT", "shove:EPERM")
        .succeed()?;
    ensure!(
        run.err.contains("ISTHMUS_FAULT") && run.err.contains("shove"),
        "{}",
        run.err
    );
    Ok(())
}

/// MiB of the long messages: larger than any cache, and of many chunks.
fn long() -> String {
    if full() { "1024".into() } else { "128".into() }
}

fn bulk(mechanism: &str, rounds: &str, fault: &str) -> Result<Running> {
    let run = Run::mpiexec("-n 2")
        .arg(compile("bulk")?)
        .arg(long())
        .arg(rounds)
        .env("ISTHMUS_MECHANISM", mechanism)
        .env("ISTHMUS_FAULT", fault)
        .limit(Duration::from_secs(120));
    let run = if mechanism == "mapped" { run.arg("mapped") } else { run };
    run.start()
}

/// As [`bulk`], with the receive posted before, and a rank that computes: the sender claims it.
fn posted(mechanism: &str, rounds: &str, fault: &str) -> Result<Running> {
    let run = Run::mpiexec("-n 2")
        .arg(compile("bulk")?)
        .arg("8")
        .arg(rounds)
        .words(&format!("{mechanism} posted"))
        .env("ISTHMUS_MECHANISM", mechanism)
        .env("ISTHMUS_FAULT", fault)
        .limit(Duration::from_secs(120));
    run.start()
}

fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat[stat.rfind(')')? + 2..].chars().next()
}

/// A rank that stops in the middle of its copy only delays, whoever waits for its chunk or its piece.
#[test]
fn stopped_in_the_middle_of_a_copy() -> Result<()> {
    for (mechanism, fault) in [
        ("cma", "cma.pull:STOP:after=3:at=100000:times=1:rank=1"),
        ("cma", "cma.push:STOP:after=3:at=100000:times=1:rank=0"),
        ("mapped", "mapped.pull:STOP:after=3:at=100000:times=1:rank=1"),
        ("mapped", "mapped.push:STOP:after=3:at=100000:times=1:rank=0"),
        ("ring", "ring.pull:STOP:after=700:times=1:rank=1"),
        ("ring", "ring.push:STOP:after=700:times=1:rank=0"),
    ] {
        let running = bulk(mechanism, "4", fault)?;
        // A push of both ends at once may never be asked for.
        goes_on(running, fault, mechanism == "ring" || !fault.contains("push"))?;
    }
    for (mechanism, fault) in [
        ("cma", "cma.push:STOP:after=3:at=100000:times=1:rank=0"),
        ("mapped", "mapped.push:STOP:after=3:at=100000:times=1:rank=1"),
    ] {
        goes_on(posted(mechanism, "20", fault)?, fault, true)?;
    }
    Ok(())
}

/// Every rank that stops is continued, and the run ends well.
fn goes_on(running: Running, fault: &str, must_stop: bool) -> Result<()> {
    let begun = Instant::now();
    let mut stopped = 0;
    while let ranks = children(running.pid())
        && begun.elapsed() < Duration::from_secs(60)
        && (stopped == 0 || !ranks.is_empty())
    {
        for rank in ranks.into_iter().filter(|&rank| state(rank) == Some('T')) {
            std::thread::sleep(Duration::from_millis(200));
            signal(rank, "CONT");
            stopped += 1;
        }
        if state(running.pid()).is_none_or(|state| state == 'Z') {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let run = running.finish()?;
    ensure!(run.code == Some(0), "{fault}: {:?} {}", run.code, run.err);
    ensure!(stopped == 1 || !must_stop, "{fault}: nobody stopped");
    Ok(())
}

/// The process that claims a receive may be refused, from the start or in the middle: the rest comes another way.
#[test]
fn claims_are_refused() -> Result<()> {
    for fault in [
        "push:EPERM",
        "push:EFAULT:at=10000:after=2",
        "push:EPERM:after=9:rank=1,pull:EFAULT:at=70000:after=3:times=2",
        "pull:EPERM",
        "pull:EPERM,push:EFAULT:at=5000:after=3",
    ] {
        // However large the rings of a machine are, such messages are announced.
        let run = Run::mpiexec("-n 4 --set peer_silence_us=0 --set eager_limit=65536")
            .arg(compile("advertised")?)
            .env("ISTHMUS_FAULT", fault)
            .env("ISTHMUS_TRACE", "1")
            .limit(Duration::from_secs(120))
            .succeed()
            .context(fault)?;
        ensure!(!struck(&run).is_empty(), "{fault}: nothing was injected");
    }
    Ok(())
}

fn ended_by_a_kill(running: Running, what: &str) -> Result<()> {
    let run = running.finish()?;
    ensure!(run.code == Some(137), "{what}: {:?} {}", run.code, run.err);
    ensure!(
        run.err.lines().count() == 1 && run.err.contains("signal 9"),
        "{what}: {}",
        run.err
    );
    ensure!(named("programs/bulk").is_empty(), "{what}: a rank lives on");
    Ok(())
}

/// At an exact moment: with a chunk claimed and half of it moved, or a piece in the ring that nobody is told of.
#[test]
fn killed_in_the_middle_of_a_copy() -> Result<()> {
    for (mechanism, fault) in [
        ("cma", "cma.pull:KILL:after=3:at=100000"),
        ("cma", "cma.any:KILL:after=30:at=1:rank=0"),
        ("mapped", "mapped.pull:KILL:after=3:at=100000"),
        ("mapped", "mapped.any:KILL:after=30:at=1:rank=1"),
        // In the first message, of more pieces than that.
        ("ring", "ring.pull:KILL:after=700:rank=1"),
        ("ring", "ring.push:KILL:after=700:rank=0"),
    ] {
        let running = bulk(mechanism, "0", fault)?;
        ended_by_a_kill(running, fault)?;
    }
    for (mechanism, fault) in [
        ("cma", "cma.push:KILL:after=3:at=100000"),
        ("mapped", "mapped.push:KILL:after=3:at=100000"),
    ] {
        ended_by_a_kill(posted(mechanism, "0", fault)?, fault)?;
    }
    Ok(())
}

/// The other end of a copy that is torn off hears of it, and is as good as new: with itself, with a third rank, and in
/// memory that it takes afterwards.
#[test]
fn killed_in_the_middle_of_a_copy_and_the_other_goes_on() -> Result<()> {
    let program = compile("torn")?;
    for (fault, victim, how) in [
        ("cma.pull:KILL:after=3:at=100000", 0, ""),
        ("cma.pull:KILL:after=3:at=100000", 1, ""),
        ("cma.any:KILL:after=30:at=1", 0, ""),
        ("cma.push:KILL:after=3:at=100000", 0, "posted"),
        ("cma.any:KILL:after=9:at=1", 1, "posted"),
        ("mapped.pull:KILL:after=3:at=100000", 0, "mapped"),
        ("mapped.any:KILL:after=30:at=1", 1, "mapped"),
        ("mapped.push:KILL:after=3:at=100000", 1, "mapped posted"),
        ("ring.push:KILL:after=70", 0, ""),
        ("ring.pull:KILL:after=70", 0, "posted"),
        ("ring.any:KILL:after=300", 1, "posted"),
    ] {
        for ranks in [2, 3] {
            let mechanism = fault.split('.').next().unwrap_or_default();
            let run = Run::mpiexec("-n")
                .arg(ranks.to_string())
                .arg(&program)
                .words(&format!("{victim} {how}"))
                .env("ISTHMUS_MECHANISM", mechanism)
                .env("ISTHMUS_FAULT", format!("{fault}:rank={victim}"))
                .limit(Duration::from_secs(60))
                .finish()?;
            let what = format!(
                "{fault}, rank {victim} of {ranks}: {:?}\n{}{}",
                run.code, run.out, run.err
            );
            ensure!(run.code == Some(137), "{what}");
            ensure!(
                run.out.lines().filter(|line| *line == "survived").count() == ranks - 1,
                "{what}"
            );
            ensure!(run.err.lines().count() == 1 && run.err.contains("signal 9"), "{what}");
        }
    }
    ensure!(named("programs/torn").is_empty(), "a rank lives on");
    Ok(())
}

/// At any moment, from outside, on each way that a long message can take.
#[test]
fn killed_and_stopped_at_any_moment() -> Result<()> {
    let mut moment = 37;
    for mechanism in ["cma", "mapped", "ring"] {
        for victim in [0, 1] {
            let running = bulk(mechanism, "0", "")?;
            let begun = Instant::now();
            while children(running.pid()).len() < 2 && begun.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(2));
            }
            let ranks = children(running.pid());
            ensure!(ranks.len() == 2, "two ranks: {ranks:?}");
            for stopped in [ranks[victim], ranks[1 - victim]] {
                moment = (moment * 7 + 11) % 400;
                std::thread::sleep(Duration::from_millis(moment));
                signal(stopped, "STOP");
                std::thread::sleep(Duration::from_millis(50));
                signal(stopped, "CONT");
            }
            std::thread::sleep(Duration::from_millis(moment));
            signal(ranks[victim], "KILL");
            ended_by_a_kill(running, &format!("{mechanism}, victim {victim}"))?;
        }
    }
    Ok(())
}

/// Messages of more bytes than 32 bits count, with a sign or without, by each mechanism.
#[test]
fn counts_beyond_two_and_four_gib() -> Result<()> {
    // MiB a little beyond a power of two, and what is special about the buffers.
    let mut cases = vec![("ring", "4190"), ("cma", "4190"), ("cma", "2060")];
    if full() {
        cases.extend([
            ("ring", "2060"),
            ("ring", "4190 real"),
            ("cma", "4190 real"),
            ("mapped", "2060 mapped"),
            ("mapped", "4190 mapped"),
        ]);
    }
    for (mechanism, arguments) in cases {
        Run::mpiexec("-n 2")
            .arg(compile("counts")?)
            .words(arguments)
            .env("ISTHMUS_MECHANISM", mechanism)
            .limit(Duration::from_secs(120))
            .succeed()
            .with_context(|| format!("{mechanism}, {arguments}"))?;
    }
    Ok(())
}

/// The machine changes its mind when it has long been trusted. On one CPU and without adverts a rank copies each message
/// that it receives by itself, at once, so transfers are counted.
#[test]
fn refused_after_a_thousand_transfers() -> Result<()> {
    const TRUSTED: usize = 1000;
    let fault = "any:EPERM:after=1000";
    let run = Run::program("taskset")
        .words("-c 0")
        .arg(command("mpiexec"))
        .words("-n 2 --set advertise=0")
        .arg(compile("bulk")?)
        .words(&format!("1 {}", 2 * TRUSTED + 20))
        .env("ISTHMUS_MECHANISM", "cma")
        .env("ISTHMUS_FAULT", fault)
        .env("ISTHMUS_TRACE", "1")
        .limit(Duration::from_secs(120))
        .succeed()?;
    check(&run, (fault, Some("Operation not permitted")), 2)?;
    let copies: Vec<usize> = copies(&run, "Pull").into_values().flatten().collect();
    let refused: usize = struck(&run).values().sum();
    ensure!(copies.iter().all(|&bytes| bytes == 1 << 20), "a message in parts");
    ensure!(
        refused == 2 && copies.len() - refused == 2 * TRUSTED,
        "{refused} of {} transfers refused",
        copies.len()
    );
    Ok(())
}

/// What `isthmus info --protocols` says of each size: the protocols and their costs, in its order.
fn protocols(text: &str) -> Vec<Vec<(&str, f64)>> {
    let mut sizes: Vec<Vec<(&str, f64)>> = Vec::new();
    for line in text.lines().skip(1) {
        let begins = !line.starts_with(' ');
        let mut words = line.split_whitespace().skip(usize::from(begins));
        let (Some(name), Some(Ok(cost))) = (words.next(), words.next().map(str::parse)) else {
            break;
        };
        if begins {
            sizes.push(Vec::new());
        }
        if let Some(last) = sizes.last_mut() {
            last.push((name, cost));
        }
    }
    sizes
}

/// The table of protocols goes from the cheapest to the dearest, and has none that this machine refuses.
#[test]
fn the_table_of_protocols_knows_what_is_refused() -> Result<()> {
    let open = Run::program(command("isthmus")).words("info --protocols").succeed()?;
    let denied = Run::program(compile("deny")?)
        .words("1")
        .arg(command("isthmus"))
        .words("info --protocols")
        .succeed()?;
    for run in [&open, &denied] {
        let sizes = protocols(&run.out);
        ensure!(sizes.len() == 11, "{}", run.out);
        for size in &sizes {
            ensure!(size.is_sorted_by(|one, other| one.1 <= other.1), "{size:?}");
            // Twice where a message that is answered goes at once in a cell, and another one is announced.
            let rings = size.iter().filter(|(name, _)| *name == "ring").count();
            ensure!(rings == 1 || rings == 2 && size.len() > 2, "{size:?}");
        }
        let closed = run.out.lines().any(|line| line.starts_with("cma is closed: "));
        let offered = sizes.iter().flatten().any(|(name, _)| *name == "cma");
        ensure!(closed != offered, "{}", run.out);
    }
    ensure!(
        denied.out.contains("cma is closed: ") && denied.out.contains("not permitted"),
        "{}",
        denied.out
    );
    Ok(())
}

/// A mechanism that is asked for and not there: said once per process, and done without.
#[test]
fn without_xpmem() -> Result<()> {
    let run = Run::mpiexec("-n 2 --set xpmem=1")
        .arg(compile("large_messages")?)
        .succeed()?;
    let has_it = std::path::Path::new("/dev/xpmem").exists();
    let said = run.err.lines().filter(|line| line.contains("no XPMEM: ")).count();
    ensure!(has_it || (said == 1 && run.err.lines().count() == 1), "{}", run.err);
    Ok(())
}

/// Process ids that mean something else there, users that are others, file systems of one's own. Only root can try that
/// everywhere.
#[test]
fn namespaces_change_speed_only() -> Result<()> {
    let program = compile("large_messages")?;
    for namespace in [
        "--pid --fork",
        "--user --map-root-user",
        "--mount --ipc",
        "--user --map-root-user --pid --fork",
    ] {
        let allowed = Run::program("unshare").words(namespace).arg("true").finish();
        if !allowed.is_ok_and(|probe| probe.code == Some(0)) {
            println!("not tried: unshare {namespace}");
            continue;
        }
        for others in ["", "unshare"] {
            let run = match others {
                "" => Run::mpiexec("-n 1").arg(&program).words(": -n 2 unshare"),
                _ => Run::mpiexec("-n 3 unshare"),
            };
            let run = run.words(namespace).arg(&program).succeed()?;
            let refused = |line: &str| line.contains("cannot read") && line.contains("Cure: ");
            ensure!(run.err.lines().all(refused), "{namespace}: {}", run.err);
            ensure!(
                !namespace.contains("--mount") || run.err.is_empty(),
                "{namespace}: {}",
                run.err
            );
        }
    }
    Ok(())
}
