//! CPUs this process may use.

use std::sync::OnceLock;
use std::time::Duration;

/// Numbers of CPUs that a mask can name are smaller.
pub const MOST: usize = libc::CPU_SETSIZE as usize;

/// CPUs in the affinity mask of the calling thread, in increasing order.
pub fn affinity() -> Vec<usize> {
    // SAFETY: an all-zero cpu_set_t is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is as large as we say.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) } != 0 {
        // More CPUs than a cpu_set_t holds: count what the C library counts.
        // SAFETY: sysconf has no preconditions.
        let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1);
        return (0..online as usize).collect();
    }
    // SAFETY: indexes stay below CPU_SETSIZE.
    (0..MOST).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// The CPUs that the process could use when this was first called, at the latest when it joined the job: a program that binds one of its threads later
/// on does not mean the library's own.
pub fn at_start() -> &'static [usize] {
    static AT_START: OnceLock<Vec<usize>> = OnceLock::new();
    AT_START.get_or_init(affinity)
}

/// Give the CPU to another runnable process, if there is one.
pub fn yield_now() {
    // SAFETY: sched_yield has no preconditions.
    unsafe { libc::sched_yield() };
}

/// Run the calling thread, and what it starts, on `cpus` only. To be called between `fork` and `exec` too: allocates
/// nothing.
pub fn bind(cpus: &[usize]) -> crate::Result<()> {
    // 0: the caller.
    bind_thread(Thread(0), cpus)
}

/// A thread, by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread(pub i32);

impl Thread {
    /// The caller.
    pub fn current() -> Self {
        // SAFETY: gettid has no preconditions.
        Self(unsafe { libc::gettid() })
    }
}

/// The CPU that the caller runs on, which may be another one a moment later; `None`: the kernel does not say.
pub fn current() -> Option<usize> {
    // SAFETY: sched_getcpu has no preconditions.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// As [`bind`], of another thread of this process.
pub fn bind_thread(thread: Thread, cpus: &[usize]) -> crate::Result<()> {
    // SAFETY: an all-zero cpu_set_t is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus.iter().filter(|&&cpu| cpu < MOST) {
        // SAFETY: the index is below CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: `set` is as large as we say.
    crate::error::check("sched_setaffinity", unsafe {
        libc::sched_setaffinity(thread.0, size_of::<libc::cpu_set_t>(), &set)
    })
    .map(drop)
}

/// CPUs that this process can keep busy: its affinity mask, cut by the cgroup's quota (`cpu.max`), at least one.
pub fn usable() -> usize {
    let mask = affinity().len().max(1);
    match crate::cgroup::cpu_quota() {
        Some(quota) => mask.min(quota.ceil().max(1.0) as usize),
        None => mask,
    }
}

/// How long all CPUs together wanted to run since the machine's start and could not, because the hypervisor ran something else, in
/// whole ticks of the kernel (10 ms, mostly). 0 where there is none, or it does not tell (`proc_stat(5)`, *steal*).
pub fn stolen() -> Duration {
    // SAFETY: sysconf has no preconditions.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1);
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    Duration::from_secs_f64(stolen_ticks(&stat).unwrap_or(0) as f64 / per_second as f64)
}

/// How many of these CPUs were busy while `meanwhile` ran, in the mean, by whatever process; `None`: the kernel does not tell. In ticks of
/// 10 ms, mostly (`proc_stat(5)`).
pub fn busy_while(cpus: &[usize], meanwhile: impl FnOnce()) -> Option<f64> {
    let before = Ticks::of(cpus)?;
    meanwhile();
    Some(Ticks::of(cpus)?.busy_since(before)? * cpus.len() as f64)
}

/// What some CPUs have done since the machine's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// Ticks in which one of them was busy, by whatever process.
    pub busy: u64,
    /// All ticks.
    pub all: u64,
}

impl Ticks {
    /// Of these CPUs until now; `None`: the kernel does not tell (`proc_stat(5)`).
    pub fn of(cpus: &[usize]) -> Option<Self> {
        let (busy, all) = ticks(&std::fs::read_to_string("/proc/stat").ok()?, cpus)?;
        Some(Self { busy, all })
    }

