//! The list against what it answered before senders and receivers asked it (`plans.txt`), and against the table that users see.

use std::fmt::Write;

use super::*;
use crate::protocol::choice::facts::{CostModel, blocks_for, cell_limit, eager_limit};
use crate::tunables::Origin;

const K: u64 = 1 << 10;
const CPUS: [Cpus; 3] = [Cpus::Own, Cpus::PartlyShared, Cpus::Shared];
const DEFAULT: (u64, Origin) = (128 * K, Origin::Default);

fn facts_with(ranks: u32, cpus: Cpus, limit: (u64, Origin), is_named: bool, pays: bool) -> Facts {
    let costs = CostModel {
        copy: |bytes| Duration::from_nanos(bytes / 10),
        single_copy: |bytes| Duration::from_nanos(bytes / 5),
        stream: |_, bytes| Duration::from_nanos(bytes),
        single_copies_pay: if pays { || true } else { || false },
    };
    let eager_limit = eager_limit(limit, cpus, is_named, 2048 * K);
    Facts {
        cpus,
        eager_limit,
        cell_limit: cell_limit(limit, is_named, eager_limit),
        blocks: blocks_for(ranks, cpus, eager_limit),
        network_eager: || 128 * K,
        named: None,
        single_copies: true,
        costs,
    }
}

fn facts(cpus: Cpus, pays: bool) -> Facts {
    facts_with(4, cpus, DEFAULT, false, pays)
}

fn sizes() -> Vec<u64> {
    let around = (3..27).flat_map(|exponent| {
        let size = 1 << exponent;
        [size - 1, size, size + 1, size + size / 2]
    });
    let mut sizes: Vec<u64> = std::iter::once(0).chain(around).collect();
    sizes.sort_unstable();
    sizes
}

/// A line of `plans.txt` for each job and kind of send: from which size on the message takes which protocol.
fn sent(text: &mut String) {
    let limits = [DEFAULT, (4 * K, Origin::Environment), (1024 * K, Origin::Environment)];
    let sends = [
        ("standard", Mode::Standard, false, false),
        ("mapped", Mode::Standard, true, false),
        ("synchronous", Mode::Synchronous, false, false),
        ("remote", Mode::Standard, false, true),
        ("remote-mapped", Mode::Standard, true, true),
    ];
    for ranks in [2, 4, 16] {
        for (cpus, limit) in CPUS.iter().flat_map(|cpus| limits.map(|limit| (*cpus, limit))) {
            for (is_named, (kind, mode, is_mapped, is_remote)) in
                [false, true].iter().flat_map(|named| sends.map(|send| (*named, send)))
            {
                let facts = facts_with(ranks, cpus, limit, is_named, false);
                let named = if is_named { "named" } else { "-" };
                write!(text, "send {ranks} {cpus:?} {} {:?} {named} {kind}:", limit.0, limit.1).expect("a string");
                let mut last = "";
                for bytes in sizes() {
                    let message = Message {
                        is_mapped: &|| is_mapped,
                        is_remote,
                        ..Message::of(bytes, mode)
                    };
                    let protocol = plan(&facts, &message);
                    let is_short = is_short(&facts, mode, bytes) && !is_remote;
                    assert!(!is_short || protocol.by == Mover::Records, "{bytes}: {protocol:?}");
                    let by = match protocol.by {
                        Mover::Records => "ring",
                        Mover::MessageBlock => "block",
                        Mover::Frames => "frames",
                        _ => "announced",
                    };
                    if by != last {
                        write!(text, " {bytes} {by}").expect("a string");
                        last = by;
                    }
                }
                text.push('\n');
            }
        }
    }
}

