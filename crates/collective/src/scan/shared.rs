//! Everyone copies its elements to shared memory, segment by segment, and combines what the ranks before it have shown.
//!
//! Source: the flat form of the shared-memory reduce of Graham, Shipman, EuroPVM/MPI 2008. Cost: n bytes in at each rank,
//! which reads and combines as many times n as there are ranks before it; one step per segment. Nobody waits for a later
//! rank, until that is several segments or calls behind.
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
    inclusive: bool,
) -> Result<()> {
    let (rank, size) = (access.rank(), access.size());
    let at_once = access.elements_at_once(operand, count);
    let is_apart = !overlap(input, output, operand.crossing(count));
    for done in (0..count).step_by(at_once as usize) {
        let step = access.step();
        let now = at_once.min(count - done);
        let own = operand.at(input, done);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            if rank + 1 < size {
                let draft = access.draft_operands(step, operand, own, now, is_apart).await?;
                access.post(&draft);
            }
            for other in 0..rank {
                access.read(other, step).await?;
            }
            let part = |other| access.operands(operand, other, access.posted(other, step)?, now);
            let ranks = rank + usize::from(inclusive);
            if ranks > 0 {
                fold(access, operand, ranks, own, part, operand.at(output, done), now)?;
            }
        }
        access.finish(step);
    }
    Ok(())
}
