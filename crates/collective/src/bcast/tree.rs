//! A tree that follows the machine: from the root to one rank of each package, from there to one of each NUMA node, of each
//! cache, and from these to the ranks beside them, segment by segment.
//!
//! Source: the hierarchy of XHC (Katevenis et al., "XHC: hierarchical collectives", EuroMPI/USA 2022), by messages.
//! Cost: n bytes cross each border between units once; as many rounds as there are levels, overlapped from the second
//! segment on. Preconditions: all ranks know where on the machine each of them is.

use crate::error::Result;
use crate::layout::Layout;
use crate::link::{Incoming, Link, Outgoing};

/// Bytes that go down the tree at a time.
const SEGMENT: usize = 64 << 10;

/// # Safety
/// `data` must be readable and, but at the root, writable for `len` bytes.
pub unsafe fn run(link: &impl Link, layout: &Layout, data: *mut u8, len: usize, root: usize) -> Result<()> {
    let rank = link.rank();
    let parent = layout.parent(rank, root);
    let children: Vec<usize> = (0..link.size())
        .filter(|&other| layout.parent(other, root) == Some(rank))
        .collect();
    let segment = |index: usize| {
        let start = index * SEGMENT;
        (data.wrapping_add(start), SEGMENT.min(len - start))
    };
    let count = len.div_ceil(SEGMENT);
    // Data of one round is sent in the next.
    for round in 0..=count {
        let incoming = parent.filter(|_| round < count).map(|from| {
            let (into, len) = segment(round);
            Incoming { from, into, len }
        });
        let mut outgoing = Vec::new();
        if round > 0 {
            let (data, len) = segment(round - 1);
            outgoing.extend(children.iter().map(|&to| Outgoing {
                to,
                data: data.cast_const(),
                len,
            }));
        }
        // SAFETY: the caller's promise; segments lie within the message.
        unsafe { link.transfer(incoming.as_slice(), &outgoing)? };
    }
    Ok(())
}
