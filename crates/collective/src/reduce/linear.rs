//! Everyone sends its elements to the root, which combines them from the first rank to the last.
//!
//! Source: the flat form of shared memory (Graham, Shipman, EuroPVM/MPI 2008), by messages. Cost: p - 1 messages of n
//! bytes, one round per segment; the root does p - 1 operations on n.
//! Preconditions: none. Any number of ranks, any operation. The result is the same, bit for bit, as with a board.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;

/// Bytes of each rank that come at once: this bounds the memory for contributions, and keeps them in the cache.
const SEGMENT: i64 = 256 << 10;
/// The same of all ranks.
const AREA: i64 = 8 << 20;

/// `output` matters at the root, and may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and, at the root, `output` have room for them.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: usize,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let at_once = operand.in_bytes(SEGMENT.min(AREA / size as i64)).min(count);
    let area = match rank == root {
        true => Some(operand.scratch(link, at_once.saturating_mul(size as i64))?),
        false => None,
    };
    let mut done = 0;
    while done < count {
        let now = at_once.min(count - done);
        let own = operand.at(input, done).cast_const();
        // SAFETY: the caller's promise; the area has room for everyone's segment, one after the other.
        unsafe {
            match &area {
                None => operand.send(link, root, own, now)?,
                Some(area) => {
                    let contribution = |rank: usize| operand.at(area.elements, rank as i64 * at_once);
                    let receives: Vec<_> = (1..size)
                        .map(|i| (rank + i) % size)
                        .map(|from| (from, contribution(from), now))
                        .collect();
                    operand.transfer(link, &receives, &[])?;
                    operand.fold(link, size, rank, own, contribution, now)?;
                    operand.copy(link, contribution(size - 1), operand.at(output, done), now)?;
                }
            }
        }
        done += now;
    }
    Ok(())
}
