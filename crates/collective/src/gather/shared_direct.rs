//! The root copies everyone's block straight out of its memory.
//!
//! Source: the Gather_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017, read by the root. Cost: (p - 1) n bytes at the root, once; two steps. All wait for the root.
//! Preconditions: a board, single copies between all. Blocks of any lengths.

use isthmus_twice::twice;

use super::shared;
use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements, Packed};
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
    let (rank, size) = (access.rank(), access.size());
    let (shown, copied) = (access.step(), access.step());
    // SAFETY: the caller's promise; what is packed lives until the root has told that it has read it.
    unsafe {
        let done = if rank != root {
            let Some(own) = own else { return Ok(()) };
            let packed = Packed::of(access, own)?;
            let loan = access.post_remote(shown, packed.data, packed.len).await?;
            access.verdict_of(root, copied, loan).await?
        } else {
            if let (Some(own), Some(place)) = (own, block(root)) {
                elements::copy(access, own, place)?;
            }
            let mut done = true;
            for from in (1..size).map(|i| (root + i) % size) {
                let Some(block) = block(from) else { continue };
                let room = Packed::room(access, block)?;
                done &= access.fetch(from, shown, &room).await?;
                room.settle(access, block);
            }
            access.vote(copied, done).await?;
            done
        };
        match done {
            true => Ok(()),
            false => shared::run(access, own, block, root).await,
        }
    }
}
