//! Everyone copies what the others need to shared memory, segment by segment, and combines its own block there.
//!
//! Source: the pairwise exchange of Thakur, Rabenseifner, Gropp, 2005, in one step, on copies in shared memory.
//! Cost: (p - 1) n / p bytes in, as many read and combined at each rank; one step per segment of a block.
//! Preconditions: a board. Any operation, any type, blocks of any lengths, which all ranks know.

use crate::coll::link::Link;
use crate::coll::operand::Operand;
use crate::coll::shared::fold::{Part, fold, overlap};
use crate::coll::shared::{Access, MOST_RANKS};
use crate::error::Result;

/// `block` says where a rank's block lies in `input`: (first element, number of elements).
///
/// # Safety
/// `input` must hold all blocks, `output` have room for the own one. `output` may lie in `input`.
pub unsafe fn run(
    link: &impl Link,
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    block: impl Fn(usize) -> (i64, i64),
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let (first, count) = block(rank);
    let at_once = access.part_at_once(operand);
    let longest = (0..size).map(|rank| block(rank).1).max().unwrap_or(0);
    // What is combined early must not be written over what is still to be shown.
    let whole = operand.crossing(block(size - 1).0 + block(size - 1).1);
    let scratch = match longest > at_once && overlap(input, output, whole) {
        true => Some(operand.scratch(link, count)?),
        false => None,
    };
    let result = scratch.as_ref().map_or(output, |scratch| scratch.elements);
    for done in (0..longest).step_by(at_once as usize) {
        let step = access.step();
        let now = |rank: usize| (block(rank).1 - done).clamp(0, at_once);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            access.post_parts(
                step,
                |other| operand.crossing(now(other)),
                |other, to| operand.put(operand.at(input, block(other).0 + done), now(other), to),
            )?;
            let own = now(rank);
            if own > 0 {
                let mut parts = [Part::Own(operand.at(input, first + done)); MOST_RANKS];
                for other in (1..size).map(|i| (rank + i) % size) {
                    let part = access.read_part(other, step)?;
                    parts[other] = Part::Shared(access.operands(operand, other, part, own)?);
                }
                fold(link, operand, &parts[..size], operand.at(result, done), own)?;
            }
        }
        access.finish(step);
    }
    // SAFETY: the scratch area holds the whole block.
    unsafe { operand.copy(link, result, output, count) }
}
