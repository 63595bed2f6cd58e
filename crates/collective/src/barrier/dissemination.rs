//! Dissemination barrier: in round k tell the rank 2^k after, hear from the one 2^k before.
//!
//! Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988.
//! Cost: ceil(log2 p) rounds of one empty message each way.
//! Preconditions: none. Any number of ranks.

use crate::error::Result;
use crate::link::{Incoming, Link, Outgoing};

pub fn run(link: &impl Link) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let mut distance = 1;
    while distance < size {
        let incoming = Incoming {
            from: (rank + size - distance) % size,
            into: std::ptr::dangling_mut(),
            len: 0,
        };
        let outgoing = Outgoing {
            to: (rank + distance) % size,
            data: std::ptr::dangling(),
            len: 0,
        };
        // SAFETY: there are no bytes.
        unsafe { link.transfer(&[incoming], &[outgoing]) }?;
        distance *= 2;
    }
    Ok(())
}
