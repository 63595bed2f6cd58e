//! Mechanisms of large messages that are asked for by name: the helper thread, what `isthmus tune` measured, huge pages.

use std::time::Duration;

use anyhow::{Result, ensure};
use isthmus_tests::{Finished, Run, compile};

/// A program of two ranks with these settings; each rank tells of every copy.
fn with(program: &str, settings: &[(&str, &str)]) -> Result<Finished> {
    let run = Run::mpiexec("-n 2").arg(compile(program)?).env("ISTHMUS_TRACE", "1");
    let run = settings.iter().fold(run, |run, (name, value)| run.env(name, value));
    run.limit(Duration::from_secs(120)).succeed()
}

fn is_trace(line: &str) -> bool {
    line.contains(" bytes took ")
}

/// A buffer that is not mapped, if its receiver reads it, and descriptors of the library that the program has closed: the line says so.
#[test]
fn buffers_and_descriptors_that_are_none_are_told() -> Result<()> {
    for (case, says) in [
        ("send", "rank 0 has no memory at 0x1000, in a send buffer"),
        ("closed", "a file descriptor of the library is closed"),
    ] {
        let run = Run::mpiexec("-n 2").arg(compile("buffers_that_are_none")?).arg(case);
        let run = run.env("ISTHMUS_MECHANISM", "cma_read").finish()?;
        ensure!(
            run.code != Some(0) && run.err.contains(says),
            "{case}: {:?} {}",
            run.code,
            run.err
        );
    }
    Ok(())
}

/// The helper thread copies every long message whole, also where copies fail, and the bytes are right.
#[test]
fn a_helper_thread_copies() -> Result<()> {
    let helper = [
        ("ISTHMUS_HELPER", "2"),
        ("ISTHMUS_HELPER_FROM", "256K"),
        ("ISTHMUS_MECHANISM", "cma_read"),
    ];
    for program in ["large_messages", "point_to_point"] {
        let run = with(program, &helper)?;
        ensure!(run.err.lines().all(is_trace), "{program}: {}", run.err);
        ensure!(run.err.contains(": cma Pull"), "{program}: nothing was pulled");
    }
    for fault in [
        "pull:EPERM:after=5",
        "pull:EFAULT:at=70000:after=4:times=2",
        "pull:ESRCH:at=1:after=9:rank=0",
    ] {
        let mut settings = helper.to_vec();
        settings.push(("ISTHMUS_FAULT", fault));
        let run = with("large_messages", &settings)?;
        ensure!(run.err.contains("injected fault"), "{fault}: nothing was injected");
    }
    Ok(())
}

/// Where the kernel module is named and missing, large messages take two copies, and one line says just that.
#[test]
fn a_named_module_that_is_missing_is_told() -> Result<()> {
    if std::path::Path::new("/dev/isthmus").exists() {
        return Ok(());
    }
    let run = with("large_messages", &[("ISTHMUS_MECHANISM", "kmod")])?;
    ensure!(
        run.err.contains("the kernel module is not used") && run.err.contains("take two copies"),
        "{}",
        run.err
    );
    for wrong in ["cross memory attach is", "more memory", "ptrace_scope"] {
        ensure!(!run.err.contains(wrong), "{wrong}: {}", run.err);
    }
    Ok(())
}

/// The module's asynchronous copies are named, too, and told of in the same way where it is missing.
#[test]
fn asynchronous_copies_need_the_module() -> Result<()> {
    if std::path::Path::new("/dev/isthmus").exists() {
        return Ok(());
    }
    for named in ["kmod_thread", "kmod_dma"] {
        let run = with("large_messages", &[("ISTHMUS_MECHANISM", named)])?;
        ensure!(
            run.err.contains("the kernel module is not used"),
            "{named}: {}",
            run.err
        );
    }
    Ok(())
}

/// Where ranks are on two packages, and single copies are refused, vmsplice is tried by itself; within a package it is not.
#[test]
fn vmsplice_is_tried_between_packages() -> Result<()> {
    for (packages, is_tried) in [("0,1", true), ("0,0", false)] {
        let run = with(
            "large_messages",
            &[
                ("ISTHMUS_CMA", "0"),
                ("ISTHMUS_TOPOLOGY", packages),
                ("ISTHMUS_TUNING", "none"),
            ],
        )?;
        ensure!(
            run.err.contains(": vmsplice Push") == is_tried,
            "{packages}: {}",
            run.err
        );
    }
    Ok(())
}

/// An accumulate on many blocks of ordinary memory reads and writes many by one copy, also where copies are refused in the middle.
#[test]
fn an_accumulate_on_scattered_elements_copies_many_at_a_time() -> Result<()> {
    /// More than 60 operations of each rank are on 1000 elements; with a copy for each there would be 100000.
    const MOST: usize = 3000;
    let cma = [("ISTHMUS_MECHANISM", "cma")];
    let run = with("win_scattered", &cma)?;
    ensure!(run.err.lines().all(is_trace), "{}", run.err);
    let copies = run.err.lines().filter(|line| line.contains(": cma P")).count();
    ensure!((10..MOST).contains(&copies), "{copies} copies");
    for fault in [
        "pull:EPERM:after=5",
        "push:EPERM:after=7",
        "any:EFAULT:at=60:after=4:times=1:rank=1",
    ] {
        let mut settings = cma.to_vec();
        settings.push(("ISTHMUS_FAULT", fault));
        let run = with("win_scattered", &settings)?;
        ensure!(run.err.contains("injected fault"), "{fault}: nothing was injected");
    }
    Ok(())
}

