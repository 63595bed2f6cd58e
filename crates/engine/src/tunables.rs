//! The one table of tunables. Each is read from the environment as `ISTHMUS_<NAME>` once, at first use.
//!
//! A new tunable is one line in the table below; it then shows in `isthmus info`, MPI_T and the manual.

use std::sync::OnceLock;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// An environment variable (`mpiexec --set` arrives this way too).
    Environment,
    /// A tool, through MPI_T.
    Tool,
}

/// One row.
#[derive(Debug)]
pub struct Tunable {
    /// Lower case, as in `eager_limit`; the variable is `ISTHMUS_EAGER_LIMIT`.
    pub name: &'static str,
    /// Built-in value.
    pub default: u64,
    /// `bytes`, `us`, `ms`, `count`, or `0/1`.
    pub unit: &'static str,
    /// For users: what it does, what 0 means, when to change it.
    pub doc: &'static str,
    value: OnceLock<(u64, Origin)>,
}

impl Tunable {
    /// The value in force and where it comes from. An unparsable value is reported once and ignored.
    pub fn value(&self) -> (u64, Origin) {
        *self.value.get_or_init(|| {
            let given = self.given();
            if let Err(text) = &given
                && speaks_for_job()
            {
                isthmus_os::process::say(&format!(
                    "isthmus: {}={text} is not a number (of {}); using {}",
                    self.variable(),
                    self.unit,
                    self.default
                ));
            }
            self.resolve(given.ok().flatten())
        })
    }

    /// What [`Self::value`] would answer, without making it final.
    pub fn peek(&self) -> (u64, Origin) {
        let value = self.value.get().copied();
        value.unwrap_or_else(|| self.resolve(self.given().ok().flatten()))
    }

    /// Give it a value. False: too late, it is in use.
    pub fn set(&self, value: u64) -> bool {
        self.value.set((value, Origin::Tool)).is_ok()
    }

    /// What the environment says; an error: something that is no number.
    fn given(&self) -> Result<Option<u64>, String> {
        match std::env::var(self.variable()).ok().or_else(|| by_old_name(self.name)) {
            Some(text) => self.parse(&text).map(Some).ok_or(text),
            None => Ok(None),
        }
    }

    /// The value that a text stands for: a number, or a word of this one's.
    pub fn parse(&self, text: &str) -> Option<u64> {
        parse(text).or_else(|| self.word(text))
    }

    /// What a word stands for that is a value of this one only.
    fn word(&self, text: &str) -> Option<u64> {
        let is_it = |(name, word, _): &&(&str, &str, u64)| *name == self.name && word.eq_ignore_ascii_case(text.trim());
        WORDS.iter().find(is_it).map(|(.., value)| *value)
    }

    fn resolve(&self, given: Option<u64>) -> (u64, Origin) {
        given.map_or((self.default, Origin::Default), |value| (value, Origin::Environment))
    }

    /// The value in force.
    pub fn get(&self) -> u64 {
        self.value().0
    }

    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        variable(self.name)
    }
}

/// A row whose value is no number.
#[derive(Debug)]
pub struct Text {
    /// As [`Tunable::name`]; its variable is made in the same way.
    pub name: &'static str,
    /// As [`Tunable::doc`].
    pub doc: &'static str,
    value: OnceLock<Option<String>>,
}

impl Text {
    /// The text in force, if there is one.
    pub fn get(&self) -> Option<&str> {
        self.value.get_or_init(|| self.given()).as_deref()
    }

    /// What [`Self::get`] would answer, without making it final.
    pub fn peek(&self) -> Option<String> {
        self.value.get().cloned().unwrap_or_else(|| self.given())
    }

    /// Give it a text; an empty one: none. False: too late, it is in use.
    pub fn set(&self, text: String) -> bool {
        self.value.set(Some(text).filter(|text| !text.is_empty())).is_ok()
    }

    fn given(&self) -> Option<String> {
        std::env::var(self.variable()).ok().filter(|text| !text.is_empty())
    }

    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        variable(self.name)
    }
}

/// Tunables that have a new name: (old, new). The old name is read for one release, with a line that says so.
pub const RENAMED: &[(&str, &str)] = &[
    ("absent_us", "peer_silence_us"),
    ("single_copy_worth", "single_copy_max_cost"),
];

