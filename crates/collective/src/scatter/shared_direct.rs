//! Everyone copies its block straight out of the root's memory.
//!
//! Source: the Scatter_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017. Cost: n bytes at each rank but the root, once, all at the same time; two steps. The root waits for all.
//! Preconditions: a board, single copies between all. Blocks of any lengths.

use isthmus_engine::Remote;
use isthmus_twice::twice;

use super::shared;
use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements, Packed};
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
    let (shown, copied) = (access.step(), access.step());
    // SAFETY: the caller's promise; what is packed lives until all have told that they have read it.
    unsafe {
        let done = if access.rank() != root {
            let Some(own) = own else { return Ok(()) };
            let room = Packed::room(access, own)?;
            let done = access.fetch(root, shown, &room).await?;
            room.settle(access, own);
            access.vote(copied, done).await?;
            done
        } else {
            let mut packed = Vec::with_capacity(access.size());
            for to in 0..access.size() {
                let block = block(to).filter(|_| to != root);
                packed.push(Packed::of(
                    access,
                    block.unwrap_or(elements::bytes(std::ptr::null_mut(), 0)),
                )?);
            }
            let part = |to: usize| Remote::of(packed[to].data, packed[to].len);
            let loan = access.post_remotes(shown, part).await?;
            if let (Some(own), Some(block)) = (own, block(root)) {
                elements::copy(access, block, own)?;
            }
            access.verdict_of_all(copied, loan).await?
        };
        match done {
            true => Ok(()),
            // The root, and those who could not read.
            false => shared::run(access, own, block, root).await,
        }
    }
}
