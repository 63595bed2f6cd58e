//! Binomial tree: a rank that has the blocks of several ranks sends half of them on, farthest rank first.
//!
//! Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: ceil(log2 p) rounds; a block moves up to log2 p times, and p - 1 of them leave the root in log2 p messages.
//! Preconditions: blocks of one length. Any number of ranks.

use crate::error::Result;
use crate::link::elements::{self, Elements};
use crate::link::{Incoming, Link, Outgoing};

/// # Safety
/// `own` must be writable, and the blocks readable.
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
    let span = match place {
        0 => size.next_power_of_two(),
        place => 1 << place.trailing_zeros(),
    };
    let count = span.min(size - place);
    let mut memory = link.memory(count * len)?;
    let blocks = memory.start();
    // SAFETY: the caller's promise; there is room for the blocks of our part of the tree.
    unsafe {
        if place == 0 {
            for place in 1..size {
                if let Some(block) = block(rank_of(place)) {
                    link.pack(block, blocks.add(place * len));
                }
            }
        } else {
            let incoming = Incoming {
                from: rank_of(place - span),
                into: blocks,
                len: count * len,
            };
            link.transfer(&[incoming], &[])?;
        }
        let mut children = Vec::new();
        let mut distance = span / 2;
        while distance > 0 {
            if distance < count {
                children.push(Outgoing {
                    to: rank_of(place + distance),
                    data: blocks.add(distance * len).cast_const(),
                    len: distance.min(count - distance) * len,
                });
            }
            distance /= 2;
        }
        link.transfer(&[], &children)?;
        match (own, block(root)) {
            (Some(own), Some(block)) if place == 0 => elements::copy(link, block, own)?,
            (Some(own), _) if place > 0 => link.unpack(blocks, len, own),
            _ => {}
        }
    }
    Ok(())
}
