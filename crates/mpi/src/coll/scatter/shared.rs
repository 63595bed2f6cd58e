//! The root copies all blocks to shared memory, segment by segment, and everyone copies its own out.
//!
//! Source: the Scatter_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017, with copies through shared memory. Cost: (p - 1) n bytes in at the root, n out at each rank, overlapped.
//! The root waits for nobody until it is several segments or calls ahead.
//! Preconditions: a board. Blocks of any lengths: each rank takes the steps that its own block needs.

use crate::coll::elements::{self, Elements};
use crate::coll::link::Link;
use crate::coll::shared::Access;
use crate::error::Result;

/// # Safety
/// `own` must be writable, and the blocks readable.
pub unsafe fn run<'a>(
    link: &impl Link,
    access: &Access<'_>,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: usize,
) -> Result<()> {
    let segment = access.longest_part();
    // SAFETY: the caller's promise; parts have room for what they are made for.
    unsafe {
        if link.rank() != root {
            let Some(own) = own else { return Ok(()) };
            for done in (0..own.bytes()).step_by(segment) {
                let step = access.step();
                let part = access.read_part(root, step)?;
                access.take(link, root, part, own, done, segment);
                access.finish(step);
            }
            return Ok(());
        }
        let bytes = |rank: usize| block(rank).map_or(0, Elements::bytes);
        let others = (0..link.size()).filter(|&rank| rank != root);
        let longest = others.map(bytes).max().unwrap_or(0);
        for done in (0..longest).step_by(segment) {
            let step = access.step();
            let length = |rank: usize| bytes(rank).saturating_sub(done).min(segment);
            access.post_parts(step, length, |rank, to| {
                if let Some(block) = block(rank) {
                    block.pack_part(done, length(rank), to);
                }
            })?;
            access.finish(step);
        }
        if let (Some(own), Some(block)) = (own, block(root)) {
            elements::copy(link, block, own)?;
        }
    }
    Ok(())
}
