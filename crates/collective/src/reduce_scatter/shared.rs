//! Everyone copies what the others need to shared memory, segment by segment, and combines its own block there.
//!
//! Source: the pairwise exchange of Thakur, Rabenseifner, Gropp, 2005, in one step, on copies in shared memory.
//! Cost: (p - 1) n / p bytes in, as many read and combined at each rank; one step per segment of a block.
//! Preconditions: a board. Any operation, any type, blocks of any lengths, which all ranks know.

use isthmus_twice::twice;

use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;
use crate::shared::fold::{fold, overlap};

use crate::error::Result;

/// `block` says where a rank's block lies in `input`: (first element, number of elements).
///
/// # Safety
/// `input` must hold all blocks, `output` have room for the own one. `output` may lie in `input`.
#[twice]
pub async unsafe fn run(
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    block: impl Fn(usize) -> (i64, i64),
) -> Result<()> {
    let (rank, size) = (access.rank(), access.size());
    let (first, count) = block(rank);
    let at_once = access.part_at_once(operand);
    let longest = (0..size).map(|rank| block(rank).1).max().unwrap_or(0);
    // Early results must not overwrite data that is still to be shown.
    let whole = operand.crossing(block(size - 1).0 + block(size - 1).1);
    let overlaps = overlap(input, output, whole);
    let scratch = match longest > at_once && overlaps {
        true => Some(operand.scratch(access, count)?),
        false => None,
    };
    let may_lend = !overlaps && !operand.crosses_packed();
    let result = scratch.as_ref().map_or(output, |scratch| scratch.elements);
    for done in (0..longest).step_by(at_once as usize) {
        let step = access.step();
        let now = |rank: usize| (block(rank).1 - done).clamp(0, at_once);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            let length = |other: usize| operand.crossing(now(other));
            let put = |other: usize, to: *mut u8| {
                operand.put(operand.at(input, block(other).0 + done), now(other), to);
            };
            let parts = access.parts(length);
            let lies = |other: usize| may_lend.then(|| operand.at(input, block(other).0 + done).cast_const());
            access.show_parts(step, parts, lies, put).await?;
            let own = now(rank);
            if own > 0 {
                access.everyone(step).await?;
                let part = |other| access.operands(operand, other, access.part(rank, other, step)?, own);
                let mine = operand.at(input, first + done);
                fold(access, operand, size, mine, part, operand.at(result, done), own)?;
            }
        }
        access.finish(step);
    }
    // SAFETY: the scratch area holds the whole block.
    unsafe { operand.copy(access, result, output, count) }
}
