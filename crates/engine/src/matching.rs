//! Matching: which receive takes which message.
//!
//! Owns the queue of posted receives, the queue of unexpected messages, and the order among wildcards. It knows nothing of how a
//! message came.
//!
//! Offers: [`queues`] (post, match, probe), [`early`] (unexpected messages, and what is kept of them).

pub(crate) mod early;
pub(crate) mod queues;
