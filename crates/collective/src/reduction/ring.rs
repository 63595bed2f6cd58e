//! Partial results of one block after the other go around a ring.
//!
//! Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 69(2), 2009.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;

/// Once around: block `rank + 1` of the result comes to `have`.
///
/// # Safety
/// `input` must hold `count` elements, `have` have room for them, and `heard` for the longest block.
pub unsafe fn reduce(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    have: *mut u8,
    heard: *mut u8,
    count: i64,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    // SAFETY: the caller's promise.
    unsafe {
        operand.copy(link, input, have, count)?;
        for round in 0..size - 1 {
            let (mine, theirs) = ((rank + size - round) % size, (rank + 2 * size - round - 1) % size);
            let (sent, received) = (block(size, count, mine), block(size, count, theirs));
            operand.transfer(
                link,
                &[((rank + size - 1) % size, heard, received.1)],
                &[((rank + 1) % size, operand.at(have, sent.0).cast_const(), sent.1)],
            )?;
            operand.apply(link, heard, operand.at(have, received.0), received.1);
        }
    }
    Ok(())
}

/// Where block `index` of `size` lies: (first element, number of elements).
pub fn block(size: usize, count: i64, index: usize) -> (i64, i64) {
    let start = |index: usize| (i128::from(count) * index as i128 / size as i128) as i64;
    (start(index), start(index + 1) - start(index))
}

/// Elements of the longest block.
pub fn longest(size: usize, count: i64) -> i64 {
    count.div_euclid(size as i64) + 1
}
