//! The protocols, as a list of values: each says which messages it is for, what moves their bytes, and what they should cost.
//!
//! A sender asks [`plan`] for the first protocol of the list that is for its message. The receiver of an announced message asks [`open`] for all
//! of them, and takes the one that it measured to be fastest (`select.rs`), since no model knows where two CPUs are and whether a buffer is in a
//! cache. `isthmus info --protocols` prints what the two answer.
//!
//! A new protocol is one more value of [`PROTOCOLS`]. Sizes that it depends on are rows of [`crate::limits`].

use std::time::Duration;

use isthmus_shm::occupancy::Cpus;
use isthmus_transfer::stream::{KINDS, StreamKind};

use crate::data_path::{self, DataPath};
use crate::limits::{LAST_PIECE, MAPPED_FROM, NETWORK_FROM, RECORD_COSTS, SHARED_FROM};
use crate::membership::own;
use crate::protocol::choice::facts::Facts;
use crate::protocol::mechanism::{Named, Sides};
use crate::types::Mode;

/// What moves the bytes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mover {
    /// Records of the ring, at once.
    Records,
    /// A block, at once.
    MessageBlock,
    /// Frames of the network, at once.
    Frames,
    /// Remote reads of an announced message, or frames that its receiver asks for.
    RemoteRead,
    /// Copies by the kernel, made by the receiver.
    Pull,
    /// The same, made by both.
    BothEnds,
    /// The same, made by the sender.
    Push,
    /// Loads from memory that both map.
    Mapped,
    /// A stream.
    Stream(StreamKind),
    /// Records of the ring that the receiver asks for.
    Ring,
}

impl Mover {
    /// Does the sender ask nobody?
    pub fn is_at_once(self) -> bool {
        matches!(self, Self::Records | Self::MessageBlock | Self::Frames)
    }

    /// The ways that the bytes of an announced message can take.
    fn paths(self) -> impl Iterator<Item = DataPath> + Clone {
        let single = match self {
            Self::Pull | Self::BothEnds | Self::Push => Some(DataPath::SingleCopy),
            Self::Mapped => Some(DataPath::Mapped),
            Self::Stream(kind) => Some(DataPath::Stream(kind)),
            Self::Ring | Self::Records | Self::MessageBlock | Self::Frames | Self::RemoteRead => None,
        };
        let ring = (self == Self::Ring).then(data_path::ring_paths);
        single.into_iter().chain(ring.into_iter().flatten())
    }
}

/// A message, as far as its sender or receiver knows it.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    /// Its bytes.
    pub bytes: u64,
    /// How its send completes; `None`: it is announced already.
    pub mode: Option<Mode>,
    /// Does it go to another node?
    pub is_remote: bool,
    /// Has its sender a cell for it? One that goes there is answered in it, so its lines cross once.
    pub has_cell: bool,
    /// Do both sides map its buffer? Asked only where it matters.
    pub is_mapped: &'a dyn Fn() -> bool,
    /// May the sender's buffer be copied by the kernel?
    pub can_copy: bool,
    /// Streams by which it can come, by kind.
    pub streams: [bool; KINDS],
    /// Do sender and receiver run on CPUs that have no cache in common?
    pub is_apart: bool,
    /// Has its sender an announced message to copy itself?
    pub is_sender_busy: bool,
    /// The mechanism that was measured to be best on this machine.
    pub measured: Option<&'static str>,
}

impl Message<'_> {
    /// One to another rank of the node, of which nothing else is known.
    pub const fn of(bytes: u64, mode: Mode) -> Self {
        Self {
            bytes,
            mode: Some(mode),
            is_remote: false,
            has_cell: false,
            is_mapped: &|| false,
            can_copy: false,
            streams: [true; KINDS],
            is_apart: false,
            is_sender_busy: false,
            measured: None,
        }
    }

    /// One that is announced already.
    pub const fn announced(bytes: u64) -> Self {
        Self {
            mode: None,
            ..Self::of(bytes, Mode::Standard)
        }
    }

    fn goes_at_once(&self, facts: &Facts) -> bool {
        self.mode == Some(Mode::Standard)
            && (self.bytes <= facts.eager_limit || self.goes_in_a_cell(facts))
            && (self.bytes < MAPPED_FROM as u64 || !(self.is_mapped)())
            && !(self.is_remote && self.bytes >= NETWORK_FROM as u64 && self.bytes > (facts.network_eager)())
    }

    /// A copy by the kernel is faster than two of ours where it is cheap.
    fn goes_in_a_cell(&self, facts: &Facts) -> bool {
        self.has_cell && self.bytes <= facts.cell_limit && !facts.leaves_ring_out()
    }

    /// Is it announced to a rank of the node?
    fn is_announced(&self, facts: &Facts) -> bool {
        !self.is_remote && !self.goes_at_once(facts)
    }

    fn is_in_mapped_memory(&self, facts: &Facts) -> bool {
        facts.allows("mapped") && self.is_announced(facts) && (self.is_mapped)()
    }

    fn can_be_copied(&self, facts: &Facts) -> bool {
        facts.allows("cma") && self.can_copy && self.is_announced(facts)
    }

    /// By a stream that is named, or was measured to be best on this machine. Without a cache in common each of two copies waits for the other's
    /// lines: if the kernel may not make the copy, vmsplice, which saves one, is tried beside the ring, and the faster one taken ("Cache-Efficient,
    /// Intranode, Large-Message MPI Communication with MPICH2-Nemesis", ICPP'09, section 6).
    fn can_be_streamed(&self, facts: &Facts, kind: StreamKind) -> bool {
        let is_tried = kind == StreamKind::Vmsplice && self.is_apart && !self.can_copy && facts.named.is_none();
        let is_wanted = is_tried
            || facts.named.is_some_and(|named| named.mechanism == kind.name())
            || self.measured == Some(kind.name());
        is_wanted && self.streams[kind as usize] && self.is_announced(facts)
    }
}

