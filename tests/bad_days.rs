//! Death, denial and other people's children: the job ends at once and leaves nothing, or goes on as if nothing were. In
//! the full test, a thousand times.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use isthmus_tests::{
    ControlGroup, Finished, Run, Running, abstract_sockets, children, command, compile, compile_in, full, job_socket,
    named, prefix, scratch, signal, test, within,
};
use libtest_mimic::Arguments;

#[path = "bad_days/connections.rs"]
mod connections;
#[path = "bad_days/files.rs"]
mod files;

use connections::{
    a_daemon_obeys_nobody_else, a_flood_of_connections_stops_no_agent, a_flood_of_connections_stops_nothing,
    foreign_processes_at_the_port_of_a_job_fill_no_memory, without_descriptors_a_head_waits,
    without_descriptors_mpiexec_waits,
};

use files::{
    a_file_that_one_rank_may_not_open, a_full_file_system, a_read_only_file_system,
    files_that_vanish_and_long_accesses, killed_in_the_middle_of_a_write, killed_with_the_turn_at_a_pipe,
};

fn main() -> ExitCode {
    let trials = vec![
        test!(kill_one_rank_in_the_middle_of_anything),
        test!(kill_one_rank_while_the_others_sleep),
        test!(kill_everything_and_nothing_is_left),
        test!(kill_only_mpiexec_and_its_ranks_end),
        test!(kill_only_mpiexec_while_ranks_sleep),
        test!(stopped_ranks_only_delay),
        test!(denied_single_copy_changes_speed_only),
        test!(no_wake_is_lost_without_membarrier),
        test!(many_senders_without_membarrier),
        test!(a_small_dev_shm_does_not_matter, may_mount),
        test!(memory_that_is_nearly_gone, may_limit_memory),
        test!(more_memory_than_there_is, may_limit_memory),
        test!(memory_is_refused_in_each_layer, may_limit_memory),
        test!(a_quota_below_the_number_of_cpus, may_limit_cpus),
        test!(an_affinity_mask_of_one_cpu),
        test!(ranks_take_turns_on_cpus_and_none_is_bound),
        test!(other_users_change_speed_only, may_change_user),
        test!(pipes_that_are_limited),
        test!(a_kernel_that_copies_what_is_spliced),
        test!(no_loopback_device, may_leave_the_network),
        test!(survivors_go_on),
        test!(killed_in_the_middle_of_a_collective),
        test!(killed_beyond_the_first_64_of_a_board),
        test!(killed_while_memory_is_lent),
        test!(killed_in_the_middle_of_windows),
        test!(killed_in_the_middle_of_armci),
        test!(stopped_in_the_middle_of_one_sided_operations),
        test!(killed_stopped_and_starved_while_units_combine),
        test!(killed_between_groups_and_revoked_on_a_board),
        test!(stopped_and_starved_in_the_middle_of_a_collective),
        test!(memory_of_the_job_is_refused_in_the_middle_of_collectives),
        test!(one_who_does_not_go_on_ends_the_job),
        test!(a_flood_stays_within_a_small_budget),
        test!(without_proc_ranks_are_ended_all_the_same, may_mount),
        test!(without_devices_the_cause_is_named, may_mount),
        test!(filters_that_leave_no_way_are_named),
        test!(another_network_namespace_is_named, may_leave_the_network),
        test!(few_descriptors_are_named_and_small_stacks_are_enough),
        test!(settings_that_never_end_are_refused),
        test!(output_that_cannot_be_written_is_said),
        test!(mpiexec_killed_while_it_launches_says_nothing),
        test!(kill_only_mpiexec_and_what_detached_itself_ends),
        test!(a_flood_of_connections_stops_nothing, may_change_user),
        test!(a_flood_of_connections_stops_no_agent, may_change_user),
        test!(without_descriptors_mpiexec_waits),
        test!(without_descriptors_a_head_waits),
        test!(output_that_nobody_reads_stops_nothing),
        test!(foreign_processes_at_the_port_of_a_job_fill_no_memory),
        test!(a_daemon_obeys_nobody_else),
        test!(a_full_file_system, may_mount),
        test!(a_read_only_file_system, may_mount),
        test!(a_file_that_one_rank_may_not_open, may_mount),
        test!(files_that_vanish_and_long_accesses),
        test!(killed_in_the_middle_of_a_write),
        test!(killed_with_the_turn_at_a_pipe),
        test!(a_checker_is_content_and_small, may_check),
        test!(sanitizers_find_no_leak_of_the_library, may_sanitize),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Whether this machine lets us mount; an error: what is missing.
fn may_mount() -> Result<(), &'static str> {
    let mut probe = Run::program("unshare");
    probe = probe
        .words("--mount sh -c")
        .arg("mount -t tmpfs -o size=64k none /dev/shm");
    let allowed = probe.finish().is_ok_and(|probe| probe.code == Some(0));
    allowed.then_some(()).ok_or("mounting needs root")
}

/// As [`may_mount`], of a cgroup's memory.
fn may_limit_memory() -> Result<(), &'static str> {
    let group = ControlGroup::with_memory(1 << 40);
    group.map(drop).ok_or("making a cgroup needs root")
}

/// As [`may_mount`], of a cgroup's CPUs.
fn may_limit_cpus() -> Result<(), &'static str> {
    if cpus() < 2 {
        return Err("there is one CPU, and no quota below that");
    }
    let group = ControlGroup::with_cpus(cpus() - 1);
    group
        .map(drop)
        .ok_or("making a cgroup needs root, and a kernel with quotas")
}

/// As [`may_mount`], of another user.
fn may_change_user() -> Result<(), &'static str> {
    if std::env::var_os("ISTHMUS_PREFIX").is_none() {
        // Nothing can be tried; the test says so.
        return Ok(());
    }
    let allowed = || {
        Some(
            Run::program(compile("deny").ok()?)
                .words("user /bin/true")
                .finish()
                .ok()?
                .code
                == Some(0),
        )
    };
    allowed()
        .unwrap_or(false)
        .then_some(())
        .ok_or("changing the user needs root")
}

/// As [`may_mount`], of a network namespace.
fn may_leave_the_network() -> Result<(), &'static str> {
    let probe = Run::program("unshare").words("--net true").finish();
    let allowed = probe.is_ok_and(|probe| probe.code == Some(0));
    allowed.then_some(()).ok_or("a network namespace needs root")
}

/// As [`may_mount`], of valgrind.
fn may_check() -> Result<(), &'static str> {
    let found = Run::program("valgrind").words("--version").finish();
    found
        .is_ok_and(|run| run.code == Some(0))
        .then_some(())
        .ok_or("there is no valgrind")
}

