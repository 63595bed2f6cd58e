//! Buffers of long calls and answers, kept for the next ones: an allocator gives such memory back to the system, and its pages would be made anew
//! for each call.

use std::sync::{Mutex, PoisonError};

use crate::limits::{KEPT_BUFFER_FROM, KEPT_BUFFERS};

static KEPT: Mutex<Spares> = Mutex::new(Spares {
    buffers: Vec::new(),
    bytes: 0,
});

#[derive(Debug)]
struct Spares {
    buffers: Vec<Vec<u8>>,
    /// What they take.
    bytes: usize,
}

impl Spares {
    /// The smallest with so much room.
    fn take(&mut self, room: usize) -> Option<Vec<u8>> {
        let fitting = self.buffers.iter().enumerate();
        let fitting = fitting.filter(|(_, buffer)| buffer.capacity() >= room);
        let (at, _) = fitting.min_by_key(|(_, buffer)| buffer.capacity())?;
        let buffer = self.buffers.swap_remove(at);
        self.bytes -= buffer.capacity();
        Some(buffer)
    }

    fn keep(&mut self, buffer: Vec<u8>) {
        if self.bytes + buffer.capacity() <= KEPT_BUFFERS {
            self.bytes += buffer.capacity();
            self.buffers.push(buffer);
        }
    }
}

fn kept(room: usize) -> Option<Vec<u8>> {
    if room < KEPT_BUFFER_FROM {
        return None;
    }
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).take(room)
}

/// A buffer of so many bytes, which mean nothing.
pub(super) fn take(length: usize) -> Vec<u8> {
    match kept(length) {
        Some(mut buffer) => {
            buffer.resize(length, 0);
            buffer
        }
        None => vec![0; length],
    }
}

/// An empty buffer with room for so many bytes.
pub(super) fn with_room(room: usize) -> Vec<u8> {
    match kept(room) {
        Some(mut buffer) => {
            buffer.clear();
            buffer
        }
        None => Vec::with_capacity(room),
    }
}

/// A buffer that nobody needs now.
pub(super) fn keep(buffer: Vec<u8>) {
    if buffer.capacity() >= KEPT_BUFFER_FROM {
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).keep(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_that_is_long_enough_is_taken_and_no_more_are_kept_than_is_allowed() {
        let mut kept = Spares {
            buffers: Vec::new(),
            bytes: 0,
        };
        let of = |bytes| Vec::with_capacity(bytes);
        for bytes in [2, 4, 8, 2].map(|part| KEPT_BUFFERS / part) {
            kept.keep(of(bytes));
        }
        assert_eq!((kept.buffers.len(), kept.bytes), (3, KEPT_BUFFERS / 8 * 7));
        let taken = |kept: &mut Spares, room| kept.take(room).map(|buffer| buffer.capacity());
        assert_eq!(taken(&mut kept, KEPT_BUFFERS / 8 + 1), Some(KEPT_BUFFERS / 4));
        assert_eq!(taken(&mut kept, KEPT_BUFFERS / 8 + 1), Some(KEPT_BUFFERS / 2));
        assert_eq!(taken(&mut kept, KEPT_BUFFERS / 8 + 1), None);
        assert_eq!(kept.bytes, KEPT_BUFFERS / 8);
    }

    #[test]
    fn a_buffer_comes_back_with_the_length_that_is_asked_for() {
        keep(vec![7; 2 * KEPT_BUFFER_FROM]);
        assert_eq!(take(KEPT_BUFFER_FROM).len(), KEPT_BUFFER_FROM);
        let empty = with_room(KEPT_BUFFER_FROM);
        assert!(empty.is_empty() && empty.capacity() >= KEPT_BUFFER_FROM);
        assert_eq!(take(3), [0; 3]);
    }
}
