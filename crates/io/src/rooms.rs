//! Buffers that are used again: memory that is taken from the system anew costs as much as a copy to it.

use std::sync::{Mutex, PoisonError};

/// No more bytes are kept: what an aggregator needs with the usual buffer, twice.
const KEPT: usize = 16 << 20;

/// ... and no more buffers.
const MOST: usize = 256;

static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// A buffer of so many bytes, which say nothing.
pub fn take(bytes: usize) -> Vec<u8> {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    let fitting = spare.iter().enumerate().filter(|(_, room)| room.capacity() >= bytes);
    let at = fitting.min_by_key(|(_, room)| room.capacity()).map(|(at, _)| at);
    let mut room = at.map(|at| spare.swap_remove(at)).unwrap_or_default();
    drop(spare);
    // Only bytes that the buffer has not had before are cleared.
    room.resize(bytes, 0);
    room
}

/// It is not needed any more.
pub fn give(room: Vec<u8>) {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    let kept: usize = spare.iter().map(Vec::capacity).sum();
    if room.capacity() > 0 && spare.len() < MOST && kept + room.capacity() <= KEPT {
        spare.push(room);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_again_and_too_many_do_not_stay() {
        let mut room = take(3 << 20);
        room.fill(7);
        give(room);
        // Tests of other modules may take it.
        assert_eq!(take(1 << 20).len(), 1 << 20);
        for _ in 0..4 {
            give(vec![0; 8 << 20]);
        }
        let spare = SPARE.lock().expect("no panic");
        assert!(spare.iter().map(Vec::capacity).sum::<usize>() <= KEPT);
    }
}
