//! Everyone copies what the others have for it straight out of their memory, beginning with the next rank.
//!
//! Source: the pairwise all-to-all of Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives",
//! CLUSTER 2017, and of Vienne, "Benefits of Cross Memory Attach for MPI libraries on HPC clusters", XSEDE 2014. Cost: (p - 1) n bytes
//! at each rank, once; two steps, in each of which all wait for all.
//! Preconditions: a board, single copies between all. Blocks of any lengths.

use isthmus_engine::Remote;
use isthmus_twice::twice;

use super::shared;
use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements, Packed};
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
    let (shown, copied) = (access.step(), access.step());
    // SAFETY: the caller's promise; what is packed lives until all have told that they are done with it.
    unsafe {
        let mut packed = Vec::with_capacity(size);
        for other in 0..size {
            let block = match other == rank {
                true => elements::bytes(std::ptr::null_mut(), 0),
                false => from(other),
            };
            packed.push(Packed::of(access, block)?);
        }
        let part = |other: usize| Remote::of(packed[other].data, packed[other].len);
        let loan = access.post_remotes(shown, part).await?;
        elements::copy(access, from(rank), to(rank))?;
        let mut done = true;
        for other in (1..size).map(|i| (rank + i) % size) {
            let into = Packed::room(access, to(other))?;
            done &= access.fetch(other, shown, &into).await?;
            into.settle(access, to(other));
        }
        access.vote(copied, done).await?;
        done &= access.verdict_of_all(copied, loan).await?;
        match done {
            true => Ok(()),
            false => shared::run(access, from, to).await,
        }
    }
}
