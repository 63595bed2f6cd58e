//! Context ids: numbers of message spaces, agreed on by those who share one.
//!
//! Each process proposes the lowest id that it has never used; the highest proposal is taken by all. So two
//! communicators that share a process differ, and ids are never used again. Disjoint groups may share one.
//!
//! Where nobody waits for the others' proposals they may be out of date, so there one process chooses: a number that no
//! other process chooses, and that it has never chosen before.

use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_engine::ContextId;

use crate::environment;
use crate::error::Result;
use crate::fail;

/// `MPI_COMM_WORLD`.
pub const WORLD: ContextId = ContextId(0);
/// `MPI_COMM_SELF`.
pub const SELF: ContextId = ContextId(2);
/// Where processes meet that share no communicator (`MPI_Comm_create_from_group`).
pub const MEETING: ContextId = ContextId(4);

/// Of communicators whose members have not agreed yet.
pub const UNKNOWN: ContextId = ContextId(u32::MAX - 3);
/// Below are the ids that everyone agrees on, from here on those that one process chose.
const CHOSEN: u32 = 1 << 31;

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
        .filter(|next| *next <= CHOSEN)
        .ok_or_else(|| fail!(NoMem, "no context id is left"))?;
    NEXT.fetch_max(next, Ordering::Relaxed);
    Ok(ContextId(id))
}

/// Choose an id of two neighbouring pairs of message spaces, on behalf of all.
pub fn choose() -> Result<ContextId> {
    static CHOICES: AtomicU32 = AtomicU32::new(0);
    let (me, processes) = (environment::me().map_or(0, |me| me.0), environment::world().size);
    let choice = u64::from(CHOICES.fetch_add(1, Ordering::Relaxed)) * u64::from(processes) + u64::from(me);
    match u32::try_from(u64::from(CHOSEN) + 4 * choice) {
        Ok(id) if id < UNKNOWN.0 => Ok(ContextId(id)),
        _ => Err(fail!(NoMem, "no context id is left")),
    }
}
