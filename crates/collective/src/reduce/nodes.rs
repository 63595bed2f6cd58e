//! Each node reduces to one of its ranks, and these to the root.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008). Cost: a reduction in each
//! node, and one among nodes. Preconditions: several nodes, known to all; an operation that commutes, or all ranks of a node
//! before those of the next. The result depends on which ranks share a node.

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::part::Part;

/// `output` matters at the root, and may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and, at the root, `output` have room for them.
pub unsafe fn run(
    link: &impl Link,
    layout: &Layout,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: usize,
) -> Result<()> {
    let here = Part::node(link, layout);
    let leaders = layout.leaders(Some(root));
    let leader = layout.index_of_leader(link.rank(), Some(root));
    // SAFETY: the caller's promise; the scratch area has room for all elements.
    unsafe {
        let Some(leaders) = Part::of(link, &leaders) else {
            return super::run(&here, operand, input, output, count, leader);
        };
        let partial = operand.scratch(link, count)?;
        super::run(&here, operand, input, partial.elements, count, leader)?;
        super::run(&leaders, operand, partial.elements, output, count, layout.node_of(root))
    }
}
