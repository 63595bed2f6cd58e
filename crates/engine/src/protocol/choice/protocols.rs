//! The protocols, as a list of values: when each applies, and what a message between two idle ranks should cost by it.
//!
//! Sending asks the facts for its limit (`Facts::eager_limit`), receiving for the ways that are open
//! (`Facts::leaves_ring_out`), and `isthmus info --protocols` prints this list. Among the ways that are open a receiver keeps
//! what it measured to be fastest (`select.rs`), since no model knows where two CPUs are and whether a buffer is in a cache.
//!
//! A new protocol is one more value of [`PROTOCOLS`].

use std::time::Duration;

use isthmus_transfer::stream::Kind;

use crate::membership::boot;
use crate::protocol::blocks;
use crate::protocol::choice::facts::Facts;
use crate::protocol::mechanism::{self, Sides};
use crate::protocol::send::MAPPED_FROM;
use crate::protocol::single_copy::SHARED_FROM;
use isthmus_shm::occupancy::Cpus;

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
            Self::WithoutBlock => "if no block is free",
            Self::OfMappedMemory => "of MPI_Alloc_mem",
            Self::IfNamed => "if named",
            Self::Named => "yes, it is named",
            Self::IfNamedIsRefused => "if the named one is refused",
            Self::Never => "no",
        }
    }
}

/// One way of sending a message.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// What it is called.
    pub name: &'static str,
    /// What moves the bytes, as in the tunable `mechanism`.
    pub mechanism: &'static str,
    /// What happens.
    pub how: &'static str,
    /// Needs a CPU for both ranks.
    pub needs_two_cpus: bool,
    /// When a message of so many bytes takes it; `None`: it cannot.
    pub applies: fn(&Facts, u64) -> Option<Taken>,
    /// From the send to the last byte, by the model.
    pub cost: fn(&Facts, u64) -> Duration,
}

/// A record to the other side: two hand-overs of a line, the code around them.
const RECORD: Duration = Duration::from_nanos(200);
/// The last piece in a ring is copied out with nobody helping.
const LAST_PIECE: u64 = 16 << 10;

/// All of them.
pub static PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: EAGER,
        mechanism: "ring",
        how: "at once, in pieces that both sides copy at the same time",
        needs_two_cpus: false,
        applies: |facts, bytes| {
            let taken = || match is_for_blocks(facts, bytes) {
                true => Taken::WithoutBlock,
                false => Taken::Always,
            };
            is_eager(facts, bytes).then(taken)
        },
        cost: through_ring,
    },
    Protocol {
        name: BLOCK,
        mechanism: "block",
        how: "at once, copied into a block that the receiver copies it out of, and keeps for its own",
        needs_two_cpus: false,
        applies: |facts, bytes| is_for_blocks(facts, bytes).then_some(Taken::Always),
        cost: |facts, bytes| 2 * RECORD + 2 * (facts.prices.copy)(bytes),
    },
    Protocol {
        name: "rendezvous, ring",
        mechanism: "ring",
        how: "announced, then in pieces that both sides copy at the same time",
        needs_two_cpus: false,
        applies: |facts, bytes| {
            let taken = || {
                if facts.single_copies_pay() {
                    Taken::Never
                } else {
                    Taken::IfFaster
                }
            };
            (!is_eager(facts, bytes)).then(taken)
        },
        cost: |facts, bytes| through_ring(facts, bytes) + 2 * RECORD,
    },
    Protocol {
        name: PULL,
        mechanism: "cma",
        how: "announced, pulled by the receiver",
        needs_two_cpus: false,
        applies: |facts, bytes| {
            let taken = || match () {
                () if facts.single_copies_pay() => Taken::Unhelped,
                () => Taken::IfFasterUnhelped,
            };
            may_be_single(facts, bytes).then(taken)
        },
        cost: |facts, bytes| 2 * RECORD + (facts.prices.single_copy)(bytes),
    },
    Protocol {
        name: BOTH,
        mechanism: "cma",
        how: "announced, pulled by the receiver and pushed by the sender from the other end",
        needs_two_cpus: true,
        applies: |facts, bytes| {
            let taken = || {
                if facts.single_copies_pay() {
                    Taken::Always
                } else {
                    Taken::IfFaster
                }
            };
            (bytes >= SHARED_FROM && may_be_single(facts, bytes)).then(taken)
        },
        cost: |facts, bytes| 3 * RECORD + (facts.prices.single_copy)(bytes / 2),
    },
    Protocol {
        name: PUSH,
        mechanism: "cma",
        how: "announced, pushed by the sender",
        needs_two_cpus: false,
        applies: |facts, bytes| if_named(facts, bytes).filter(|_| facts.single_copies),
        cost: |facts, bytes| 2 * RECORD + (facts.prices.single_copy)(bytes),
    },
    Protocol {
        name: "rendezvous, mapped",
        mechanism: "mapped",
        how: "announced, copied once out of memory that both map",
        needs_two_cpus: false,
        applies: |_, bytes| (bytes >= MAPPED_FROM as u64).then_some(Taken::OfMappedMemory),
        cost: |facts, bytes| 2 * RECORD + (facts.prices.copy)(bytes),
    },
    Protocol {
        name: "rendezvous, vmsplice",
        mechanism: "vmsplice",
        how: "announced, its pages attached to a pipe that the receiver reads",
        needs_two_cpus: false,
        applies: if_named,
        cost: |facts, bytes| 2 * RECORD + (facts.prices.stream)(Kind::Vmsplice, bytes),
    },
    Protocol {
        name: "rendezvous, writev",
        mechanism: "writev",
        how: "announced, copied into a pipe and out of it",
        needs_two_cpus: false,
        applies: if_named,
        cost: |facts, bytes| 2 * RECORD + (facts.prices.stream)(Kind::Writev, bytes),
    },
    Protocol {
        name: "rendezvous, loopback",
        mechanism: "loopback",
        how: "announced, through a socket of this host",
        needs_two_cpus: false,
        applies: if_named,
        cost: |facts, bytes| 2 * RECORD + (facts.prices.stream)(Kind::Loopback, bytes),
    },
];

