//! The first rank combines what all send it, from the first rank to the last, and a tree takes the result to all.
//!
//! Source: the flat form of shared memory (Graham, Shipman, EuroPVM/MPI 2008), by messages, with one rank that combines. Cost: 2 (p - 1)
//! messages of n bytes in all, where all to all would be p times as many; p - 1 operations on n at the first rank.
//! Preconditions: none. Any number of ranks, any operation. The result is the same, bit for bit, as with a board.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::{bcast, reduce};

/// `output` may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and `output` have room for them.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        reduce::linear::run(link, operand, input, output, count, 0)?;
        bcast::by_tree(link, operand.elements(output, count), 0)
    }
}