/// As [`may_mount`], of the compiler's address sanitizer and its search for leaks.
fn may_sanitize() -> Result<(), &'static str> {
    let probe = || {
        let program = scratch("sanitizer").ok()?.join("probe");
        let script = "echo 'int main(void) { return 0; }' | cc -fsanitize=address -xc - -o \"$0\" && \"$0\"";
        let run = Run::program("sh").arg("-c").arg(script).arg(program).finish().ok()?;
        (run.code == Some(0)).then_some(())
    };
    probe().ok_or("the C compiler has no address sanitizer that runs here")
}

/// CPUs that this process may use.
fn cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32)
}

/// A different moment each time.
fn moments(least: u64, most: u64) -> impl Iterator<Item = Duration> {
    let mut state = u64::from(std::process::id()) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Duration::from_millis(least + state % (most - least))
    })
}

fn busy(ranks: u32) -> Result<Running> {
    Run::mpiexec("-n")
        .arg(ranks.to_string())
        .arg(compile("busy")?)
        .limit(Duration::from_secs(20))
        .start()
}

/// Files with a name of ours where other MPI libraries keep theirs. (The folders of `isthmus bench` go with it.)
fn traces() -> BTreeSet<String> {
    let folders = ["/dev/shm", "/tmp", "/var/tmp", "/run"].into_iter();
    let entries = folders
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .flatten();
    let names = entries.map(|entry| entry.path().display().to_string());
    names
        .filter(|name| name.to_lowercase().contains("isthmus") && !name.contains("isthmus-bench"))
        .collect()
}

/// Files with a name that a process could write to: open, or mapped and shared. (At its start it is seen reading libraries, and
/// what the kernel tells of the machine.)
fn named_files(pid: u32) -> Vec<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let shared = maps.lines().filter(|line| {
        line.split_whitespace()
            .nth(1)
            .is_some_and(|rights| rights.contains('w') && rights.ends_with('s'))
    });
    let mapped = shared
        .filter_map(|line| line.split_whitespace().nth(5))
        .map(str::to_owned);
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| is_writable(pid, &entry.file_name().to_string_lossy()));
    let open = open.filter_map(|entry| Some(std::fs::read_link(entry.path()).ok()?.display().to_string()));
    let named = |file: &String| file.starts_with('/') && !file.starts_with("/memfd:") && !file.starts_with("/dev/null");
    mapped.chain(open).filter(named).collect()
}

/// Has a process opened this for more than reading? (`flags` of proc_pid_fdinfo(5), in octal, with the access in the last two
/// bits.)
fn is_writable(pid: u32, descriptor: &str) -> bool {
    let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
}

/// Ranks that were killed, as mpiexec tells.
fn deaths(run: &Finished) -> usize {
    let lines = run.err.lines();
    lines.filter(|line| line.contains("killed by signal 9")).count()
}

fn kill_one_rank_in_the_middle_of_anything() -> Result<()> {
    let times = if full() { 600 } else { 12 };
    let mut kills = 0;
    for (time, moment) in moments(1, 400).take(times).enumerate() {
        let ranks = [2, 3, 4, 8][time % 4];
        let running = busy(ranks)?;
        std::thread::sleep(moment);
        let ranks = children(running.pid());
        let Some(&victim) = ranks.get(time % ranks.len().max(1)) else {
            signal(running.pid(), "KILL");
            continue;
        };
        signal(victim, "KILL");
        let killed = Instant::now();
        let run = running.finish()?;
        ensure!(
            killed.elapsed() < Duration::from_secs(1),
            "after {moment:?}: took {:?}",
            killed.elapsed()
        );
        ensure!(
            run.code == Some(137),
            "after {moment:?}: code {:?}, {}",
            run.code,
            run.err
        );
        ensure!(run.err.lines().count() == 1, "after {moment:?}: {}", run.err);
        ensure!(
            run.err.contains(&format!("pid {victim}")) && run.err.contains("signal 9"),
            "{}",
            run.err
        );
        ensure!(
            ranks.iter().all(|rank| !Path::new(&format!("/proc/{rank}")).exists()),
            "a rank lives on"
        );
        kills += 1;
    }
    ensure!(
        kills * 2 >= times,
        "only {kills} of {times} launches had a rank to kill"
    );
    Ok(())
}

/// With everybody else asleep in a receive, or in a wait of a model that cannot go on without one.
fn kill_one_rank_while_the_others_sleep() -> Result<()> {
    for (program, does) in [
        (compile("act")?, "all hang"),
        (compile_in("shmem", "stuck", &["-loshmem"])?, "barrier"),
        (compile_in("shmem", "stuck", &["-loshmem"])?, "wait"),
    ] {
        let running = Run::mpiexec("-n 4")
            .arg(program)
            .words(does)
            .limit(Duration::from_secs(20))
            .start()?;
        within(Duration::from_secs(5), "four ranks", || {
            children(running.pid()).len() == 4
        })?;
        std::thread::sleep(Duration::from_millis(500));
        signal(children(running.pid())[2], "SEGV");
        let killed = Instant::now();
        let run = running.finish()?;
        ensure!(
            killed.elapsed() < Duration::from_secs(1),
            "{does}: took {:?}",
            killed.elapsed()
        );
        ensure!(
            run.code == Some(139) && run.err.lines().count() == 1,
            "{does}: {:?}: {}",
            run.code,
            run.err
        );
    }
    Ok(())
}

fn kill_everything_and_nothing_is_left() -> Result<()> {
    let before = traces();
    let times = if full() { 200 } else { 12 };
    let mut kills = 0;
    for moment in moments(1, 300).take(times) {
        let running = busy(4)?;
        std::thread::sleep(moment);
        let all = children(running.pid());
        kills += usize::from(!all.is_empty());
        let sockets: Vec<String> = all.iter().filter_map(|&rank| job_socket(rank)).collect();
        let files: Vec<String> = all.iter().flat_map(|&rank| named_files(rank)).collect();
        ensure!(files.is_empty(), "a rank uses files with names: {files:?}");
        signal(running.pid(), "KILL");
        all.into_iter().for_each(|pid| signal(pid, "KILL"));
        running.finish()?;
        within(Duration::from_secs(1), "all processes gone", || {
            named("programs/busy").is_empty()
        })?;
        let left = || abstract_sockets().into_iter().any(|socket| sockets.contains(&socket));
        within(Duration::from_secs(1), "the job's socket gone", || !left())?;
    }
    ensure!(kills * 2 >= times, "only {kills} of {times} launches had ranks to kill");
    ensure!(traces() == before, "left behind: {:?}", traces().difference(&before));
    Ok(())
}

