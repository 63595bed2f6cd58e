//! Everyone copies its block to shared memory, segment by segment, and the root copies all out.
//!
//! Source: the Gather_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017, with copies through shared memory. Cost: n bytes in at each rank, (p - 1) n out at the root, overlapped.
//! Only the root waits, until the others are several segments or calls ahead.
//! Preconditions: a board. Blocks of any lengths: each rank takes the steps that its own block needs.

use crate::coll::elements::{self, Elements};
use crate::coll::link::Link;
use crate::coll::shared::Access;
use crate::error::Result;

/// # Safety
/// `own` must be readable, and the blocks writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    access: &Access<'_>,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: usize,
) -> Result<()> {
    let segment = access.segment();
    // SAFETY: the caller's promise; drafts have room for what they are made for.
    unsafe {
        if link.rank() != root {
            let Some(own) = own else { return Ok(()) };
            let total = own.bytes();
            for done in (0..total).step_by(segment) {
                let length = segment.min(total - done);
                let draft = access.draft(access.step(), length)?;
                own.pack_part(done, length, draft.data);
                access.post_to(root, &draft);
                access.finish(draft.step);
            }
            return Ok(());
        }
        let others = || (0..link.size()).filter(|&rank| rank != root);
        let blocks = || others().filter_map(|rank| Some((rank, block(rank)?)));
        let longest = blocks().map(|(_, block)| block.bytes()).max().unwrap_or(0);
        for done in (0..longest).step_by(segment) {
            let step = access.step();
            for (rank, block) in blocks().filter(|(_, block)| block.bytes() > done) {
                let posted = access.read(rank, step)?;
                access.take(link, rank, posted, block, done, segment);
            }
            access.finish(step);
        }
        if let (Some(own), Some(place)) = (own, block(root)) {
            elements::copy(link, own, place)?;
        }
    }
    Ok(())
}
