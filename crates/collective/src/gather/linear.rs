//! Everyone sends to the root, which receives all at once.
//!
//! Source: Gather_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives", CLUSTER 2017.
//! Cost: one message of a block per rank, one round. On one node this beats a tree: a tree moves bytes up to log2 p times and
//! waits for ranks that may not be running.
//! Preconditions: none. Any number of ranks, any sizes.

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};

/// # Safety
/// `own` must be readable, and the blocks writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: usize,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        if link.rank() != root {
            return elements::transfer(link, [], own.map(|own| (root, own)));
        }
        let others = (0..link.size()).filter(|rank| *rank != root);
        let blocks = others.filter_map(|rank| Some((rank, block(rank)?)));
        elements::transfer(link, blocks, [])?;
        if let (Some(own), Some(place)) = (own, block(root)) {
            elements::copy(link, own, place)?;
        }
    }
    Ok(())
}