    /// The part of the time since then in which they were busy, 0 to 1; `None`: it was less than a tick.
    pub fn busy_since(self, before: Self) -> Option<f64> {
        let (busy, all) = (self.busy.checked_sub(before.busy)?, self.all.checked_sub(before.all)?);
        (all > 0).then(|| busy as f64 / all as f64)
    }
}

/// Busy ticks and all ticks of these CPUs, in the text of `/proc/stat`.
fn ticks(stat: &str, cpus: &[usize]) -> Option<(u64, u64)> {
    /// Idle, and waiting for a disk.
    const IDLE: std::ops::Range<usize> = 3..5;
    /// Those behind are contained in others.
    const KINDS: usize = 8;
    let (mut busy, mut all) = (0, 0);
    for cpu in cpus {
        let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")))?;
        for (kind, word) in line.split_whitespace().take(KINDS).enumerate() {
            let ticks: u64 = word.parse().ok()?;
            all += ticks;
            busy += if IDLE.contains(&kind) { 0 } else { ticks };
        }
    }
    Some((busy, all))
}

/// For how long the first thread of a process had a CPU, and for how long it wanted one and had none, since it began; `None`: there is no such
/// process, or the kernel does not tell (`/proc/PID/schedstat`).
pub fn ran_and_waited(pid: u32) -> Option<(Duration, Duration)> {
    read_ran_and_waited(&format!("/proc/{pid}/schedstat"))
}

/// The same of the calling thread.
pub fn thread_ran_and_waited() -> Option<(Duration, Duration)> {
    read_ran_and_waited("/proc/thread-self/schedstat")
}

fn read_ran_and_waited(path: &str) -> Option<(Duration, Duration)> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut numbers = text
        .split_whitespace()
        .map(|word| word.parse().map(Duration::from_nanos));
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// From the text of `/proc/stat`.
fn stolen_ticks(stat: &str) -> Option<u64> {
    const STEAL: usize = 7;
    let all = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    all.split_whitespace().nth(STEAL)?.parse().ok()
}

/// Bytes of the last cache before memory, as the kernel tells; `None`: it does not. (The C library counts that of other machines' CPUs where
/// a hypervisor shows some of them.)
pub fn last_cache() -> Option<usize> {
    let size = |index: u32| {
        let name = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        std::fs::read_to_string(name).ok()
    };
    let last = (0..8).map_while(size).last()?;
    let kibibytes: usize = last.trim().strip_suffix('K')?.parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_cpus_are_those_asked_for() {
        let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 40 5 6 7 8 9 9\ncpu1 10 0 0 90 0 0 0 0 0 0\n";
        assert_eq!(ticks(stat, &[0]), Some((27, 72)));
        assert_eq!(ticks(stat, &[0, 1]), Some((37, 172)));
        assert_eq!(ticks(stat, &[7]), None);
        let spin = || {
            let began = std::time::Instant::now();
            while began.elapsed() < Duration::from_millis(100) {}
        };
        let busy = busy_while(&affinity(), spin).expect("this is Linux");
        assert!(busy > 0.0 && busy <= affinity().len() as f64, "{busy}");
        let (ran, _) = ran_and_waited(std::process::id()).expect("it is there");
        assert!(ran > Duration::ZERO);
        assert_eq!(ran_and_waited(u32::MAX), None);
        assert!(thread_ran_and_waited().is_some());
    }

    #[test]
    fn stolen_time_is_that_of_all_cpus() {
        let stat = "cpu  10 2 30 4000 5 6 7 88 9 0\ncpu0 1 1 1 1 1 1 1 44 1 0\nintr 5\n";
        assert_eq!(stolen_ticks(stat), Some(88));
        assert_eq!(stolen_ticks("cpu  10 2 30 4000\n"), None, "before Linux 2.6.11");
        assert_eq!(stolen_ticks(""), None);
    }
}