fn kill_only_mpiexec_and_its_ranks_end() -> Result<()> {
    let times = if full() { 200 } else { 8 };
    let mut kills = 0;
    for (time, moment) in moments(1, 300).take(times).enumerate() {
        let wrapped = format!("{}; sleep 100", compile("busy")?.display());
        let running = if time % 2 == 0 {
            busy(4)?
        } else {
            Run::mpiexec("-n 3 sh -c").arg(wrapped).start()?
        };
        std::thread::sleep(moment);
        kills += usize::from(!children(running.pid()).is_empty());
        signal(running.pid(), "KILL");
        running.finish()?;
        within(Duration::from_secs(5), "all ranks gone", || {
            named("programs/busy").is_empty()
        })?;
    }
    ensure!(
        kills * 2 >= times,
        "only {kills} of {times} launches had ranks that mpiexec left behind"
    );
    Ok(())
}

/// Ranks asleep in a receive, behind a wrapper that does not tell them.
fn kill_only_mpiexec_while_ranks_sleep() -> Result<()> {
    let script = format!("{} all hang; true", compile("act")?.display());
    let running = Run::mpiexec("-n 3 sh -c").arg(script).start()?;
    within(Duration::from_secs(5), "three ranks below three shells", || {
        children(running.pid()).len() == 6
    })?;
    std::thread::sleep(Duration::from_millis(500));
    signal(running.pid(), "KILL");
    running.finish()?;
    within(Duration::from_secs(2), "all ranks gone", || {
        named("act all hang").is_empty()
    })
}

fn stopped_ranks_only_delay() -> Result<()> {
    let running = Run::mpiexec("-n 3").arg(compile("busy")?).words("2").start()?;
    std::thread::sleep(Duration::from_millis(300));
    for rank in children(running.pid()) {
        signal(rank, "STOP");
        std::thread::sleep(Duration::from_millis(100));
        signal(rank, "CONT");
    }
    let run = running.finish()?;
    ensure!(run.code == Some(0), "{:?}: {}", run.code, run.err);
    Ok(())
}

/// Data is compared byte for byte; each errno is what some container answers.
fn denied_single_copy_changes_speed_only() -> Result<()> {
    let deny = compile("deny")?;
    for (number, errno) in ["1", "38"].into_iter().enumerate() {
        let programs = ["point_to_point", "collectives", "storm", "truncation"]
            .into_iter()
            .enumerate();
        // Each program with one of the two, in the full test with both.
        for (_, program) in programs.filter(|(other, _)| full() || other % 2 == number) {
            let ranks = if program == "truncation" { "2" } else { "4" };
            let run = Run::mpiexec("-n")
                .arg(ranks)
                .arg(&deny)
                .arg(errno)
                .arg(compile(program)?);
            run.limit(Duration::from_secs(120)).succeed()?;
        }
    }
    // One of two ranks only.
    let program = compile("point_to_point")?;
    Run::mpiexec("-n 1")
        .arg(&deny)
        .arg("1")
        .arg(&program)
        .words(": -n 1")
        .arg(&program)
        .succeed()?;
    Run::mpiexec("-n 1")
        .arg(&program)
        .words(": -n 1")
        .arg(&deny)
        .arg("1")
        .arg(&program)
        .succeed()
        .map(drop)
}

/// A rank that cannot fence for others, or cannot be fenced for, still loses no wake: not by short sleeps, which would take CPU time and
/// show in the counter, but since those fence who can.
fn no_wake_is_lost_without_membarrier() -> Result<()> {
    let (deny, wakes) = (compile("deny")?, compile("wakes")?);
    let hasty = || Run::mpiexec("--set yield_us=0 --set spin_us=1").limit(Duration::from_secs(90));
    let denied = |run: Run, ranks: &str| run.words("-n").words(ranks).arg(&deny).words("membarrier").arg(&wakes);
    for ranks in ["2", "4"] {
        denied(hasty(), ranks).succeed().context("all are denied")?;
        hasty()
            .words("-n")
            .words(ranks)
            .arg(&wakes)
            .words("thread")
            .succeed()
            .context("all have threads")?;
    }
    // Some of each kind: they send to one another in both parts of the program.
    denied(hasty(), "1")
        .words(": -n 1")
        .arg(&wakes)
        .succeed()
        .context("rank 0 is denied")?;
    denied(hasty().words("-n 1").arg(&wakes).words(":"), "1")
        .succeed()
        .context("rank 1 is denied")?;
    denied(hasty().words("-n 1").arg(&wakes).words(":"), "1")
        .words(": -n 1")
        .arg(&wakes)
        .words("thread : -n 1")
        .arg(&wakes)
        .succeed()
        .context("rank 1 is denied, rank 2 has a thread")?;
    // Sleeps are as long as elsewhere.
    let blocked = Run::mpiexec("-n 4").arg(&deny).words("membarrier");
    blocked.arg(compile("blocked")?).succeed().map(drop)
}

/// A rank that is refused membarrier hears more senders than it looks at by itself elsewhere.
fn many_senders_without_membarrier() -> Result<()> {
    Run::mpiexec("-n 1")
        .arg(compile("deny")?)
        .words("membarrier")
        .arg(compile("many")?)
        .words(": -n 23")
        .arg(compile("many")?)
        .limit(Duration::from_secs(90))
        .succeed()
        .map(drop)
}

/// Where containers keep shared memory there is next to none: nothing of ours is there. Only root can try that.
fn a_small_dev_shm_does_not_matter() -> Result<()> {
    let small = "mount -t tmpfs -o size=64k none /dev/shm && exec \"$@\"";
    let within = || Run::program("unshare").words("--mount sh -c").arg(small).arg("sh");
    for (program, ranks) in [("large_messages", "3"), ("shared_buffers", "4"), ("collectives", "4")] {
        let run = within()
            .arg(command("mpiexec"))
            .words("-n")
            .arg(ranks)
            .arg(compile(program)?);
        run.limit(Duration::from_secs(120)).succeed()?;
    }
    Ok(())
}

/// A job that fits into the memory of its group by a hair runs; one that does not ends at once, in one line, and leaves
/// nothing. Only root can try that.
fn memory_that_is_nearly_gone() -> Result<()> {
    const MIB: u64 = 1 << 20;
    let job = |group: &ControlGroup| {
        let run = group.run(command("mpiexec")).words("-n 2").arg(compile("bulk")?);
        run.words("32 6").limit(Duration::from_secs(60)).finish()
    };
    let group = ControlGroup::with_memory(1 << 40).context("making a cgroup")?;
    let run = job(&group)?;
    ensure!(run.code == Some(0), "{:?} {}", run.code, run.err);
    let peak = group.peak()?;
    ensure!(peak > 64 * MIB, "the group holds the job: {peak} bytes");
    let mut killed = 0;
    for limit in [peak + MIB, peak, peak - peak / 10, peak / 2, 16 * MIB] {
        let group = ControlGroup::with_memory(limit).context("a second group")?;
        let run = job(&group)?;
        let what = format!("{limit} of {peak} bytes: {:?} {}", run.code, run.err);
        if run.code == Some(0) {
            ensure!(run.err.is_empty(), "{what}");
        } else {
            // The kernel picks a rank, or mpiexec itself, whose ranks end with it.
            ensure!(limit <= peak, "{what}");
            ensure!(
                matches!(run.code, Some(137) | None) && run.err.lines().count() <= 1,
                "{what}"
            );
            killed += 1;
        }
        within(Duration::from_secs(2), "all processes gone", || group.is_empty())?;
    }
    ensure!(killed > 0, "half of what is needed was enough");
    Ok(())
}

