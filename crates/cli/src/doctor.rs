//! `isthmus doctor`: tries what Isthmus builds on, and says what to change where something is missing.

mod devices;
mod files;
mod others;

use std::process::ExitCode;

use anyhow::Result;
use isthmus_engine::tunables;
use isthmus_os::{cgroup, cma_probe, cpu, errno, huge, kmod, limits, membarrier, memfd, memory, xpmem, yama};
use serde::Serialize;

use crate::prefix::Prefix;
use crate::show;

pub use devices::try_memory;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// As it should be.
    Good,
    /// Works, but slower or smaller than it could.
    Limited,
    /// Jobs will not run.
    Broken,
}

#[derive(Serialize)]
struct Finding {
    what: &'static str,
    verdict: Verdict,
    found: String,
    /// What to change, where something should be.
    cure: Option<&'static str>,
}

impl Finding {
    fn good(what: &'static str, found: impl Into<String>) -> Self {
        Self {
            what,
            verdict: Verdict::Good,
            found: found.into(),
            cure: None,
        }
    }

    fn limited(what: &'static str, found: impl Into<String>, cure: &'static str) -> Self {
        Self {
            what,
            verdict: Verdict::Limited,
            found: found.into(),
            cure: Some(cure),
        }
    }

    fn broken(what: &'static str, found: impl Into<String>, cure: &'static str) -> Self {
        Self {
            what,
            verdict: Verdict::Broken,
            found: found.into(),
            cure: Some(cure),
        }
    }
}

