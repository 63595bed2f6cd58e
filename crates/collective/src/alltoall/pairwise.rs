//! In round k everyone sends to the rank k after, and receives from the one k before.
//!
//! Source: the pairwise all-to-all of Vienne, "Benefits of Cross Memory Attach for MPI libraries on HPC clusters", XSEDE
//! 2014; Thakur, Rabenseifner, Gropp, 2005. Cost: p - 1 rounds of a block; each byte moves once, and each rank has one reader
//! and one writer at a time. Preconditions: none. Any number of ranks, any sizes.

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
    // SAFETY: the caller's promise.
    unsafe {
        elements::copy(link, from(rank), to(rank))?;
        for round in 1..size {
            let (next, before) = ((rank + round) % size, (rank + size - round) % size);
            elements::transfer(link, [(before, to(before))], [(next, from(next))])?;
        }
    }
    Ok(())
}
