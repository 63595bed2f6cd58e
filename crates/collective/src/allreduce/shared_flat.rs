//! Everyone copies its elements to shared memory, segment by segment, and combines all there by itself.
//!
//! Source: the flat form of the shared-memory all-reduce of Graham, Shipman, "MPI support for multi-core architectures:
//! optimized shared memory collectives", EuroPVM/MPI 2008. Cost: n bytes in, (p - 1) n read and combined at each rank; one
//! step per segment, in which each rank is scheduled once: best where that, and not the bytes, is what takes the time, and
//! always with two ranks.
//! Preconditions: a board. Any operation, any type.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;
use crate::shared::fold::{fold, overlap};

/// `output` may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and `output` have room for them.
#[twice]
pub async unsafe fn run(
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    let at_once = access.most_elements(operand);
    let is_apart = !overlap(input, output, operand.crossing(count));
    for done in (0..count).step_by(at_once as usize) {
        let step = access.step();
        let now = at_once.min(count - done);
        let own = operand.at(input, done);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            let draft = access.draft_operands(step, operand, own, now, is_apart).await?;
            access.post(&draft);
            access.everyone(step).await?;
            let part = |rank| access.operands(operand, rank, access.posted(rank, step)?, now);
            fold(access, operand, access.size(), own, part, operand.at(output, done), now)?;
        }
        if done + now < count {
            access.finish(step);
        }
    }
    Ok(())
}