/// A rank that is killed while a helper copies ends the job, and no rank hangs.
#[test]
fn a_helper_outlives_nobody() -> Result<()> {
    let run = Run::mpiexec("-n 2")
        .arg(compile("large_messages")?)
        .env("ISTHMUS_HELPER", "2")
        .env("ISTHMUS_HELPER_FROM", "64K")
        .env("ISTHMUS_FAULT", "pull:KILL:after=20:at=1000:rank=1")
        .limit(Duration::from_secs(60))
        .finish()?;
    ensure!(run.code != Some(0) && run.err.contains("signal 9"), "{}", run.err);
    Ok(())
}

/// The measured choice is followed, size by size; an invalid line is reported once, and ignored.
#[test]
fn a_tuning_file_is_followed() -> Result<()> {
    let file = std::env::temp_dir().join(format!("isthmus-tuning-{}", std::process::id()));
    std::fs::write(
        &file,
        "# made by hand\nlarge 0-1M vmsplice\nlarge 1048577- cma # beyond\nlarge some pigeons\n",
    )?;
    let name = file.display().to_string();
    let run = with(
        "large_messages",
        &[("ISTHMUS_TUNING", &name), ("ISTHMUS_ADVERTISE", "0")],
    );
    std::fs::remove_file(&file)?;
    let run = run?;
    ensure!(
        run.err.contains(": vmsplice Push") && run.err.contains(": cma Pull"),
        "{}",
        run.err
    );
    let said: Vec<&str> = run.err.lines().filter(|line| !is_trace(line)).collect();
    ensure!(
        !said.is_empty() && said.len() <= 2 && said.iter().all(|line| line.contains("large some pigeons")),
        "{said:?}"
    );
    let missing = with("large_messages", &[("ISTHMUS_TUNING", "/nowhere/at all")])?;
    ensure!(
        missing.err.contains("ISTHMUS_TUNING=/nowhere/at all"),
        "{}",
        missing.err
    );
    Ok(())
}

/// `isthmus info --protocols` tells what a job with the same environment does.
#[test]
fn what_is_named_is_shown() -> Result<()> {
    for (named, row) in [
        ("vmsplice", "vmsplice"),
        ("loopback", "loopback"),
        ("cma_write", "pushed by the sender"),
    ] {
        let run = Run::program(isthmus_tests::command("isthmus"))
            .words("info --protocols")
            .env("ISTHMUS_MECHANISM", named)
            .succeed()?;
        if named == "cma_write" && run.out.contains("cma is closed") {
            continue;
        }
        let taken: Vec<&str> = run
            .out
            .lines()
            .filter(|line| line.contains("yes, it is named"))
            .collect();
        ensure!(
            !taken.is_empty() && taken.iter().all(|line| line.contains(row)),
            "{named}: {}",
            run.out
        );
        ensure!(run.out.contains(&format!("ISTHMUS_MECHANISM={named}:")), "{}", run.out);
    }
    Ok(())
}

/// `isthmus info --protocols --ranks` tells what a job of so many does: where ranks share CPUs long messages lie in blocks.
#[test]
fn what_ranks_that_share_cpus_do_is_shown() -> Result<()> {
    let show = |ranks: &str| {
        let run = Run::program("taskset").words("-c 0");
        let run = run.arg(isthmus_tests::command("isthmus"));
        run.words("info --protocols --ranks").words(ranks).succeed()
    };
    let (alone, shared) = (show("1")?.out, show("4")?.out);
    let has_block = |out: &str| {
        out.lines()
            .any(|line| line.contains("block ") && line.contains(" yes "))
    };
    ensure!(!has_block(&alone), "{alone}");
    ensure!(has_block(&shared) && shared.contains("if no block is free"), "{shared}");
    ensure!(!shared.contains("from the other end"), "nobody helps: {shared}");
    Ok(())
}

/// Huge pages by every policy: the same program, and at most one line.
#[test]
fn every_policy_of_huge_pages() -> Result<()> {
    for policy in ["auto", "thp", "hugetlb", "off", "none of these"] {
        let run = with("shared_buffers", &[("ISTHMUS_HUGE_PAGES", policy)])?;
        let said: Vec<&str> = run.err.lines().filter(|line| !is_trace(line)).collect();
        let limit = if ["auto", "off"].contains(&policy) { 0 } else { 4 };
        ensure!(said.len() <= limit, "{policy}: {said:?}");
        ensure!(
            (policy != "none of these") || said.iter().all(|line| line.contains("using auto")),
            "{said:?}"
        );
    }
    Ok(())
}
