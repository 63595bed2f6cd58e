//! On an intercommunicator: each group reduces to its first process; these swap the results, and tell their groups.
//!
//! Source: by definition, MPI-5.0 §6.9.6: each group gets what the other reduces to. Cost: a reduction, one swap and a broadcast.
//! Preconditions: an intercommunicator. Any number of ranks, any operation. Operands keep the order of ranks, and all of a group
//! get the same, bit for bit.

use crate::bcast;
use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::reduce::binomial;

/// # Safety
/// `input` must hold `count` elements and `output` have room for them; they do not overlap.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise; scratch areas have room for all elements.
    unsafe {
        let (ours, _scratch) = binomial::to_top(link, operand, input, count, 0)?;
        if link.rank() == 0 {
            let theirs = operand.scratch(link, count)?;
            operand.swap(link, link.across(0), ours, theirs.elements, count)?;
            operand.copy(link, theirs.elements, output, count)?;
        }
        bcast::run(link, operand.elements(output, count), 0)
    }
}
