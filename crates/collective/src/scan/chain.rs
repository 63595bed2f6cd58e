//! Each rank adds its elements to what the one before it has combined, and hands that to the next one.
//!
//! Source: the definition (MPI-5.0 §6.11). Cost: one message of n in and one out at each rank, p - 1 rounds in a row, one operation each;
//! segments follow each other, so that ranks overlap.
//! Preconditions: none. Any number of ranks, any operation. The result is the same, bit for bit, as with a board.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;

/// Bytes that cross at once.
const SEGMENT: i64 = 64 << 10;

/// `output` may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and `output` have room for them.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    inclusive: bool,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let at_once = operand.in_bytes(SEGMENT).min(count);
    let (before, both) = (operand.scratch(link, at_once)?, operand.scratch(link, at_once)?);
    let mut done = 0;
    while done < count {
        let now = at_once.min(count - done);
        let to = operand.at(output, done);
        // SAFETY: the caller's promise; the scratch areas have room for what crosses at once.
        unsafe {
            operand.copy(link, operand.at(input, done), both.elements, now)?;
            if rank > 0 {
                operand.receive(link, rank - 1, before.elements, now)?;
                operand.apply(link, before.elements, both.elements, now);
            }
            if rank + 1 < size {
                operand.send(link, rank + 1, both.elements, now)?;
            }
            match inclusive {
                true => operand.copy(link, both.elements, to, now)?,
                false if rank > 0 => operand.copy(link, before.elements, to, now)?,
                false => {}
            }
        }
        done += now;
    }
    Ok(())
}
