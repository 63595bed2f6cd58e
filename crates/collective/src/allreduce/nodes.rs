//! Each node reduces to one of its ranks, these combine what they have, and tell their nodes.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008). Cost: a reduction in each
//! node, an all-reduce among nodes, and a broadcast in each node. Preconditions: several nodes, known to all; an operation that
//! commutes, or all ranks of a node before those of the next. The result depends on which ranks share a node.

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::part::Part;
use crate::{bcast, reduce};

/// `output` may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and `output` have room for them.
pub unsafe fn run(
    link: &impl Link,
    layout: &Layout,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    let here = Part::node(link, layout);
    let leaders = layout.leaders(None);
    // SAFETY: the caller's promise; the scratch area has room for all elements.
    unsafe {
        match Part::of(link, &leaders) {
            None => reduce::run(&here, operand, input, output, count, 0)?,
            Some(leaders) => {
                let partial = operand.scratch(link, count)?;
                reduce::run(&here, operand, input, partial.elements, count, 0)?;
                super::run(&leaders, operand, partial.elements, output, count)?;
            }
        }
        bcast::run(&here, operand.elements(output, count), 0)
    }
}