/// Values that have a word: (tunable, word, value).
const WORDS: &[(&str, &str, u64)] = &[("check", "sync", 2)];

/// What the environment says by a tunable's old name.
fn by_old_name(name: &str) -> Option<String> {
    let (old, _) = RENAMED.iter().find(|(_, new)| *new == name)?;
    let text = std::env::var(variable(old)).ok()?;
    if speaks_for_job() {
        isthmus_os::process::say(&format!(
            "isthmus: {} is called {} now; the old name is read in this release only",
            variable(old),
            variable(name)
        ));
    }
    Some(text)
}

/// What all ranks would say alike one of them says: the first, or a process without others.
pub fn speaks_for_job() -> bool {
    std::env::var("ISTHMUS_RANK").map_or(true, |rank| rank == "0")
}

/// Variables that the library and its launcher use among themselves, or read elsewhere than in the tables.
const OTHERS: &[&str] = &[
    "ISTHMUS_JOB",
    "ISTHMUS_RANK",
    "ISTHMUS_SIZE",
    "ISTHMUS_APPNUM",
    "ISTHMUS_NODE",
    "ISTHMUS_NODE_ADDRESS",
    "ISTHMUS_PREFIX",
    "ISTHMUS_WRAPPER",
    "ISTHMUS_ABI",
    "ISTHMUS_CC",
    "ISTHMUS_CXX",
    "ISTHMUS_FC",
];

/// Variables of tunables.
fn variables() -> impl Iterator<Item = String> {
    let numbers = TABLE.iter().map(|tunable| tunable.variable());
    numbers.chain(TEXTS.iter().map(|tunable| tunable.variable()))
}

/// A variable of the environment that begins as ours do, is none, and resembles one: a sentence about it. What is wrong with values
/// is said where they are used.
pub fn unknown_variable_hint(name: &str) -> Option<String> {
    if !name.starts_with("ISTHMUS_") || OTHERS.contains(&name) || name.starts_with("ISTHMUS_TEST") {
        return None;
    }
    let all: Vec<String> = variables().collect();
    let is_old = RENAMED.iter().any(|(old, _)| variable(old) == name);
    if is_old || all.iter().any(|known| known == name) {
        return None;
    }
    // A name that resembles none may be somebody else's.
    let near = nearest(name, all.iter().map(String::as_str))?;
    Some(format!(
        "{name} means nothing here; did you mean {near}? (isthmus info lists all)"
    ))
}

/// The name that differs least, if that is little.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let by_distance = known.map(|other| (distance(name, other), other)).min()?;
    (by_distance.0 <= 1 + name.len() / 5).then_some(by_distance.1)
}

/// Characters to insert, delete or change (Levenshtein 1966).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

fn variable(name: &str) -> String {
    format!("ISTHMUS_{}", name.to_ascii_uppercase())
}

