//! Everyone copies its block to shared memory, segment by segment, and the root copies all out.
//!
//! Source: the Gather_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017, with copies through shared memory. Cost: n bytes in at each rank, (p - 1) n out at the root, overlapped.
//! Only the root waits, until the others are several segments or calls ahead.
//! Preconditions: a board. Blocks of any lengths: each rank takes the steps that its own block needs.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::shared::Access;

/// # Safety
/// `own` must be readable, and the blocks writable.
#[twice]
pub async unsafe fn run<'a>(
    access: &Access<'_>,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: usize,
) -> Result<()> {
    // SAFETY: the caller's promise; drafts have room for what they are made for.
    unsafe {
        if access.rank() != root {
            let Some(own) = own else { return Ok(()) };
            let total = own.bytes();
            let segment = access.segment(total);
            for done in (0..total).step_by(segment) {
                let length = segment.min(total - done);
                let draft = access.draft_part(access.step(), own, done, length).await?;
                access.post_to(root, &draft);
                access.finish(draft.step);
            }
            return Ok(());
        }
        // While the others write.
        if let (Some(own), Some(place)) = (own, block(root)) {
            elements::copy(access, own, place)?;
        }
        let others = || (0..access.size()).filter(|&rank| rank != root);
        let blocks = || others().filter_map(|rank| Some((rank, block(rank)?)));
        let steps = |block: Elements<'_>| block.bytes().div_ceil(access.segment(block.bytes()));
        let most = blocks().map(|(_, block)| steps(block)).max().unwrap_or(0);
        for index in 0..most {
            let step = access.step();
            for (rank, block) in blocks().filter(|(_, block)| steps(*block) > index) {
                let segment = access.segment(block.bytes());
                let posted = access.read(rank, step).await?;
                access.take(rank, posted, block, index * segment, segment);
            }
            access.finish(step);
        }
    }
    Ok(())
}
