//! Each rank combines one slice of everyone's elements, straight from shared memory, and shows the result to all.
//!
//! Source: the two-level shared-memory all-reduce of Open MPI's acoll, on copies in shared memory; the reduce-scatter and
//! all-gather of Rabenseifner, 2004. Cost: about 2 n bytes in and 2 n out at each rank, and n (p - 1) / p combined,
//! whatever p; two steps per segment.
//! Preconditions: a board; elements without gaps, at least one for each rank.

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
    let at_once = access.slices_at_once(operand);
    let mut done = 0;
    while done < count {
        let now = at_once.min(count - done);
        let start = |rank: usize| done + now * rank as i64 / size as i64;
        let slice = |rank: usize| start(rank + 1) - start(rank);
        let (first, own) = (start(rank), slice(rank));
        let (given, combined) = (access.step(), access.step());
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            access.post_parts(
                given,
                |other| operand.crossing(slice(other)),
                |other, to| operand.put(operand.at(input, start(other)), slice(other), to),
            )?;
            let mut parts = [Part::Own(operand.at(input, first)); MOST_RANKS];
            for other in (1..size).map(|i| (rank + i) % size) {
                let part = access.read_part(other, given)?;
                parts[other] = Part::Shared(access.operands(operand, other, part, own)?);
            }
            let result = operand.at(output, first);
            fold(link, operand, &parts[..size], result, own)?;
            let draft = access.draft(combined, operand.crossing(own))?;
            operand.put(result, own, draft.data);
            access.post(&draft);
            for other in (1..size).map(|i| (rank + i) % size) {
                let result = access.read_operands(operand, other, combined, slice(other))?;
                operand.fetch(result, operand.at(output, start(other)), slice(other));
            }
        }
        done += now;
        if done < count {
            access.finish(combined);
        }
    }
    Ok(())
}
