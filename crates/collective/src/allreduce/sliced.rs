//! Each rank reduces one slice, straight from everyone's contribution, and hands the result to all.
//!
//! Source: the reduce-scatter and all-gather of Rabenseifner, 2004, with direct messages in place of halving and doubling,
//! as on-node implementations do (Open MPI's acoll). Cost: two rounds of p - 1 messages; 2 n (p - 1) / p bytes and
//! n (p - 1) / p operations per rank, whatever p.
//! Preconditions: at least one element per rank. Operands keep the order of ranks.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::reduce_scatter::direct;

/// Bytes that go through both rounds at once: this bounds the memory for contributions, and keeps them in the cache.
const SEGMENT: i64 = 2 << 20;

/// # Safety
/// `input` must hold `count` elements and `output` have room for them; they are the same or do not overlap.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    if !operand.datatype.is_contiguous() {
        // Whole elements cross, gaps included, which must not touch the user's.
        let result = operand.scratch(link, count)?;
        // SAFETY: the caller's promise; the scratch area has room for all elements.
        unsafe {
            plain(link, operand, input, result.elements, count)?;
            return operand.copy(link, result.elements, output, count);
        }
    }
    // SAFETY: the caller's promise; there are no gaps.
    unsafe { plain(link, operand, input, output, count) }
}

/// # Safety
/// As for [`run`], with room for the gaps too.
unsafe fn plain(link: &impl Link, operand: &Operand<'_>, input: *const u8, output: *mut u8, count: i64) -> Result<()> {
    let elements = (SEGMENT / operand.datatype.size()).max(link.size() as i64);
    let mut done = 0;
    while done < count {
        let now = elements.min(count - done);
        // SAFETY: the caller's promise, for a part of the elements.
        unsafe { segment(link, operand, operand.at(input, done), operand.at(output, done), now)? };
        done += now;
    }
    Ok(())
}

/// # Safety
/// As for [`run`].
unsafe fn segment(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let start = |rank: usize| (i128::from(count) * rank as i128 / size as i128) as i64;
    let slice = |rank: usize| (start(rank), start(rank + 1) - start(rank));
    let (first, own) = slice(rank);
    // SAFETY: the caller's promise.
    unsafe {
        direct::run(link, operand, input, operand.at(output, first), slice)?;
        let receives: Vec<_> = (1..size)
            .map(|i| (rank + size - i) % size)
            .map(|from| (from, operand.at(output, start(from)), slice(from).1))
            .collect();
        let sends: Vec<_> = (1..size)
            .map(|i| ((rank + i) % size, operand.at(output, first).cast_const(), own))
            .collect();
        operand.transfer(link, &receives, &sends)
    }
}
