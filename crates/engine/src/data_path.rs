//! Data paths: how the bytes of a message get to the receiver, and what a transfer costs.

use isthmus_os::clock;
use isthmus_shm::occupancy;
use isthmus_transfer::copy::{self, Copying};
use isthmus_transfer::stream::{KINDS, StreamKind};

use crate::learning::Alternative;
use crate::rules::Rule;

/// How the bytes of a message get here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataPath {
    /// Straight from the sender's buffer, by the kernel.
    SingleCopy,
    /// Straight from the sender's buffer, which both sides map.
    Mapped,
    /// The sender streams them through the ring, copying so.
    Ring(Copying),
    /// The sender feeds a stream, and we drain it.
    Stream(StreamKind),
}

impl DataPath {
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
}

impl Alternative for DataPath {
    fn index(self) -> usize {
        match self {
            Self::Ring(copying) => copying as usize,
            Self::SingleCopy => copy::COPYINGS,
            Self::Mapped => copy::COPYINGS + 1,
            Self::Stream(kind) => copy::COPYINGS + 2 + kind as usize,
        }
    }
}

/// How many there are.
pub const DATA_PATHS: usize = copy::COPYINGS + 2 + KINDS;

/// The paths through the ring that are worth a try on this processor, the usual one first. Where ranks share CPUs, only
/// that: times would tell who was descheduled, and bytes that the next rank on this CPU reads should stay in its cache.
pub fn ring_paths() -> impl Iterator<Item = DataPath> + Clone {
    let usual = Copying::usual();
    let others = [Copying::Vector, Copying::RepMovsb, Copying::Streaming];
    let oversubscribed = occupancy::is_oversubscribed();
    let others = others
        .into_iter()
        .filter(move |&path| !oversubscribed && Rule::Instructions.holds() && path != usual && path.is_sensible());
    std::iter::once(usual).chain(others).map(DataPath::Ring)
}

/// What a transfer costs, in [`clock::ticks`].
#[derive(Debug, Clone, Copy)]
pub struct CostSample {
    /// When it was known which path it takes.
    since: u64,
    /// What each side has spent copying, at most 2^32.
    sender: u32,
    receiver: u32,
}

impl CostSample {
    /// Of a transfer that begins now.
    pub fn begin() -> Self {
        Self {
            since: clock::ticks(),
            sender: 0,
            receiver: 0,
        }
    }

    /// The sender has spent so much.
    pub fn add_sender(&mut self, ticks: u64) {
        self.sender = self.sender.saturating_add(ticks.try_into().unwrap_or(u32::MAX));
    }

    /// The receiver has.
    pub fn add_receiver(&mut self, ticks: u64) {
        self.receiver = self.receiver.saturating_add(ticks.try_into().unwrap_or(u32::MAX));
    }

    /// What both have spent copying, as one number. The two copy at the same time, so the slower one decides; unless they share CPUs.
    pub fn cost(self) -> u64 {
        match occupancy::is_oversubscribed() {
            true => u64::from(self.sender) + u64::from(self.receiver),
            false => self.sender.max(self.receiver).into(),
        }
    }

    /// The same, and how long the two had to wait for each other: the transfer is over now, and the one before it from the same peer was at
    /// `before`, since the time of a message in a window is mostly that of those before it. Where ranks share CPUs that would tell who was
    /// descheduled.
    pub fn cost_after(self, before: u64, now: u64) -> u64 {
        match occupancy::is_oversubscribed() {
            true => self.cost(),
            false => self.cost().max(now.saturating_sub(self.since.max(before))),
        }
    }
}
