//! Huge pages from the machine's pool: all that is asked for, too few, none, and a pool that is taken away. The pool is the machine's, so
//! the tests come one after the other, make it themselves, and leave it as it was.

use std::process::ExitCode;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use isthmus_tests::{Finished, Run, compile, compile_in, trial};
use libtest_mimic::Arguments;

const PAGES: &str = "/proc/sys/vm/nr_hugepages";

fn main() -> ExitCode {
    let allowed = allowed();
    let trials = vec![
        trial("whatever_is_large_comes_from_the_pool", allowed, all),
        trial("one_window_comes_from_the_pool", allowed, hint),
        trial("a_pool_that_is_too_small", allowed, some),
        trial("a_pool_that_is_taken_away", allowed, taken),
        trial("the_symmetric_heap_comes_from_the_pool", allowed, symmetric),
        trial("no_pool", absent(), none),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Can this machine be given a pool? One that somebody has set aside is left alone.
fn allowed() -> Result<(), &'static str> {
    if number(PAGES).map_err(|_| "this kernel has no pool of huge pages")? > 0 {
        return Err("the machine's pool of huge pages is somebody's");
    }
    if number("/proc/sys/vm/nr_overcommit_hugepages").is_ok_and(|pages| pages > 0) {
        return Err("the machine makes huge pages as they are asked for");
    }
    if meminfo("Hugepagesize").map_err(|_| "this kernel has no huge pages")? != 2048 {
        return Err("huge pages are not 2 MiB");
    }
    let writable = std::fs::OpenOptions::new().write(true).open(PAGES);
    writable.map(drop).map_err(|_| "a pool of huge pages needs root")
}

/// Is there no pool now?
fn absent() -> Result<(), &'static str> {
    match number(PAGES).unwrap_or(0) {
        0 => Ok(()),
        _ => Err("the machine has a pool of huge pages"),
    }
}

/// The pool as long as this lives.
struct Pool {
    before: u64,
    _alone: MutexGuard<'static, ()>,
}

impl Pool {
    /// So many pages that nobody has.
    fn of(pages: u64) -> Result<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = number(PAGES)?;
        let pool = Self { before, _alone: alone };
        let used = before - meminfo("HugePages_Free")?.min(before);
        std::fs::write(PAGES, (used + pages).to_string()).context("the pool cannot be changed")?;
        ensure!(meminfo("HugePages_Free")? == pages, "the pool is not as large as that");
        Ok(pool)
    }

    /// Nobody has kept any of it.
    fn is_whole(&self, pages: u64) -> Result<()> {
        let free = meminfo("HugePages_Free")?;
        ensure!(free == pages, "{free} of {pages} pages are free");
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let wanted = self.before.to_string();
        if std::fs::write(PAGES, &wanted).is_err() || number(PAGES).ok() != Some(self.before) {
            eprintln!("{PAGES} was {wanted} and could not be set back");
        }
    }
}

fn number(path: &str) -> Result<u64> {
    let text = std::fs::read_to_string(path).context("no pool in this kernel")?;
    text.trim().parse().context("not a number")
}

fn meminfo(name: &str) -> Result<u64> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let text = line.context("not in meminfo")?.trim().trim_end_matches(" kB");
    text.parse().context("not a number")
}

fn run(mode: &str, policy: &str, ranks: u32) -> Result<Finished> {
    Run::mpiexec(&format!("-n {ranks}"))
        .arg(compile("huge_pages")?)
        .words(mode)
        .env("ISTHMUS_HUGE_PAGES", policy)
        .limit(Duration::from_secs(120))
        .succeed()
}

/// One line, of which each of `parts` is one.
fn says_once(run: &Finished, parts: &[&str]) -> Result<()> {
    let lines: Vec<&str> = run.err.lines().filter(|line| line.contains(" from the pool")).collect();
    ensure!(
        lines.len() == 1 && parts.iter().all(|part| lines[0].contains(part)),
        "{}",
        run.err
    );
    Ok(())
}

fn all() -> Result<()> {
    let pool = Pool::of(96)?;
    for ranks in [2, 4] {
        let run = run("all", "hugetlb", ranks)?;
        ensure!(run.err.is_empty(), "{}", run.err);
        pool.is_whole(96)?;
    }
    for program in ["shared_buffers", "win_flavors", "collectives"] {
        let run = Run::mpiexec("-n 4")
            .arg(compile(program)?)
            .env("ISTHMUS_HUGE_PAGES", "hugetlb")
            .limit(Duration::from_secs(120));
        run.succeed()?;
        pool.is_whole(96)?;
    }
    Ok(())
}

fn hint() -> Result<()> {
    let pool = Pool::of(32)?;
    let run = run("hint", "off", 2)?;
    ensure!(run.err.is_empty(), "{}", run.err);
    pool.is_whole(32)
}

fn some() -> Result<()> {
    let pool = Pool::of(7)?;
    says_once(&run("some", "hugetlb", 4)?, &["of 7 are free", "vm.nr_hugepages"])?;
    pool.is_whole(7)
}

fn taken() -> Result<()> {
    let pool = Pool::of(32)?;
    says_once(&run("taken", "hugetlb", 2)?, &["vm.nr_hugepages"])?;
    drop(pool);
    let left = meminfo("HugePages_Surp")?;
    ensure!(left == 0, "{left} pages outlive the job");
    Ok(())
}

fn symmetric() -> Result<()> {
    let pool = Pool::of(48)?;
    let with = |size: &str| {
        Run::mpiexec("-n 2")
            .arg(compile_in("shmem", "basics", &["-loshmem"])?)
            .env("ISTHMUS_HUGE_PAGES", "hugetlb")
            .env("SHMEM_SYMMETRIC_SIZE", size)
            .limit(Duration::from_secs(120))
            .succeed()
    };
    let run = with("32M")?;
    ensure!(run.err.is_empty(), "{}", run.err);
    pool.is_whole(48)?;
    says_once(&with("512M")?, &["of 48 are free"])?;
    pool.is_whole(48)
}

fn none() -> Result<()> {
    // Those of the other tests are gone meanwhile, where these can be made.
    let _pool = Pool::of(0).ok();
    says_once(&run("none", "hugetlb", 2)?, &["vm.nr_hugepages"])?;
    for policy in ["auto", "off"] {
        let run = run("none", policy, 2)?;
        ensure!(run.err.is_empty(), "{policy}: {}", run.err);
    }
    Ok(())
}
