//! Everyone sends its elements to all later ranks, and combines what the ranks before it have sent, from the first of them to
//! the last.
//!
//! Source: the flat form of shared memory (Graham, Shipman, EuroPVM/MPI 2008), by messages. Cost: a message of n bytes to
//! each later rank, one round per segment; as many operations on n as there are ranks before.
//! Preconditions: none. Any number of ranks, any operation. The result is the same, bit for bit, as with a board.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;

/// Bytes of each rank that come at once: this bounds the memory for contributions, and keeps them in the cache.
const SEGMENT: i64 = 256 << 10;

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
    let area = operand.scratch(link, at_once.saturating_mul(rank as i64 + 1))?;
    let contribution = |rank: usize| operand.at(area.elements, rank as i64 * at_once);
    let parts = rank + usize::from(inclusive);
    let mut done = 0;
    while done < count {
        let now = at_once.min(count - done);
        let own = operand.at(input, done).cast_const();
        let receives: Vec<_> = (0..rank).rev().map(|from| (from, contribution(from), now)).collect();
        let sends: Vec<_> = (rank + 1..size).map(|to| (to, own, now)).collect();
        // SAFETY: the caller's promise; the area has room for the segments of the ranks up to ours, one after the other.
        unsafe {
            operand.transfer(link, &receives, &sends)?;
            if parts > 0 {
                operand.fold(link, parts, rank, own, contribution, now)?;
                operand.copy(link, contribution(parts - 1), operand.at(output, done), now)?;
            }
        }
        done += now;
    }
    Ok(())
}
