//! Everyone copies its elements to shared memory, segment by segment, and combines all there by itself.
//!
//! Source: the flat form of the shared-memory all-reduce of Graham, Shipman, "MPI support for multi-core architectures:
//! optimized shared memory collectives", EuroPVM/MPI 2008. Cost: n bytes in, (p - 1) n read and combined at each rank; one
//! step per segment, in which each rank is scheduled once: best where that, and not the bytes, is what takes the time, and
//! always with two ranks.
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
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let at_once = access.most_elements(operand);
    for done in (0..count).step_by(at_once as usize) {
        let step = access.step();
        let now = at_once.min(count - done);
        let own = operand.at(input, done);
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            let draft = access.draft(step, operand.crossing(now))?;
            operand.put(own, now, draft.data);
            access.post(&draft);
            let mut parts = [Part::Own(own); MOST_RANKS];
            for other in (1..size).map(|i| (rank + i) % size) {
                parts[other] = Part::Shared(access.read_operands(operand, other, step, now)?);
            }
            access.all_came(step);
            fold(link, operand, &parts[..size], operand.at(output, done), now)?;
        }
        if done + now < count {
            access.finish(step);
        }
    }
    Ok(())
}
