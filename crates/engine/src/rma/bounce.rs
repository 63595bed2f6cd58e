//! Bounce buffers: memory of this process that the data of its long operations goes through, on the way to or from ordinary memory of a target
//! that makes the other one of two copies ([`mailbox`](super::mailbox)).
//!
//! A CPU that writes a line that another one has just read waits until it is taken from there. So the memory is used round and round, and is as much
//! as two caches of the second level hold: a line comes round when it has left the other side's cache (docs/decisions/0007).
//!
//! Memory that is new costs time, some 50 us a buffer with the faults of both sides. So it is taken buffer by buffer, each after as many bytes
//! as take that long: an origin of few long operations pays for few.

use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard};

use isthmus_os::clock;
use isthmus_shm::SharedAddress;

use crate::limits::{BOUNCE_BUFFER, BOUNCE_BUFFERS, BOUNCE_COSTS, BOUNCE_GROWS_AFTER};
use crate::memory::heap;

/// Pieces begin at multiples of this.
const LINES: usize = 128;

static OWN: Mutex<Buffers> = Mutex::new(Buffers::new(Buffer::allocate));

/// What this process has.
#[derive(Debug)]
pub(super) struct Buffers {
    buffers: Vec<Buffer>,
    /// The one whose first `used` bytes were given last.
    current: usize,
    used: usize,
    /// Bytes since the last buffer was added.
    passed: usize,
    /// So many there will be.
    most: usize,
    /// What buffers have cost so far, in [`clock::ticks`].
    costs: u64,
    allocate: fn() -> Option<Buffer>,
}

/// Where memory for a piece is, here and for the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffer {
    pub at: NonNull<u8>,
    pub shared_address: SharedAddress,
}

// SAFETY: memory of the job, which any thread may use that holds the lock.
unsafe impl Send for Buffer {}

/// The buffers, for one operation that has at most so many pieces under way at a time. `None`: another thread's operation has them, or there is
/// no memory. Does not block.
pub(super) fn claim(pieces: usize) -> Option<MutexGuard<'static, Buffers>> {
    let mut own = OWN.try_lock().ok()?;
    own.has(pieces).then_some(own)
}

impl Buffers {
    const fn new(allocate: fn() -> Option<Buffer>) -> Self {
        Self {
            buffers: Vec::new(),
            current: 0,
            used: 0,
            passed: 0,
            most: BOUNCE_BUFFERS,
            costs: 0,
            allocate,
        }
    }

    /// See to it that there are so many at least. False: there is no memory.
    fn has(&mut self, least: usize) -> bool {
        while self.buffers.len() < least {
            if !self.grow(self.buffers.len()) {
                return false;
            }
        }
        true
    }

    /// Memory for a piece of so many bytes, at most [`BOUNCE_BUFFER`].
    pub fn next(&mut self, bytes: usize) -> Buffer {
        if self.used + bytes > BOUNCE_BUFFER {
            let following = self.current + 1;
            let grows = self.passed >= BOUNCE_GROWS_AFTER && !self.is_complete() && self.grow(following);
            self.current = if grows {
                following
            } else {
                following % self.buffers.len()
            };
            self.used = 0;
        }
        let buffer = self.buffers[self.current];
        let skip = self.used;
        self.used += bytes.next_multiple_of(LINES);
        self.passed += bytes;
        Buffer {
            // SAFETY: the piece is within the buffer.
            at: unsafe { buffer.at.add(skip) },
            shared_address: SharedAddress(buffer.shared_address.0 + skip as u64),
        }
    }

    /// Are there all? Before, what goes through them is slower than it will be.
    pub fn is_complete(&self) -> bool {
        self.buffers.len() >= self.most
    }

    /// What buffers have cost so far, in [`clock::ticks`], about.
    pub fn costs(&self) -> u64 {
        self.costs
    }

    /// A target that has died was at one of them, and nobody knows when it is written no more. There are others from now on.
    pub fn abandon(&mut self) {
        (self.current, self.used) = (0, 0);
        self.buffers.clear();
    }

    /// One more, at that index. False: there is no memory for it, and there will be no more.
    fn grow(&mut self, index: usize) -> bool {
        self.passed = 0;
        let begun = clock::ticks();
        let new = (self.allocate)();
        self.costs += BOUNCE_COSTS * clock::ticks().wrapping_sub(begun);
        match new {
            Some(new) => self.buffers.insert(index, new),
            None => self.most = self.buffers.len(),
        }
        new.is_some()
    }
}

impl Buffer {
    fn allocate() -> Option<Self> {
        let at = heap::allocate(BOUNCE_BUFFER as u64, LINES as u64).ok()?;
        let shared_address = heap::shared_address_of(at.as_ptr(), BOUNCE_BUFFER as u64)?;
        Some(Self { at, shared_address })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn new() -> Option<Buffer> {
        static NEXT: AtomicUsize = AtomicUsize::new(BOUNCE_BUFFER);
        let at = NEXT.fetch_add(BOUNCE_BUFFER, Ordering::Relaxed);
        Some(Buffer {
            at: NonNull::without_provenance(at.try_into().unwrap()),
            shared_address: SharedAddress(at as u64),
        })
    }

    #[test]
    fn buffers_are_used_in_turn_and_become_more() {
        let mut buffers = Buffers::new(new);
        assert!(buffers.has(4));
        let mut last: Vec<u64> = Vec::new();
        for piece in 0..3000 {
            let bytes = [BOUNCE_BUFFER, BOUNCE_BUFFER / 2, BOUNCE_BUFFER / 4, 100][piece % 4];
            let Buffer { at, shared_address } = buffers.next(bytes);
            assert_eq!(at.addr().get() as u64, shared_address.0);
            assert!(
                shared_address.0 % BOUNCE_BUFFER as u64 + bytes as u64 <= BOUNCE_BUFFER as u64,
                "within a buffer"
            );
            // Three of four that may be under way at a time.
            assert!(last.iter().all(|other| *other != shared_address.0));
            last.push(shared_address.0);
            if last.len() > 3 {
                last.remove(0);
            }
        }
        assert!(buffers.is_complete());
        assert_eq!(buffers.buffers.len(), BOUNCE_BUFFERS);
    }

    #[test]
    fn few_bytes_take_few_buffers() {
        let mut buffers = Buffers::new(new);
        assert!(buffers.has(4));
        for _ in 0..BOUNCE_GROWS_AFTER / BOUNCE_BUFFER {
            buffers.next(BOUNCE_BUFFER);
        }
        assert_eq!(buffers.buffers.len(), 4);
    }

    #[test]
    fn without_memory_there_are_none_or_no_more() {
        assert!(!Buffers::new(|| None).has(1));
        let mut buffers = Buffers::new(new);
        assert!(buffers.has(4));
        buffers.allocate = || None;
        for _ in 0..100 {
            buffers.next(BOUNCE_BUFFER);
        }
        assert!(buffers.is_complete());
        assert_eq!(buffers.buffers.len(), 4);
    }
}