/// Fails if jobs will not run here.
pub fn run(json: bool) -> Result<ExitCode> {
    // The probe of process_vm_readv forks, so it comes first, while this process has one thread.
    let always = [
        single_copy(),
        installation(),
        shared_memory(),
        wake_up(),
        processors(),
        neighbours(),
        memory_left(),
        huge_pages(),
        open_files(),
        processes(),
        address_space(),
    ];
    let findings: Vec<Finding> = always
        .into_iter()
        .chain(others::findings())
        .chain([files::finding()])
        .chain(mapped_peers())
        .chain(devices::findings())
        .chain([kernel_module()].into_iter().flatten())
        .collect();
    if json {
        println!("{}", serde_json::to_string_pretty(&findings)?);
    } else {
        print(&findings);
    }
    let broken = findings.iter().any(|finding| finding.verdict == Verdict::Broken);
    Ok(if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(findings: &[Finding]) {
    for finding in findings {
        let mark = match finding.verdict {
            Verdict::Good => "good   ",
            Verdict::Limited => "LIMITED",
            Verdict::Broken => "BROKEN ",
        };
        println!("{mark}  {}: {}", finding.what, finding.found);
        if let Some(cure) = finding.cure {
            println!("         -> {cure}");
        }
    }
}

fn installation() -> Finding {
    const WHAT: &str = "installation";
    match Prefix::own() {
        Ok(prefix) => match ["libisthmus.so.0", "libmpi_abi.so.1", "libmpi.so.12", "libmpi.so.40"]
            .into_iter()
            .find(|name| !prefix.libraries().join(name).exists())
        {
            None => Finding::good(WHAT, "mpiexec and libraries are in place"),
            Some(name) => Finding::broken(WHAT, format!("lib/{name} is missing"), "install again"),
        },
        Err(error) => Finding::broken(WHAT, format!("{error:#}"), "run the installed isthmus"),
    }
}

fn single_copy() -> Finding {
    const WHAT: &str = "copies straight from a peer's memory (process_vm_readv)";
    match (cma_probe::siblings(), yama::scope()) {
        (Ok(()), _) => Finding::good(WHAT, "allowed between ranks"),
        (Err(error), Some(2 | 3)) => Finding::limited(
            WHAT,
            format!("{error}; messages are copied twice, through shared memory"),
            "Yama forbids it: set kernel.yama.ptrace_scope to 0 or 1 (scope 3 needs a reboot)",
        ),
        (Err(error), _) => Finding::limited(
            WHAT,
            format!("{error}; messages are copied twice, through shared memory"),
            "usually a container's seccomp profile: start it with --cap-add=SYS_PTRACE, or with a profile that allows it",
        ),
    }
}

/// Few machines have the device, so its absence is no finding.
fn mapped_peers() -> Option<Finding> {
    const WHAT: &str = "memory of peers that is mapped (XPMEM)";
    xpmem::Device::open(xpmem::DEVICE).ok()?;
    Some(match tunables::XPMEM.get() {
        0 => Finding::limited(
            WHAT,
            "/dev/xpmem is there, and not used",
            "ISTHMUS_XPMEM=1 uses it; it was never tried on a machine that has it (docs/decisions/0026), so please tell how it went",
        ),
        _ => Finding::good(WHAT, "/dev/xpmem is there and used"),
    })
}

fn shared_memory() -> Finding {
    const WHAT: &str = "shared memory without a name (memfd)";
    match memfd::create(c"isthmus-doctor").and_then(|fd| memfd::reserve(&fd, 0, 1 << 20)) {
        Ok(()) => Finding::good(WHAT, "works; the size of /dev/shm does not matter"),
        Err(error) => Finding::broken(
            WHAT,
            error.to_string(),
            "allow memfd_create and fallocate (seccomp profile), or give the container more memory",
        ),
    }
}

fn wake_up() -> Finding {
    const WHAT: &str = "fences by the sleeper only (membarrier)";
    if membarrier::register() && membarrier::fence_everyone() {
        Finding::good(WHAT, "works")
    } else {
        Finding::limited(
            WHAT,
            "missing; every send pays a fence of its own",
            "needs Linux 4.16, and a seccomp profile that allows membarrier",
        )
    }
}

fn processors() -> Finding {
    const WHAT: &str = "processors";
    let usable = cpu::affinity().len();
    match cgroup::cpu_quota() {
        Some(quota) if quota < usable as f64 => Finding::limited(
            WHAT,
            format!("{usable} may be used, but the control group allows the time of {quota}"),
            "raise the CPU limit (docker --cpus, Kubernetes limits.cpu), or run no more ranks than it pays for",
        ),
        _ if usable == 1 => Finding::limited(
            WHAT,
            "one may be used; ranks take turns",
            "give the container or the affinity mask more CPUs",
        ),
        _ => Finding::good(WHAT, format!("{usable} may be used; more ranks than that take turns")),
    }
}

/// So many CPUs in use by other processes change what is measured.
pub const MUCH: f64 = 0.2;

/// How many of the CPUs that this process may use others keep busy now; `None`: the kernel does not tell. Blocks for 0.3 s.
pub fn busy_by_others() -> Option<f64> {
    const LOOK: std::time::Duration = std::time::Duration::from_millis(300);
    cpu::busy_while(&cpu::affinity(), || std::thread::sleep(LOOK))
}

/// What other processes leave of the CPUs just now.
fn neighbours() -> Finding {
    const WHAT: &str = "other processes on these CPUs";
    let usable = cpu::affinity();
    match busy_by_others() {
        None => Finding::good(WHAT, "the kernel does not tell"),
        Some(busy) if busy > MUCH => Finding::limited(
            WHAT,
            format!("they keep {busy:.1} of {} CPUs busy now", usable.len()),
            "ranks share the time with them, and measurements beside them say little: end them, or give ranks other CPUs (taskset, --bind-to)",
        ),
        Some(_) => Finding::good(WHAT, "next to none now"),
    }
}

fn memory_left() -> Finding {
    const WHAT: &str = "memory";
    const LITTLE: u64 = 256 << 20;
    let left =
        memory::available().min(cgroup::memory().map_or(u64::MAX, |memory| memory.limit.saturating_sub(memory.used)));
    let found = format!("{} left", show::memory(left));
    if left < LITTLE {
        Finding::limited(
            WHAT,
            found,
            "beyond the limit the kernel kills processes: free some, or raise the limit",
        )
    } else {
        Finding::good(WHAT, found)
    }
}

/// What memory that peers map would gain, and what stands in the way.
fn huge_pages() -> Finding {
    const WHAT: &str = "huge pages for memory that peers map";
    let pool = huge::pool();
    let setting = huge::shared_memory_setting();
    let found = format!(
        "transparent ones of shared memory: {}; pool: {} of {} pages free{}",
        setting.as_deref().unwrap_or("none by this kernel"),
        pool.free,
        pool.pages,
        if pool.left() > 0 {
            ", which ISTHMUS_HUGE_PAGES=hugetlb takes"
        } else {
            ""
        }
    );
    match setting.as_deref() {
        _ if pool.left() > 0 => Finding::good(WHAT, found),
        Some("always" | "advise" | "within_size" | "force") => Finding::good(WHAT, found),
        _ => Finding::limited(
            WHAT,
            found,
            "a fault and an entry of the translation caches per 2 MiB instead of per 4 KiB: echo advise > \
             /sys/kernel/mm/transparent_hugepage/shmem_enabled; or ISTHMUS_HUGE_PAGES=thp, which needs no such setting from Linux 6.1 on; or \
             sysctl vm.nr_hugepages=N and ISTHMUS_HUGE_PAGES=hugetlb",
        ),
    }
}

/// Few machines have it, so its absence is no finding.
fn kernel_module() -> Option<Finding> {
    const WHAT: &str = "our kernel module (/dev/isthmus)";
    match kmod::Device::open(kmod::DEVICE, [0; 16]) {
        Ok(device) => Some(Finding::good(
            WHAT,
            match device.has_dma_engine() {
                true => "loaded; a DMA engine copies what is copied later",
                false => "loaded",
            },
        )),
        Err(error) if error.errno == errno::ENOENT => None,
        Err(error) => Some(Finding::limited(
            WHAT,
            error.to_string(),
            "chmod 0666 /dev/isthmus, or load the module of this version (kmod/README.md)",
        )),
    }
}

fn open_files() -> Finding {
    const WHAT: &str = "open files (ulimit -n)";
    // mpiexec holds a handful of descriptors per rank: pipes, lifeline, process.
    const FEW: u64 = 256;
    match limits::open_files() {
        Some(limit) if limit < FEW => Finding::limited(
            WHAT,
            format!("{limit}; enough for about {} ranks", limit / 8),
            "ulimit -n 1024, or more",
        ),
        limit => Finding::good(WHAT, limit.map_or("no limit".to_owned(), |limit| limit.to_string())),
    }
}

fn processes() -> Finding {
    const WHAT: &str = "processes (ulimit -u)";
    const FEW: u64 = 64;
    match limits::processes() {
        Some(limit) if limit < FEW => Finding::limited(
            WHAT,
            format!("{limit}, shared with all else this user runs"),
            "ulimit -u 1024, or more",
        ),
        limit => Finding::good(WHAT, limit.map_or("no limit".to_owned(), |limit| limit.to_string())),
    }
}

fn address_space() -> Finding {
    const WHAT: &str = "address space (ulimit -v)";
    match limits::address_space() {
        Some(limit) => Finding::limited(
            WHAT,
            format!(
                "{}; shared memory counts in every rank that maps it",
                show::memory(limit)
            ),
            "ulimit -v unlimited",
        ),
        None => Finding::good(WHAT, "no limit"),
    }
}
