//! This process in its job: whether it has joined, as whom, and what it knows of its CPUs from then on.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use isthmus_shm::occupancy;

use crate::tunables;
use crate::types::World;

/// Life of the engine in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not booted yet.
    Outside,
    /// Part of the job.
    Inside,
    /// In a child made by `fork`: channels must not be touched.
    Forked,
}

pub(super) const OUTSIDE: u8 = 0;
pub(super) const INSIDE: u8 = 1;
pub(super) const FORKED: u8 = 2;
/// Inside, but nobody needs the job.
pub(super) const IDLE: u8 = 3;

pub(super) static STATE: AtomicU8 = AtomicU8::new(OUTSIDE);
pub(super) static WORLD: OnceLock<World> = OnceLock::new();
/// This process is not registered with membarrier.
pub(super) static FENCE_NEEDED: AtomicBool = AtomicBool::new(true);

/// Where this process stands.
#[inline]
pub fn state() -> State {
    match STATE.load(Ordering::Acquire) {
        INSIDE | IDLE => State::Inside,
        FORKED => State::Forked,
        _ => State::Outside,
    }
}

/// Has this process booted, and not left since? Not in a child made by `fork`.
#[inline(always)]
pub fn is_in_use() -> bool {
    STATE.load(Ordering::Relaxed) == INSIDE
}

/// Must this process fence between publishing something and looking whether a peer sleeps?
pub(crate) fn fence_needed() -> bool {
    FENCE_NEEDED.load(Ordering::Relaxed)
}

/// This process; `None` before [`boot`].
pub(crate) fn world() -> Option<&'static World> {
    WORLD.get()
}

/// CPUs that the ranks of the job may use; `None` before there is one.
pub(crate) fn known_cpus() -> Option<u32> {
    occupancy::cpus().or_else(believed_cpus)
}

/// CPUs that the user made up.
pub(super) fn believed_cpus() -> Option<u32> {
    Some(tunables::CPUS.get().min(u64::from(u32::MAX - 1)) as u32).filter(|&cpus| cpus > 0)
}
