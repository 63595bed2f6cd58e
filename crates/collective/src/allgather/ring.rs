//! Blocks go around a ring: in each round everyone passes on what it got in the round before.
//!
//! Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: p - 1 rounds of a block; each byte moves once. Each rank talks to two others only.
//! Preconditions: none. Any number of ranks, any sizes.

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};

/// # Safety
/// `own` must be readable, and the blocks writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(own) = own {
            elements::copy(link, own, block(rank))?;
        }
        for round in 0..size - 1 {
            let (mine, theirs) = ((rank + size - round) % size, (rank + 2 * size - round - 1) % size);
            let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
            elements::transfer(link, [(left, block(theirs))], [(right, block(mine))])?;
        }
    }
    Ok(())
}