/// What the group has no room for is refused, and nobody is killed for it. Only root can try that.
fn more_memory_than_there_is() -> Result<()> {
    for ranks in ["1", "2"] {
        let group = ControlGroup::with_memory(256 << 20).context("making a cgroup")?;
        let run = group.run(command("mpiexec")).words("-n").arg(ranks);
        run.arg(compile("beyond")?)
            .words("300")
            .succeed()
            .with_context(|| format!("{ranks} ranks"))?;
    }
    Ok(())
}

/// Whatever takes memory is refused it below the limit, and nobody is killed, also where several ranks ask at the same moment. Only
/// root can try that.
fn memory_is_refused_in_each_layer() -> Result<()> {
    let numbers: &[&str] = if full() { &["1", "3", "4"] } else { &["1", "3"] };
    for ranks in numbers {
        let group = ControlGroup::with_memory(256 << 20).context("making a cgroup")?;
        let run = group.run(command("mpiexec")).words("-n").words(ranks);
        run.arg(compile("starved")?)
            .limit(Duration::from_secs(120))
            .succeed()
            .with_context(|| format!("{ranks} ranks"))?;
    }
    Ok(())
}

/// A container's share of the machine is not what its affinity mask says: ranks that spin would be stopped for the rest of
/// each period, with what the others wait for.
fn a_quota_below_the_number_of_cpus() -> Result<()> {
    let quota = compile("quota")?;
    let cpus = cpus();
    let group = ControlGroup::with_cpus(cpus - 1).context("making a cgroup")?;
    let run = group.run(command("mpiexec")).words("-n").arg(cpus.to_string());
    run.arg(&quota).words("shared").succeed()?;
    // The same ranks outside: nothing else makes them yield.
    Run::mpiexec("-n")
        .arg(cpus.to_string())
        .arg(&quota)
        .words("own")
        .succeed()?;
    Ok(())
}

/// A launcher that may use one CPU has ranks that may use no more, however many there are.
fn an_affinity_mask_of_one_cpu() -> Result<()> {
    Run::program("taskset")
        .words("-c 0")
        .arg(command("mpiexec"))
        .words("-n 2")
        .arg(compile("quota")?)
        .words("shared")
        .succeed()
        .map(drop)
}

/// Ranks that outnumber the CPUs begin by turns on each, and may use all of them: two, or the one that there is.
fn ranks_take_turns_on_cpus_and_none_is_bound() -> Result<()> {
    /// The kernel may move a rank before it looks where it is.
    const LAUNCHES: u32 = 20;
    let turns = compile("turns")?;
    for _ in 0..LAUNCHES {
        let run = Run::program("taskset").words("-c 0,1").arg(command("mpiexec"));
        let finished = run.words("-n 4").arg(&turns).words("looks").finish()?;
        match finished.code {
            Some(0) => return Ok(()),
            Some(3) => {}
            _ => bail!("{}", finished.err),
        }
    }
    bail!("in none of {LAUNCHES} launches all ranks began on the CPUs whose turn it was")
}

/// Ranks of different users without capabilities may not read one another's memory. Only root can try that.
fn other_users_change_speed_only() -> Result<()> {
    // Where everybody may reach it, whatever the way to the repository allows.
    let open = std::env::temp_dir().join(format!("isthmus-users-{}", std::process::id()));
    Run::program("cp")
        .words("-rL")
        .arg(prefix().join("lib"))
        .arg(&open)
        .succeed()?;
    let outcome = as_other_users(&open);
    std::fs::remove_dir_all(&open)?;
    outcome
}

fn as_other_users(open: &Path) -> Result<()> {
    for program in ["point_to_point", "storm", "collectives"] {
        let copy = open.join(program);
        std::fs::copy(compile(program)?, &copy)?;
        let run = Run::mpiexec("-n 4 -env LD_LIBRARY_PATH")
            .arg(open)
            .arg(compile("deny")?)
            .arg("user")
            .arg(copy);
        run.limit(Duration::from_secs(120)).succeed()?;
    }
    Ok(())
}

/// Pipes that cannot be made larger carry everything all the same; where there are none, the ring does, and one line says so.
fn pipes_that_are_limited() -> Result<()> {
    let run = |limit: &str, stream: &str| -> Result<Finished> {
        Run::mpiexec("-n 2")
            .arg(compile("deny")?)
            .arg(limit)
            .arg(compile("large_messages")?)
            .env("ISTHMUS_MECHANISM", stream)
            .env("ISTHMUS_TRACE", "1")
            .limit(Duration::from_secs(120))
            .succeed()
    };
    let complaints = |run: &Finished| {
        run.err
            .lines()
            .filter(|line| line.contains(" the ring instead"))
            .count()
    };
    for stream in ["vmsplice", "writev"] {
        let small = run("pipesize", stream)?;
        ensure!(
            small.err.contains(&format!(": {stream} Push")) && complaints(&small) == 0,
            "{stream}: {}",
            small.err
        );
        let none = run("pipe2", stream)?;
        ensure!(
            complaints(&none) == 1 && none.err.contains("pipe-user-pages-soft"),
            "{stream}: {}",
            none.err
        );
    }
    Ok(())
}

/// vmsplice that copies, as newer kernels may, or that a filter refuses: everything arrives, and `isthmus info` says which it is.
fn a_kernel_that_copies_what_is_spliced() -> Result<()> {
    let folder = isthmus_tests::scratch("splice")?;
    let (source, library) = (folder.join("copies.c"), folder.join("copies.so"));
    std::fs::write(
        &source,
        "#include <sys/uio.h>\n\
         ssize_t vmsplice(int fd, const struct iovec *spans, size_t count, unsigned flags)\n\
         { (void)flags; return writev(fd, spans, (int)count); }\n",
    )?;
    Run::program("cc")
        .words("-shared -fPIC -O1 -o")
        .arg(&library)
        .arg(&source)
        .succeed()?;
    let told = Run::program(command("isthmus"))
        .words("info --protocols")
        .env("LD_PRELOAD", &library);
    let told = told.succeed()?;
    ensure!(told.out.contains("vmsplice copies on this kernel"), "{}", told.out);
    let program = compile("large_messages")?;
    let run = Run::mpiexec("-n 2 -env LD_PRELOAD").arg(&library).arg(&program);
    let run = run.env("ISTHMUS_MECHANISM", "vmsplice").env("ISTHMUS_TRACE", "1");
    let run = run.succeed()?;
    ensure!(run.err.contains(": vmsplice Push"), "{}", run.err);

    let told = Run::program(compile("deny")?)
        .arg("vmsplice")
        .arg(command("isthmus"))
        .words("info --protocols");
    let told = told.succeed()?;
    ensure!(told.out.contains("vmsplice is not to be had here"), "{}", told.out);
    let run = Run::mpiexec("-n 2").arg(compile("deny")?).arg("vmsplice").arg(&program);
    let run = run.env("ISTHMUS_MECHANISM", "vmsplice").succeed()?;
    ensure!(
        run.err.lines().count() == 1 && run.err.contains(" the ring instead"),
        "{}",
        run.err
    );
    Ok(())
}

