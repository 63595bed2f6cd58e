//! This process in its job: as whom it has joined, and what it knows of its CPUs from then on.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use isthmus_shm::occupancy;

use crate::tunables;
use crate::types::World;

pub(super) static WORLD: OnceLock<World> = OnceLock::new();
/// This process is not registered with membarrier.
pub(super) static FENCE_NEEDED: AtomicBool = AtomicBool::new(true);

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
