//! Matching: which receive takes which message.
//!
//! Owns the queue of posted receives, the queue of unexpected messages, and the order among wildcards. It knows nothing of how a
//! message came.
//!
//! Offers: [`queues`] (hash and order), [`matcher`] (the queues of this process), [`unexpected`] (what is kept of a message).

pub(crate) mod matcher;
pub(crate) mod queues;
pub(crate) mod unexpected;