/// A line for each job and mechanism that is named, or was measured to be best: what is open to an announced message of which neither side, or both,
/// may be copied by the kernel or are mapped, with streams open, and closed.
fn received(text: &mut String) {
    let all = ["ring", "cma", "mapped", "vmsplice", "writev", "loopback"];
    let named = all.map(|name| (Some(name), None));
    let measured = all.map(|name| (None, Some(name)));
    for (mechanism, measured) in std::iter::once((None, None)).chain(named).chain(measured) {
        for (cpus, pays) in CPUS.iter().flat_map(|cpus| [(*cpus, false), (*cpus, true)]) {
            let sides = Sides::Any;
            let facts = Facts {
                named: mechanism.map(|mechanism| Named { mechanism, sides }),
                ..facts_with(4, cpus, DEFAULT, mechanism.is_some(), pays)
            };
            let (name, best) = (mechanism.unwrap_or("-"), measured.unwrap_or("-"));
            write!(text, "receive {name} {best} {cpus:?} {pays}:").expect("a string");
            for (is_mapped, can_copy) in [(false, false), (false, true), (true, false), (true, true)] {
                for streams in [[true; KINDS], [false; KINDS]] {
                    let message = Message {
                        is_mapped: &|| is_mapped,
                        can_copy,
                        streams,
                        measured,
                        ..Message::announced(1024 * K)
                    };
                    let open: Vec<&str> = open(&facts, &message).map(|protocol| protocol.mechanism).collect();
                    write!(text, " | {}", open.join(" ")).expect("a string");
                }
            }
            text.push('\n');
        }
    }
}

/// A line for each job, size and side that is named: which side makes the single copies of a message.
fn copied(text: &mut String) {
    let sides = [
        ("any", Sides::Any),
        ("receiver", Sides::Receiver),
        ("sender", Sides::Sender),
        ("both", Sides::Both),
    ];
    for (name, sides) in sides {
        for (cpus, bytes) in CPUS
            .iter()
            .flat_map(|cpus| [4 * K, 64 * K - 1, 64 * K, 1024 * K].map(|bytes| (*cpus, bytes)))
        {
            for is_sender_busy in [false, true] {
                let mechanism = "cma";
                let facts = Facts {
                    named: (sides != Sides::Any).then_some(Named { mechanism, sides }),
                    ..facts(cpus, true)
                };
                let message = Message {
                    can_copy: true,
                    is_sender_busy,
                    ..Message::announced(bytes)
                };
                let single: Vec<&str> = open(&facts, &message)
                    .filter_map(|protocol| match protocol.by {
                        Mover::Pull => Some("pull"),
                        Mover::BothEnds => Some("both"),
                        Mover::Push => Some("push"),
                        _ => None,
                    })
                    .collect();
                writeln!(
                    text,
                    "copy {name} {cpus:?} {bytes} {is_sender_busy}: {}",
                    single.join(" ")
                )
                .expect("a string");
            }
        }
    }
}

#[test]
fn plans_are_as_before() {
    let mut text = String::new();
    sent(&mut text);
    received(&mut text);
    copied(&mut text);
    let before: Vec<&str> = include_str!("plans.txt").lines().collect();
    let now: Vec<&str> = text.lines().collect();
    assert_eq!(before.len(), now.len());
    for (before, now) in before.iter().zip(now) {
        assert_eq!(*before, now);
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
        assert_eq!(eager_limit(limit, cpus, named, 2048 * K), eager, "{cpus:?} {limit:?}");
    }
    let small = eager_limit(DEFAULT, Cpus::Shared, false, 64 * K);
    assert_eq!(small, 128 * K, "a small ring makes it no shorter");
}

#[test]
fn receivers_leave_the_ring_out_as_before() {
    for (cpus, pays, out) in [
        (Cpus::Own, true, true),
        (Cpus::PartlyShared, true, true),
        (Cpus::Shared, true, false),
        (Cpus::Own, false, false),
        (Cpus::PartlyShared, false, false),
    ] {
        let mut facts = facts(cpus, pays);
        assert_eq!(facts.leaves_ring_out(), out, "{facts:?}");
        facts.single_copies = false;
        assert!(!facts.leaves_ring_out());
    }
}

