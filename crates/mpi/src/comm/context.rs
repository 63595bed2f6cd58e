//! Context ids: numbers of message spaces, agreed on by those who share one.
//!
//! Each process proposes the lowest id that it has never used; the highest proposal is taken by all. So two
//! communicators that share a process differ, and ids are never used again. Disjoint groups may share one.

use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_engine::ContextId;

use crate::error::Result;
use crate::fail;

/// `MPI_COMM_WORLD`.
pub const WORLD: ContextId = ContextId(0);
/// `MPI_COMM_SELF`.
pub const SELF: ContextId = ContextId(2);
/// Where processes meet that share no communicator (`MPI_Comm_create_from_group`).
pub const MEETING: ContextId = ContextId(4);

static NEXT: AtomicU32 = AtomicU32::new(6);

/// The lowest id that this process has never used.
pub fn proposal() -> u32 {
    NEXT.load(Ordering::Relaxed)
}

/// Everyone's proposals: the id of `pairs` neighbouring pairs of message spaces that all take. Not to be called by two
/// threads at a time on overlapping groups, which thread levels up to `MPI_THREAD_SERIALIZED` exclude.
pub fn agree(proposals: impl Iterator<Item = u32>, pairs: u32) -> Result<ContextId> {
    let id = proposals.max().unwrap_or(0);
    let next = id
        .checked_add(2 * pairs)
        .ok_or_else(|| fail!(NoMem, "no context id is left"))?;
    NEXT.fetch_max(next, Ordering::Relaxed);
    Ok(ContextId(id))
}