/// Do both sides make the single copies of a message? Where a CPU is to spare the sender helps, unless it is `busy` itself: a claimer that has
/// lost its CPU would stall its peer.
pub fn is_shared(facts: &Facts, bytes: u64, is_sender_busy: bool) -> bool {
    match facts.sides() {
        Sides::Any => bytes >= SHARED_FROM && facts.cpus == Cpus::Own && !is_sender_busy,
        Sides::Both => true,
        Sides::Receiver | Sides::Sender => false,
    }
}

/// One way of sending a message.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// What it is called.
    pub name: &'static str,
    /// What moves the bytes.
    pub by: Mover,
    /// The same, as in the tunable `mechanism`.
    pub mechanism: &'static str,
    /// What happens.
    pub how: &'static str,
    /// Is it for this message?
    pub applies: fn(&Facts, &Message<'_>) -> bool,
    /// From the send to the last byte, by the model, of so many bytes between two idle ranks of a node.
    pub cost: fn(&Facts, u64) -> Duration,
}

/// A record to the other side.
const RECORD: Duration = Duration::from_nanos(RECORD_COSTS);

/// All of them, in the order in which senders ask for them; of announced messages mapped memory first, and the ring last.
pub static PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "eager, frames",
        by: Mover::Frames,
        mechanism: "network",
        how: "at once, in frames",
        applies: |facts, message| message.is_remote && message.goes_at_once(facts),
        cost: |_, _| Duration::ZERO,
    },
    Protocol {
        name: "rendezvous, network",
        by: Mover::RemoteRead,
        mechanism: "network",
        how: "announced, and read by the receiver out of the sender's memory where the network can",
        applies: |facts, message| message.is_remote && !message.goes_at_once(facts),
        cost: |_, _| Duration::ZERO,
    },
    Protocol {
        name: "eager, block",
        by: Mover::MessageBlock,
        mechanism: "block",
        how: "at once, copied into a block that the receiver copies it out of, and keeps for its own",
        applies: |facts, message| {
            let is_for_blocks = |(shortest, longest)| (shortest..=longest).contains(&message.bytes);
            facts.blocks.is_some_and(is_for_blocks) && !message.is_remote && message.goes_at_once(facts)
        },
        cost: |facts, bytes| 2 * RECORD + 2 * (facts.costs.copy)(bytes),
    },
    Protocol {
        name: "eager",
        by: Mover::Records,
        mechanism: "ring",
        how: "at once, in pieces that both sides copy at the same time",
        applies: |facts, message| !message.is_remote && message.goes_at_once(facts),
        cost: through_ring,
    },
    Protocol {
        name: "rendezvous, mapped",
        by: Mover::Mapped,
        mechanism: "mapped",
        how: "announced, copied once out of memory that both map",
        applies: |facts, message| message.is_in_mapped_memory(facts),
        cost: |facts, bytes| 2 * RECORD + (facts.costs.copy)(bytes),
    },
    Protocol {
        name: "rendezvous, pull",
        by: Mover::Pull,
        mechanism: "cma",
        how: "announced, pulled by the receiver",
        applies: |facts, message| {
            facts.sides() != Sides::Sender
                && message.can_be_copied(facts)
                && !is_shared(facts, message.bytes, message.is_sender_busy)
        },
        cost: |facts, bytes| 2 * RECORD + (facts.costs.single_copy)(bytes),
    },
    Protocol {
        name: "rendezvous, both ends",
        by: Mover::BothEnds,
        mechanism: "cma",
        how: "announced, pulled by the receiver and pushed by the sender from the other end",
        applies: |facts, message| {
            message.can_be_copied(facts) && is_shared(facts, message.bytes, message.is_sender_busy)
        },
        cost: |facts, bytes| 3 * RECORD + (facts.costs.single_copy)(bytes / 2),
    },
    Protocol {
        name: "rendezvous, push",
        by: Mover::Push,
        mechanism: "cma",
        how: "announced, pushed by the sender",
        applies: |facts, message| facts.sides() == Sides::Sender && message.can_be_copied(facts),
        cost: |facts, bytes| 2 * RECORD + (facts.costs.single_copy)(bytes),
    },
    Protocol {
        name: "rendezvous, vmsplice",
        by: Mover::Stream(StreamKind::Vmsplice),
        mechanism: "vmsplice",
        how: "announced, its pages attached to a pipe that the receiver reads",
        applies: |facts, message| message.can_be_streamed(facts, StreamKind::Vmsplice),
        cost: |facts, bytes| 2 * RECORD + (facts.costs.stream)(StreamKind::Vmsplice, bytes),
    },
    Protocol {
        name: "rendezvous, writev",
        by: Mover::Stream(StreamKind::Writev),
        mechanism: "writev",
        how: "announced, copied into a pipe and out of it",
        applies: |facts, message| message.can_be_streamed(facts, StreamKind::Writev),
        cost: |facts, bytes| 2 * RECORD + (facts.costs.stream)(StreamKind::Writev, bytes),
    },
    Protocol {
        name: "rendezvous, loopback",
        by: Mover::Stream(StreamKind::Loopback),
        mechanism: "loopback",
        how: "announced, through a socket of this host",
        applies: |facts, message| message.can_be_streamed(facts, StreamKind::Loopback),
        cost: |facts, bytes| 2 * RECORD + (facts.costs.stream)(StreamKind::Loopback, bytes),
    },
    Protocol {
        name: "rendezvous, ring",
        by: Mover::Ring,
        mechanism: "ring",
        how: "announced, then in pieces that both sides copy at the same time",
        applies: |facts, message| {
            let can_be_copied = message.can_be_copied(facts);
            let is_needed = || {
                let is_streamed = StreamKind::ALL
                    .into_iter()
                    .any(|kind| message.can_be_streamed(facts, kind));
                !can_be_copied && !is_streamed && !message.is_in_mapped_memory(facts)
            };
            let is_left_out = can_be_copied && facts.leaves_ring_out() || !facts.allows("ring");
            message.is_announced(facts) && (!is_left_out || message.measured == Some("ring") || is_needed())
        },
        cost: |facts, bytes| through_ring(facts, bytes) + 2 * RECORD,
    },
];