/// A socket that is refused: the ring, and one line.
fn no_loopback_device() -> Result<()> {
    let run = Run::program("unshare")
        .arg("--net")
        .arg(command("mpiexec"))
        .words("-n 2")
        .arg(compile("large_messages")?)
        .env("ISTHMUS_MECHANISM", "loopback")
        .limit(Duration::from_secs(120))
        .succeed()?;
    ensure!(
        run.err.lines().count() == 1 && run.err.contains("a loopback device that is up"),
        "{}",
        run.err
    );
    Ok(())
}

/// The others go on where their error handlers return; the job's exit code stays that of the first failure.
fn survivors_go_on() -> Result<()> {
    let program = compile("survive")?;
    for (scenario, ranks) in [
        ("point_to_point", 2),
        ("point_to_point", 4),
        ("anybody", 4),
        ("collectives", 2),
        ("collectives", 5),
        ("collectives", 8),
        ("revoked", 2),
        ("revoked", 4),
        ("cascade", 4),
    ] {
        let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program).arg(scenario);
        let run = run.limit(Duration::from_secs(30)).finish()?;
        let what = format!("{scenario} on {ranks}: {:?}\n{}{}", run.code, run.out, run.err);
        ensure!(run.code == Some(137), "{what}");
        let deaths = deaths(&run);
        let survivors = run.out.lines().filter(|line| *line == "survived").count();
        ensure!(deaths + survivors == ranks && survivors > 0, "{what}");
        ensure!(run.err.lines().count() == deaths, "{what}");
    }
    within(Duration::from_secs(1), "all processes gone", || {
        named("programs/survive").is_empty()
    })
}

/// Somebody dies in the middle of a collective of any kind, and somebody else in the next: an error at everyone who lives, and no
/// hang.
fn killed_in_the_middle_of_a_collective() -> Result<()> {
    let before = traces();
    let program = compile("bad_collectives")?;
    let seeds = if full() { 24 } else { 4 };
    let few = (1..=seeds).flat_map(|seed| [(seed, 3), (seed, 4), (seed, 8)]);
    let many: &[_] = if full() { &[(1, 34), (1, 66)] } else { &[(1, 34)] };
    for (seed, ranks) in few.chain(many.iter().copied()) {
        let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
        let run = run
            .words(&format!("killed {seed}"))
            .limit(Duration::from_secs(120))
            .finish()?;
        let what = format!("seed {seed} on {ranks}: {:?}\n{}{}", run.code, run.out, run.err);
        ensure!(run.code == Some(137), "{what}");
        let deaths = deaths(&run);
        ensure!(deaths == ranks - 1 && run.err.lines().count() == deaths, "{what}");
        ensure!(run.out == "survived\n", "{what}");
    }
    within(Duration::from_secs(1), "all processes gone", || {
        named("programs/bad_collectives").is_empty()
    })?;
    ensure!(traces() == before, "left behind: {:?}", traces().difference(&before));
    Ok(())
}

/// Members of a board beyond those that one word has bits for die in the middle of a collective on it: nobody waits for them to read what
/// was staged.
fn killed_beyond_the_first_64_of_a_board() -> Result<()> {
    let program = compile("bad_collectives")?;
    let seeds = if full() { 12 } else { 2 };
    for seed in 1..=seeds {
        let run = Run::mpiexec("-n 67")
            .arg(&program)
            .words(&format!("killed_last {seed}"));
        let run = run.limit(Duration::from_secs(60)).finish()?;
        let survivors = run.out.lines().filter(|line| *line == "survived").count();
        let what = format!("seed {seed}: {:?}\n{}{}", run.code, run.out, run.err);
        ensure!(run.code == Some(137) && deaths(&run) == 3 && survivors == 64, "{what}");
    }
    Ok(())
}

/// Somebody dies in the middle of what all do with a window, whose memory is mapped, or reached by copies, or by messages.
fn killed_in_the_middle_of_windows() -> Result<()> {
    let before = traces();
    let program = compile("win_killed")?;
    let seeds = if full() { 20 } else { 2 };
    for scenario in ["locks", "operations", "swaps", "holder", "posts", "puts", "fences"] {
        for (memory, options) in [("", ""), ("create", ""), ("create", "--set cma=0")] {
            for (seed, ranks) in (1..=seeds).map(|seed| (seed, 2 + seed % 4)) {
                let run = Run::mpiexec("-n").arg(ranks.to_string()).words(options).arg(&program);
                let run = run
                    .words(&format!("{scenario} {seed} {memory}"))
                    .limit(Duration::from_secs(60))
                    .finish()?;
                let survivors = run.out.lines().filter(|line| *line == "survived").count();
                let what = format!(
                    "{scenario} {seed} {memory} {options} on {ranks}: {:?}\n{}{}",
                    run.code, run.out, run.err
                );
                ensure!(run.code == Some(137) && deaths(&run) == 1, "{what}");
                ensure!(survivors == ranks - 1, "{what}");
                // The rank that takes the lock over says so, once.
                let freed = run.err.matches("died while it had a lock on").count();
                ensure!(scenario != "holder" || freed == 1, "{what}");
            }
        }
    }
    within(Duration::from_secs(1), "all processes gone", || {
        named("programs/win_killed").is_empty()
    })?;
    ensure!(traces() == before, "left behind: {:?}", traces().difference(&before));
    Ok(())
}

/// Somebody dies in the middle of each operation of ARMCI, or is waited for in it: the job is over, and one line says who has died.
fn killed_in_the_middle_of_armci() -> Result<()> {
    let before = traces();
    let program = compile_in("armci", "killed", &["-larmci"])?;
    let operations = [
        "put", "get", "acc", "puts", "gets", "accs", "putv", "getv", "accv", "nbput", "nbget", "value", "flag", "rmw",
        "mutex", "notify", "barrier",
    ];
    let seeds = if full() { 8 } else { 1 };
    for operation in operations {
        for (seed, options) in (1..=seeds).flat_map(|seed| [(seed, ""), (seed, "--set cma=0")]) {
            let ranks = 2 + (seed + operation.len()) % 3;
            let run = Run::mpiexec("-n").arg(ranks.to_string()).words(options).arg(&program);
            let run = run
                .words(&format!("{operation} {seed}"))
                .limit(Duration::from_secs(30))
                .finish()?;
            let what = format!(
                "{operation} {seed} {options} on {ranks}: {:?}\n{}{}",
                run.code, run.out, run.err
            );
            ensure!(run.code == Some(137), "{what}");
            ensure!(deaths(&run) == 1, "{what}");
        }
    }
    within(Duration::from_secs(1), "all processes gone", || {
        named("armci/killed").is_empty()
    })?;
    ensure!(traces() == before, "left behind: {:?}", traces().difference(&before));
    Ok(())
}

