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
    /// One sentence.
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
            Some(text) => parse(&text).or_else(|| self.word(&text)).map(Some).ok_or(text),
            None => Ok(None),
        }
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
    /// One sentence.
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
    "ISTHMUS_NODE_ADDRESS",
    "ISTHMUS_PREFIX",
    "ISTHMUS_WRAPPER",
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
pub fn objection(name: &str) -> Option<String> {
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
    TOPOLOGY = "topology", "The machine to believe in, for tests: 2x4 is 2 packages of 4 cores, 0,1,0,1 each rank's package.";
    FABRIC = "fabric", "The provider of libfabric to use between nodes, as tcp;ofi_rxm; not set: the best that there is (fi_info -t FI_EP_RDM).";
    PROGRESS_ENGINE = "progress_engine", "How node and network share a waiting rank's looks: adaptive (the path heard last, the other one seldom; if not set), toggle (in turn), or always (both in every round).";
    READING = "reading", "How far a look at a ring goes on with the records of one message: single (one), contiguous (all at the look after the first), progress_post (at once if the message is longer than the ring) or immediate (all; if not set).";
    THREAD_LEVEL = "thread_level", "The thread level to grant, whatever the program asks for: single, funneled, serialized or multiple.";
    MEMORY_ALLOC_KINDS = "memory_alloc_kinds", "Kinds of memory that the program asks support for, as system,mpi:alloc_mem (mpiexec -memory-alloc-kinds).";
    MECHANISM = "mechanism", "How large messages travel where they can: ring, cma (cma_read, cma_write or cma_both say which side copies), kmod, mapped, vmsplice, writev or loopback; not set: what is learned to be fastest.";
    TUNING = "tuning", "A file of `isthmus tune --mechanisms`: which mechanism large messages take, by size; not set: ~/.config/isthmus/tuning, if it is there; none: no file.";
    HUGE_PAGES = "huge_pages", "Huge pages for memory that peers map, 2M and more at a time: auto (as the machine's settings say), thp (made at once, whatever they say; rings, too), hugetlb (from the machine's pool, and as thp where it has no more) or off.";
    GA_GHOSTS = "ga_ghosts", "How Global Arrays fill margins: packed (each piece twice, one wait), direct (each piece from its owner, two waits), shift (dimension by dimension) or auto (what is fastest in the first updates; if not set).";
    GA_LINEAR = "ga_linear", "What solves Global Arrays' equations and eigenproblems: scalapack (all processes), lapack (the first one) or auto (scalapack for 256 rows and more, where it is there; if not set).";
    COLLECTIVES = "collectives", "Algorithms to use, the same on all ranks, as allreduce:ring,bcast@64K-:binomial, or @FILE with such rules (isthmus info --collectives).";
    WITHOUT = "without", "Rules about where bytes go to leave out, to measure what they are worth, as cells,pieces (isthmus bench rules has all); never better, except by accident.";
    FAULT = "fault", "What is to go wrong, for tests: rules such as push:EPERM, cma.pull:EFAULT:after=7 or memory:ENOMEM:after=9 (isthmus_transfer::fault).";
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
    EAGER_LIMIT = "eager_limit", 128 << 10, "bytes", "Messages up to this size go at once, through the ring or where ranks share CPUs in a block; longer ones by rendezvous. Neither this nor mechanism set, and more ranks than CPUs: half of a ring, if that is more.";
    CPUS = "cpus", 0, "count", "CPUs to believe the ranks of a node have, for tests and to count what they do with so many; 0: those that they have.";
    SPIN_US = "spin_us", 0, "us", "How long a rank with a CPU of its own spins at least before it sleeps; 0: twice what a wake takes here.";
    YIELD_US = "yield_us", 1000, "us", "How long a waiting rank polls before it sleeps: with a CPU of its own by spinning, else yielding between looks, for each rank on that CPU.";
    CMA = "cma", 1, "0/1", "Use process_vm_readv where a probe shows that it works and transfers show that it is faster.";
    SINGLE_COPY_MAX_COST = "single_copy_max_cost", 350, "percent", "What a copy by the kernel may take, in percent of one of ours, to be preferred where half of the CPUs or more are not shared; twice as much where ranks share CPUs and what all send in a collective exceeds the caches. 0 never is.";
    XPMEM = "xpmem", 0, "0/1", "Map peers' memory by /dev/xpmem, and leave process_vm_readv to those that have none. Not tried on machines that have it.";
    KMOD = "kmod", 1, "0/1/2", "Copy by our kernel module where it is loaded (/dev/isthmus), and leave process_vm_readv to those that have none; 2: with one mapping per 4 KiB page, to compare.";
    HELPER = "helper", 0, "0/1/2", "A helper thread makes long single copies while the rank computes: 1 where there are two CPUs for each rank, 2 always.";
    HELPER_FROM = "helper_from", 0, "bytes", "The shortest message that the helper thread copies; 0: DMAmin, half of the last cache by those who share it.";
    ADVERTISE = "advertise", 1, "0/1", "Tell senders where large receives lie that are posted and not waited for, so that they can write there.";
    CONNECT_TIMEOUT_MS = "connect_timeout_ms", 60_000, "ms", "How long a rank on another node is tried that cannot be reached, or not any more, as when the link is down or a firewall is between, before the job ends with a line that says so; where error handlers return that rank ends.";
    NETWORK_EAGER = "network_eager", 128 << 10, "bytes", "Messages to other nodes beyond this size are announced, and read by their receiver out of the sender's memory where the provider can do that; 16K at least.";
    NETWORK_PIECE = "network_piece", 512 << 10, "bytes", "Longest piece of a message that is read from another node at a time; half as long in messages of more than four.";
    NETWORK_FLIGHT = "network_flight", 1 << 20, "bytes", "So much may be under way of messages that are read from one peer on another node, or one piece; of each put or get there may be two pieces beside.";
    NETWORK_RMA = "network_rma", 128 << 10, "bytes", "Contiguous puts and gets of so much or more on windows of other nodes go by the provider's RMA, where it has some; 0: none. Less is better where hardware moves the bytes.";
    FAN_OUT = "fan_out", 32, "nodes", "With more nodes than this mpiexec starts so many branches, each of which does so for its own group of nodes.";
    PROGRESS_THREAD = "progress_thread", 1, "0/1", "A thread serves other nodes while the program computes: windows, and first messages that are not answered yet; 0: only calls do.";
    PEER_SILENCE_US = "peer_silence_us", 10, "us", "Silence of a peer after which a large message is copied without it, at most; from 2 us on, more for longer messages.";
    RING = "ring", 0, "bytes", "Data of the ring that a streaming pair leases, rounded up to a power of two from 4K to 4M; 0: twice the second-level cache, half of it where the last one is far and each rank has a CPU.";
    PIECE = "piece", 64 << 10, "bytes", "Longest payload of one record; a long message is copied in by pieces while earlier ones are copied out.";
    SHARED_FROM = "shared_from", 4 << 10, "bytes", "MPI_Alloc_mem of so much or more gives memory that the other ranks of the node map, too.";
    STAGING = "staging", 0, "bytes", "Ring in which a process shows others data of collectives, rounded up to a power of two, at least 1M; 0: as the ring, or with more ranks than CPUs a quarter of the last for all of them together.";
    DEVICE_MEMORY = "device_memory", 1, "0/1/2", "Refuse buffers in the memory of a CUDA device with MPI_ERR_BUFFER: 1 where the machine has NVIDIA's driver, 2 always; 0: such a buffer ends the rank with a segmentation fault.";
    TRACE = "trace", 0, "0/1", "Tell of every single copy, one line each.";
    CHECK = "check", 0, "0/1/sync", "Check the program for errors: calls, types, buffers and windows that do not match, and leftovers at the end (docs/checking.md); sync: each standard send is synchronous, too, so that those which must be buffered deadlock. At a price; the same on all ranks.";
    STATS = "stats", 0, "0/1", "In MPI_Finalize the first rank prints the counters of all ranks, as mpiexec --stats asks for; the same for all ranks.";
    COLLECTIVES_REPORT = "collectives_report", 0, "0/1", "In MPI_Finalize the first rank says for each rule of ISTHMUS_COLLECTIVES how many of its calls went by it.";
    UNEXPECTED_LIMIT = "unexpected_limit", 64 << 20, "bytes", "Unmatched payload kept at a receiver; beyond it senders only announce. The default is less where memory is short.";
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
        let said = objection("ISTHMUS_EAGER_LIMT").unwrap_or_default();
        assert!(said.contains("did you mean ISTHMUS_EAGER_LIMIT?"), "{said}");
        for name in [
            "ISTHMUS_EAGER_LIMIT",
            "ISTHMUS_JOB",
            "ISTHMUS_CHECK",
            "ISTHMUS_NOTHING_LIKE_IT",
            "HOME",
        ] {
            assert_eq!(objection(name), None);
        }
    }
}