/// Is a message within a node so short that nothing is better than records of the ring? [`plan`] answers that of it, too, with a look at the list.
#[inline]
pub fn is_short(facts: &Facts, mode: Mode, bytes: u64) -> bool {
    mode == Mode::Standard && bytes <= facts.eager_limit && bytes < MAPPED_FROM as u64
}

/// The protocol that a message takes, as far as its sender chooses: what an announced one takes is for its receiver to say, by [`open`].
pub fn plan(facts: &Facts, message: &Message<'_>) -> &'static Protocol {
    let first = PROTOCOLS.iter().find(|protocol| (protocol.applies)(facts, message));
    first.expect("a message that does not go at once is announced, and the ring is for those that nothing else is for")
}

/// The protocols that are for a message. If one of them was measured to be best on this machine, the others are not.
pub fn open<'a>(facts: &'a Facts, message: &'a Message<'_>) -> impl Iterator<Item = &'static Protocol> + Clone + 'a {
    let all = PROTOCOLS.iter().filter(|protocol| (protocol.applies)(facts, message));
    let is_measured = |protocol: &Protocol| message.measured == Some(protocol.mechanism);
    let has_measured = message.measured.is_some() && all.clone().any(is_measured);
    all.filter(move |protocol| !has_measured || is_measured(protocol))
}

/// The ways that an announced message can take, each with its protocol.
pub fn paths<'a>(
    facts: &'a Facts,
    message: &'a Message<'_>,
) -> impl Iterator<Item = (DataPath, &'static Protocol)> + Clone + 'a {
    open(facts, message).flat_map(|protocol| protocol.by.paths().map(move |path| (path, protocol)))
}

fn through_ring(facts: &Facts, bytes: u64) -> Duration {
    RECORD + (facts.costs.copy)(bytes) + (facts.costs.copy)(bytes.min(LAST_PIECE))
}

/// When a message takes a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Always.
    Always,
    /// If it was measured to be faster.
    IfFaster,
    /// If it was measured to be faster; the sender does not help.
    IfFasterUnhelped,
    /// If the sender does not help.
    Unhelped,
    /// If its receiver answers, so that there is a cell for it.
    Answered,
    /// If none of the blocks is free.
    WithoutBlock,
    /// If both sides map the buffer.
    OfMappedMemory,
    /// If `ISTHMUS_MECHANISM` names it.
    IfNamed,
    /// `ISTHMUS_MECHANISM` names it.
    Named,
    /// If what `ISTHMUS_MECHANISM` names is refused.
    IfNamedIsRefused,
    /// Another one is better here.
    Never,
}

