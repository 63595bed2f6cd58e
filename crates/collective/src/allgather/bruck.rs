//! In round k send all blocks known so far to the rank 2^k before, and learn as many from the one 2^k after.
//!
//! Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997.
//! Cost: ceil(log2 p) rounds; each block is copied twice more than need be, so this is for small blocks.
//! Preconditions: blocks of one size, not empty. Any number of ranks.

use crate::error::Result;
use crate::link::elements::{self, Elements};
use crate::link::{Incoming, Link, Outgoing};

/// `one` is where the block of rank 0 belongs; the others follow.
///
/// # Safety
/// `own` must be readable, and the blocks writable.
pub unsafe fn run(link: &impl Link, own: Option<Elements<'_>>, one: Elements<'_>) -> Result<()> {
    let (rank, size, len) = (link.rank(), link.size(), one.bytes());
    let blocks = |first: usize, count: usize| one.at(first as i64 * one.count, count as i64 * one.count);
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(own) = own {
            elements::copy(link, own, blocks(rank, 1))?;
        }
        // The blocks of the ranks from ours on, around the end.
        let mut memory = link.memory(size * len)?;
        let known = memory.start();
        link.pack(blocks(rank, 1), known);
        let mut have = 1;
        while have < size {
            let more = have.min(size - have);
            let incoming = Incoming {
                from: (rank + have) % size,
                into: known.add(have * len),
                len: more * len,
            };
            let outgoing = Outgoing {
                to: (rank + size - have) % size,
                data: known,
                len: more * len,
            };
            link.transfer(&[incoming], &[outgoing])?;
            have += more;
        }
        let to_the_end = (size - rank) * len;
        link.unpack(known, to_the_end, blocks(rank, size - rank));
        link.unpack(known.add(to_the_end), rank * len, blocks(0, rank));
    }
    Ok(())
}
