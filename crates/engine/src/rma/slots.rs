//! Memory of this process that the data of its long operations goes through, on the way to or from ordinary memory of a target that copies
//! the other half ([`mailbox`](super::mailbox)).
//!
//! Who writes a line that another CPU has just read waits until it is taken from there. So the memory is used round and round, and is as much
//! as two caches of the second level hold: a line comes round when it has left the other side's cache (docs/decisions/0022).
//!
//! Memory that is new costs time, some 50 us a slot with the faults of both sides. So it is taken slot by slot, each after as many bytes as take
//! that long: who makes few long operations pays for few.

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

use isthmus_shm::Place;

use crate::memory::heap;

/// Bytes of a slot, and so of the longest piece.
pub(super) const SLOT: usize = 32 << 10;
/// Slots of a process.
const MOST: usize = 64;
/// Bytes that go through the slots before there is one more.
const GROWS_AFTER: usize = 512 << 10;
/// Pieces begin at multiples of this.
const LINES: usize = 128;

static OWN: Mutex<Slots> = Mutex::new(Slots {
    slots: Vec::new(),
    current: 0,
    used: 0,
    passed: 0,
    most: MOST,
});

/// What this process has.
#[derive(Debug)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    /// The one whose first `used` bytes were given last.
    current: usize,
    used: usize,
    /// Bytes since the last slot was added.
    passed: usize,
    /// So many there will be.
    most: usize,
}

/// Where memory for a piece is, here and for the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub at: NonNull<u8>,
    pub place: Place,
}

// SAFETY: memory of the job, which any thread may use that holds the lock.
unsafe impl Send for Slot {}

/// The slots, for one operation that has at most so many pieces under way at a time. `None`: another thread's operation has them, or there is
/// no memory. Does not block.
pub(super) fn claim(pieces: usize) -> Option<MutexGuard<'static, Slots>> {
    let mut own = OWN.try_lock().ok()?;
    while own.slots.len() < pieces {
        own.grow().then_some(())?;
    }
    Some(own)
}

impl Slots {
    /// Memory for a piece of so many bytes, at most [`SLOT`].
    pub fn next(&mut self, bytes: usize) -> Slot {
        if self.used + bytes > SLOT {
            let is_last = self.current + 1 == self.slots.len();
            let grows = is_last && !self.is_complete() && self.passed >= GROWS_AFTER && self.grow();
            self.current = if is_last && !grows { 0 } else { self.current + 1 };
            self.used = 0;
        }
        let slot = self.slots[self.current];
        let skip = self.used;
        self.used += bytes.next_multiple_of(LINES);
        self.passed += bytes;
        Slot {
            // SAFETY: the piece is within the slot.
            at: unsafe { slot.at.add(skip) },
            place: Place(slot.place.0 + skip as u64),
        }
    }

    /// Are there all? Before, what goes through them is slower than it will be.
    pub fn is_complete(&self) -> bool {
        self.slots.len() >= self.most
    }

    /// Nobody knows when they are written no more: a target that has died was at one of them. There are others from now on.
    pub fn abandon(&mut self) {
        (self.current, self.used) = (0, 0);
        self.slots.clear();
    }

    fn grow(&mut self) -> bool {
        let new = Slot::allocate();
        self.slots.extend(new);
        if new.is_none() {
            self.most = self.slots.len();
        }
        self.passed = 0;
        new.is_some()
    }
}

impl Slot {
    fn allocate() -> Option<Self> {
        let at = heap::allocate(SLOT as u64, LINES as u64).ok()?;
        let place = heap::place_of(at.as_ptr(), SLOT as u64)?;
        Some(Self { at, place })
    }
}
