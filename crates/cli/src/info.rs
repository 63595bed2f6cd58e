//! `isthmus info`: version, build, what is supported, tunables, counters, machine, mechanisms.

mod files;
mod supported;

use std::process::ExitCode;

use anyhow::Result;
use isthmus_engine::backoff::{
    self, BESIDE_OTHERS, LOOKS_AT_WORK, LOOKS_AWAY, LOOKS_OVERSUBSCRIBED, Limits, WaitFacts,
};
use isthmus_engine::occupancy::Cpus;
use isthmus_engine::symmetric::size;
use isthmus_engine::wakes;
use isthmus_engine::{
    DEVICE_PROTOCOLS, counters, limits, protocols, rma, single_copies_pay, single_copy_price, supports_devices,
    tunables,
};
use isthmus_os::{cgroup, cma_probe, cpu, kmod, membarrier, memfd, memory, topology, yama};
use isthmus_transfer::{helper, vmsplice};
use serde::Serialize;

use crate::prefix::Prefix;
use crate::show;
use supported::Supported;

/// Everything that is known, in the order in which it is printed.
#[derive(Serialize)]
struct Info {
    version: &'static str,
    build: Build,
    supported: Supported,
    tunables: Vec<Tunable>,
    texts: Vec<Text>,
    counters: Vec<Counter>,
    machine: Machine,
    mechanisms: Mechanisms,
    waiting: Waiting,
}

#[derive(Serialize)]
struct Build {
    profile: &'static str,
    target: &'static str,
    rustc: &'static str,
}

#[derive(Serialize)]
struct Tunable {
    name: &'static str,
    variable: String,
    value: u64,
    default: u64,
    unit: &'static str,
    origin: &'static str,
    doc: &'static str,
}

#[derive(Serialize)]
struct Text {
    name: &'static str,
    variable: String,
    value: Option<&'static str>,
    doc: &'static str,
}

#[derive(Serialize)]
struct Counter {
    name: &'static str,
    doc: &'static str,
}

#[derive(Serialize)]
struct Machine {
    kernel: Option<String>,
    processor: Option<String>,
    cpus_online: Vec<usize>,
    cpus_usable: Vec<usize>,
    cores_usable: usize,
    cpu_quota: Option<f64>,
    caches: Vec<Cache>,
    numa_nodes: Vec<Node>,
    memory_available: u64,
    memory_limit: Option<u64>,
    /// Bytes per PE of OpenSHMEM; or what is wrong with what the environment says.
    symmetric_heap: Result<u64, String>,
    transparent_huge_pages: Option<String>,
}

#[derive(Serialize)]
struct Cache {
    level: u32,
    kind: String,
    bytes: u64,
    line: u64,
    shared_by: Vec<usize>,
}

#[derive(Serialize)]
struct Node {
    id: usize,
    cpus: Vec<usize>,
    memory: u64,
}

/// What a real try of each said.
#[derive(Serialize)]
struct Mechanisms {
    cma: String,
    yama_scope: Option<u32>,
    membarrier: bool,
    memfd: String,
}

/// How the ranks of a job wait here.
#[derive(Serialize)]
struct Waiting {
    /// Of the job.
    ranks: u32,
    cpus: u32,
    /// What a wake from thread to thread takes.
    wake_us: Option<f64>,
    /// With a CPU for each rank.
    spin_us: f64,
    sleep_after_us: f64,
    /// With more ranks than CPUs: looks before one is given away.
    looks: Looks,
    /// The most ranks that need not know whether the awaited ones have a CPU.
    most_that_do_not_ask: u32,
    /// In this job.
    sleeps_after_us: f64,
}

#[derive(Serialize)]
struct Looks {
    awaited_is_away: u32,
    unknown: u32,
    awaited_are_at_work: u32,
}

/// Print every constant that decides how ranks wait.
pub fn waiting_limits() -> ExitCode {
    let rows: Vec<_> = backoff::TABLE
        .iter()
        .map(|limit| {
            let name = limit.name.to_lowercase();
            vec![
                name,
                limit.value.to_string(),
                limit.unit.to_owned(),
                limit.doc.to_owned(),
            ]
        })
        .collect();
    print!("{}", show::columns(&rows, 4));
    ExitCode::SUCCESS
}

