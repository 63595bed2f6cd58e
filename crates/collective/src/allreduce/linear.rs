//! Everyone sends its elements to the first rank, which combines them from the first rank to the last and broadcasts the result.
//!
//! Source: the flat form of shared memory (Graham, Shipman, EuroPVM/MPI 2008), by messages, and a binomial tree. Cost: p - 1 messages
//! of n bytes and p - 1 operations on n at the first rank, log p rounds of n; messages between 2 (p - 1) pairs only.
//! Preconditions: none. Any number of ranks, any operation. The result is the same, bit for bit, as with a board.

use crate::bcast::binomial;
use crate::elements::Packed;
use crate::error::Result;
use crate::link::Link;
use crate::operand::Operand;
use crate::reduce::linear;

/// # Safety
/// `input` must hold `count` elements and `output` have room for them. They may be the same.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        linear::run(link, operand, input, output, count, 0)?;
        if !operand.crosses_packed() {
            let len = (count * operand.datatype.extent()) as usize;
            return match link.rank() {
                0 => binomial::send(link, output, len, 0),
                _ => binomial::receive(link, output, len, 0),
            };
        }
        let elements = operand.elements(output, count);
        if link.rank() == 0 {
            let packed = Packed::of(link, elements)?;
            return binomial::send(link, packed.data, packed.len, 0);
        }
        let packed = Packed::room(link, elements)?;
        binomial::receive(link, packed.data, packed.len, 0)?;
        packed.settle(link, elements);
    }
    Ok(())
}
