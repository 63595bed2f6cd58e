//! Each node gathers its blocks at one of its ranks, these exchange them, and tell their nodes.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008). Cost: a gather in each node,
//! an all-gather among nodes, and a broadcast of all blocks in each node. Preconditions: several nodes, known to all, and all
//! ranks of a node before those of the next; blocks of one length.

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::elements::Elements;
use crate::part::Part;
use crate::root::{Direction, Root};
use crate::{bcast, rooted};

/// `one` is where the block of rank 0 belongs; the others follow.
///
/// # Safety
/// `own` must be readable, and the blocks writable.
pub unsafe fn run(link: &impl Link, layout: &Layout, own: Option<Elements<'_>>, one: Elements<'_>) -> Result<()> {
    let here = Part::node(link, layout);
    let leaders = layout.leaders(None);
    let blocks = |first: usize, count: usize| one.at(first as i64 * one.count, count as i64 * one.count);
    let of_node = |node: usize| blocks(leaders[node] as usize, layout.node(node).len());
    let first = leaders[layout.node_of(link.rank())] as usize;
    // SAFETY: the caller's promise.
    unsafe {
        match Part::of(link, &leaders) {
            None => {
                let own = own.unwrap_or_else(|| one.nth(link.rank()));
                rooted::run(&here, Direction::ToRoot, Some(own), |_| None, Root::Rank(0))?;
            }
            Some(among) => {
                rooted::run(
                    &here,
                    Direction::ToRoot,
                    own,
                    |place| Some(one.nth(first + place)),
                    Root::Rank(0),
                )?;
                super::run_v(&among, None, of_node)?;
            }
        }
        bcast::run(&here, blocks(0, link.size()), 0)
    }
}