/// Print every size and count that decides how bytes travel.
pub fn limits() -> ExitCode {
    let rows: Vec<_> = limits::TABLE
        .iter()
        .map(|limit| {
            let words = [limit.unit, limit.machine, limit.decision, limit.doc].map(str::to_owned);
            let mut row = vec![limit.name.to_lowercase(), limit.value.to_string()];
            row.extend(words);
            row
        })
        .collect();
    print!("{}", show::columns(&rows, 6));
    ExitCode::SUCCESS
}

/// How messages from and to memory of devices travel, from the list of protocols.
fn devices() -> String {
    let there = match supports_devices() {
        true => "",
        false => ": none here",
    };
    let rows: Vec<Vec<String>> = DEVICE_PROTOCOLS
        .iter()
        .map(|protocol| vec![format!("  {}", show::bytes(protocol.from)), protocol.how.to_owned()])
        .collect();
    format!(
        "\nmessages from and to memory of devices (docs/gpu.md){there}\n{}",
        show::columns(&rows, 2)
    )
}

/// Print which protocol should win at which size, and why, in a job of so many ranks.
pub fn protocols(ranks: Option<u64>) -> ExitCode {
    let ranks = ranks.map(|ranks| u32::try_from(ranks).unwrap_or(u32::MAX));
    let cma = cma_probe::siblings();
    println!("bytes   protocol  model (us)  taken                          how");
    for exponent in (6..=26).step_by(2) {
        let bytes = 1u64 << exponent;
        let mut size = show::bytes(bytes);
        for open in protocols::for_message(bytes, cma.is_ok(), ranks) {
            let protocol = open.protocol;
            let note = if protocol.by == protocols::Mover::BothEnds {
                " (a CPU for each rank)"
            } else {
                ""
            };
            let us = open.cost.as_secs_f64() * 1e6;
            let (mechanism, taken) = (protocol.mechanism, open.taken.words());
            println!(
                "{size:<7} {mechanism:<8} {us:>11.2}  {taken:<29}  {}{note}",
                protocol.how
            );
            size.clear();
        }
    }
    match cma {
        Err(error) => println!("cma is closed: {error}; see `isthmus doctor`"),
        Ok(()) => {
            let (price, limit) = (single_copy_price(), tunables::SINGLE_COPY_MAX_COST.get() as f64 / 100.0);
            let so = match single_copies_pay() {
                true => "large messages take it, from both ends where the sender has nothing else to copy",
                false => "large messages take it only where it is found faster",
            };
            println!(
                "A copy by the kernel takes {price:.1} times as long as one of ours (single_copy_max_cost: {limit:.1}): {so}."
            );
        }
    }
    println!(
        "The cheapest is first, by a model of two idle ranks with warm buffers, which does not know how far their CPUs are apart."
    );
    println!(
        "Each pair learns by size which is faster, by trying both now and then. With more ranks than CPUs no sender helps, and"
    );
    println!("messages go at once up to half of a ring: --ranks N says what a job of so many does.");
    println!("Puts and gets, each by the first of these that is for it:");
    for protocol in rma::protocols::PROTOCOLS {
        println!("  {}", protocol.how);
    }
    match tunables::MECHANISM.get() {
        Some(named) => println!("ISTHMUS_MECHANISM={named}: large messages take it where they can."),
        None => println!("ISTHMUS_MECHANISM forces one; cma_read, cma_write and cma_both say which side copies."),
    }
    if let Err(error) = kmod::Device::open(kmod::DEVICE, [0; 16]) {
        println!("kmod, our kernel module, which copies as cma does where it is loaded, is not there: {error}");
    } else {
        println!(
            "kmod, our kernel module, is loaded, and copies where the table says cma; kmod_thread and kmod_dma copy while the rank goes on."
        );
    }
    println!(
        "DMAmin, half of the last cache divided by its CPUs, is {} here: from there on a helper thread copies, if asked to (ISTHMUS_HELPER=1), or a DMA engine, by the module.",
        show::bytes(helper::dma_min())
    );
    match vmsplice::is_a_copy() {
        Some(false) => println!("vmsplice attaches pages here: one copy."),
        Some(true) => println!("vmsplice copies on this kernel: two copies, as writev."),
        None => println!("vmsplice is not to be had here: a seccomp filter, or no descriptors left."),
    }
    print!("{}", devices());
    println!("\naccess to a file, and how it is made (docs/files.md; hints that change it)");
    let ranks = ranks.unwrap_or_else(|| machine().cpus_usable.len() as u32);
    print!("{}", show::columns(&files::rows(ranks), 2));
    ExitCode::SUCCESS
}

