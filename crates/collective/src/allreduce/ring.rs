//! Partial results of one block after the other go around a ring, and the whole ones once more.
//!
//! Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009.
//! Cost: 2 (p - 1) rounds of n / p; 2 n (p - 1) / p bytes and n (p - 1) / p operations. Each rank talks to two others only.
//! Preconditions: an operation that commutes, since a block's operands begin with another rank each.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::reduction::ring::{block, longest, reduce};

/// # Safety
/// `input` must hold `count` elements and `output` have room for them; they are the same or do not overlap.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let (first, second) = (
        operand.scratch(link, count)?,
        operand.scratch(link, longest(size, count))?,
    );
    let have = first.elements;
    // SAFETY: the caller's promise; the areas have room for all elements, and for one block.
    unsafe {
        reduce(link, operand, input, have, second.elements, count)?;
        for round in 0..size - 1 {
            let (mine, theirs) = ((rank + 1 + size - round) % size, (rank + size - round) % size);
            let (sent, received) = (block(size, count, mine), block(size, count, theirs));
            operand.transfer(
                link,
                &[((rank + size - 1) % size, operand.at(have, received.0), received.1)],
                &[((rank + 1) % size, operand.at(have, sent.0).cast_const(), sent.1)],
            )?;
        }
        operand.copy(link, have, output, count)
    }
}
