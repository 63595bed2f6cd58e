//! Blocks go through shared memory, segment by segment: each rank copies its own in or out, and the root those of all others.
//!
//! Source: Gather_Direct and Scatter_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017, with copies through shared memory. Cost: n bytes at each rank, (p - 1) n at the root, overlapped. In a gather only the root
//! waits, until the others are several segments or calls ahead; in a scatter the root waits for nobody until it is that far ahead.
//! Preconditions: a board. Blocks of any lengths: each rank takes the steps that its own block needs.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::Elements;
use crate::root::Direction;
use crate::shared::Access;

/// # Safety
/// `own` must be readable, and the blocks writable.
#[twice]
pub async unsafe fn gather<'a>(
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
        super::copy_own(access, Direction::ToRoot, own, block(root))?;
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

/// # Safety
/// `own` must be writable, and the blocks readable.
#[twice]
pub async unsafe fn scatter<'a>(
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
        super::copy_own(access, Direction::FromRoot, own, block(root))
    }
}