macro_rules! texts {
    ($($ident:ident = $name:literal, $doc:literal;)*) => {
        $(#[doc = $doc] pub static $ident: Text = Text { name: $name, doc: $doc, value: OnceLock::new() };)*
        /// Every tunable that is no number.
        pub static TEXTS: &[&Text] = &[$(&$ident),*];
    };
}

texts! {
    TOPOLOGY = "topology", "Pretends that the machine looks like this, for tests: 2x4 means 2 packages of 4 cores, 0,1,0,1 gives the package of each rank. Not set: the real machine.";
    FABRIC = "fabric", "Which provider of libfabric carries messages between nodes, for example tcp;ofi_rxm (fi_info -t FI_EP_RDM lists them). Not set: the best one that works. Set it if the wrong network is used.";
    FABRIC_NETWORK = "fabric_network", "Which of several networks between the nodes carries messages: the name of an interface (eth1, ib0) or a subnet (10.2.0.0/16). Several, with commas between: long messages, puts and gets are divided among all of them, and the first one carries the rest. Not set: the one that the launcher reached the node by. Set it if another one is faster, or if there are several (docs/networks.md).";
    PROGRESS_ENGINE = "progress_engine", "How often a waiting rank checks the node's shared memory and the network, in a job of several nodes: adaptive (mostly the one that last brought something; the default), toggle (in turn), or always (both every time). Only for comparisons.";
    READING = "reading", "How many records of one long message a rank takes from a ring at a time: single (one), contiguous (all that follow, from the second check on), progress_post (all, if the message is longer than the ring), or immediate (all; the default). Only for comparisons.";
    THREAD_LEVEL = "thread_level", "The thread level that MPI_Init_thread grants, whatever the program asks for: single, funneled, serialized or multiple. Not set: what the program asks for. Set multiple for a program that uses threads without asking.";
    MEMORY_ALLOC_KINDS = "memory_alloc_kinds", "Kinds of memory that the program wants to use with MPI, for example system,mpi:alloc_mem (as mpiexec -memory-alloc-kinds; MPI-5.0 11.4.3).";
    MECHANISM = "mechanism", "How long messages are copied between ranks of a node: ring (through shared memory), cma (process_vm_readv and process_vm_writev; cma_read, cma_write, cma_both say which side copies), kmod (our kernel module; kmod_thread, kmod_dma while the rank goes on), mapped, vmsplice, writev or loopback. Not set: the fastest, as measured while the program runs. Set it for comparisons, or to avoid one that misbehaves.";
    TUNING = "tuning", "The file with measurements by `isthmus tune --mechanisms`, which say how long messages are copied. Not set: ~/.config/isthmus/tuning, if it exists; none: no file.";
    HUGE_PAGES = "huge_pages", "Whether shared memory uses huge pages, for 2 MiB or more at a time: auto (as the machine is configured; the default), thp (always, also for rings), hugetlb (the machine's reserved pages first, then as thp) or off. Try thp if memory is large and accessed at random.";
    GA_GHOSTS = "ga_ghosts", "How Global Arrays updates ghost cells: packed (two copies, one wait), direct (one copy, two waits), shift (one dimension after the other), or auto (the fastest of the first updates; the default).";
    GA_LINEAR = "ga_linear", "Which library solves Global Arrays' equations and eigenproblems: scalapack (on all processes), lapack (on the first one), or auto (scalapack from 256 rows on, if it is installed; the default).";
    COLLECTIVES = "collectives", "Which algorithms collectives use, for example allreduce:ring,bcast@64K-:binomial, or @FILE for a file of such rules; the same on all ranks. Not set: what is fastest by the library's tables. isthmus info --collectives lists the algorithms.";
    WITHOUT = "without", "Optimizations of data movement to switch off, for example cells,pieces, to measure what each is worth (isthmus bench rules lists them). Only for comparisons.";
    FILE_FAULT = "file_fault", "Errors to inject into accesses to files, for tests of the library: short=7 (bytes that an access moves at most), eintr=3 (each third access), enospc=10, edquot=10, eio=10 (so many accesses succeed before).";
    FAULT = "fault", "Errors to inject, for tests of the library: for example push:EPERM, cma.pull:EFAULT:after=7 or memory:ENOMEM:after=9.";
}

/// A number that may carry `K`, `M` or `G` (powers of 1024); `yes`, `on` and `true` are 1, their opposites 0.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.to_ascii_lowercase().as_str() {
        "yes" | "on" | "true" => return Some(1),
        "no" | "off" | "false" => return Some(0),
        _ => {}
    }
    let (digits, factor) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 1 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

