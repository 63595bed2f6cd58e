//! The first rank combines what all send it, from the first rank to the last, and sends each its block.
//!
//! Source: the flat form of shared memory (Graham, Shipman, EuroPVM/MPI 2008), by messages, with one rank that combines. Cost: 2 (p - 1)
//! messages in all, of n bytes and of n / p, where all to all would be p times as many; p - 1 operations on n at the first rank.
//! Preconditions: none. Any number of ranks, any operation. The result is the same, bit for bit, as with a board.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::reduce;
use crate::root::Direction;
use crate::rooted::linear;

/// `block` says where a rank's block lies in `input`: (first element, number of elements).
///
/// # Safety
/// `input` must hold all blocks, `output` have room for the own one. `output` may lie in `input`.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    block: impl Fn(usize) -> (i64, i64),
) -> Result<()> {
    let (rank, last) = (link.rank(), block(link.size() - 1));
    let own = operand.elements(output, block(rank).1);
    let total = last.0 + last.1;
    // SAFETY: the caller's promise; the scratch area has room for all elements.
    unsafe {
        if rank != 0 {
            reduce::linear::run(link, operand, input, output, total, 0)?;
            return linear::run(link, Direction::FromRoot, Some(own), |_| None, 0);
        }
        let combined = operand.scratch(link, total)?;
        reduce::linear::run(link, operand, input, combined.elements, total, 0)?;
        let of = |rank: usize| {
            let (first, count) = block(rank);
            Some(operand.elements(operand.at(combined.elements, first), count))
        };
        linear::run(link, Direction::FromRoot, Some(own), of, 0)
    }
}
