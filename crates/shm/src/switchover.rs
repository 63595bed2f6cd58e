//! How elements that are changed by atomic instructions come to be changed under locks from then on, while others are at it.
//!
//! # Layout
//! A [`Phase`] per region: a word. A [`ReadSection`] per process: a word on a line of its own.
//!
//! # Fields
//! A phase goes from *instructions* to *locks, still by instructions* to *locks*, never back. A section is raised by its process while it
//! changes elements by instructions without a lock: a count if it has several threads.
//!
//! # Ordering
//! Store, then load, on both sides: a process raises its section and then looks at the phase; a process that wants locks changes the phase and then
//! looks at the sections. Processes in a section do not fence for it where the other side can for them (`membarrier`), as with doorbells: an uncontended
//! section costs two stores. A section ends by a release, which the look at it acquires, so what was done in it comes before the locks.
//!
//! # Safety
//! A process that dies in the middle of a section leaves it raised: sections of processes that are declared dead are ignored. One that dies in the middle of
//! changing the phase leaves it in the middle, where everything goes on, and somebody else may change it again.

use crate::doorbell;
use crate::sync::{AtomicU32, Ordering, fence};

const INSTRUCTIONS: u32 = 0;
const BOTH: u32 = 1;
const LOCKS: u32 = 2;

/// What the elements of a region are changed by.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Phase(AtomicU32);

/// Says that a process changes elements by instructions, of whatever region.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct ReadSection(AtomicU32);

/// A read section, until this is dropped.
#[must_use]
pub struct ReadGuard<'a> {
    section: &'a ReadSection,
    of_several: bool,
}

impl Drop for ReadGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SYNC: section
        if self.of_several {
            self.section.0.fetch_sub(1, Ordering::Release);
        } else {
            self.section.0.store(0, Ordering::Release);
        }
    }
}

impl Phase {
    /// Begin anew, where nobody knows of the region yet.
    pub fn reset(&self) {
        self.0.store(INSTRUCTIONS, Ordering::Relaxed);
    }

    /// Are elements changed under locks only, and by nothing else any more? To be asked under a lock.
    #[inline]
    pub fn is_locked(&self) -> bool {
        // SYNC: phase
        self.0.load(Ordering::Acquire) == LOCKS
    }

    /// Go over to locks. `fence_all` fences all processes that do not fence for themselves; false: it cannot. `others`: the sections of all,
    /// but of the dead. Does not block: a raised section leaves the rest to another call, and no process is fenced until then. True: from
    /// this call on, elements are under locks only.
    pub fn lock<'a>(
        &self,
        fence_all: impl Fn() -> bool,
        mut others: impl Iterator<Item = &'a ReadSection> + Clone,
    ) -> bool {
        match self.0.load(Ordering::Relaxed) {
            LOCKS => return false,
            BOTH => {}
            // What may fail comes before anything is changed.
            _ if !fence_all() => return false,
            _ => {
                let _ = self
                    .0
                    .compare_exchange(INSTRUCTIONS, BOTH, Ordering::SeqCst, Ordering::Relaxed);
            }
        }
        let is_raised = |section: &ReadSection, order| section.0.load(order) != 0;
        if others.clone().any(|section| is_raised(section, Ordering::Relaxed)) || !fence_all() {
            return false;
        }
        fence(Ordering::SeqCst);
        // SYNC: section
        if others.any(|section| is_raised(section, Ordering::Acquire)) {
            return false;
        }
        // SYNC: phase
        self.0.swap(LOCKS, Ordering::Release) != LOCKS
    }
}

impl ReadSection {
    /// Change elements of a region by instructions, until the answer is dropped; `None`: locks are needed. `fence_needed`: nobody can fence
    /// for us. `of_several`: the process has several threads that may be in it.
    #[inline]
    pub fn begin(&self, phase: &Phase, fence_needed: bool, of_several: bool) -> Option<ReadGuard<'_>> {
        // No mark is raised needlessly: a process that wants locks would wait for it.
        if phase.0.load(Ordering::Relaxed) != INSTRUCTIONS {
            return None;
        }
        if of_several {
            self.0.fetch_add(1, Ordering::Relaxed);
        } else {
            self.0.store(1, Ordering::Relaxed);
        }
        let guard = ReadGuard {
            section: self,
            of_several,
        };
        doorbell::order(fence_needed);
        (phase.0.load(Ordering::Relaxed) == INSTRUCTIONS).then_some(guard)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_read_section_makes_locks_wait_for_another_time() {
        let (phase, sections) = (Phase::default(), [ReadSection::default(), ReadSection::default()]);
        let guard = sections[0].begin(&phase, true, true).expect("by instructions");
        assert!(!phase.lock(|| false, sections.iter()) && !phase.is_locked());
        assert!(sections[0].begin(&phase, true, true).is_some(), "nothing was changed");
        assert!(!phase.lock(|| true, sections.iter()) && !phase.is_locked());
        assert!(sections[1].begin(&phase, true, false).is_none(), "no new ones");
        assert!(!phase.lock(|| unreachable!("no needless fence"), sections.iter()));
        drop(guard);
        assert!(!phase.lock(|| false, sections.iter()));
        assert!(phase.lock(|| true, sections.iter()) && phase.is_locked());
        assert!(!phase.lock(|| true, sections.iter()), "told once");
        phase.reset();
        assert!(sections[1].begin(&phase, false, false).is_some());
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct Shared {
        phase: Phase,
        sections: [ReadSection; 2],
        element: UnsafeCell<u32>,
    }

    // SAFETY: the element is touched by one at a time, which is what the model checks.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    /// A reader beside a process that goes over to locks: never both at the element.
    #[test]
    fn loom_readers_and_locks_exclude_each_other() {
        loom::model(|| {
            let shared = Arc::new(Shared {
                phase: Phase::default(),
                sections: [ReadSection::default(), ReadSection::default()],
                element: UnsafeCell::new(0),
            });
            let theirs = shared.clone();
            let reader = loom::thread::spawn(move || {
                let mut sections = 0;
                for _ in 0..2 {
                    if let Some(_guard) = theirs.sections[0].begin(&theirs.phase, true, false) {
                        // SAFETY: nobody else is at it.
                        theirs.element.with_mut(|element| unsafe { *element += 1 });
                        sections += 1;
                    }
                }
                sections
            });
            let mut changes = 0;
            for _ in 0..2 {
                if shared.phase.lock(|| true, shared.sections.iter()) {
                    // SAFETY: as above.
                    shared.element.with_mut(|element| unsafe { *element += 1 });
                    changes += 1;
                }
            }
            assert!(changes < 2);
            let sections = reader.join().expect("ends");
            // SAFETY: the other has ended.
            assert_eq!(shared.element.with(|element| unsafe { *element }), sections + changes);
        });
    }
}
