//! Everyone copies its elements to shared memory, segment by segment, and combines what the ranks before it have shown.
//!
//! Source: the flat form of the shared-memory reduce of Graham, Shipman, EuroPVM/MPI 2008. Cost: n bytes in at each rank,
//! which reads and combines as many times n as there are ranks before it; one step per segment. Nobody waits for a later
//! rank, until that is several segments or calls behind.
//! Preconditions: a board. Any operation, any type.

use crate::coll::link::Link;
use crate::coll::operand::Operand;
use crate::coll::shared::fold::{Part, fold};
use crate::coll::shared::{Access, MOST_RANKS};
use crate::error::Result;

/// `output` may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and `output` have room for them.
pub unsafe fn run(
    link: &impl Link,
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    inclusive: bool,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let at_once = access.elements_at_once(operand, count);
    for done in (0..count).step_by(at_once as usize) {
        let step = access.step();
        let now = at_once.min(count - done);
        let own = operand.at(input, done);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            if rank + 1 < size {
                let draft = access.draft(step, operand.crossing(now))?;
                operand.put(own, now, draft.data);
                access.post(&draft);
            }
            let mut parts = [Part::Own(own); MOST_RANKS];
            for (other, part) in parts.iter_mut().enumerate().take(rank) {
                *part = Part::Shared(access.read_operands(operand, other, step, now)?);
            }
            let count = rank + usize::from(inclusive);
            if count > 0 {
                fold(link, operand, &parts[..count], operand.at(output, done), now)?;
            }
        }
        access.finish(step);
    }
    Ok(())
}
