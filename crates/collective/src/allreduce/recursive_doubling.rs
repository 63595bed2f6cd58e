//! In round k swap what one has with the rank that differs in bit k.
//!
//! Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: log2 p rounds of n bytes and one operation each; two more if p is no power of two, in which the ranks beyond it
//! hand theirs to a neighbour and get the result back.
//! Preconditions: none. Any number of ranks, any operation: the lower ranks' operand is always the left one, so that all ranks
//! compute the same, bit for bit.

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
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let power = 1 << size.ilog2();
    let paired = 2 * (size - power);
    let (first, second) = (operand.scratch(link, count)?, operand.scratch(link, count)?);
    // What we have, and where the other's comes.
    let (mut have, mut heard) = (first.elements, second.elements);
    // SAFETY: both areas and the user's have room for the elements, and none overlap.
    unsafe {
        operand.copy(link, input, have, count)?;
        // Of the first ranks the even ones hand theirs to the odd ones.
        if rank < paired && rank % 2 == 0 {
            operand.send(link, rank + 1, have, count)?;
            operand.receive(link, rank + 1, have, count)?;
        } else {
            if rank < paired {
                operand.receive(link, rank - 1, heard, count)?;
                operand.apply(link, heard, have, count);
            }
            let place = if rank < paired { rank / 2 } else { rank - paired / 2 };
            let mut bit = 1;
            while bit < power {
                let other = place ^ bit;
                let other = if other < paired / 2 {
                    2 * other + 1
                } else {
                    other + paired / 2
                };
                operand.swap(link, other, have, heard, count)?;
                if other < rank {
                    operand.apply(link, heard, have, count);
                } else {
                    operand.apply(link, have, heard, count);
                    std::mem::swap(&mut have, &mut heard);
                }
                bit *= 2;
            }
            if rank < paired {
                operand.send(link, rank - 1, have, count)?;
            }
        }
        operand.copy(link, have, output, count)?;
    }
    Ok(())
}
