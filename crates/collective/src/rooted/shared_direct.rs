//! A gather: the root copies everyone's block straight out of its memory. A scatter: everyone copies its block out of the root's.
//!
//! Source: Gather_Direct, read by the root, and Scatter_Direct of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI
//! collectives", CLUSTER 2017. Cost: (p - 1) n bytes once, copied by the root in a gather, n by each other rank at the same time in a scatter; two
//! steps. In a gather all wait for the root, in a scatter the root waits for all.
//! Preconditions: a board, single copies between all. Blocks of any lengths.

use isthmus_engine::Remote;
use isthmus_twice::twice;

use super::shared;
use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements, Packed};
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
            super::copy_own(access, Direction::ToRoot, own, block(root))?;
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
            false => shared::gather(access, own, block, root).await,
        }
    }
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
            super::copy_own(access, Direction::FromRoot, own, block(root))?;
            access.verdict_of_all(copied, loan).await?
        };
        match done {
            true => Ok(()),
            // The root, and those who could not read.
            false => shared::scatter(access, own, block, root).await,
        }
    }
}
