//! Everyone copies its block to shared memory, segment by segment, and copies the others' out, beginning with the next
//! rank.
//!
//! Source: rotated direct reads (Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017), with copies through shared memory. Cost: n bytes in and (p - 1) n out at each rank; one step per
//! segment, in which each rank is scheduled once.
//! Preconditions: a board. Blocks of any lengths: each rank takes the steps that the longest block needs.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::shared::{Access, LONG};

/// # Safety
/// `own` must be readable, and the blocks writable.
#[twice]
pub async unsafe fn run<'a>(
    access: &Access<'_>,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, size) = (access.rank(), access.size());
    let segment = LONG;
    let place = block(rank);
    let source = own.unwrap_or(place);
    let longest = (0..size).map(|rank| block(rank).bytes()).max().unwrap_or(0);
    let longest = longest.max(source.bytes());
    access.announce_taking(longest * (size - 1));
    // SAFETY: the caller's promise; drafts have room for what they are made for.
    unsafe {
        for done in (0..longest).step_by(segment) {
            let step = access.step();
            let length = source.bytes().saturating_sub(done).min(segment);
            if length > 0 {
                let draft = access.draft_part(step, source, done, length).await?;
                access.post(&draft);
            }
            if let (0, Some(own)) = (done, own) {
                elements::copy(access, own, place)?;
            }
            for i in 1..size {
                let from = (rank + i) % size;
                let block = block(from);
                if block.bytes() > done {
                    let posted = access.read(from, step).await?;
                    access.take(from, posted, block, done, segment);
                }
            }
            access.finish(step);
        }
    }
    Ok(())
}
