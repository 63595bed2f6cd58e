//! Context ids: numbers of message spaces, which their members agree on.
//!
//! One of them takes the next numbers of the job's own count, and tells the others. So no two communicators of the job have
//! the same, whichever threads make them at the same time, and ids are never used again. Disjoint groups that a split makes
//! share one.
//!
//! Where there are two who may take one, of the two groups of an intercommunicator, both do, and the larger is taken.

use isthmus_engine::{ContextId, enter};

use crate::error::Result;
use crate::fail;

/// `MPI_COMM_WORLD`.
pub const WORLD: ContextId = ContextId(0);
/// `MPI_COMM_SELF`.
pub const SELF: ContextId = ContextId(2);
/// Where processes meet that share no communicator (`MPI_Comm_create_from_group`).
pub const WITHOUT_COMM: ContextId = ContextId(4);

/// Of communicators whose members have not agreed yet: of intercommunicators, which have the most, all four.
pub const UNKNOWN: ContextId = ContextId(ContextId::RESERVED.0 - 4);
/// The engine's own message spaces are others than all four.
const _: () = assert!(UNKNOWN.0 + 3 < ContextId::RESERVED.0);
/// The first of the job's count.
const FIRST: u64 = 6;
/// No id was taken: it is another's turn, or none is left.
const NONE: u32 = 0;

/// What the process of this rank in its group offers as the id of `pairs` neighbouring pairs of message spaces: rank 0 takes
/// one.
pub fn offer(rank: i32, pairs: u32) -> u32 {
    if rank != 0 {
        return NONE;
    }
    let id = FIRST + enter().take_numbers(2 * pairs);
    u32::try_from(id)
        .ok()
        .filter(|id| *id < UNKNOWN.0 - 2 * pairs)
        .unwrap_or(NONE)
}

/// What all take, of what everyone offered.
pub fn agree(offers: impl Iterator<Item = u32>) -> Result<ContextId> {
    match offers.max().unwrap_or(NONE) {
        NONE => Err(fail!(NoMem, "no context id is left")),
        id => Ok(ContextId(id)),
    }
}