/// Print it all; how ranks wait, for a job of so many (as many as there are CPUs if not said).
pub fn run(json: bool, ranks: Option<u64>) -> Result<ExitCode> {
    let info = gather(ranks.map(|ranks| u32::try_from(ranks).unwrap_or(u32::MAX)));
    if json {
        println!("{}", serde_json::to_string_pretty(&info)?);
    } else {
        print!("{}", text(&info));
    }
    Ok(ExitCode::SUCCESS)
}

fn gather(ranks: Option<u32>) -> Info {
    // Probed first, while this process has one thread.
    let mechanisms = Mechanisms {
        cma: works(cma_probe::siblings().err()),
        yama_scope: yama::scope(),
        membarrier: membarrier::register() && membarrier::fence_everyone(),
        memfd: works(
            memfd::create(c"isthmus-info")
                .and_then(|fd| memfd::reserve(&fd, 0, 4096))
                .err(),
        ),
    };
    Info {
        version: env!("CARGO_PKG_VERSION"),
        build: Build {
            profile: env!("ISTHMUS_PROFILE"),
            target: env!("ISTHMUS_TARGET"),
            rustc: env!("ISTHMUS_RUSTC"),
        },
        supported: Supported::of(Prefix::own().ok().as_ref()),
        tunables: tunables::TABLE.iter().map(|row| tunable(row)).collect(),
        texts: tunables::TEXTS
            .iter()
            .map(|row| Text {
                name: row.name,
                variable: row.variable(),
                value: row.get(),
                doc: row.doc,
            })
            .collect(),
        counters: counters::TABLE
            .iter()
            .map(|row| Counter {
                name: row.name,
                doc: row.doc,
            })
            .collect(),
        machine: machine(),
        mechanisms,
        waiting: waiting(ranks),
    }
}

fn waiting(ranks: Option<u32>) -> Waiting {
    let facts = wakes::facts_of(1, wakes::measure_wake());
    let ranks = ranks.unwrap_or(facts.cpus);
    Waiting::of(WaitFacts { ranks, ..facts })
}

impl Waiting {
    fn of(facts: WaitFacts) -> Self {
        let us = |time: std::time::Duration| time.as_secs_f64() * 1e6;
        let WaitFacts { ranks, cpus, wake, .. } = facts;
        let exclusive = Limits::of(WaitFacts { ranks: cpus, ..facts });
        Self {
            ranks,
            cpus,
            wake_us: wake.map(us),
            spin_us: us(exclusive.spin),
            sleep_after_us: us(exclusive.sleep_after),
            looks: Looks {
                awaited_is_away: LOOKS_AWAY.count(),
                unknown: LOOKS_OVERSUBSCRIBED.count(),
                awaited_are_at_work: LOOKS_AT_WORK.count(),
            },
            most_that_do_not_ask: Cpus::most_partly_shared(cpus),
            sleeps_after_us: us(Limits::of(facts).sleep_after),
        }
    }
}

fn works(error: Option<isthmus_os::Error>) -> String {
    error.map_or_else(|| "works".to_owned(), |error| error.to_string())
}

fn tunable(row: &tunables::Tunable) -> Tunable {
    let (value, origin) = row.value();
    Tunable {
        name: row.name,
        variable: row.variable(),
        value,
        default: row.default,
        unit: row.unit,
        origin: match origin {
            tunables::Origin::Default => "default",
            tunables::Origin::Environment => "environment",
            tunables::Origin::Tool => "tool",
        },
        doc: row.doc,
    }
}

fn machine() -> Machine {
    let usable = cpu::affinity();
    let caches = usable.first().map_or_else(Vec::new, |&cpu| topology::caches(cpu));
    Machine {
        kernel: topology::kernel(),
        processor: topology::model(),
        cpus_online: topology::online(),
        cores_usable: topology::cores(usable.iter().copied()).len(),
        cpus_usable: usable,
        cpu_quota: cgroup::cpu_quota(),
        caches: caches
            .into_iter()
            .map(|cache| Cache {
                level: cache.level,
                kind: cache.kind,
                bytes: cache.bytes,
                line: cache.line,
                shared_by: cache.shared_by,
            })
            .collect(),
        numa_nodes: topology::nodes()
            .into_iter()
            .map(|node| Node {
                id: node.id,
                cpus: node.cpus,
                memory: node.memory,
            })
            .collect(),
        memory_available: memory::available(),
        memory_limit: cgroup::memory().map(|memory| memory.limit),
        symmetric_heap: size::wanted()
            .map(|(bytes, _)| bytes)
            .map_err(|(name, text)| format!("{name}={text} is not a size")),
        transparent_huge_pages: topology::transparent_huge_pages(),
    }
}