/// What `isthmus info --protocols` prints where each rank has a CPU.
#[test]
fn the_table_is_as_before() {
    let table = |bytes, single_copies, pays| -> Vec<(&str, &str)> {
        let facts = Facts {
            single_copies,
            ..facts(Cpus::Own, pays)
        };
        let mut rows: Vec<_> = table(&facts, bytes)
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

/// Where most CPUs are shared the ring is tried beside single copies even if these pay, and the table says so.
#[test]
fn the_table_says_that_the_ring_is_tried_where_cpus_are_shared() {
    let rows = table(&facts(Cpus::Shared, true), 2048 * K);
    let taken = |by| rows.iter().find(|open| open.protocol.by == by).map(|open| open.taken);
    assert_eq!(taken(Mover::Ring), Some(Taken::IfFaster));
    assert_eq!(taken(Mover::Pull), Some(Taken::IfFasterUnhelped));
    assert_eq!(taken(Mover::BothEnds), None);
}

#[test]
fn long_messages_lie_in_blocks_where_ranks_share_cpus() {
    let table = |cpus, ranks, bytes| -> Vec<(&str, &str)> {
        let facts = facts_with(ranks, cpus, DEFAULT, false, true);
        let eager = table(&facts, bytes).into_iter();
        let eager = eager.filter(|open| open.protocol.by.is_at_once());
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
    let rows = |mechanism, sides| {
        let facts = Facts {
            named: Some(Named { mechanism, sides }),
            ..facts(Cpus::Own, true)
        };
        table(&facts, 1024 * K)
    };
    let taken = |mechanism, sides| -> Vec<Mover> {
        let named = rows(mechanism, sides).into_iter();
        let named = named.filter(|open| open.taken == Taken::Named);
        named.map(|open| open.protocol.by).collect()
    };
    assert_eq!(taken("cma", Sides::Receiver), [Mover::Pull]);
    assert_eq!(taken("cma", Sides::Sender), [Mover::Push]);
    assert_eq!(taken("cma", Sides::Both), [Mover::BothEnds]);
    assert_eq!(taken("cma", Sides::Any), [Mover::BothEnds]);
    assert_eq!(taken("mapped", Sides::Any), [Mover::Mapped]);
    assert_eq!(taken("vmsplice", Sides::Any), [Mover::Stream(StreamKind::Vmsplice)]);
    let of = |by, named| {
        let rows: Vec<Open> = rows(named, Sides::Any);
        rows.iter().find(|open| open.protocol.by == by).map(|open| open.taken)
    };
    assert_eq!(of(Mover::Ring, "loopback"), Some(Taken::IfNamedIsRefused));
    assert_eq!(of(Mover::Push, "loopback"), Some(Taken::Never));
    assert_eq!(of(Mover::Pull, "cma"), Some(Taken::Unhelped));
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

/// Where ranks have no cache in common, and the kernel may not copy, vmsplice is tried beside the ring.
#[test]
fn vmsplice_is_tried_where_nothing_better_is_there() {
    let facts = facts(Cpus::Own, false);
    let open =
        |message: Message<'_>| -> Vec<&str> { open(&facts, &message).map(|protocol| protocol.mechanism).collect() };
    let apart = Message {
        is_apart: true,
        ..Message::announced(1024 * K)
    };
    assert_eq!(open(apart), ["vmsplice", "ring"]);
    assert_eq!(
        open(Message {
            is_apart: false,
            ..apart
        }),
        ["ring"]
    );
    let can_copy = open(Message {
        can_copy: true,
        ..apart
    });
    assert!(
        !can_copy.contains(&"vmsplice") && can_copy.contains(&"cma"),
        "{can_copy:?}"
    );
    let streams = [false; KINDS];
    assert_eq!(open(Message { streams, ..apart }), ["ring"]);
}

/// A message beyond the eager limit goes at once where its pair has a cell for it, but where a user has set the limit, or named a mechanism, and where
/// one copy by the kernel is faster.
#[test]
fn longer_messages_of_pairs_that_answer_go_in_cells() {
    let by = |facts: &Facts, bytes, has_cell| {
        let message = Message {
            has_cell,
            ..Message::of(bytes, Mode::Standard)
        };
        plan(facts, &message).by
    };
    let own = facts(Cpus::Own, false);
    assert_eq!(by(&own, 512 * K, true), Mover::Records);
    assert_eq!(by(&own, 512 * K, false), Mover::Ring);
    assert_eq!(by(&own, 512 * K + 1, true), Mover::Ring, "no cell is so large");
    assert_ne!(by(&facts(Cpus::Own, true), 512 * K, true), Mover::Records);
    let limited = facts_with(2, Cpus::Own, (4 * K, Origin::Environment), false, false);
    assert_eq!(by(&limited, 256 * K, true), Mover::Ring);
    let named = facts_with(2, Cpus::Own, DEFAULT, true, false);
    assert_eq!(by(&named, 256 * K, true), Mover::Ring);
    let taken = |bytes| {
        let rows = table(&own, bytes);
        rows.iter()
            .find(|open| open.protocol.by == Mover::Records)
            .map(|open| open.taken)
    };
    assert_eq!(taken(128 * K), Some(Taken::Always));
    assert_eq!(taken(512 * K), Some(Taken::Answered));
    assert_eq!(taken(1024 * K), None);
}
