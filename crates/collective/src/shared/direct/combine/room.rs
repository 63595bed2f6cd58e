//! Memory of a call's own that the next call of the thread gets: it is in the caches, and its pages are there, which the C library
//! would give back to the kernel.

use std::cell::Cell;

use crate::error::Result;
use crate::link::Memory;

/// A thread keeps no more bytes than this.
const KEPT: usize = 512 << 10;
/// Where it begins: at a line of the caches.
const LINE: usize = 64;

thread_local! {
    /// What the last call had.
    static LAST: Cell<Option<Memory<'static>>> = const { Cell::new(None) };
}

/// Memory for a call.
pub(super) struct Room {
    memory: Memory<'static>,
    start: *mut u8,
}

impl Room {
    /// Memory for `length` bytes, or an error.
    pub fn take(length: usize) -> Result<Self> {
        let length = length + LINE;
        // A thread that ends has none.
        let last = LAST.try_with(Cell::take).ok().flatten();
        let mut memory = match last {
            Some(last) if last.len() >= length => last,
            _ => Memory::allocate(length)?,
        };
        let start = memory.start();
        let start = start.wrapping_add(start.align_offset(LINE));
        Ok(Self { memory, start })
    }

    /// Its address.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Leave it to the next call.
    pub fn leave(self) {
        if self.memory.len() <= KEPT {
            let _ = LAST.try_with(|last| last.set(Some(self.memory)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_call_gets_what_the_last_one_had() {
        let first = Room::take(1000).unwrap();
        let start = first.start();
        assert!(start.addr().is_multiple_of(LINE));
        first.leave();
        let (second, other) = (Room::take(900).unwrap(), Room::take(900).unwrap());
        assert_eq!(second.start(), start);
        assert_ne!(other.start(), start, "two calls at a time");
        second.leave();
        Room::take(KEPT).unwrap().leave();
        assert!(
            LAST.take().is_none(),
            "too short for the next one, which is too long to be kept"
        );
    }
}