fn text(info: &Info) -> String {
    let Build { profile, target, rustc } = &info.build;
    let mut text = format!("Isthmus {} ({profile}, {target}, {rustc})\n", info.version);

    text += "\nSupported\n";
    text += &show::columns(&info.supported.rows(), 2);

    text += "\nTunables (set by the variable ISTHMUS_<NAME>, or mpiexec --set NAME=VALUE)\n";
    let number = |row: &Tunable, value| match row.unit {
        "bytes" => show::bytes(value),
        "us" | "ms" | "percent" => format!("{value} {}", row.unit),
        _ => format!("{value}"),
    };
    for row in &info.tunables {
        let value = number(row, row.value);
        let origin = match row.origin {
            "default" => row.origin.to_owned(),
            origin => format!("{origin}; default: {}", number(row, row.default)),
        };
        text += &described(row.name, &value, &origin, row.doc);
    }
    for row in &info.texts {
        let origin = if row.value.is_some() {
            "environment; default: not set"
        } else {
            "default"
        };
        text += &described(row.name, row.value.unwrap_or("not set"), origin, row.doc);
    }

    text += "\nCounters (per rank)\n";
    let counters = info
        .counters
        .iter()
        .map(|row| vec![format!("  {}", row.name), row.doc.to_owned()]);
    text += &show::columns(&counters.collect::<Vec<_>>(), 2);

    text += "\nMachine\n";
    text += &show::columns(&machine_rows(&info.machine), 2);
    text += "\nMechanisms\n";
    text += &show::columns(&mechanism_rows(&info.mechanisms), 2);
    text += "\nWaiting\n";
    text += &show::columns(&waiting_rows(&info.waiting), 2);
    text
}

/// A tunable: its value, where that comes from, and below what it does.
fn described(name: &str, value: &str, origin: &str, doc: &str) -> String {
    const WIDTH: usize = 110;
    format!("  {name} = {value}  ({origin})\n{}", show::wrapped(doc, 6, WIDTH))
}

fn machine_rows(machine: &Machine) -> Vec<Vec<String>> {
    let unknown = || "unknown".to_owned();
    let mut rows = vec![
        row("kernel", machine.kernel.clone().unwrap_or_else(unknown)),
        row("processor", machine.processor.clone().unwrap_or_else(unknown)),
        row(
            "CPUs",
            format!(
                "{} usable ({}) on {} cores, of {} online",
                machine.cpus_usable.len(),
                show::cpus(&machine.cpus_usable),
                machine.cores_usable,
                machine.cpus_online.len()
            ),
        ),
        row(
            "CPU quota",
            machine
                .cpu_quota
                .map_or("none".to_owned(), |quota| format!("{quota} CPUs")),
        ),
    ];
    for cache in machine.caches.iter().filter(|cache| cache.kind != "Instruction") {
        let mut size = show::bytes(cache.bytes);
        if cache.shared_by.len() > 1 {
            size += &format!(", shared by CPUs {}", show::cpus(&cache.shared_by));
        }
        rows.push(row(&format!("L{} cache", cache.level), size));
    }
    for node in &machine.numa_nodes {
        let holds = format!("CPUs {}, {}", show::cpus(&node.cpus), show::memory(node.memory));
        rows.push(row(&format!("NUMA node {}", node.id), holds));
    }
    rows.push(row("memory available", show::memory(machine.memory_available)));
    rows.push(row(
        "memory limit",
        machine.memory_limit.map_or("none".to_owned(), show::memory),
    ));
    rows.push(row(
        "symmetric heap",
        match &machine.symmetric_heap {
            Ok(bytes) => format!("{} per PE of OpenSHMEM (SHMEM_SYMMETRIC_SIZE)", show::memory(*bytes)),
            Err(what) => what.clone(),
        },
    ));
    rows.push(row(
        "huge pages",
        machine.transparent_huge_pages.clone().unwrap_or_else(unknown),
    ));
    rows
}

