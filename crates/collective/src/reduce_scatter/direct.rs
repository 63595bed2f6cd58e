//! Everyone sends each rank its block, all at once; each combines what comes, from the first rank to the last.
//!
//! Source: the pairwise exchange of Thakur, Rabenseifner, Gropp, 2005, in one round rather than p - 1.
//! Cost: p - 1 messages of a block per rank, one round; p - 1 operations on a block.
//! Preconditions: none. Any number of ranks, any sizes, any operation. The result is the same, bit for bit, as with a board.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;

/// `block` says where a rank's block lies in `input`: (first element, number of elements). Blocks may overlap: if each is
/// everything, this is an all-reduce.
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
    let area = operand.scratch(link, count.saturating_mul(size as i64))?;
    let contribution = |rank: usize| operand.at(area.elements, rank as i64 * count);
    let others = || (1..size).map(|i| (rank + i) % size);
    // Nobody sends what has no elements: all know the blocks.
    let receives: Vec<_> = others()
        .filter(|_| count > 0)
        .map(|from| (from, contribution(from), count))
        .collect();
    let sends: Vec<_> = others()
        .map(|to| (to, block(to)))
        .filter(|(_, (_, count))| *count > 0)
        .map(|(to, (first, count))| (to, operand.at(input, first).cast_const(), count))
        .collect();
    // SAFETY: the caller's promise; the area has room for everyone's contribution, one after the other.
    unsafe {
        operand.transfer(link, &receives, &sends)?;
        operand.fold(link, size, rank, operand.at(input, first), contribution, count)?;
        operand.copy(link, contribution(size - 1), output, count)
    }
}