/// Ranks stop in the middle of whatever they do to each other's memory, with locks and with questions that they have taken, and go on: the
/// others wait for them at most, and everything is as the models have it.
fn stopped_in_the_middle_of_one_sided_operations() -> Result<()> {
    let programs = [
        (compile("win_random")?, "7 60"),
        (compile("win_threads")?, "3 60000"),
        (compile("win_waiting")?, ""),
        (compile_in("armci", "random", &["-larmci"])?, "5"),
    ];
    for (program, arguments) in programs {
        let running = Run::mpiexec("-n 3").arg(&program).words(arguments);
        let running = running.limit(Duration::from_secs(120)).start()?;
        let mut stopped = 0;
        for turn in 0..12_u64 {
            std::thread::sleep(Duration::from_millis(5 + 7 * turn));
            for rank in children(running.pid()) {
                stopped += 1;
                signal(rank, "STOP");
                std::thread::sleep(Duration::from_millis(5 + 3 * (turn % 4)));
                signal(rank, "CONT");
            }
        }
        let run = running.finish()?;
        ensure!(
            run.code == Some(0),
            "{}: {:?}: {}",
            program.display(),
            run.code,
            run.err
        );
        ensure!(stopped > 0, "{}: nobody was there to be stopped", program.display());
    }
    Ok(())
}

/// A rank dies while ranks read each other's memory: the result of a call that succeeds is right, although other ranks,
/// where the call failed, have written something else there.
fn killed_while_memory_is_lent() -> Result<()> {
    let program = compile("lent_and_left")?;
    let kinds = [
        "bcast",
        "gather",
        "scatter",
        "allgather",
        "alltoall",
        "reduce",
        "allreduce",
        "reduce_scatter",
    ];
    let wish = kinds.map(|kind| format!("{kind}:shared_direct?")).join(",");
    let seeds = if full() { 60 } else { 6 };
    for (seed, ranks) in (1..=seeds).map(|seed| (seed, 2 + seed % 4)) {
        for memory in ["mapped", "own"] {
            let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
            let run = run
                .words(&format!("{seed} {memory}"))
                .env("ISTHMUS_COLLECTIVES", &wish)
                .limit(Duration::from_secs(60))
                .finish()?;
            let survivors = run.out.lines().filter(|line| *line == "survived").count();
            let what = format!(
                "{memory}, seed {seed} on {ranks}: {:?}\n{}{}",
                run.code, run.out, run.err
            );
            ensure!(run.code == Some(137) && survivors == ranks - 1, "{what}");
        }
    }
    Ok(())
}

/// The same where the units of a machine combine among themselves first, and ranks that stop there or are refused memory.
fn killed_stopped_and_starved_while_units_combine() -> Result<()> {
    let program = compile("bad_collectives")?;
    // All but one rank die in turn, the first of them in a reduction.
    for (scenario, seed, ranks, topology) in [
        ("killed", 7, 4, "2x2"),
        ("killed", 8, 4, "2x2"),
        ("killed", 27, 4, "0,1,0,1"),
        ("killed", 28, 4, "0,1,0,1"),
        ("killed", 3, 8, "2x4"),
        ("killed", 4, 8, "2x2x2"),
        ("stopped", 1, 4, "2x2"),
        ("starved", 1, 4, "2x2"),
    ] {
        let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
        let run = run
            .words(&format!("{scenario} {seed}"))
            .env("ISTHMUS_TOPOLOGY", topology)
            .env(
                "ISTHMUS_COLLECTIVES",
                "allreduce:shared_two_level?,reduce:shared_two_level?",
            );
        let run = run.limit(Duration::from_secs(100)).finish()?;
        let survivors = run.out.lines().filter(|line| *line == "survived").count();
        let what = format!("{scenario} {seed} on {ranks}: {:?}\n{}{}", run.code, run.out, run.err);
        let expected = match scenario {
            "killed" => (Some(137), 1, ranks - 1),
            _ => (Some(0), ranks, 0),
        };
        ensure!((run.code, survivors, deaths(&run)) == expected, "{what}");
    }
    Ok(())
}

/// The same in collectives between two groups and among neighbors, of which one dies; and a communicator is revoked while all but
/// one are in a collective on its board.
fn killed_between_groups_and_revoked_on_a_board() -> Result<()> {
    let program = compile("bad_collectives")?;
    let seeds = if full() { 42 } else { 14 };
    for (seed, ranks) in (1..=seeds).map(|seed| (seed, 2 + seed % 4)) {
        let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
        let run = run
            .words(&format!("killed_wide {seed}"))
            .limit(Duration::from_secs(60))
            .finish()?;
        let survivors = run.out.lines().filter(|line| *line == "survived").count();
        let what = format!("seed {seed} on {ranks}: {:?}\n{}{}", run.code, run.out, run.err);
        ensure!(run.code == Some(137) && deaths(&run) == 1, "{what}");
        ensure!(survivors == ranks - 1 && run.err.lines().count() == 1, "{what}");
    }
    for ranks in [2, 3, 5] {
        let run = Run::mpiexec("-n")
            .arg(ranks.to_string())
            .arg(&program)
            .words("revoked 1");
        let run = run.limit(Duration::from_secs(60)).succeed()?;
        let survivors = run.out.lines().filter(|line| *line == "survived").count();
        ensure!(survivors == ranks, "on {ranks}: {}", run.out);
    }
    Ok(())
}

/// Ranks that stop now and then, and ranks that are refused memory, in the middle of collectives.
fn stopped_and_starved_in_the_middle_of_a_collective() -> Result<()> {
    let program = compile("bad_collectives")?;
    let seeds = if full() { 6 } else { 1 };
    // Four ranks starve where units combine, too.
    let more: &[_] = if full() { &[("starved", 4)] } else { &[] };
    for &(scenario, ranks) in [("stopped", 3), ("stopped", 5), ("starved", 2), ("starved", 3)]
        .iter()
        .chain(more)
    {
        for seed in 1..=seeds {
            let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
            let run = run.words(&format!("{scenario} {seed}")).limit(Duration::from_secs(100));
            let run = run.finish()?;
            let survivors = run.out.lines().filter(|line| *line == "survived").count();
            let what = format!("{scenario} {seed} on {ranks}: {:?}\n{}{}", run.code, run.out, run.err);
            ensure!(run.code == Some(0) && survivors == ranks, "{what}");
        }
    }
    Ok(())
}

