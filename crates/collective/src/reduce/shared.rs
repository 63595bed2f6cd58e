//! Everyone copies its elements to shared memory, segment by segment, and the root combines them there.
//!
//! Source: the flat form of the shared-memory reduce of Graham, Shipman, "MPI support for multi-core architectures:
//! optimized shared memory collectives", EuroPVM/MPI 2008. Cost: n bytes in at each rank but the root, which reads
//! (p - 1) n and combines as many, overlapped. Only the root waits, until the others are several segments or calls ahead.
//! Preconditions: a board. Any operation, any type.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;
use crate::shared::fold::fold;

/// `output` matters at the root, and may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and, at the root, `output` have room for them.
#[twice]
pub async unsafe fn run(
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: usize,
) -> Result<()> {
    let (rank, size) = (access.rank(), access.size());
    let at_once = access.elements_at_once(operand, count);
    for done in (0..count).step_by(at_once as usize) {
        let step = access.step();
        let now = at_once.min(count - done);
        let own = operand.at(input, done);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            if rank == root {
                access.everyone(step).await?;
                let part = |other| access.operands(operand, other, access.posted(other, step)?, now);
                fold(access, operand, size, own, part, operand.at(output, done), now)?;
            } else {
                let draft = access.draft_operands(step, operand, own, now, true).await?;
                access.post_to(root, &draft);
            }
        }
        access.finish(step);
    }
    Ok(())
}