const EAGER: &str = "eager";
const BLOCK: &str = "eager, block";
const PULL: &str = "rendezvous, pull";
const PUSH: &str = "rendezvous, push";
const BOTH: &str = "rendezvous, both ends";

fn is_eager(facts: &Facts, bytes: u64) -> bool {
    bytes <= facts.eager_limit()
}

/// Does it lie in a block, if one is free (docs/decisions/0104)?
fn is_for_blocks(facts: &Facts, bytes: u64) -> bool {
    facts.cpus != Cpus::Own && blocks::are_for(facts.ranks, facts.eager_limit(), bytes)
}

/// Is it announced, and can it be copied once?
fn may_be_single(facts: &Facts, bytes: u64) -> bool {
    facts.single_copies && !is_eager(facts, bytes)
}

fn if_named(facts: &Facts, bytes: u64) -> Option<Taken> {
    (!is_eager(facts, bytes)).then_some(Taken::IfNamed)
}

fn through_ring(facts: &Facts, bytes: u64) -> Duration {
    RECORD + (facts.prices.copy)(bytes) + (facts.prices.copy)(bytes.min(LAST_PIECE))
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

/// The protocols open to a message of `bytes`, the cheapest first. `cma`: processes may read each other's memory; the
/// mapped way is there for messages in memory from `MPI_Alloc_mem`. `ranks`: in a job of so many on this machine; `None`: in this process's.
/// Takes some 200 us at first use, for the probes.
pub fn for_message(bytes: u64, cma: bool, ranks: Option<u32>) -> Vec<Open> {
    let facts = match ranks {
        Some(ranks) => Facts::of_job(ranks, cma),
        None => Facts::gather(boot::world().map_or(1, |world| world.size), cma),
    };
    let mut protocols = open(&facts, bytes);
    if let Some((mechanism, sides)) = mechanism::named() {
        let announced = protocols
            .iter_mut()
            .filter(|open| ![EAGER, BLOCK].contains(&open.protocol.name));
        announced.for_each(|open| open.taken = once_named(open.protocol, mechanism, sides));
    }
    protocols
}

/// When an announced message takes this protocol if the user names that mechanism.
fn once_named(protocol: &Protocol, mechanism: &str, sides: Sides) -> Taken {
    let by_these = match sides {
        Sides::Any => protocol.name != PUSH,
        Sides::Receiver => protocol.name == PULL,
        Sides::Sender => protocol.name == PUSH,
        Sides::Both => protocol.name == BOTH,
    };
    match protocol.mechanism == mechanism {
        // Either side may copy: both do where they have a CPU each.
        true if by_these && protocol.name == PULL && sides == Sides::Any => Taken::Unhelped,
        true if by_these => Taken::Named,
        false if protocol.mechanism == "ring" => Taken::IfNamedIsRefused,
        _ => Taken::Never,
    }
}

fn open(facts: &Facts, bytes: u64) -> Vec<Open> {
    let open = |protocol: &'static Protocol| {
        if protocol.needs_two_cpus && facts.cpus != Cpus::Own {
            return None;
        }
        let taken = (protocol.applies)(facts, bytes)?;
        let cost = (protocol.cost)(facts, bytes);
        Some(Open { protocol, taken, cost })
    };
    let mut protocols: Vec<Open> = PROTOCOLS.iter().filter_map(open).collect();
    protocols.sort_by_key(|open| open.cost);
    protocols
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::choice::facts::Prices;
    use crate::tunables::Origin;

    const K: u64 = 1 << 10;

    fn facts(cpus: Cpus, limit: (u64, Origin), is_named: bool, pays: bool) -> Facts {
        let per_byte = |bytes: u64| Duration::from_nanos(bytes / 10);
        let prices = Prices {
            copy: per_byte,
            single_copy: |bytes| Duration::from_nanos(bytes / 5),
            stream: |_, bytes| Duration::from_nanos(bytes),
            single_copies_pay: if pays { || true } else { || false },
        };
        Facts {
            ranks: 4,
            cpus,
            eager_limit: limit,
            is_named,
            ring: 2048 * K,
            single_copies: true,
            prices,
        }
    }

    /// The longest message that goes at once.
    #[test]
    fn senders_decide_by_who_has_a_cpu() {
        use Origin::{Default, Environment};
        let grid = [
            (Cpus::Own, (128 * K, Default), false, 128 * K),
            (Cpus::Own, (128 * K, Default), true, 128 * K),
            (Cpus::Own, (4 * K, Environment), false, 4 * K),
            (Cpus::PartlyShared, (128 * K, Default), false, 1024 * K),
            (Cpus::PartlyShared, (128 * K, Default), true, 128 * K),
            (Cpus::PartlyShared, (4 * K, Environment), false, 4 * K),
            (Cpus::Shared, (128 * K, Default), false, 1024 * K),
            (Cpus::Shared, (128 * K, Default), true, 128 * K),
            (Cpus::Shared, (4 * K, Environment), false, 4 * K),
        ];
        for (cpus, limit, named, eager) in grid {
            let facts = facts(cpus, limit, named, true);
            assert_eq!(facts.eager_limit(), eager, "{facts:?}");
        }
        let ring = Facts {
            ring: 64 * K,
            ..facts(Cpus::Shared, (128 * K, Default), false, true)
        };
        assert_eq!(ring.eager_limit(), 128 * K, "a small ring makes it no shorter");
    }

    #[test]
    fn receivers_leave_the_ring_out_as_before() {
        let default = (128 * K, Origin::Default);
        for (cpus, pays, out) in [
            (Cpus::Own, true, true),
            (Cpus::PartlyShared, true, true),
            (Cpus::Shared, true, false),
            (Cpus::Own, false, false),
            (Cpus::PartlyShared, false, false),
        ] {
            let mut facts = facts(cpus, default, false, pays);
            assert_eq!(facts.leaves_ring_out(), out, "{facts:?}");
            facts.single_copies = false;
            assert!(!facts.leaves_ring_out());
        }
    }

    /// What `isthmus info --protocols` printed before there was this list.
    #[test]
    fn the_table_is_as_before() {
        let table = |bytes, single_copies, pays| -> Vec<(&str, &str)> {
            let mut facts = facts(Cpus::Own, (128 * K, Origin::Default), false, pays);
            facts.single_copies = single_copies;
            let mut rows: Vec<_> = open(&facts, bytes)
                .into_iter()
                .filter(|open| open.taken != Taken::IfNamed)
                .map(|open| (open.protocol.name, open.taken.words()))
                .collect();
            rows.sort_unstable();
            rows
        };
        assert_eq!(table(8, true, true), [("eager", "yes")]);
        assert_eq!(table(8 * K, true, false), [("eager", "yes")]);
        for pays in [true, false] {
            assert_eq!(
                table(64 * K, true, pays),
                [("eager", "yes"), ("rendezvous, mapped", "of MPI_Alloc_mem")]
            );
        }
        assert_eq!(
            table(1024 * K, true, true),
            [
                ("rendezvous, both ends", "yes"),
                ("rendezvous, mapped", "of MPI_Alloc_mem"),
                ("rendezvous, pull", "without help"),
                ("rendezvous, ring", "no"),
            ]
        );
        assert_eq!(
            table(1024 * K, true, false),
            [
                ("rendezvous, both ends", "if found faster"),
                ("rendezvous, mapped", "of MPI_Alloc_mem"),
                ("rendezvous, pull", "if found faster, without help"),
                ("rendezvous, ring", "if found faster"),
            ]
        );
        assert_eq!(
            table(1024 * K, false, true),
            [
                ("rendezvous, mapped", "of MPI_Alloc_mem"),
                ("rendezvous, ring", "if found faster")
            ]
        );
    }

    #[test]
    fn long_messages_lie_in_blocks_where_ranks_share_cpus() {
        let table = |cpus, ranks, bytes| -> Vec<(&str, &str)> {
            let facts = Facts {
                ranks,
                ..facts(cpus, (128 * K, Origin::Default), false, true)
            };
            let eager = open(&facts, bytes).into_iter();
            let eager = eager.filter(|open| open.protocol.name.starts_with(EAGER));
            eager.map(|open| (open.protocol.name, open.taken.words())).collect()
        };
        let both = [("eager", "if no block is free"), ("eager, block", "yes")];
        assert_eq!(table(Cpus::Shared, 4, 32 * K), both);
        assert_eq!(table(Cpus::PartlyShared, 3, 1024 * K), both);
        assert_eq!(table(Cpus::Shared, 16, 512 * K), both);
        assert_eq!(table(Cpus::Shared, 4, 31 * K), [("eager", "yes")]);
        assert_eq!(table(Cpus::Shared, 16, 32 * K), [("eager", "yes")]);
        assert_eq!(table(Cpus::Own, 4, 64 * K), [("eager", "yes")]);
        assert_eq!(table(Cpus::Shared, 4, 2048 * K), []);
    }

    #[test]
    fn what_is_named_is_taken() {
        let taken = |mechanism, sides| -> Vec<&str> {
            let named = |protocol: &&Protocol| once_named(protocol, mechanism, sides) == Taken::Named;
            PROTOCOLS.iter().filter(named).map(|protocol| protocol.name).collect()
        };
        assert_eq!(taken("cma", Sides::Receiver), [PULL]);
        assert_eq!(taken("cma", Sides::Sender), [PUSH]);
        assert_eq!(taken("cma", Sides::Both), [BOTH]);
        assert_eq!(taken("cma", Sides::Any), [BOTH]);
        assert_eq!(taken("vmsplice", Sides::Any), ["rendezvous, vmsplice"]);
        let ring = PROTOCOLS.iter().find(|protocol| protocol.name == "rendezvous, ring");
        let ring = ring.map(|ring| once_named(ring, "loopback", Sides::Any));
        assert_eq!(ring, Some(Taken::IfNamedIsRefused));
    }

    #[test]
    fn what_is_closed_is_not_offered() {
        let names = |bytes, cma| -> Vec<&str> {
            let protocols = for_message(bytes, cma, None);
            assert!(protocols.is_sorted_by_key(|open| open.cost));
            protocols.iter().map(|open| open.protocol.mechanism).collect()
        };
        assert_eq!(names(8, true), ["ring"]);
        assert!(!names(64 << 20, false).contains(&"cma"));
        assert_eq!(names(64 << 20, true).iter().filter(|name| **name == "cma").count(), 3);
        assert!(names(64 << 20, true).contains(&"mapped"));
        for stream in ["vmsplice", "writev", "loopback"] {
            assert!(names(64 << 20, false).contains(&stream) && !names(1 << 10, false).contains(&stream));
        }
    }
}
