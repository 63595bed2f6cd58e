//! On an intercommunicator: the other group reduces to its first process, which sends the result to the root.
//!
//! Source: [`binomial`](super::binomial) in the other group, and one message. Cost: one message more than a reduction there.
//! Preconditions: an intercommunicator. Any number of ranks, any operation. Operands keep the order of ranks.

use super::binomial;
use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::root::Root;

/// # Safety
/// `input` must hold `count` elements in the other group, and `output` have room for them at the root.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: Root,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise; scratch areas have room for all elements.
    unsafe {
        match root {
            Root::Here => {
                // Whole elements cross, padding included, which must not touch the user's.
                let result = operand.scratch(link, count)?;
                operand.receive(link, link.across(0), result.elements, count)?;
                operand.copy(link, result.elements, output, count)
            }
            Root::There(root) => {
                let (result, _scratch) = binomial::to_top(link, operand, input, count, 0)?;
                if link.rank() == 0 {
                    operand.send(link, link.across(root), result, count)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
