//! Everyone sends its block to everyone, all at once, beginning with the next rank.
//!
//! Source: Chakraborty, Subramoni, Panda, "Contention-aware kernel-assisted MPI collectives", CLUSTER 2017 (rotated
//! direct reads). Cost: p - 1 messages of a block per rank, one round; each byte moves once.
//! Preconditions: none. Any number of ranks, any sizes.

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements, Packed};

/// # Safety
/// `own` must be readable, and the blocks writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let place = block(rank);
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(own) = own {
            elements::copy(link, own, place)?;
        }
        let receives = (1..size)
            .map(|i| (rank + size - i) % size)
            .map(|from| (from, block(from)));
        if !place.datatype.is_contiguous() {
            // Pack once for all.
            let packed = Packed::of(link, place)?;
            let sends = (1..size).map(|i| ((rank + i) % size, packed.bytes()));
            return elements::transfer(link, receives, sends);
        }
        elements::transfer(link, receives, (1..size).map(|i| ((rank + i) % size, place)))
    }
}
