//! Binomial tree: in round k those whose place has bit k send what they have gathered to the place without it.
//!
//! Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: ceil(log2 p) rounds; a block moves up to log2 p times, and p - 1 of them come to the root in log2 p messages.
//! Preconditions: blocks of one length. Any number of ranks.

use crate::error::Result;
use crate::link::elements::{self, Elements};
use crate::link::{Incoming, Link, Outgoing};

/// # Safety
/// `own` must be readable, and the blocks writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: usize,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let place = (rank + size - root) % size;
    let rank_of = |place: usize| (place + root) % size;
    let len = block(root).or(own).map_or(0, Elements::bytes);
    if len == 0 {
        return Ok(());
    }
    // Blocks of the places from ours on.
    let count = match place {
        0 => size,
        place => (1 << place.trailing_zeros()).min(size - place),
    };
    let mut memory = link.memory(count * len)?;
    let blocks = memory.start();
    // SAFETY: the caller's promise; there is room for the blocks of our part of the tree.
    unsafe {
        if let (Some(own), true) = (own, place > 0) {
            link.pack(own, blocks);
        }
        let mut distance = 1;
        while distance < count {
            let incoming = Incoming {
                from: rank_of(place + distance),
                into: blocks.add(distance * len),
                len: distance.min(count - distance) * len,
            };
            link.transfer(&[incoming], &[])?;
            distance *= 2;
        }
        if place > 0 {
            let outgoing = Outgoing {
                to: rank_of(place - (1 << place.trailing_zeros())),
                data: blocks,
                len: count * len,
            };
            return link.transfer(&[], &[outgoing]);
        }
        for place in 1..size {
            if let Some(block) = block(rank_of(place)) {
                link.unpack(blocks.add(place * len), len, block);
            }
        }
        if let (Some(own), Some(place)) = (own, block(root)) {
            elements::copy(link, own, place)?;
        }
    }
    Ok(())
}
