//! Binomial tree: whoever has the data sends it on, farthest rank first.
//!
//! Source: folklore; Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: ceil(log2 p) rounds of n bytes; p - 1 messages, so no byte crosses more often than it must. Any number of ranks.
//! Scatter and all-gather, which halves the time of the last rank on a network, moves each byte twice: on one node memory
//! is what all ranks share, and it loses.

use crate::coll::link::{Link, Outgoing, outgoing};
use crate::error::Result;

/// The root's part.
pub fn send(link: &impl Link, data: &[u8], root: usize) -> Result<()> {
    forward(link, data, root, link.size().next_power_of_two())
}

/// Everyone else's.
pub fn receive(link: &impl Link, data: &mut [u8], root: usize) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let place = (rank + size - root) % size;
    let lowest_bit = 1 << place.trailing_zeros();
    link.receive((place - lowest_bit + root) % size, data)?;
    forward(link, data, root, lowest_bit)
}

/// Send to those whose place is ours plus a power of two below `limit`.
fn forward(link: &impl Link, data: &[u8], root: usize, limit: usize) -> Result<()> {
    let size = link.size();
    let place = (link.rank() + size - root) % size;
    let mut children: Vec<Outgoing> = Vec::new();
    let mut distance = limit / 2;
    while distance > 0 {
        if place + distance < size {
            children.push(outgoing((place + distance + root) % size, data));
        }
        distance /= 2;
    }
    // SAFETY: `data` is borrowed until the transfer is over.
    unsafe { link.transfer(&[], &children) }
}
