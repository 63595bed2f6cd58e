//! Warnings that all ranks would give alike: the first one does, once per job and node.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use isthmus_os::process;

use crate::tunables::speaks_for_job;

/// A warning. Its number is that of its bit in the job's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// Single copies are refused.
    NoSingleCopies,
    /// One copy has failed.
    CopyFailed,
    /// A pipe or a connection cannot be had.
    NoStream,
    /// The kernel module is not used.
    NoModule,
    /// XPMEM is not used.
    NoXpmem,
    /// `ISTHMUS_FAULT` is unclear.
    Fault,
    /// `ISTHMUS_MECHANISM` is unclear.
    Mechanism,
    /// The file of measurements is unclear.
    Tuning,
    /// `ISTHMUS_HUGE_PAGES` is unclear.
    HugePages,
    /// There are no huge pages.
    NoHugePages,
    /// The pool of huge pages has not as many.
    NoPool,
    /// `ISTHMUS_THREAD_LEVEL` is unclear.
    ThreadLevel,
    /// `ISTHMUS_WITHOUT` names no rule.
    Without,
    /// `mpiexec` is gone.
    LauncherGone,
    /// Another MPI is initialized in the same processes.
    TwoMpis,
    /// The file of `ROMIO_HINTS` cannot be read.
    NamedHints,
    /// Several networks are asked for that the provider cannot use.
    Rails,
    /// The second of several networks is not used any more.
    SecondRail,
    /// The third one.
    ThirdRail,
    /// The fourth one.
    FourthRail,
}

/// Where the job keeps what has been said, and the process that may look there.
static SAID: OnceLock<(&'static AtomicU64, u32)> = OnceLock::new();

/// From now on the job's ranks know of one another what they have said.
pub(crate) fn open(said: &'static AtomicU64) {
    let _ = SAID.set((said, process::id()));
}

/// Print one line on standard error, unless a rank of the job on this node has printed one of the same kind. A process that has not
/// joined its job yet is silent if it is not the first. Does not block.
pub fn warn(warning: Warning, line: &str) {
    let bit = 1 << warning as u32;
    let is_first = match SAID.get() {
        Some((said, owner)) if *owner == process::id() => said.fetch_or(bit, Ordering::Relaxed) & bit == 0,
        // The memory is not there in a child made by `fork`.
        Some(_) => true,
        None => speaks_for_job(),
    };
    if is_first {
        process::say(line);
    }
}
