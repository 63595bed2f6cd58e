//! Everyone sends its elements to everyone, all at once; each combines what comes, from the first rank to the last.
//!
//! Source: the flat form of shared memory (Graham, Shipman, EuroPVM/MPI 2008), by messages. Cost: p - 1 messages of n bytes per
//! rank, one round; p - 1 operations on n.
//! Preconditions: none. Any number of ranks, any operation. The result is the same, bit for bit, as with a board.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::reduce_scatter::direct;

/// # Safety
/// `input` must hold `count` elements and `output` have room for them. They may be the same.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    // SAFETY: the caller's promise. Everyone's block is everything.
    unsafe { direct::run(link, operand, input, output, |_| (0, count)) }
}
