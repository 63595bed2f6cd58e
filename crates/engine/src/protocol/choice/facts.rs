//! What the choice of a protocol depends on, gathered once and passed in.

use std::time::Duration;

use isthmus_os::cpu;
use isthmus_shm::occupancy;
use isthmus_transfer::stream::Kind;
use isthmus_transfer::{Shape, cma, mapped};

use crate::channel::ring_size;
use crate::membership::boot;
use crate::protocol::choice::remote;
use crate::rules::Rule;
use crate::tunables;
use crate::tunables::Origin;
use isthmus_shm::occupancy::Cpus;

/// Costs of bytes by each mechanism, as probed. Functions, since a probe takes some 200 us and few need it.
#[derive(Debug, Clone, Copy)]
pub struct Prices {
    /// One copy by the processor.
    pub copy: fn(u64) -> Duration,
    /// One copy by the kernel.
    pub single_copy: fn(u64) -> Duration,
    /// Through a stream.
    pub stream: fn(Kind, u64) -> Duration,
    /// Does a single copy by the kernel take less time than two through shared memory?
    pub single_copies_pay: fn() -> bool,
}

/// The prices of this machine.
pub const PROBED: Prices = Prices {
    copy: |bytes| mapped::facts().cost(Shape::contiguous(bytes)),
    single_copy: |bytes| cma::facts().cost(Shape::contiguous(bytes)),
    stream: |kind, bytes| kind.cost(Shape::contiguous(bytes)),
    single_copies_pay: remote::single_copies_pay,
};

/// What is known before a message is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Ranks of the job.
    pub ranks: u32,
    /// Who has a CPU.
    pub cpus: Cpus,
    /// The tunable `eager_limit`, and where it comes from.
    pub eager_limit: (u64, Origin),
    /// Has the user named a mechanism?
    pub is_named: bool,
    /// Data of a ring that a streaming pair leases, in bytes; 0 where each rank has a CPU, and nothing depends on it.
    pub ring: u64,
    /// May processes read each other's memory by single copies?
    pub single_copies: bool,
    /// What bytes cost.
    pub prices: Prices,
}

impl Facts {
    /// Those of this process, in a job of so many ranks.
    pub fn gather(ranks: u32, single_copies: bool) -> Self {
        Self::with(ranks, occupancy::sharing(), single_copies)
    }

    /// Those of a job of so many ranks on this machine.
    pub fn of_job(ranks: u32, single_copies: bool) -> Self {
        let cpus = boot::known_cpus().unwrap_or(cpu::usable() as u32);
        Self::with(ranks, Cpus::of(ranks, cpus), single_copies)
    }

    fn with(ranks: u32, cpus: Cpus, single_copies: bool) -> Self {
        Self {
            ranks,
            cpus,
            eager_limit: tunables::EAGER_LIMIT.value(),
            is_named: tunables::MECHANISM.get().is_some(),
            ring: match cpus {
                Cpus::Own => 0,
                _ => ring_size::suitable(ranks),
            },
            single_copies,
            prices: PROBED,
        }
    }

    /// The longest message that is sent without asking. Where ranks take turns on the CPUs each answer costs switches, so there it is
    /// as long as fits into a ring beside another one, if nobody says otherwise, nor which way long messages are to go (docs/decisions/0025).
    pub fn eager_limit(&self) -> u64 {
        match self.eager_limit {
            (limit, Origin::Default) if !self.is_named && self.cpus != Cpus::Own && Rule::LongEager.holds() => {
                limit.max(self.ring / 2)
            }
            (limit, _) => limit,
        }
    }

    /// Are single copies possible, and do they pay?
    pub fn single_copies_pay(&self) -> bool {
        self.single_copies && (self.prices.single_copies_pay)()
    }

    /// Is the ring left out for announced messages that a single copy may fetch? One copy by the kernel is over before two of ours,
    /// which overlap, where half of the CPUs or more are not shared.
    pub fn leaves_ring_out(&self) -> bool {
        self.cpus != Cpus::Shared && self.single_copies_pay()
    }
}
