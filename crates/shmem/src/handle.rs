//! Tables of objects by handle. A handle is an index with a generation, so that one that is stale or garbage is found out.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Objects of a kind that a process can have at a time.
const MOST: usize = 4096;
/// Bits of a handle that are the index; the generation stands above.
const INDEX: usize = MOST - 1;

struct Slot<T> {
    object: AtomicPtr<T>,
    handle: AtomicUsize,
}

/// Objects of one kind.
pub struct Table<T> {
    slots: [Slot<T>; MOST],
}

impl<T> Table<T> {
    /// Empty.
    pub const fn new() -> Self {
        Self {
            slots: [const {
                Slot {
                    object: AtomicPtr::new(std::ptr::null_mut()),
                    handle: AtomicUsize::new(0),
                }
            }; MOST],
        }
    }

    /// Put an object in, at `first` or behind it: its handle. `None`: it is full.
    pub fn insert(&self, object: Box<T>, first: usize) -> Option<usize> {
        let object = Box::into_raw(object);
        for index in first..MOST {
            let slot = &self.slots[index];
            let null = std::ptr::null_mut();
            if slot
                .object
                .compare_exchange(null, object, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                let handle = match slot.handle.load(Ordering::Relaxed) {
                    0 => index,
                    before => before + MOST,
                };
                slot.handle.store(handle, Ordering::Release);
                return Some(handle);
            }
        }
        // SAFETY: it was made from a box above, and nobody else has it.
        drop(unsafe { Box::from_raw(object) });
        None
    }

    /// The object of a handle. It lasts until it is [taken out](Self::remove), which the program does when nobody uses it.
    #[inline(always)]
    pub fn find(&self, handle: usize) -> Option<&T> {
        let slot = &self.slots[handle & INDEX];
        if slot.handle.load(Ordering::Acquire) != handle {
            return None;
        }
        // SAFETY: null, or an object that is there until it is removed.
        unsafe { slot.object.load(Ordering::Acquire).as_ref() }
    }

    /// Take an object out.
    pub fn remove(&self, handle: usize) -> Option<Box<T>> {
        let slot = &self.slots[handle & INDEX];
        if slot.handle.load(Ordering::Acquire) != handle {
            return None;
        }
        let object = slot.object.swap(std::ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: it was made from a box, and is taken out once.
        (!object.is_null()).then(|| unsafe { Box::from_raw(object) })
    }

    /// Handles of all objects.
    pub fn handles(&self) -> Vec<usize> {
        let there = |slot: &&Slot<T>| !slot.object.load(Ordering::Acquire).is_null();
        let live = self.slots.iter().filter(there);
        live.map(|slot| slot.handle.load(Ordering::Acquire)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_and_garbage_handles_are_found_out() {
        let table: Box<Table<u32>> = Box::new(Table::new());
        let first = table.insert(Box::new(7), 3).expect("room");
        assert_eq!((first, table.find(first)), (3, Some(&7)));
        assert_eq!(table.remove(first).as_deref(), Some(&7));
        assert!(table.remove(first).is_none());
        let second = table.insert(Box::new(8), 3).expect("room");
        assert_ne!(first, second);
        assert_eq!((table.find(first), table.find(second)), (None, Some(&8)));
        assert_eq!(table.find(usize::MAX), None);
        assert_eq!(table.handles(), [second]);
    }
}
