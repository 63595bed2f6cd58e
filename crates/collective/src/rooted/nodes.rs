//! Blocks move between the ranks of a node and one of them, its leader, and the blocks of a node together between its leader and the root.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008). Cost: a gather or scatter in each node,
//! and a message for each other node at the root; blocks of other nodes are copied once more at both ends. Preconditions: several
//! nodes, known to all; blocks of one length.

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::part::{Blocks, Part};
use crate::root::{Direction, Root};

/// # Safety
/// As for a call with a [root](super::run).
pub unsafe fn run<'a>(
    link: &impl Link,
    layout: &Layout,
    direction: Direction,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: usize,
) -> Result<()> {
    let here = Part::node(link, layout);
    let leader = Root::Rank(layout.index_of_leader(link.rank(), Some(root)));
    let leaders = layout.leaders(Some(root));
    let home = layout.node_of(root);
    let len = block(root).or(own).map_or(0, Elements::bytes);
    // SAFETY: the caller's promise; there is room for the blocks of all nodes that come to or leave from here.
    unsafe {
        let within = |blocks: Blocks<'_, 'a>| super::run(&here, direction, own, blocks, leader);
        let Some(among) = Part::of(link, &leaders) else {
            return within(&|_| None);
        };
        let is_root = link.rank() == root;
        let ranks = if is_root { link.size() } else { here.size() };
        let mut memory = link.memory(ranks * len)?;
        let blocks = memory.start();
        let at = |place: usize| blocks.wrapping_add(place * len);
        if !is_root {
            let all = elements::bytes(blocks, ranks * len);
            let among = || super::run_v(&among, direction, Some(all), |_| None, Root::Rank(home));
            let within = || within(&|place| Some(elements::bytes(at(place), len)));
            return match direction {
                Direction::ToRoot => within().and_then(|()| among()),
                Direction::FromRoot => among().and_then(|()| within()),
            };
        }
        let of_node = |node: usize| elements::bytes(at(layout.start_of(node)), layout.node(node).len() * len);
        let of_others = |node: usize| (node != home).then(|| of_node(node));
        let among = || super::run_v(&among, direction, None, of_others, Root::Rank(home));
        let within = || within(&|place| block(layout.node(home)[place] as usize));
        let elsewhere = layout
            .by_node()
            .enumerate()
            .filter(|(_, rank)| layout.node_of(*rank) != home);
        let others = elsewhere.filter_map(|(place, rank)| Some((block(rank)?, at(place))));
        match direction {
            Direction::ToRoot => {
                within()?;
                among()?;
                others.for_each(|(block, at)| link.unpack(at, len, block));
                Ok(())
            }
            Direction::FromRoot => {
                others.for_each(|(block, at)| link.pack(block, at));
                among()?;
                within()
            }
        }
    }
}
