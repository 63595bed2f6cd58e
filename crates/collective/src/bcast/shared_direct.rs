//! Everyone copies the root's bytes straight out of its memory, a few at a time.
//!
//! Source: the throttled reads of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017. Cost: n bytes at each rank but the root, once; two steps. The root waits for all.
//! Preconditions: a board, single copies between all.

use isthmus_twice::twice;

use super::shared;
use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{Elements, Packed};
use crate::shared::Access;

/// # Safety
/// The elements must be readable at the root, and writable elsewhere.
#[twice]
pub async unsafe fn run(access: &Access<'_>, elements: Elements<'_>, root: usize) -> Result<()> {
    let (shown, copied) = (access.step(), access.step());
    // SAFETY: the caller's promise; what is packed lives until all have told that they have read it.
    unsafe {
        let done = if access.rank() == root {
            let packed = Packed::of(access, elements)?;
            let loan = access.post_remote(shown, packed.data, packed.len).await?;
            access.verdict_of_all(copied, loan).await?
        } else {
            let room = Packed::room(access, elements)?;
            access.await_turn(root, copied).await?;
            let done = access.fetch(root, shown, &room).await?;
            room.settle(access, elements);
            access.vote(copied, done).await?;
            done
        };
        match done {
            true => Ok(()),
            // The root, and those who could not read.
            false => shared::run(access, elements, root).await,
        }
    }
}