/// The job's memory is refused to some or all ranks, for a while or for good, from each of the first pieces on: calls are right or
/// fail, nobody hangs, and with memory all is well again.
fn memory_of_the_job_is_refused_in_the_middle_of_collectives() -> Result<()> {
    let program = compile("bad_collectives")?;
    /// More than a word of a board has bits for.
    const MANY: usize = 34;
    let most = if full() { 24 } else { 8 };
    let few = (0..most)
        .flat_map(|after| [(":times=3", 4), (":times=2:rank=1", 3), (":times=1", 5), ("", 4)].map(|one| (after, one)));
    for (after, (which, ranks)) in few.chain([(2, (":times=1", MANY))]) {
        let topologies = ["1x8", "2x1x2x2"];
        // A call of many takes long.
        let rounds = if ranks == MANY && !full() { "12" } else { "" };
        for topology in &topologies[..if ranks == MANY { 1 } else { 2 }] {
            let run = Run::mpiexec("-n").arg(ranks.to_string()).arg(&program);
            let run = run
                .words(&format!("denied {after} {rounds}"))
                .env("ISTHMUS_FAULT", format!("memory:ENOMEM:after={after}{which}"))
                .env("ISTHMUS_TOPOLOGY", topology);
            let run = run.limit(Duration::from_secs(60)).finish()?;
            let survivors = run.out.lines().filter(|line| *line == "survived").count();
            let what = format!(
                "after {after}{which} on {ranks}: {:?}\n{}{}",
                run.code, run.out, run.err
            );
            // The end of MPI, and whoever has nothing to answer with, cannot do without.
            // A program whose error handler returns gets MPI_ERR_NO_MEM from MPI_Finalize (docs/decisions/0052).
            let refused = ["out of memory for communication", "(code 39)"];
            let ended = run.code != Some(0) && refused.iter().any(|said| run.err.contains(said));
            ensure!(ended || run.code == Some(0) && survivors == ranks, "{what}");
            ensure!(
                !ended || which.is_empty() || run.err.contains("cannot answer"),
                "{what}"
            );
        }
    }
    Ok(())
}

/// Where one rank does not want to go on, or meets the failure with a handler that ends the job, it ends.
fn one_who_does_not_go_on_ends_the_job() -> Result<()> {
    for (scenario, said) in [
        ("unwilling", "ending the job"),
        ("fatal", "rank 0: MPI_Recv: MPIX_ERR_PROC_FAILED"),
    ] {
        let run = Run::mpiexec("-n 4").arg(compile("survive")?).arg(scenario);
        let run = run.limit(Duration::from_secs(20)).finish()?;
        ensure!(
            run.code == Some(137) && run.out.is_empty(),
            "{scenario}: {:?}\n{}",
            run.code,
            run.out
        );
        ensure!(run.err.contains(said), "{scenario}: {}", run.err);
    }
    within(Duration::from_secs(1), "all processes gone", || {
        named("programs/survive").is_empty()
    })
}

/// Rank 0 keeps no more of what it does not receive than it was allowed.
fn a_flood_stays_within_a_small_budget() -> Result<()> {
    let run = Run::mpiexec("--set unexpected_limit=2M --set eager_limit=131072 -n 8")
        .arg(compile("flood")?)
        .arg("2");
    run.limit(Duration::from_secs(90)).succeed().map(drop)
}

/// valgrind looks for pointers in all memory that a process can read: that is what the job uses, not what it may come to use. What
/// others send is written where it can see that, and what the library keeps is in the installed list.
fn a_checker_is_content_and_small() -> Result<()> {
    const MOST: u64 = 256 << 20;
    let program = compile("checked")?;
    let list = prefix().join("share/isthmus/valgrind.supp");
    let checked = |run: Run| {
        run.arg("--error-exitcode=9")
            .arg(format!("--suppressions={}", list.display()))
            .words("--leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all")
            .arg(&program)
            .limit(Duration::from_secs(120))
    };
    let alone = checked(Run::program("valgrind")).start()?;
    let memory = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssShmem:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.map(|kib| kib << 10)
    };
    let mut most = 0;
    while let Some(now) = memory(alone.pid()) {
        most = most.max(now);
        ensure!(most < MOST, "{most} bytes of shared memory");
        std::thread::sleep(Duration::from_millis(5));
    }
    let run = alone.finish()?;
    ensure!(run.code == Some(0) && most > 0, "{:?} {most}: {}", run.code, run.err);
    checked(Run::mpiexec("-n 3 valgrind")).succeed().map(drop)
}

/// What the library keeps until the process ends, a search for leaks finds to be somebody's: a program that has none ends with 0, and one that
/// has some is told of those.
fn sanitizers_find_no_leak_of_the_library() -> Result<()> {
    let program = compile_in("programs", "sanitized", &["-fsanitize=address"])?;
    for ranks in ["1", "3"] {
        Run::mpiexec("-n").words(ranks).arg(&program).succeed()?;
        let run = Run::mpiexec("-n").words(ranks).arg(&program).arg("leak").finish()?;
        ensure!(
            run.code != Some(0) && run.err.contains("12345 byte(s) leaked in 1 allocation(s)"),
            "{:?}: {}",
            run.code,
            run.err
        );
    }
    Ok(())
}

/// With `what` mounted over by nothing.
fn hidden(what: &str) -> Run {
    let script = format!("mount -t tmpfs none {what} && exec \"$@\"");
    Run::program("unshare")
        .words("--mount sh -c")
        .arg(script)
        .arg("sh")
        .arg(command("mpiexec"))
}

/// Only those are known then that mpiexec started, or that came to it.
fn without_proc_ranks_are_ended_all_the_same() -> Result<()> {
    hidden("/proc")
        .words("-n 3")
        .arg(compile("collectives")?)
        .limit(Duration::from_secs(90))
        .succeed()?;
    for (action, code, said) in [
        ("1 signal=9", 137, "was killed by signal 9"),
        ("1 exit=3", 3, "exited with code 3"),
        ("1 abort=5", 5, "MPI_Abort"),
        ("all hang", 124, "has not ended within"),
    ] {
        let run = hidden("/proc")
            .words("--timeout 3 -n 3")
            .arg(compile("act")?)
            .words(action)
            .finish()?;
        let what = format!("{action}: {:?} {}", run.code, run.err);
        ensure!(run.code == Some(code) && run.err.contains(said), "{what}");
        ensure!(!run.err.contains("do not end"), "{what}");
        within(Duration::from_secs(2), "all ranks gone", || {
            named("programs/act").is_empty()
        })?;
    }
    Ok(())
}

