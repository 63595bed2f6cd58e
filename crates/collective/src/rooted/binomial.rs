//! Binomial tree. A gather: in round k those whose place has bit k send what they have gathered to the place without it. A scatter: a rank that
//! has the blocks of several ranks sends half of them on, farthest rank first.
//!
//! Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: ceil(log2 p) rounds; a block moves up to log2 p times, and p - 1 of them come to or leave the root in log2 p messages.
//! Preconditions: blocks of one length. Any number of ranks.

use crate::error::Result;
use crate::link::elements::Elements;
use crate::link::{Incoming, Link, Outgoing};
use crate::root::Direction;

/// # Safety
/// As for a call with a [root](super::run).
pub unsafe fn run<'a>(
    link: &impl Link,
    direction: Direction,
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
    // The blocks of the places from ours on. The parent has half of its own from us, the children have theirs at each power of two.
    let span = match place {
        0 => size.next_power_of_two(),
        place => 1 << place.trailing_zeros(),
    };
    let count = span.min(size - place);
    let mut memory = link.memory(count * len)?;
    let blocks = memory.start();
    let at = |distance: usize| blocks.wrapping_add(distance * len);
    let incoming = |from: usize, distance: usize, count: usize| Incoming {
        from: rank_of(from),
        into: at(distance),
        len: count * len,
    };
    let outgoing = |to: usize, distance: usize, count: usize| Outgoing {
        to: rank_of(to),
        data: at(distance).cast_const(),
        len: count * len,
    };
    let children = (0..count.next_power_of_two().trailing_zeros()).map(|round| {
        let distance = 1 << round;
        (place + distance, distance, distance.min(count - distance))
    });
    let others = || (1..size).filter_map(|place| Some((block(rank_of(place))?, at(place))));
    // SAFETY: the caller's promise; there is room for the blocks of our part of the tree.
    unsafe {
        match direction {
            Direction::ToRoot => {
                if let (Some(own), true) = (own, place > 0) {
                    link.pack(own, blocks);
                }
                for (from, distance, count) in children {
                    link.transfer(&[incoming(from, distance, count)], &[])?;
                }
                if place > 0 {
                    return link.transfer(&[], &[outgoing(place - span, 0, count)]);
                }
                others().for_each(|(block, at)| link.unpack(at, len, block));
            }
            Direction::FromRoot => {
                match place {
                    0 => others().for_each(|(block, at)| link.pack(block, at)),
                    _ => link.transfer(&[incoming(place - span, 0, count)], &[])?,
                }
                let children = children
                    .rev()
                    .map(|(to, distance, count)| outgoing(to, distance, count));
                link.transfer(&[], &children.collect::<Vec<_>>())?;
                if let (Some(own), true) = (own, place > 0) {
                    link.unpack(blocks, len, own);
                }
            }
        }
        match place {
            0 => super::copy_own(link, direction, own, block(root)),
            _ => Ok(()),
        }
    }
}
