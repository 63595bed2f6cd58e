//! Objects that come and go with every message: a slab whose handles carry a generation.
//!
//! Unlike [`crate::handle::Table`] it holds values, takes no lock (it lives in a
//! [`Guarded`](isthmus_engine::Guarded)), and hands out the slot that was given back last, which is still in the cache.

use crate::error::Result;
use crate::fail;
use crate::handle::{GENERATION_MASK, INDEX_MASK, ObjectKind, compose, decompose};

/// The values, and the slots that are free.
pub struct Slab<T> {
    kind: ObjectKind,
    /// Slot `i` belongs to index `i + 1`: index 0 is never handed out.
    slots: Vec<Slot<T>>,
    /// The slot to hand out next; `slots.len()` if none is free.
    free: u32,
}

struct Slot<T> {
    generation: u32,
    state: State<T>,
}

enum State<T> {
    /// Nobody's; the next free slot.
    Vacant(u32),
    Live(T),
}

impl<T> Slab<T> {
    /// An empty slab of objects whose handles carry `kind`.
    pub const fn new(kind: ObjectKind) -> Self {
        Self {
            kind,
            slots: Vec::new(),
            free: 0,
        }
    }

    /// Make room for one more, if there may be more.
    #[inline]
    pub fn reserve(&mut self) -> Result<()> {
        if (self.free as usize) < self.slots.len() {
            return Ok(());
        }
        self.grow()
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let end = self.slots.len() as u32 + 1;
        if end > INDEX_MASK {
            return Err(fail!(NoMem, "{INDEX_MASK} live objects ({:?})", self.kind));
        }
        self.slots.push(Slot {
            generation: 0,
            state: State::Vacant(end),
        });
        Ok(())
    }

    /// Put in what `make` makes; its raw handle. There must be room: [`Self::reserve`].
    ///
    /// The value is made where it stays, which is several times cheaper than handing it here.
    #[inline(always)]
    pub fn insert_with(&mut self, make: impl FnOnce() -> T) -> u32 {
        let at = self.free;
        let slot = &mut self.slots[at as usize];
        if let State::Vacant(next) = slot.state {
            self.free = next;
        }
        // Forgotten, not dropped: it is vacant.
        std::mem::forget(std::mem::replace(&mut slot.state, State::Live(make())));
        compose(self.kind, slot.generation, at + 1)
    }

    /// The value that `raw` names, if it is live.
    #[inline]
    pub fn get(&mut self, raw: u32) -> Option<&mut T> {
        match self.slot(raw)?.state {
            State::Live(ref mut value) => Some(value),
            State::Vacant(_) => None,
        }
    }

    /// Take out the value that `raw` names: the handle is stale from now on. `None`: it names nothing.
    #[inline]
    pub fn take(&mut self, raw: u32) -> Option<T> {
        let free = self.free;
        let slot = self.slot(raw)?;
        if let State::Vacant(_) = slot.state {
            return None;
        }
        slot.generation = (slot.generation + 1) & GENERATION_MASK;
        let state = std::mem::replace(&mut slot.state, State::Vacant(free));
        self.free = decompose(raw).2 - 1;
        match state {
            State::Live(value) => Some(value),
            State::Vacant(_) => None,
        }
    }

    #[inline]
    fn slot(&mut self, raw: u32) -> Option<&mut Slot<T>> {
        let (kind, generation, index) = decompose(raw);
        if kind != self.kind as u32 {
            return None;
        }
        let slot = self.slots.get_mut((index as usize).wrapping_sub(1))?;
        (slot.generation == generation).then_some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert<T>(slab: &mut Slab<T>, value: T) -> u32 {
        slab.reserve().expect("room");
        slab.insert_with(|| value)
    }

    #[test]
    fn values_come_back_by_their_handle() {
        let mut slab = Slab::new(ObjectKind::Request);
        let a = insert(&mut slab, "a");
        let b = insert(&mut slab, "b");
        assert_ne!(a, b);
        assert_eq!(slab.get(a).copied(), Some("a"));
        assert!(slab.take(b).is_some());
        assert_eq!(slab.get(a).copied(), Some("a"));
    }

    #[test]
    fn stale_handles_name_nothing() {
        let mut slab = Slab::new(ObjectKind::Request);
        let old = insert(&mut slab, 1);
        assert!(slab.take(old).is_some());
        assert_eq!(slab.get(old), None);
        assert!(slab.take(old).is_none());
        let new = insert(&mut slab, 2);
        assert_ne!(old, new);
        assert_eq!(slab.get(old), None);
        assert_eq!(slab.get(new).copied(), Some(2));
    }

    #[test]
    fn garbage_names_nothing() {
        let mut slab = Slab::new(ObjectKind::Request);
        insert(&mut slab, 1);
        for raw in [
            0,
            1,
            0x180,
            u32::MAX,
            compose(ObjectKind::Comm, 0, 1),
            compose(ObjectKind::Request, 0, 2),
        ] {
            assert_eq!(slab.get(raw), None, "{raw:#x}");
            assert!(slab.take(raw).is_none(), "{raw:#x}");
        }
    }

    #[test]
    fn generations_wrap() {
        let mut slab = Slab::new(ObjectKind::Request);
        let first = insert(&mut slab, 0);
        slab.take(first);
        let mut handles = vec![first];
        loop {
            let handle = insert(&mut slab, 0);
            slab.take(handle);
            if handle == first {
                break;
            }
            assert!(!handles.contains(&handle));
            handles.push(handle);
        }
        assert_eq!(handles.len(), 128);
    }

    #[test]
    fn freed_slots_are_used_again_and_order_does_not_matter() {
        let mut slab = Slab::new(ObjectKind::Message);
        let handles: Vec<u32> = (0..10).map(|value| insert(&mut slab, value)).collect();
        for &handle in handles.iter().step_by(2) {
            slab.take(handle);
        }
        let again: Vec<u32> = (10..15).map(|value| insert(&mut slab, value)).collect();
        assert_eq!(slab.slots.len(), 10);
        for (handle, value) in again.iter().zip(10..) {
            assert_eq!(slab.get(*handle).copied(), Some(value));
        }
        for (handle, value) in handles.iter().zip(0..).skip(1).step_by(2) {
            assert_eq!(slab.get(*handle).copied(), Some(value));
        }
    }
}