fn without_devices_the_cause_is_named() -> Result<()> {
    let run = hidden("/dev").words("-n 2 true").finish()?;
    ensure!(
        run.code == Some(1) && run.err.contains("/dev/null"),
        "{:?} {}",
        run.code,
        run.err
    );
    Ok(())
}

/// A filter of system calls that mpiexec cannot do without: an error, and nobody waits.
fn filters_that_leave_no_way_are_named() -> Result<()> {
    for call in ["accept4", "wait4"] {
        let run = Run::program(compile("deny")?)
            .arg(call)
            .arg(command("mpiexec"))
            .words("-n 2");
        let run = run
            .arg(compile("act")?)
            .words("all exit=0")
            .limit(Duration::from_secs(20))
            .finish()?;
        ensure!(
            run.code == Some(1) && run.err.contains(call),
            "{call}: {:?} {}",
            run.code,
            run.err
        );
        within(Duration::from_secs(2), "all ranks gone", || {
            named("act all exit=0").is_empty()
        })?;
    }
    Ok(())
}

fn another_network_namespace_is_named() -> Result<()> {
    let run = Run::mpiexec("-n 2 unshare --net")
        .arg(compile("collectives")?)
        .finish()?;
    ensure!(
        run.code != Some(0) && run.err.contains("network namespace"),
        "{:?} {}",
        run.code,
        run.err
    );
    Ok(())
}

fn few_descriptors_are_named_and_small_stacks_are_enough() -> Result<()> {
    let (mpiexec, program) = (
        command("mpiexec").display().to_string(),
        compile("collectives")?.display().to_string(),
    );
    // The process that started the tests may have left descriptors open.
    const CLOSED: &str = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-";
    let everybody = |limit: &str| {
        Run::program("sh")
            .arg("-c")
            .arg(format!("{CLOSED}; {limit}; exec {mpiexec} -n 2 {program}"))
    };
    let ranks = |limit: &str| Run::mpiexec("-n 2 sh -c").arg(format!("{CLOSED}; {limit}; exec {program}"));
    for (who, run) in [("everybody", everybody("ulimit -n 4")), ("ranks", ranks("ulimit -n 4"))] {
        let run = run.finish()?;
        ensure!(run.code != Some(0), "{who}");
        ensure!(
            run.err.contains("open files") && run.err.contains("ulimit"),
            "{who}: {}",
            run.err
        );
    }
    everybody("ulimit -s 64").succeed()?;
    ranks("ulimit -s 64").succeed().map(drop)
}

fn settings_that_never_end_are_refused() -> Result<()> {
    for (variable, value) in [("ISTHMUS_COLLECTIVES", "@/dev/zero"), ("ISTHMUS_TUNING", "/dev/zero")] {
        let run = Run::mpiexec("-n 2")
            .arg(compile("large_messages")?)
            .env(variable, value)
            .finish()?;
        ensure!(
            run.err.contains("longer than 1 MiB"),
            "{variable}: {:?} {}",
            run.code,
            run.err
        );
    }
    for option in ["-configfile /dev/zero", "--hostfile /dev/zero -n 1 true"] {
        let run = Run::mpiexec(option).finish()?;
        ensure!(
            run.code == Some(2) && run.err.contains("longer than 1 MiB"),
            "{option}: {:?} {}",
            run.code,
            run.err
        );
    }
    Ok(())
}

/// A full disk: a line, and a code that scripts see.
fn output_that_cannot_be_written_is_said() -> Result<()> {
    for (program, words) in [
        ("mpiexec", "--help"),
        ("mpiexec", "-l -n 2 echo here"),
        ("isthmus", "info"),
        ("isthmus", "doctor"),
    ] {
        let line = format!("{} {words} >/dev/full", command(program).display());
        let run = Run::program("sh").arg("-c").arg(line).finish()?;
        let lines = run.err.lines().count();
        ensure!(
            run.code == Some(1) && lines == 1,
            "{program} {words}: {:?} {}",
            run.code,
            run.err
        );
        ensure!(run.err.contains("No space left"), "{program} {words}: {}", run.err);
    }
    Ok(())
}

/// At any moment between its first process and its last.
fn mpiexec_killed_while_it_launches_says_nothing() -> Result<()> {
    for moment in moments(1, 40).take(if full() { 300 } else { 40 }) {
        let running = Run::mpiexec("-n 24 sleep 5").start()?;
        std::thread::sleep(moment);
        signal(running.pid(), "KILL");
        let run = running.finish()?;
        ensure!(run.err.is_empty(), "after {moment:?}: {}", run.err);
    }
    Ok(())
}

/// Ranks die with mpiexec; what they have put into sessions of its own is found by the job's name.
fn kill_only_mpiexec_and_what_detached_itself_ends() -> Result<()> {
    let script = "setsid sleep 7007 & setsid sh -c 'setsid sleep 7007 & sleep 7007' & sleep 7007";
    let running = Run::mpiexec("-n 2 sh -c").arg(script).start()?;
    let sleepers = || children(running.pid()).len() >= 10;
    within(
        Duration::from_secs(10),
        "two shells, and five processes of each",
        sleepers,
    )?;
    signal(running.pid(), "KILL");
    running.finish()?;
    within(Duration::from_secs(10), "all processes gone", || {
        named("sleep 7007").is_empty()
    })
}

/// `mpiexec -l ... | less`, and nobody presses a key.
fn output_that_nobody_reads_stops_nothing() -> Result<()> {
    // Nothing is read of what is tagged, and nothing of what mpiexec says itself.
    for (what, streams) in [("-l -n 2 yes", "2>/dev/null"), ("-n 2 sh -c 'yes >&2'", "2>&1")] {
        for (cause, code) in [("a time limit", 124), ("a signal", 143)] {
            let timeout = if cause == "a time limit" { "--timeout 1" } else { "" };
            let line = format!("exec {} {timeout} {what} {streams}", command("mpiexec").display());
            let mut child = std::process::Command::new("sh")
                .arg("-c")
                .arg(&line)
                .stdout(std::process::Stdio::piped())
                .spawn()?;
            if cause == "a signal" {
                std::thread::sleep(Duration::from_millis(500));
                signal(child.id(), "TERM");
            }
            let began = Instant::now();
            let ended = loop {
                match child.try_wait()? {
                    Some(status) => break status.code(),
                    None if began.elapsed() > Duration::from_secs(20) => break None,
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            };
            isthmus_tests::end(child.id());
            let _ = child.wait();
            ensure!(ended == Some(code), "{what} {streams}, {cause}: {ended:?}");
        }
    }
    // A late reader gets all lines.
    let script = format!("{} -l -n 2 seq 100000 | (sleep 1; wc -l)", command("mpiexec").display());
    let late = Run::program("sh").arg("-c").arg(script).succeed()?;
    ensure!(late.out.trim() == "200000", "{}", late.out);
    Ok(())
}