impl Taken {
    /// In words, for a table.
    pub fn words(self) -> &'static str {
        match self {
            Self::Always => "yes",
            Self::IfFaster => "if found faster",
            Self::IfFasterUnhelped => "if found faster, without help",
            Self::Unhelped => "without help",
            Self::Answered => "if answered, in a cell",
            Self::WithoutBlock => "if no block is free",
            Self::OfMappedMemory => "of MPI_Alloc_mem",
            Self::IfNamed => "if named",
            Self::Named => "yes, it is named",
            Self::IfNamedIsRefused => "if the named one is refused",
            Self::Never => "no",
        }
    }

    /// When messages of so many bytes within a node take this protocol, by what it answers of messages that differ; `None`: none does.
    fn of(protocol: &'static Protocol, facts: &Facts, bytes: u64) -> Option<Self> {
        let plain = Message {
            can_copy: facts.single_copies,
            ..Message::of(bytes, Mode::Standard)
        };
        let mapped = Message {
            is_mapped: &|| true,
            ..plain
        };
        let unhelped = Message {
            is_sender_busy: true,
            ..plain
        };
        let in_cell = Message {
            has_cell: true,
            ..plain
        };
        let messages = match protocol.by {
            Mover::Mapped => [mapped; 2],
            _ => [plain, unhelped],
        };
        let is_for = |facts: &Facts| messages.iter().any(|message| (protocol.applies)(facts, message));
        let with = |named| Facts { named, ..*facts };
        let sides = if protocol.by == Mover::Push {
            Sides::Sender
        } else {
            Sides::Any
        };
        let mechanism = protocol.mechanism;
        let is_open = is_for(facts);
        let has_ring = open(facts, &plain).any(|protocol| protocol.by == Mover::Ring);
        Some(match protocol.by {
            Mover::Frames | Mover::RemoteRead => return None,
            Mover::Records if !is_open && (protocol.applies)(facts, &in_cell) => Self::Answered,
            Mover::Records | Mover::MessageBlock if !is_open => return None,
            Mover::Records if plan(facts, &plain).by == Mover::MessageBlock => Self::WithoutBlock,
            Mover::Records | Mover::MessageBlock => Self::Always,
            Mover::Ring if plain.goes_at_once(facts) => return None,
            Mover::Ring if !facts.allows(mechanism) => Self::IfNamedIsRefused,
            Mover::Mapped if is_open && facts.named.is_none() => Self::OfMappedMemory,
            Mover::Pull if is_open && facts.sides() == Sides::Any && has_ring => Self::IfFasterUnhelped,
            Mover::Pull if is_open && facts.sides() == Sides::Any => Self::Unhelped,
            _ if is_open && facts.named.is_some() => Self::Named,
            _ if is_open && has_ring => Self::IfFaster,
            _ if is_open => Self::Always,
            Mover::Ring => Self::Never,
            _ if is_for(&with(None)) => Self::Never,
            _ if is_for(&with(Some(Named { mechanism, sides }))) => match facts.named {
                None => Self::IfNamed,
                Some(_) => Self::Never,
            },
            _ => return None,
        })
    }
}

/// A protocol that a message may take.
#[derive(Debug, Clone, Copy)]
pub struct Open {
    /// Which.
    pub protocol: &'static Protocol,
    /// When it is taken.
    pub taken: Taken,
    /// From the send to the last byte, by the model.
    pub cost: Duration,
}

/// The protocols open to a message of `bytes` within a node, the cheapest first. `cma`: processes may read each other's memory; the
/// mapped way is there for messages in memory from `MPI_Alloc_mem`. `ranks`: in a job of so many on this machine; `None`: in this process's.
/// Takes some 200 us at first use, for the probes.
pub fn for_message(bytes: u64, cma: bool, ranks: Option<u32>) -> Vec<Open> {
    let facts = match ranks {
        Some(ranks) => Facts::of_job(ranks, cma),
        None => Facts::gather(own::world().map_or(1, |world| world.size), cma),
    };
    table(&facts, bytes)
}

fn table(facts: &Facts, bytes: u64) -> Vec<Open> {
    let open = |protocol: &'static Protocol| {
        let taken = Taken::of(protocol, facts, bytes)?;
        let cost = (protocol.cost)(facts, bytes);
        Some(Open { protocol, taken, cost })
    };
    let mut protocols: Vec<Open> = PROTOCOLS.iter().filter_map(open).collect();
    protocols.sort_by_key(|open| open.cost);
    protocols
}

#[cfg(test)]
mod tests;
