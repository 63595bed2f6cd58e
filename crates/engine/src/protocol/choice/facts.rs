//! What the choice of a protocol depends on, gathered once and passed in.

use std::time::Duration;

use isthmus_os::cpu;
use isthmus_shm::occupancy;
use isthmus_transfer::stream::StreamKind;
use isthmus_transfer::{Shape, cma, mapped};

use crate::channel::ring_size;
use crate::limits::{BLOCK_BYTES, BLOCK_FROM, BLOCK_FROM_TO_MANY, BLOCK_LONGEST, BLOCK_RANKS, BLOCKS, CELL_LONGEST};
use crate::membership::own;
use crate::protocol::choice::price;
use crate::protocol::mechanism::{self, Named, Sides};
use crate::rules::Rule;
use crate::tunables;
use crate::tunables::Origin;
use isthmus_shm::occupancy::Cpus;

/// Costs of bytes by each mechanism, as probed. Functions, since a probe takes some 200 us and few need it.
#[derive(Debug, Clone, Copy)]
pub struct CostModel {
    /// One copy by the processor.
    pub copy: fn(u64) -> Duration,
    /// One copy by the kernel.
    pub single_copy: fn(u64) -> Duration,
    /// Through a stream.
    pub stream: fn(StreamKind, u64) -> Duration,
    /// Does a single copy by the kernel take less time than two through shared memory?
    pub single_copies_pay: fn() -> bool,
}

/// The costs of this machine.
pub const PROBED: CostModel = CostModel {
    copy: |bytes| mapped::facts().cost(Shape::contiguous(bytes)),
    single_copy: |bytes| cma::facts().cost(Shape::contiguous(bytes)),
    stream: |kind, bytes| kind.cost(Shape::contiguous(bytes)),
    single_copies_pay: price::single_copies_pay,
};

/// Facts that are known before a message.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Which ranks have a CPU.
    pub cpus: Cpus,
    /// The longest message that is sent without asking, in bytes.
    pub eager_limit: u64,
    /// The same of one for which there is a cell, in bytes (docs/decisions/0007).
    pub cell_limit: u64,
    /// The shortest and the longest message that lies in a block, in bytes; `None`: no message does.
    pub blocks: Option<(u64, u64)>,
    /// The longest message to another node that is sent without asking, in bytes.
    pub network_eager: fn() -> u64,
    /// The mechanism that long messages take where they can.
    pub named: Option<Named>,
    /// May processes read each other's memory by single copies?
    pub single_copies: bool,
    /// What bytes cost.
    pub costs: CostModel,
}

impl Facts {
    /// Those of this process, in a job of so many ranks.
    pub fn gather(ranks: u32, single_copies: bool) -> Self {
        Self::with(ranks, occupancy::sharing(), single_copies)
    }

    /// Those of a job of so many ranks on this machine.
    pub fn of_job(ranks: u32, single_copies: bool) -> Self {
        let cpus = own::known_cpus().unwrap_or(cpu::usable() as u32);
        Self::with(ranks, Cpus::of(ranks, cpus), single_copies)
    }

    fn with(ranks: u32, cpus: Cpus, single_copies: bool) -> Self {
        let ring = match cpus {
            Cpus::Own => 0,
            _ => ring_size::suitable(ranks),
        };
        let is_named = tunables::MECHANISM.get().is_some();
        let tunable = tunables::EAGER_LIMIT.value();
        let eager_limit = eager_limit(tunable, cpus, is_named, ring);
        Self {
            cpus,
            eager_limit,
            cell_limit: cell_limit(tunable, is_named, eager_limit),
            blocks: blocks_for(ranks, cpus, eager_limit),
            network_eager: || tunables::NETWORK_EAGER.get(),
            named: mechanism::named(),
            single_copies,
            costs: PROBED,
        }
    }

    /// May long messages go by this mechanism?
    pub fn allows(&self, mechanism: &str) -> bool {
        self.named.is_none_or(|named| named.mechanism == mechanism)
    }

    /// Which side makes single copies.
    pub fn sides(&self) -> Sides {
        self.named.map_or(Sides::Any, |named| named.sides)
    }

    /// Is the ring left out for announced messages that a single copy may fetch? One copy by the kernel is over before two of ours,
    /// which overlap, where half of the CPUs or more are not shared.
    pub fn leaves_ring_out(&self) -> bool {
        self.cpus != Cpus::Shared && self.single_copies && (self.costs.single_copies_pay)()
    }
}

/// The longest message that is sent without asking, of the tunable and where it comes from. Where ranks take turns on the CPUs each answer costs
/// switches, so there it is as long as fits into a ring of `ring` bytes beside another one, if nobody says otherwise, nor which way long messages
/// are to go (docs/decisions/0007).
pub(super) fn eager_limit(tunable: (u64, Origin), cpus: Cpus, is_named: bool, ring: u64) -> u64 {
    match tunable {
        (limit, Origin::Default) if !is_named && cpus != Cpus::Own && Rule::LongEager.holds() => limit.max(ring / 2),
        (limit, _) => limit,
    }
}

/// The longest message that is sent without asking if there is a cell for it: whatever fits into one, if nobody says otherwise.
pub(super) fn cell_limit((_, origin): (u64, Origin), is_named: bool, eager_limit: u64) -> u64 {
    match origin {
        Origin::Default if !is_named => eager_limit.max(CELL_LONGEST),
        _ => eager_limit,
    }
}

/// The shortest and the longest message that lies in a block (docs/decisions/0007).
pub(super) fn blocks_for(ranks: u32, cpus: Cpus, eager_limit: u64) -> Option<(u64, u64)> {
    let share = BLOCK_BYTES / BLOCKS as u64 / u64::from(ranks.max(1));
    let longest = eager_limit.min(BLOCK_LONGEST).min(share).max(1);
    let shortest = if ranks <= BLOCK_RANKS {
        BLOCK_FROM
    } else {
        BLOCK_FROM_TO_MANY
    };
    (cpus != Cpus::Own && Rule::Blocks.holds()).then_some((shortest as u64, 1 << longest.ilog2()))
}
