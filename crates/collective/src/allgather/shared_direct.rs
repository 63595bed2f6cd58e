//! Everyone copies the others' blocks straight out of their memory, beginning with the next rank.
//!
//! Source: rotated direct reads (Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017). Cost: (p - 1) n bytes at each rank, once; two steps, in each of which all wait for all.
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
    block: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, size) = (access.rank(), access.size());
    let (shown, copied) = (access.step(), access.step());
    // SAFETY: the caller's promise; what is packed lives until all have told that they are done with it.
    unsafe {
        let packed = Packed::of(access, own.unwrap_or(block(rank)))?;
        let loan = access.post_remote(shown, packed.data, packed.len).await?;
        if let Some(own) = own {
            elements::copy(access, own, block(rank))?;
        }
        let mut done = true;
        for from in (1..size).map(|i| (rank + i) % size) {
            let into = Packed::room(access, block(from))?;
            done &= access.fetch(from, shown, &into).await?;
            into.settle(access, block(from));
        }
        access.vote(copied, done).await?;
        done &= access.verdict_of_all(copied, loan).await?;
        match done {
            true => Ok(()),
            false => shared::run(access, own, block).await,
        }
    }
}
