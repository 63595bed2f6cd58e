//! In round k swap the combination of one's block of 2^k ranks with the rank that differs in bit k.
//!
//! Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: ceil(log2 p) rounds of n bytes and up to two operations each.
//! Preconditions: none. Any number of ranks, any operation.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;

/// # Safety
/// `input` must hold `count` elements and `output` have room for them; they are the same or do not overlap.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    inclusive: bool,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let (first, second, third) = (
        operand.scratch(link, count)?,
        operand.scratch(link, count)?,
        operand.scratch(link, count)?,
    );
    // Of our block of ranks, of the ranks before us (and ours), and where the other's comes.
    let (mut block, result, mut heard) = (first.elements, second.elements, third.elements);
    let mut has_result = inclusive;
    // SAFETY: the areas and the user's have room for the elements, and none overlap.
    unsafe {
        operand.copy(link, input, block, count)?;
        operand.copy(link, input, result, count)?;
        let mut bit = 1;
        while bit < size {
            let other = rank ^ bit;
            bit *= 2;
            if other >= size {
                continue;
            }
            operand.swap(link, other, block, heard, count)?;
            if other > rank {
                operand.apply(link, block, heard, count);
                std::mem::swap(&mut block, &mut heard);
                continue;
            }
            operand.apply(link, heard, block, count);
            if has_result {
                operand.apply(link, heard, result, count);
            } else {
                operand.copy(link, heard, result, count)?;
                has_result = true;
            }
        }
        if has_result {
            operand.copy(link, result, output, count)?;
        }
    }
    Ok(())
}
