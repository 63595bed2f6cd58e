//! This process in its job: as whom it has joined, and what it knows of its CPUs from then on.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use isthmus_os::{cpu, topology};
use isthmus_shm::noted::Notes;
use isthmus_shm::{Segment, occupancy};

use crate::limits::LARGEST_CACHE;
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

/// What processes of the job have noted of this node.
static NOTES: OnceLock<&'static Notes> = OnceLock::new();

/// Take what others of the job have found out about this node, and tell them. Before any of it is asked.
pub(super) fn share_notes(segment: &'static Segment) {
    let _ = NOTES.set(segment.notes());
    isthmus_transfer::share(segment.notes());
}

/// As noted; `None`: there is no job yet.
pub(super) fn notes() -> Option<&'static Notes> {
    NOTES.get().copied()
}

/// The caches above the first CPU that this process may use, as far as they are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caches {
    /// The second-level one.
    pub second: Option<SecondCache>,
    /// Bytes of the one that is farthest.
    pub last: Option<u64>,
}

/// A second-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecondCache {
    pub bytes: u64,
    /// CPUs that it serves.
    pub cpus: u64,
}

impl Caches {
    fn of(caches: &[topology::Cache]) -> Self {
        let second = caches.iter().find(|cache| cache.level == 2);
        Self {
            second: second.map(|cache| SecondCache {
                bytes: cache.bytes,
                cpus: cache.shared_by.len() as u64,
            }),
            last: caches.last().map(|cache| cache.bytes),
        }
    }

    /// Above this CPU, as a note.
    fn words(self, cpu: u64) -> [u64; 4] {
        let (bytes, cpus) = self.second.map_or((0, 0), |cache| (cache.bytes, cache.cpus));
        [cpu, bytes, cpus, self.last.unwrap_or(0)]
    }

    /// Of what was noted; `None`: that is of another CPU, or makes no sense.
    fn noted([of, bytes, cpus, last]: [u64; 4], cpu: u64) -> Option<Self> {
        let positive = |bytes: u64| Some(bytes).filter(|bytes| *bytes > 0);
        (of == cpu && bytes <= LARGEST_CACHE && last <= LARGEST_CACHE).then(|| Self {
            second: positive(bytes).map(|bytes| SecondCache { bytes, cpus }),
            last: positive(last),
        })
    }
}

/// The caches above the first CPU that this process may use, or might when this was first asked. Some twenty small files are read, unless another
/// process of the job has.
pub(crate) fn caches() -> Caches {
    static CACHES: OnceLock<Caches> = OnceLock::new();
    *CACHES.get_or_init(|| {
        let cpu = cpu::affinity().first().copied().unwrap_or(0);
        let note = notes().map(|notes| &notes.caches);
        let told = note.and_then(|note| Caches::noted(note.told()?, cpu as u64));
        told.unwrap_or_else(|| {
            let found = Caches::of(&topology::caches(cpu));
            if let Some(note) = note {
                note.tell(found.words(cpu as u64));
            }
            found
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_noted_and_taken_for_the_same_cpu() {
        let second = Some(SecondCache {
            bytes: 1 << 20,
            cpus: 2,
        });
        for caches in [
            Caches {
                second,
                last: Some(32 << 20),
            },
            Caches {
                second: None,
                last: None,
            },
        ] {
            assert_eq!(Caches::noted(caches.words(3), 3), Some(caches));
            assert_eq!(Caches::noted(caches.words(3), 4), None);
        }
        assert_eq!(Caches::noted([3, u64::MAX, 1, 1], 3), None);
    }
}