fn waiting_rows(waiting: &Waiting) -> Vec<Vec<String>> {
    let wake = waiting.wake_us.map_or("unknown".to_owned(), |us| format!("{us:.1} us"));
    let Waiting {
        ranks,
        cpus,
        spin_us,
        sleep_after_us,
        most_that_do_not_ask,
        sleeps_after_us,
        ..
    } = waiting;
    let Looks {
        awaited_is_away,
        unknown,
        awaited_are_at_work,
    } = waiting.looks;
    let shared = match ranks.div_ceil(*cpus) {
        1 => "a CPU for each".to_owned(),
        _ if ranks <= most_that_do_not_ask => "some share a CPU".to_owned(),
        several => format!("up to {several} on a CPU"),
    };
    let sleep = format!("sleep after {sleep_after_us:.0} us for each rank on a CPU");
    let mut rows = vec![
        row(
            "ranks assumed",
            format!("{ranks} (--ranks N): {shared}, which sleep after {sleeps_after_us:.0} us"),
        ),
        row(
            "CPUs that count",
            format!("{cpus}: those usable, cut by the quota, rounded up"),
        ),
        row("a wake takes", wake),
        row(
            &format!("up to {cpus} ranks"),
            format!(
                "spin {:.0} us, {} times as long beside other processes, then sleep; leave a CPU that another rank is on",
                spin_us.max(*sleep_after_us),
                BESIDE_OTHERS.value
            ),
        ),
    ];
    if most_that_do_not_ask > cpus {
        rows.push(row(
            &format!("up to {most_that_do_not_ask} ranks"),
            format!(
                "yield after {unknown} looks, whoever is awaited, since some have a CPU to themselves, and {sleep}"
            ),
        ));
    }
    rows.push(row(
        "more ranks",
        format!(
            "yield after {awaited_is_away} look if an awaited rank is away, {awaited_are_at_work} if all have a CPU, {unknown} if that is not known, and {sleep}"
        ),
    ));
    rows
}

fn mechanism_rows(mechanisms: &Mechanisms) -> Vec<Vec<String>> {
    vec![
        row("process_vm_readv between ranks", mechanisms.cma.clone()),
        row(
            "Yama ptrace_scope",
            mechanisms
                .yama_scope
                .map_or("no Yama".to_owned(), |scope| scope.to_string()),
        ),
        row(
            "membarrier",
            if mechanisms.membarrier { "works" } else { "missing" }.to_owned(),
        ),
        row("memfd", mechanisms.memfd.clone()),
    ]
}

fn row(name: &str, value: String) -> Vec<String> {
    vec![format!("  {name}"), value]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The section for so many ranks on so many CPUs.
    fn section(ranks: u32, cpus: u32) -> String {
        let wake = Some(Duration::from_micros(8));
        let waiting = Waiting::of(WaitFacts {
            cpus,
            ..wakes::facts_of(ranks, wake)
        });
        show::columns(&waiting_rows(&waiting), 2)
    }

    #[test]
    fn all_rules_of_waiting_are_told() {
        let text = section(64, 2);
        let mut lines = text.lines();
        let mut next = |name: &str, parts: &[&str]| {
            let line = lines.next().unwrap_or_default();
            let told = line.trim_start().strip_prefix(name);
            assert!(
                told.is_some_and(|told| parts.iter().all(|part| told.contains(part))),
                "{name}: {parts:?} in {text}"
            );
        };
        next(
            "ranks assumed",
            &[" 64 (--ranks N): up to 32 on a CPU, which sleep after 32000 us"],
        );
        next("CPUs that count", &[" 2: those usable, cut by the quota, rounded up"]);
        next("a wake takes", &["8.0 us"]);
        next(
            "up to 2 ranks",
            &["spin 1000 us, 8 times as long beside other processes, then sleep; leave a CPU that another rank is on"],
        );
        next("up to 3 ranks", &["yield after 4 looks, whoever is awaited"]);
        next(
            "more ranks",
            &[
                "yield after 1 look if an awaited rank is away, 48 if all have a CPU, 4 if that is not known",
                "and sleep after 1000 us for each rank on a CPU",
            ],
        );
        assert_eq!(lines.next(), None, "{text}");
    }

    #[test]
    fn the_ranks_assumed_are_told_with_how_they_share_cpus() {
        let told = |ranks, cpus, what: &str| {
            let text = section(ranks, cpus);
            assert!(text.contains(&format!(" {ranks} (--ranks N): {what}")), "{text}");
        };
        told(2, 2, "a CPU for each");
        told(3, 2, "some share a CPU");
        told(4, 2, "up to 2 on a CPU");
        told(2, 1, "up to 2 on a CPU");
        assert!(
            !section(2, 1).contains("which rank is awaited"),
            "nobody has a CPU to itself"
        );
        assert_eq!(waiting(None).ranks, waiting(None).cpus);
    }
}
