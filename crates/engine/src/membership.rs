//! Membership: the ranks of the job, their places, and failures.
//!
//! Owns boot and the connection to the launcher, the places of ranks on the machine, process failures, revocation, agreement, and
//! calls that a rank could not do its part of. It knows nothing of protocols.
//!
//! Offers: [`boot`], [`own`] (this process in its job), [`launcher`] (the connection to it), [`control`] (what launcher and ranks tell each other), [`job`] (the job's memory), [`locality`], [`failures`],
//! [`consensus`], [`failed_calls`].

pub(crate) mod boot;
pub(crate) mod consensus;
pub mod control;
pub(crate) mod failed_calls;
pub(crate) mod failures;
pub mod job;
pub(crate) mod launcher;
pub(crate) mod locality;
pub(crate) mod own;
pub(crate) mod pmi;

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;

use isthmus_shm::Offset;

use consensus::Agreed;
use failed_calls::FailedCalls;
use failures::Failures;

/// What this process knows of the others.
#[derive(Debug)]
pub(crate) struct Membership {
    pub failures: Failures,
    pub failed_calls: FailedCalls,
    /// What groups on several nodes have agreed on, by group and turn, until that is taken note of.
    pub decisions: HashMap<(u64, u32), Agreed>,
    /// Memory of this process's revocations that some members may not have learned of, and how much it is.
    pub revocations: VecDeque<(Offset, u64)>,
    /// The connection to the launcher.
    lifeline: Option<OwnedFd>,
}

impl Membership {
    /// Nobody has failed.
    pub fn new(lifeline: Option<OwnedFd>) -> Self {
        Self {
            failures: Failures::default(),
            failed_calls: FailedCalls::default(),
            decisions: HashMap::new(),
            revocations: VecDeque::new(),
            lifeline,
        }
    }

    /// The connection to the launcher, if there is one.
    pub fn lifeline(&self) -> Option<&OwnedFd> {
        self.lifeline.as_ref()
    }
}
