//! The root copies all blocks to shared memory, segment by segment, and everyone copies its own out.
//!
//! Source: the Scatter_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017, with copies through shared memory. Cost: (p - 1) n bytes in at the root, n out at each rank, overlapped.
//! The root waits for nobody until it is several segments or calls ahead.
//! Preconditions: a board. Blocks of any lengths: each rank takes the steps that its own block needs.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::shared::Access;

/// # Safety
/// `own` must be writable, and the blocks readable.
#[twice]
pub async unsafe fn run<'a>(
    access: &Access<'_>,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: usize,
) -> Result<()> {
    let longest = access.longest_part();
    let segment = |total: usize| access.segment(total).min(longest);
    // SAFETY: the caller's promise; parts have room for what they are made for.
    unsafe {
        if access.rank() != root {
            let Some(own) = own else { return Ok(()) };
            let segment = segment(own.bytes());
            for done in (0..own.bytes()).step_by(segment) {
                let step = access.step();
                access.read(root, step).await?;
                let part = access.part(access.rank(), root, step)?;
                access.take(root, part, own, done, segment);
                access.finish(step);
            }
            return Ok(());
        }
        let bytes = |rank: usize| block(rank).map_or(0, Elements::bytes);
        let others = (0..access.size()).filter(|&rank| rank != root);
        let steps = |rank: usize| bytes(rank).div_ceil(segment(bytes(rank)));
        for index in 0..others.map(steps).max().unwrap_or(0) {
            let step = access.step();
            let done = |rank: usize| index * segment(bytes(rank));
            let length = |rank: usize| bytes(rank).saturating_sub(done(rank)).min(segment(bytes(rank)));
            let pack = |rank: usize, to: *mut u8| {
                if let Some(block) = block(rank) {
                    block.pack_part(done(rank), length(rank), to);
                }
            };
            let parts = access.parts(length);
            let part = |rank: usize| block(rank)?.part(done(rank));
            access.show_parts(step, parts, part, pack).await?;
            access.finish(step);
        }
        if let (Some(own), Some(block)) = (own, block(root)) {
            elements::copy(access, block, own)?;
        }
    }
    Ok(())
}
