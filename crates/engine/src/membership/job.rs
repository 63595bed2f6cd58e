//! The shared memory of a job, as its launcher sees it.

use std::os::fd::OwnedFd;

use isthmus_os::clock;
use isthmus_shm::segment::Failure;
use isthmus_shm::{Segment, segment};

pub use isthmus_shm::segment::{MAX_RANKS, Nodes};
pub use isthmus_shm::slot::{Awaits, Cause};

use crate::membership::control::Nonce;

/// Make the job segment for `ranks` processes; the launcher hands the descriptor to each rank that joins.
pub fn create(ranks: u32, nonce: Nonce) -> Result<OwnedFd, segment::Error> {
    segment::create(ranks, nonce.0)
}

/// Make a file of huge pages from the machine's pool for this job, before any rank joins; each is handed it, too. `None`: there is no pool.
pub fn create_pool(segment: &OwnedFd) -> Option<OwnedFd> {
    segment::create_pool(segment)
}

/// As [`create`], of a job whose ranks are on several nodes: for those of one node.
pub fn create_on(ranks: u32, nonce: Nonce, nodes: &Nodes) -> Result<OwnedFd, segment::Error> {
    segment::create_on(ranks, nonce.0, Some(nodes))
}

/// What the launcher sees of a job, and tells its ranks.
#[derive(Debug)]
pub struct Overview(Segment);

impl Overview {
    /// Of the job whose segment this is.
    pub fn of(segment: &OwnedFd, nonce: Nonce) -> Result<Self, segment::Error> {
        Segment::oversee(segment, nonce.0).map(Self)
    }

    /// Does this rank want to go on when others fail?
    pub fn endures(&self, rank: u32) -> bool {
        self.0.slot(rank).endures()
    }

    /// What a rank has waited for, for long, or tests for again and again.
    pub fn awaited(&self, rank: u32) -> Option<Awaits> {
        self.0.slot(rank).awaited(clock::now())
    }

    /// A rank has said how it is reached from other nodes: tell those of this one.
    pub fn show_card(&self, rank: u32, name: &[u8]) {
        if rank < self.0.ranks() && self.0.card(rank).is_some_and(|card| card.write(name)) {
            (0..self.0.ranks()).for_each(|other| self.0.alert(other));
        }
    }

    /// `rank` has been told something over its connection: it is to look.
    pub fn alert(&self, rank: u32) {
        self.0.alert(rank);
    }

    /// Tell everybody that `rank` is no more: it has failed, or has left `in_peace` a job in which others had failed. Its
    /// process must have ended: from now on its memory is nobody's, and its claims on the others' are void. Once per rank.
    pub fn declare_failed(&self, rank: u32, in_peace: bool) {
        self.0.declare_failed(Failure { rank, in_peace });
        (0..self.0.ranks()).for_each(|other| self.0.alert(other));
    }
}
