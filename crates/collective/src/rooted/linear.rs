//! A message for each block between the root and another rank, all at once.
//!
//! Source: Gather_Direct and Scatter_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives", CLUSTER 2017;
//! [`across`] is the same between two groups. Cost: one message of a block per rank, one round. On one node this beats a tree: a tree moves bytes
//! up to log2 p times and waits for ranks that may not be running.
//! Preconditions: none. Any number of ranks, any sizes.

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::root::{Direction, Root};

/// `own` is the calling rank's block there, `block` says where each rank's block lies at the root.
///
/// # Safety
/// Where bytes come from must be readable, and where they go to writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    direction: Direction,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: usize,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        if link.rank() != root {
            return exchange(link, direction, [], own.map(|own| (root, own)));
        }
        let others = (0..link.size()).filter(|rank| *rank != root);
        exchange(
            link,
            direction,
            others.filter_map(|rank| Some((rank, block(rank)?))),
            [],
        )?;
        super::copy_own(link, direction, own, block(root))
    }
}

/// As [`run`], between the root and the ranks of the other group of an intercommunicator.
///
/// # Safety
/// As for [`run`].
pub unsafe fn across<'a>(
    link: &impl Link,
    direction: Direction,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: Root,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match root {
            Root::Here => {
                let blocks = (0..link.remote_size()).filter_map(|rank| Some((link.across(rank), block(rank)?)));
                exchange(link, direction, blocks, [])
            }
            Root::There(root) => exchange(link, direction, [], own.map(|own| (link.across(root), own))),
            Root::Rank(_) | Root::Elsewhere => Ok(()),
        }
    }
}

/// Move blocks between the root, which has those `at_root`, and the rank that has its `own`; one of the two is empty.
///
/// # Safety
/// As for [`run`].
unsafe fn exchange<'a>(
    link: &impl Link,
    direction: Direction,
    at_root: impl IntoIterator<Item = (usize, Elements<'a>)>,
    own: impl IntoIterator<Item = (usize, Elements<'a>)>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match direction {
            Direction::ToRoot => elements::transfer(link, at_root, own),
            Direction::FromRoot => elements::transfer(link, own, at_root),
        }
    }
}
