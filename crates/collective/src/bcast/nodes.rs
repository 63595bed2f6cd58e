//! The root sends to one rank of each node, which sends to the others of its node.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008). Cost: a broadcast among
//! nodes, and one in each node. Preconditions: several nodes, known to all.

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::elements::Elements;
use crate::part::Part;

/// # Safety
/// The elements must be readable at the root, and writable elsewhere.
pub unsafe fn run(link: &impl Link, layout: &Layout, elements: Elements<'_>, root: usize) -> Result<()> {
    let leaders = layout.leaders(Some(root));
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(leaders) = Part::of(link, &leaders) {
            super::run(&leaders, elements, layout.node_of(root))?;
        }
        super::run(
            &Part::node(link, layout),
            elements,
            layout.index_of_leader(link.rank(), Some(root)),
        )
    }
}
