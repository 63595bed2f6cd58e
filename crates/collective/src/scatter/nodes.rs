//! The root sends the blocks of each node together to one of its ranks, which hands them out.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008). Cost: a message for each
//! other node at the root, and a scatter in each node; blocks for other nodes are copied once more at both ends.
//! Preconditions: several nodes, known to all; blocks of one length.

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::part::{Blocks, Part};
use crate::root::Root;

/// # Safety
/// `own` must be writable, and the blocks readable.
pub unsafe fn run<'a>(
    link: &impl Link,
    layout: &Layout,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: usize,
) -> Result<()> {
    let here = Part::node(link, layout);
    let leader = Root::Rank(layout.index_of_leader(link.rank(), Some(root)));
    let leaders = layout.leaders(Some(root));
    let home = layout.node_of(root);
    let len = block(root).or(own).map_or(0, Elements::bytes);
    // SAFETY: the caller's promise; there is room for the blocks of all nodes that leave from here.
    unsafe {
        let Some(among) = Part::of(link, &leaders) else {
            let none: Blocks<'_, '_> = &|_| None;
            return super::run(&here, own, none, leader);
        };
        if link.rank() != root {
            let ranks = here.size();
            let mut memory = link.memory(ranks * len)?;
            let blocks = memory.start();
            let all = elements::bytes(blocks, ranks * len);
            super::run_v(&among, Some(all), |_| None, Root::Rank(home))?;
            let held: Blocks<'_, '_> = &|place| Some(elements::bytes(blocks.wrapping_add(place * len), len));
            return super::run(&here, own, held, leader);
        }
        let mut memory = link.memory(link.size() * len)?;
        let blocks = memory.start();
        let at = |place: usize| blocks.wrapping_add(place * len);
        for (place, rank) in layout.by_node().enumerate() {
            if let Some(block) = block(rank).filter(|_| layout.node_of(rank) != home) {
                link.pack(block, at(place));
            }
        }
        let of_node = |node: usize| elements::bytes(at(layout.start_of(node)), layout.node(node).len() * len);
        let to = |node: usize| (node != home).then(|| of_node(node));
        super::run_v(&among, None, to, Root::Rank(home))?;
        let here_at: Blocks<'_, '_> = &|place| block(layout.node(home)[place] as usize);
        super::run(&here, own, here_at, leader)
    }
}
