//! On an intercommunicator: each group reduces to its first process; these swap the results, and give each of their groups
//! its block.
//!
//! Source: by definition, MPI-5.0 §6.10: a group does not know the blocks of the other. Cost: a reduction of all elements, one
//! swap, and a message of a block per rank.
//! Preconditions: an intercommunicator. Any number of ranks, any sizes, any operation.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::reduce::binomial;
use crate::root::Direction;
use crate::rooted::linear;

/// `block` says which elements of the other group's result a rank of ours gets: (first element, number of elements).
///
/// # Safety
/// `input` must hold all blocks, `output` have room for the own one; they do not overlap.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    block: impl Fn(usize) -> (i64, i64),
) -> Result<()> {
    let (first, count) = block(link.size() - 1);
    let total = first + count;
    if total == 0 {
        return Ok(());
    }
    let own = operand.elements(output, block(link.rank()).1);
    // SAFETY: the caller's promise; scratch areas have room for all elements.
    unsafe {
        let (ours, _scratch) = binomial::to_top(link, operand, input, total, 0)?;
        if link.rank() > 0 {
            return linear::run(link, Direction::FromRoot, Some(own), |_| None, 0);
        }
        let theirs = operand.scratch(link, total)?;
        operand.swap(link, link.across(0), ours, theirs.elements, total)?;
        let part = |rank: usize| {
            let (first, count) = block(rank);
            Some(operand.elements(operand.at(theirs.elements, first), count))
        };
        linear::run(link, Direction::FromRoot, Some(own), part, 0)
    }
}
