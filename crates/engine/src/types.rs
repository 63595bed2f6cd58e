//! The engine's vocabulary.

/// A message space. A communicator owns two neighbouring ones: point-to-point (even) and collective (odd).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(pub u32);

impl ContextId {
    /// From here on message spaces are the engine's, and no communicator's.
    pub const RESERVED: Self = Self(u32::MAX - 3);
    /// The message space of one-sided operations that ask for the target's help.
    pub(crate) const CALLS: Self = Self(Self::RESERVED.0 + 2);
    /// That of its answers.
    pub(crate) const ANSWERS: Self = Self::RESERVED;
}

/// A dense local index of a process we can talk to. The processes of our own job come first, by rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Peer(pub u32);

/// How a send completes (MPI-5.0 §3.4). Ready sends are `Standard`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// When the buffer can be reused.
    Standard,
    /// When the matching receive has started.
    Synchronous,
}

/// What a sender writes on the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The message space.
    pub context: ContextId,
    /// The sender's rank in the communicator, handed to the receiver as it is.
    pub source: i32,
    /// The tag, not negative.
    pub tag: i32,
}

/// What a receiver learns of a message before it is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arrival {
    /// The sender's rank in the communicator.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// Bytes in the message.
    pub bytes: u64,
}

/// An operation in flight: a generation and an index, which is never 0, in 26 bits; stale ones are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OpId(pub u32);

/// A message taken out of matching by a matched probe: a generation and an index, which is never 0, in 26 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageId(pub u32);

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Envelope and number of bytes that were received (for a send: meaningless).
    pub arrival: Arrival,
    /// The message was longer than the buffer; the buffer holds its beginning.
    pub truncated: bool,
    /// The operation was cancelled.
    pub cancelled: bool,
    /// The peer died before the operation could complete, or [`Self::revoked`].
    pub peer_failed: bool,
    /// The message space was revoked before the operation could complete.
    pub revoked: bool,
}

/// This process's place in its job.
#[derive(Debug, Clone)]
pub struct World {
    /// Our rank in the job.
    pub rank: u32,
    /// Processes in the job.
    pub size: u32,
    /// Index of our command in an MPMD job (`MPI_APPNUM`).
    pub appnum: i32,
    /// True if no launcher started us.
    pub singleton: bool,
}
