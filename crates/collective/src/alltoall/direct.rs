//! Everyone sends to everyone, all at once, beginning with the next rank.
//!
//! Source: Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives", CLUSTER 2017 (rotated, so
//! that each rank is read by one other at a time). Cost: p - 1 messages of a block per rank, one round.
//! Preconditions: none. Any number of ranks, any sizes.

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};

/// # Safety
/// What `from` says must be readable, what `to` says writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let receives = (1..size)
        .map(|i| (rank + size - i) % size)
        .map(|other| (other, to(other)));
    let sends = (1..size).map(|i| (rank + i) % size).map(|other| (other, from(other)));
    // SAFETY: the caller's promise.
    unsafe {
        elements::transfer(link, receives, sends)?;
        elements::copy(link, from(rank), to(rank))?;
    }
    Ok(())
}
