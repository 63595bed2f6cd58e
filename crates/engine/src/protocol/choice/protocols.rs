//! What a message between two idle ranks of this machine should cost by each protocol, from probed facts, and which it takes: a table to
//! look at (`isthmus info --protocols`). The one thing that is decided by what it stands on is whether single copies pay
//! (`remote.rs`). Else a receiver tries the ways that are open and keeps what is fastest (`select.rs`, `contest.rs`), since no model
//! knows where two CPUs are and whether a buffer is in a cache.

use std::time::Duration;

use isthmus_transfer::stream::Kind;
use isthmus_transfer::{Shape, cma, mapped};

use crate::protocol::choice::remote;
use crate::protocol::choice::select;
use crate::protocol::single_copy::SHARED_FROM;
use crate::tunables;

/// One way of sending a message.
#[derive(Debug, Clone, Copy)]
pub struct Protocol {
    /// As in the tunable `mechanism`.
    pub mechanism: &'static str,
    /// What happens.
    pub how: &'static str,
    /// From the send to the last byte, by the model.
    pub cost: Duration,
    /// Needs a CPU for both ranks.
    pub needs_two_cpus: bool,
    /// When it is taken, where every rank has a CPU.
    pub taken: &'static str,
}

const ALWAYS: &str = "yes";
const IF_FASTER: &str = "if found faster";
/// `ISTHMUS_MECHANISM` names it.
const BY_NAME: &str = "if named";

/// A record to the other side: two hand-overs of a line, the code around them.
const RECORD: Duration = Duration::from_nanos(200);
/// The last piece in a ring is copied out with nobody helping.
const LAST_PIECE: u64 = 16 << 10;

/// The protocols open to a message of `bytes`, the cheapest first. `cma`: processes may read each other's memory; the
/// mapped way is there for messages in memory from `MPI_Alloc_mem`. Takes some 200 us at first use, for the probes.
pub fn for_message(bytes: u64, cma: bool) -> Vec<Protocol> {
    let shape = Shape::contiguous(bytes);
    let copy = mapped::facts().cost(shape);
    let last = mapped::facts().cost(Shape::contiguous(bytes.min(LAST_PIECE)));
    let eager = bytes <= tunables::EAGER_LIMIT.get();
    let pays = cma && remote::single_copies_pay();
    let streamed = RECORD + copy + last;
    let mut protocols = vec![match eager {
        true => Protocol {
            mechanism: "ring",
            how: "at once, in pieces that both sides copy at the same time",
            cost: streamed,
            needs_two_cpus: false,
            taken: match pays && select::contested(bytes).is_some() {
                true => "unless found slower",
                false => ALWAYS,
            },
        },
        false => Protocol {
            mechanism: "ring",
            how: "announced, then in pieces that both sides copy at the same time",
            cost: streamed + 2 * RECORD,
            needs_two_cpus: false,
            taken: if pays { "no" } else { IF_FASTER },
        },
    }];
    if cma && (!eager || pays && select::contested(bytes).is_some()) {
        let one = cma::facts().cost(shape);
        protocols.push(Protocol {
            mechanism: "cma",
            how: "announced, pulled by the receiver",
            cost: 2 * RECORD + one,
            needs_two_cpus: false,
            taken: match () {
                () if eager && bytes < SHARED_FROM => IF_FASTER,
                () if pays => "without help",
                () => "if found faster, without help",
            },
        });
        if bytes >= SHARED_FROM {
            let both = cma::facts().cost(Shape::contiguous(bytes / 2));
            protocols.push(Protocol {
                mechanism: "cma",
                how: "announced, pulled by the receiver and pushed by the sender from the other end",
                cost: 3 * RECORD + both,
                needs_two_cpus: true,
                taken: if pays && !eager { ALWAYS } else { IF_FASTER },
            });
        }
    }
    if bytes >= crate::protocol::send::MAPPED_FROM as u64 {
        protocols.push(Protocol {
            mechanism: "mapped",
            how: "announced, copied once out of memory that both map",
            cost: 2 * RECORD + copy,
            needs_two_cpus: false,
            taken: "of MPI_Alloc_mem",
        });
    }
    if !eager {
        protocols.extend(Kind::ALL.map(|kind| Protocol {
            mechanism: kind.name(),
            how: match kind {
                Kind::Vmsplice => "announced, its pages attached to a pipe that the receiver reads",
                Kind::Writev => "announced, copied into a pipe and out of it",
                Kind::Loopback => "announced, through a socket of this host",
            },
            cost: 2 * RECORD + kind.cost(shape),
            needs_two_cpus: false,
            taken: BY_NAME,
        }));
    }
    protocols.sort_by_key(|protocol| protocol.cost);
    protocols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_closed_is_not_offered() {
        let names = |bytes, cma| -> Vec<&str> {
            let protocols = for_message(bytes, cma);
            assert!(protocols.is_sorted_by_key(|protocol| protocol.cost));
            protocols.iter().map(|protocol| protocol.mechanism).collect()
        };
        assert_eq!(names(8, true), ["ring"]);
        assert!(!names(64 << 20, false).contains(&"cma"));
        assert_eq!(names(64 << 20, true).iter().filter(|name| **name == "cma").count(), 2);
        assert!(names(64 << 20, true).contains(&"mapped"));
        for stream in ["vmsplice", "writev", "loopback"] {
            assert!(names(64 << 20, false).contains(&stream) && !names(1 << 10, false).contains(&stream));
        }
    }
}
