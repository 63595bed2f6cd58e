//! Small pieces of the job's memory, for what models share beside their data: locks and counts.

use std::ptr::NonNull;

use isthmus_shm::Offset;

use super::home;
use crate::{Result, enter};

/// Take `length` bytes that every process of the job maps, zeroed, on a pair of lines: their offset, which is a multiple of 128 and
/// never 0. May block as long as the kernel takes to find memory.
///
/// # Errors
/// There is no memory.
pub fn take_shared(length: u64) -> Result<u64> {
    let mut inside = enter();
    let engine = inside.engine();
    let offset = engine.memory.arena.allocate(engine.segment, length)?;
    Ok(offset.0)
}

/// Where `length` bytes at an offset, which a peer may have told, lie here; `None`: outside the job's memory.
pub fn shared_at(offset: u64, length: u64) -> Option<NonNull<u8>> {
    home().ok()?.segment.at(Offset(offset), length)
}

/// Give back what this process took. Nobody, in any process, may use it any more.
pub fn give_shared(offset: u64, length: u64) {
    enter().engine().memory.arena.release(Offset(offset), length);
}
