//! Dissemination barrier: in round k tell the rank 2^k after, hear from the one 2^k before.
//!
//! Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988.
//! Cost: ceil(log2 p) rounds of one empty message each way. Any number of ranks.

use crate::coll::link::Link;
use crate::error::Result;

pub fn run(link: &impl Link) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let mut distance = 1;
    while distance < size {
        let (after, before) = ((rank + distance) % size, (rank + size - distance) % size);
        link.exchange(after, &[], before, &mut [])?;
        distance *= 2;
    }
    Ok(())
}
