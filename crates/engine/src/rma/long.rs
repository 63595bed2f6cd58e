//! How the bytes of a long operation on ordinary memory of a target that makes progress are copied: two copies, of which the target makes one, or single copies by
//! the kernel, of which the target makes some. The first is faster as long as lines cross between near CPUs, and slower where they are far; so
//! each origin learns it of each peer ([`crate::learning`]).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use isthmus_os::clock;

use super::home;
use super::mailbox::Outcome;
use crate::Result;
use crate::learning::{Alternative, Exploration, Learner};
use crate::limits::{COPY_COST_RISES, LONG_FIRST, LONG_PERIOD, LONG_SELDOM, LONG_SPEEDS_UP, LONG_TRIED};
use crate::types::Peer;

/// The copying side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyingSide {
    /// Both, in pieces.
    Target,
    Kernel,
}

/// Measurements of one peer.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// Of puts and gets.
    pub copies: Long,
    /// Of accumulates.
    pub sums: Long,
    /// The peer could not copy from or to our memory, for whatever reason: it is not asked again, since the other ways do the same.
    is_closed: AtomicBool,
}

impl Learned {
    /// Was the peer found to be unable to copy from or to our memory?
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// It is.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }
}

/// Of a process of this node.
///
/// # Errors
/// This process has not joined a job.
pub(super) fn of(peer: Peer) -> Result<&'static Learned> {
    static ALL: OnceLock<Box<[Learned]>> = OnceLock::new();
    let ranks = home()?.segment.ranks();
    let all = ALL.get_or_init(|| (0..ranks).map(|_| Learned::default()).collect());
    Ok(&all[peer.0 as usize])
}

impl Outcome {
    /// Of an operation by the target that took so long: how long others will. `None`: it was not done.
    fn teaches(self, took: u64) -> Option<u64> {
        match self {
            Self::Not => None,
            Self::Done => Some(took),
            Self::DoneSlowly(costs) => Some(took.saturating_sub(costs) / LONG_SPEEDS_UP),
        }
    }
}

/// How the side that copies is explored.
const EXPLORATION: Exploration = Exploration {
    trials: LONG_FIRST,
    first_retry: LONG_PERIOD,
    retry: LONG_PERIOD,
    retry_slower: LONG_SELDOM,
    in_a_row: LONG_TRIED,
    not_tried_from: u32::MAX,
    rise: COPY_COST_RISES,
};

impl Alternative for CopyingSide {
    fn index(self) -> usize {
        self as usize
    }
}

/// Measurements of one kind of operation, in [`clock::ticks`] per KiB.
#[derive(Debug, Default)]
pub(super) struct Long(Learner<2>);

impl Long {
    /// Do an operation on so many bytes by the side that is chosen for it, by the kernel if the target is not there.
    ///
    /// # Errors
    /// Those of the two.
    pub fn go(
        &self,
        bytes: u64,
        by_target: impl FnOnce() -> Result<Outcome>,
        by_kernel: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut begun = clock::ticks();
        if self.choose() == CopyingSide::Target {
            let outcome = by_target()?;
            let now = clock::ticks();
            if let Some(took) = outcome.teaches(now.wrapping_sub(begun)) {
                self.learn(CopyingSide::Target, bytes, took);
                return Ok(());
            }
            begun = now;
        }
        by_kernel()?;
        self.learn(CopyingSide::Kernel, bytes, clock::ticks().wrapping_sub(begun));
        Ok(())
    }

    fn choose(&self) -> CopyingSide {
        self.0
            .choose([CopyingSide::Target, CopyingSide::Kernel].into_iter(), &EXPLORATION)
    }

    /// So many bytes took so long.
    fn learn(&self, by: CopyingSide, bytes: u64, took: u64) {
        self.0.learn(by, took.saturating_mul(1024) / bytes.max(1), &EXPLORATION);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_slow_at_first_is_expected_to_become_faster() {
        assert_eq!(Outcome::Done.teaches(400), Some(400));
        assert_eq!(Outcome::DoneSlowly(100).teaches(400), Some(100));
        assert_eq!(Outcome::DoneSlowly(500).teaches(400), Some(0));
        assert_eq!(Outcome::Not.teaches(400), None);
    }
}
