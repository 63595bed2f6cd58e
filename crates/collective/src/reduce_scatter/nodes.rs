//! Each node reduces to one of its ranks, these take the blocks of their nodes, and hand them out.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008). Cost: a reduction in each
//! node, a reduce-scatter among nodes, and a scatter in each node. Preconditions: several nodes, known to all; an operation
//! that commutes, or all ranks of a node before those of the next. The result depends on which ranks share a node.

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::part::Part;
use crate::root::{Direction, Root};
use crate::{reduce, rooted};

/// `block` says where a rank's block begins and how many elements it has; `output` may be `input`.
///
/// # Safety
/// `input` must hold the elements of all blocks, and `output` have room for one's own.
pub unsafe fn run(
    link: &impl Link,
    layout: &Layout,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    block: impl Fn(usize) -> (i64, i64),
) -> Result<()> {
    let here = Part::node(link, layout);
    let leaders = layout.leaders(None);
    let total = (0..link.size()).map(|rank| block(rank).1).sum();
    let own = operand.elements(output, block(link.rank()).1);
    // SAFETY: the caller's promise; the scratch areas have room for the elements that they are made for.
    unsafe {
        let Some(among) = Part::of(link, &leaders) else {
            reduce::run(&here, operand, input, output, total, 0)?;
            return rooted::run_v(&here, Direction::FromRoot, Some(own), |_| None, Root::Rank(0));
        };
        let partial = operand.scratch(link, total)?;
        reduce::run(&here, operand, input, partial.elements, total, 0)?;
        let in_order = operand.scratch(link, total)?;
        let mut next = 0;
        for rank in layout.by_node() {
            let (start, count) = block(rank);
            let to = operand.at(in_order.elements, next);
            operand.copy(link, operand.at(partial.elements, start), to, count)?;
            next += count;
        }
        let count_of = |ranks: &[u32]| ranks.iter().map(|&rank| block(rank as usize).1).sum::<i64>();
        let counts: Vec<i64> = layout.nodes().map(count_of).collect();
        let ranks = layout.node(layout.node_of(link.rank()));
        let share = operand.scratch(link, count_of(ranks))?;
        super::run(&among, operand, in_order.elements, share.elements, &counts)?;
        let of = |place: usize| {
            let start = operand.at(share.elements, count_of(&ranks[..place]));
            Some(operand.elements(start, block(ranks[place] as usize).1))
        };
        rooted::run_v(&here, Direction::FromRoot, Some(own), of, Root::Rank(0))
    }
}
