//! Partial results of one block after the other go around a ring; the root gathers the whole ones.
//!
//! Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009, and a
//! direct gather. Cost: p - 1 rounds of n / p, and one of p - 1 messages at the root; n (p - 1) / p operations.
//! Preconditions: an operation that commutes, since a block's operands begin with another rank each.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::reduction::ring::{block, longest, reduce};

/// `output` matters at the root, and may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and, at the root, `output` have room for them.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: usize,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let (first, second) = (
        operand.scratch(link, count)?,
        operand.scratch(link, longest(size, count))?,
    );
    let have = first.elements;
    let part = |rank: usize| {
        let (first, count) = block(size, count, (rank + 1) % size);
        (operand.at(have, first), count)
    };
    // SAFETY: the caller's promise; the areas have room for all elements, and for one block.
    unsafe {
        reduce(link, operand, input, have, second.elements, count)?;
        if rank != root {
            let (from, count) = part(rank);
            return operand.send(link, root, from, count);
        }
        let others = (1..size).map(|i| (rank + i) % size);
        let receives: Vec<_> = others.map(|from| (from, part(from).0, part(from).1)).collect();
        operand.transfer(link, &receives, &[])?;
        operand.copy(link, have, output, count)
    }
}
