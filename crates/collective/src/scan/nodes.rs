//! Each node reduces to one of its ranks, these combine those of the nodes before theirs, and the ranks of each node put that
//! before what they find among themselves.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008). Cost: a reduction, a scan and
//! a broadcast in each node, a scan among nodes, and one operation more at each rank. Preconditions: several nodes, known to
//! all, and all ranks of a node before those of the next. The result depends on which ranks share a node.

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
    inclusive: bool,
) -> Result<()> {
    let here = Part::node(link, layout);
    let leaders = layout.leaders(None);
    let before = operand.scratch(link, count)?;
    // SAFETY: the caller's promise; the scratch areas have room for all elements.
    unsafe {
        match Part::of(link, &leaders) {
            None => reduce::run(&here, operand, input, before.elements, count, 0)?,
            Some(among) => {
                let own = operand.scratch(link, count)?;
                reduce::run(&here, operand, input, own.elements, count, 0)?;
                super::run(&among, operand, own.elements, before.elements, count, false)?;
            }
        }
        super::run(&here, operand, input, output, count, inclusive)?;
        if layout.node_of(link.rank()) == 0 {
            return Ok(());
        }
        bcast::run(&here, operand.elements(before.elements, count), 0)?;
        match inclusive || here.rank() > 0 {
            true => operand.apply(link, before.elements, output, count),
            false => operand.copy(link, before.elements, output, count)?,
        }
    }
    Ok(())
}
