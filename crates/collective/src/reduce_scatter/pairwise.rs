//! In round k everyone sends its block to the rank k after, and combines what comes from the one k before.
//!
//! Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: p - 1 rounds of n / p; n (p - 1) / p bytes and as many operations; memory for one block only.
//! Preconditions: an operation that commutes. Blocks of any lengths.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;

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
    let (rank, size) = (link.rank(), link.size());
    let (first, count) = block(rank);
    let (result, heard) = (operand.scratch(link, count)?, operand.scratch(link, count)?);
    // SAFETY: the caller's promise; the areas have room for the own block.
    unsafe {
        operand.copy(link, operand.at(input, first), result.elements, count)?;
        for round in 1..size {
            let (to, from) = ((rank + round) % size, (rank + size - round) % size);
            let (theirs, sent) = block(to);
            operand.transfer(
                link,
                &[(from, heard.elements, count)],
                &[(to, operand.at(input, theirs).cast_const(), sent)],
            )?;
            operand.apply(link, heard.elements, result.elements, count);
        }
        operand.copy(link, result.elements, output, count)
    }
}