macro_rules! table {
    ($($ident:ident = $name:literal, $default:expr, $unit:literal, $doc:literal;)*) => {
        $(#[doc = $doc] pub static $ident: Tunable = Tunable { name: $name, default: $default, unit: $unit, doc: $doc, value: OnceLock::new() };)*
        /// Every tunable.
        pub static TABLE: &[&Tunable] = &[$(&$ident),*];
    };
}

table! {
    EAGER_LIMIT = "eager_limit", 128 << 10, "bytes", "The longest message between ranks of a node that is sent at once, without waiting for its receive. More makes senders wait less, and takes more memory at receivers. If neither this nor mechanism is set: half of a ring if there are more ranks than CPUs and that is more, and up to 512 KiB between ranks that answer each other.";
    CPUS = "cpus", 0, "count", "How many CPUs the library assumes for the ranks of a node, for tests of waiting. 0: those that they may use.";
    SPIN_US = "spin_us", 0, "us", "The shortest time that a waiting rank with a CPU of its own polls before it sleeps. 0: twice the time of a wake-up on this machine. More lowers latency after long waits, less saves energy.";
    YIELD_US = "yield_us", 1000, "us", "How long a waiting rank polls before it sleeps; eight times as long if it has a CPU of its own that other processes take now and then (docs/waiting.md). A rank that shares its CPU yields it between polls, and polls so long for each rank on that CPU. Less leaves more CPU time to other programs.";
    CMA = "cma", 1, "0/1", "Whether long messages between ranks of a node may be copied by process_vm_readv, where the system permits it and measurements find it faster. Set 0 if a sandbox punishes the system call.";
    SINGLE_COPY_MAX_COST = "single_copy_max_cost", 350, "percent", "How much slower a copy by the kernel may be than one by the library, in percent, to be used all the same: it saves the second copy. Twice as much where ranks share CPUs and a collective's data exceeds the caches. 0: kernel copies are not used.";
    XPMEM = "xpmem", 0, "0/1", "Whether ranks map each other's memory by the XPMEM kernel module (/dev/xpmem) where it is loaded, rather than use process_vm_readv. Untested on real machines, so off.";
    KMOD = "kmod", 1, "0/1/2", "Whether long messages are copied by Isthmus' kernel module (/dev/isthmus) where it is loaded, rather than by process_vm_readv. 2: with small pages, only for comparisons.";
    HELPER = "helper", 0, "0/1/2", "Whether a helper thread copies long messages while the rank computes. 0: never; 1: if there are two CPUs for each rank; 2: always. Try 1 if CPUs are idle and computation and communication should overlap.";
    HELPER_FROM = "helper_from", 0, "bytes", "The shortest message that the helper thread (see helper), or the kernel module by a DMA engine, if the machine has one, copies while the rank goes on. 0: half of the last-level cache, divided by the ranks that share it.";
    ADVERTISE = "advertise", 1, "0/1", "Whether a rank tells senders where large receives are posted, so that they can write there while it computes. Set 0 only for comparisons.";
    CONNECT_TIMEOUT_MS = "connect_timeout_ms", 60_000, "ms", "How long a rank tries to reach a rank on another node, at the start or after a broken link, before the job ends with a line that names both. Messages sent meanwhile go again once the link is back. More survives longer outages of the network.";
    NETWORK_EAGER = "network_eager", 128 << 10, "bytes", "The longest message to another node that is sent at once; longer ones are announced, and read by their receiver from the sender's memory where the network can do that. At least 16K.";
    NETWORK_PIECE = "network_piece", 0, "bytes", "The longest part of a long message that is read from another node by one request to the network; half of it for messages of more than four parts. 0: 512K, and 176K where the kernel's congestion control is BBR. Only worth changing for tuning a new network.";
    NETWORK_FLIGHT = "network_flight", 1 << 20, "bytes", "How many bytes of long messages a rank reads from one rank of another node at a time. More may help on networks with long delays.";
    NETWORK_RMA = "network_rma", 16 << 10, "bytes", "The shortest contiguous put or get on a window of another node that the network's own remote memory access does; shorter ones are done by the target rank. 0: all are done by the target. Less is better where hardware moves the data.";
    NETWORK_CHECKSUM = "network_checksum", 0, "0/1", "Whether what a rank sends to other nodes carries a checksum, by which its receiver finds what a faulty card, switch or memory has changed; the job ends then, with a line that names both ranks. Long messages, puts and gets are copied more often, and take about twice as long.";
    FAN_OUT = "fan_out", 32, "nodes", "On how many nodes mpiexec starts ranks by itself; on more it starts that many branches, each of which starts a group of nodes. More needs more connections at the first node.";
    PROGRESS_THREAD = "progress_thread", 1, "0/1", "Whether a thread answers other nodes (windows, first messages) while the program computes. Set 0 if every CPU is needed for computation; then only calls of MPI answer.";
    PEER_SILENCE_US = "peer_silence_us", 10, "us", "How long a peer may be silent before the other rank copies a long message alone, at most; from 2 us on, more for longer messages. Only worth changing for tuning.";
    RING = "ring", 0, "bytes", "The size of the ring in shared memory by which a pair of ranks streams messages, rounded up to a power of two from 4K to 4M. 0: twice the second-level cache, half of it if the last-level cache is slow and each rank has a CPU. Less saves memory with many ranks.";
    PIECE = "piece", 64 << 10, "bytes", "The longest part of a message that is written into a ring at a time; its receiver copies one part while the next is written. Only worth changing for tuning.";
    SHARED_FROM = "shared_from", 4 << 10, "bytes", "The smallest MPI_Alloc_mem that gets memory which the other ranks of the node map, so that messages and windows there need no system call.";
    STAGING = "staging", 0, "bytes", "The size of the memory in which a rank offers others the data of collectives, rounded up to a power of two of at least 1M. 0: as ring, or with more ranks than CPUs a quarter of the last-level cache for all of them together.";
    DEVICE_MEMORY = "device_memory", 1, "0/1/2", "Whether buffers may lie in the memory of CUDA devices (docs/gpu.md). 0: no, and no address is asked about: such a buffer ends the rank with a segmentation fault; 1: if the machine has NVIDIA's driver; 2: always, by the libcuda.so.1 that the program has loaded.";
    TRACE = "trace", 0, "0/1", "Prints a line for each copy of a message by the kernel, to see which ranks and sizes use it.";
    CHECK = "check", 0, "0/1/sync", "Checks the program for errors of its own: mismatched calls and types, buffers and windows in conflict, objects left at the end (docs/checking.md). sync: each standard send waits for its receive, too, so that a program which relies on buffering deadlocks. Slower; the same on all ranks.";
    STATS = "stats", 0, "0/1", "Prints in MPI_Finalize, by the first rank, the counters of all ranks (mpiexec --stats sets it); the same on all ranks.";
    COLLECTIVES_REPORT = "collectives_report", 0, "0/1", "Prints in MPI_Finalize, by the first rank, how many calls each rule of ISTHMUS_COLLECTIVES applied to, to see whether a rule is used.";
    UNEXPECTED_LIMIT = "unexpected_limit", 64 << 20, "bytes", "How many bytes of messages without a posted receive a rank keeps; beyond it further senders wait for their receive. The default is less where memory is short.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_tunables_exist_by_their_new_names_only() {
        let is_there = |name: &str| TABLE.iter().any(|row| row.name == name);
        for (old, new) in RENAMED {
            assert!(is_there(new) && !is_there(old), "{old}, {new}");
        }
    }

    #[test]
    fn each_is_described_by_sentences() {
        let numbers = TABLE.iter().map(|row| (row.name, row.doc));
        for (name, doc) in numbers.chain(TEXTS.iter().map(|row| (row.name, row.doc))) {
            assert!(
                doc.starts_with(char::is_uppercase) && doc.ends_with(['.', ')']),
                "{name}: {doc}"
            );
            assert!((40..420).contains(&doc.len()), "{name}: {} characters", doc.len());
        }
        let zero_means = TABLE.iter().filter(|row| row.default == 0 && row.unit != "0/1");
        for row in zero_means {
            let says = row.doc.contains("0:") || row.name == "check";
            assert!(says, "{}: what does its default, 0, mean?", row.name);
        }
    }

    #[test]
    fn numbers_with_suffixes() {
        assert_eq!(parse("12"), Some(12));
        assert_eq!(parse(" 4K "), Some(4096));
        assert_eq!(parse("2g"), Some(2 << 30));
        assert_eq!([parse("yes"), parse("On"), parse("TRUE")], [Some(1); 3]);
        assert_eq!([parse("no"), parse("off"), parse("False")], [Some(0); 3]);
        assert_eq!(parse("99999999999999999G"), None);
        assert_eq!(parse("many"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn misspelt_names_are_told() {
        let said = unknown_variable_hint("ISTHMUS_EAGER_LIMT").unwrap_or_default();
        assert!(said.contains("did you mean ISTHMUS_EAGER_LIMIT?"), "{said}");
        for name in [
            "ISTHMUS_EAGER_LIMIT",
            "ISTHMUS_JOB",
            "ISTHMUS_CHECK",
            "ISTHMUS_NOTHING_LIKE_IT",
            "HOME",
        ] {
            assert_eq!(unknown_variable_hint(name), None);
        }
    }
}
