//! Each rank combines one slice of everyone's elements, straight from shared memory, and shows the result to the root.
//!
//! Source: the reduce-scatter and gather of Rabenseifner, 2004, on copies in shared memory. Cost: n bytes in, as many out and
//! n (p - 1) / p combined at each rank, whatever p; n more out at the root; two steps per segment.
//! Preconditions: a board; elements without gaps, at least one for each rank.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;
use crate::shared::fold::fold;

/// To the root, or, if there is none, to all. `output` matters where the result goes, and may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and, where the result goes, `output` have room for them.
#[twice]
pub async unsafe fn run(
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: Option<usize>,
) -> Result<()> {
    let (rank, size) = (access.rank(), access.size());
    let has_result = root.is_none_or(|root| root == rank);
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
            let length = |other: usize| operand.crossing(slice(other));
            let put = |other: usize, to: *mut u8| operand.put(operand.at(input, start(other)), slice(other), to);
            let parts = access.parts(length);
            // Each slice is read by one rank, and written over only when that has shown its result.
            let part = |other: usize| Some(operand.at(input, start(other)).cast_const());
            access.show_parts(given, parts, part, put).await?;
            access.everyone(given).await?;
            let part = |other| access.operands(operand, other, access.part(rank, other, given)?, own);
            let mine = operand.at(input, first);
            if has_result {
                let result = operand.at(output, first);
                fold(access, operand, size, mine, part, result, own)?;
                if root.is_none() {
                    let draft = access.draft_operands(combined, operand, result, own, true).await?;
                    access.post(&draft);
                }
                for other in (1..size).map(|i| (rank + i) % size) {
                    let posted = access.read(other, combined).await?;
                    let result = access.operands(operand, other, posted, slice(other))?;
                    operand.fetch(result, operand.at(output, start(other)), slice(other));
                }
            } else if let Some(root) = root {
                let draft = access.draft(combined, operand.crossing(own)).await?;
                fold(access, operand, size, mine, part, draft.data, own)?;
                access.post_to(root, &draft);
            }
        }
        done += now;
        if done < count {
            access.finish(combined);
        }
    }
    Ok(())
}
