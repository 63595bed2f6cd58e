//! The shared memory of a job.

use std::os::fd::OwnedFd;

use isthmus_shm::segment;

pub use isthmus_shm::segment::MAX_RANKS;

use crate::control::Nonce;

/// Make the job segment for `ranks` processes; the launcher hands the descriptor to each rank that joins.
pub fn create(ranks: u32, nonce: Nonce) -> Result<OwnedFd, segment::Error> {
    segment::create(ranks, nonce.0)
}
