//! Everyone copies what it has for the others to shared memory, segment by segment, and copies out what they have for it,
//! beginning with the next rank.
//!
//! Source: rotated direct reads (Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017), with copies through shared memory. Cost: (p - 1) n bytes in and as many out at each rank; one step per
//! segment, in which each rank is scheduled once.
//! Preconditions: a board. Blocks of any lengths: each rank takes the steps that its own longest block needs.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::shared::Access;

/// # Safety
/// What `from` says must be readable, what `to` says writable.
#[twice]
pub async unsafe fn run<'a>(
    access: &Access<'_>,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, size) = (access.rank(), access.size());
    let segment = access.longest_part();
    let others = || (1..size).map(|i| (rank + i) % size);
    let longest_out = others().map(|other| from(other).bytes()).max().unwrap_or(0);
    let longest_in = others().map(|other| to(other).bytes()).max().unwrap_or(0);
    access.announce_taking(longest_in * (size - 1));
    // SAFETY: the caller's promise; parts have room for what they are made for.
    unsafe {
        for done in (0..longest_out.max(longest_in)).step_by(segment) {
            let step = access.step();
            if longest_out > done {
                let length = |other: usize| from(other).bytes().saturating_sub(done).min(segment);
                let pack = |other: usize, draft: *mut u8| from(other).pack_part(done, length(other), draft);
                let parts = access.parts(length);
                let part = |other: usize| from(other).part(done);
                access.show_parts(step, parts, part, pack).await?;
            }
            if done == 0 {
                // While the others write.
                elements::copy(access, from(rank), to(rank))?;
            }
            for other in others() {
                let block = to(other);
                if block.bytes() > done {
                    access.read(other, step).await?;
                    let part = access.part(rank, other, step)?;
                    access.take(other, part, block, done, segment);
                }
            }
            access.finish(step);
        }
        if longest_out.max(longest_in) == 0 {
            elements::copy(access, from(rank), to(rank))?;
        }
    }
    Ok(())
}
