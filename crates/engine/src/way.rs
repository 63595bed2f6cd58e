//! Ways that the bytes of a message may take, and what a transfer costs.

use isthmus_transfer::copy::{self, Copying};
use isthmus_transfer::stream::{KINDS, Kind};

use crate::membership::boot;
use crate::rules::Rule;

/// How the bytes of a message get here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Straight from the sender's buffer, by the kernel.
    SingleCopy,
    /// Straight from the sender's buffer, which both sides map.
    Mapped,
    /// The sender streams them through the ring, copying so.
    Ring(Copying),
    /// The sender feeds a stream, and we drain it.
    Stream(Kind),
}

impl Way {
    /// The mechanism's name, as in tunables.
    pub fn mechanism(self) -> &'static str {
        match self {
            Self::SingleCopy => "cma",
            Self::Mapped => "mapped",
            Self::Ring(_) => "ring",
            Self::Stream(kind) => kind.name(),
        }
    }

    /// How the sender is to copy what of such a message goes through the ring.
    pub fn copying(self) -> Copying {
        match self {
            Self::Ring(copying) => copying,
            Self::SingleCopy | Self::Mapped | Self::Stream(_) => Copying::usual(),
        }
    }

    /// A number for it, from 0 up to [`WAYS`].
    pub const fn index(self) -> usize {
        match self {
            Self::Ring(copying) => copying as usize,
            Self::SingleCopy => copy::WAYS,
            Self::Mapped => copy::WAYS + 1,
            Self::Stream(kind) => copy::WAYS + 2 + kind as usize,
        }
    }
}

/// How many ways there are.
pub const WAYS: usize = copy::WAYS + 2 + KINDS;

/// The ways through the ring that are worth a try on this processor, the usual one first. Where ranks share CPUs, only
/// that: times would tell who was descheduled, and bytes that the next rank on this CPU reads should stay in its cache.
pub fn ring_ways() -> impl Iterator<Item = Way> + Clone {
    let usual = Copying::usual();
    let others = [Copying::Vector, Copying::String, Copying::Streaming];
    let oversubscribed = boot::is_oversubscribed();
    let others = others
        .into_iter()
        .filter(move |&way| !oversubscribed && Rule::Instructions.holds() && way != usual && way.is_sensible());
    std::iter::once(usual).chain(others).map(Way::Ring)
}

/// What a transfer costs: the time that each side spends copying, in [`isthmus_os::clock::ticks`]. Not the time until it is
/// done: that of a message in a window is mostly the one of those before it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Effort {
    pub sender: u64,
    pub receiver: u64,
}

impl Effort {
    /// One number. The two copy at the same time, so the slower one decides; unless they share CPUs.
    pub fn cost(self) -> u64 {
        match boot::is_oversubscribed() {
            true => self.sender.saturating_add(self.receiver),
            false => self.sender.max(self.receiver),
        }
    }
}
