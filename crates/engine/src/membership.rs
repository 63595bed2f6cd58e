//! Membership: who takes part in the job, where they are, and who has failed.
//!
//! Owns boot and the connection to the launcher, the places of ranks on the machine, process failures, revocation, agreement, and
//! calls that a rank could not do its part of. It knows nothing of protocols.
//!
//! Offers: [`boot`], [`control`] (what launcher and ranks tell each other), [`job`] (the job's memory), [`place`], [`liveness`],
//! [`consensus`], [`given_up`].

pub(crate) mod boot;
pub(crate) mod consensus;
pub mod control;
pub(crate) mod given_up;
pub mod job;
pub(crate) mod liveness;
pub(crate) mod place;
