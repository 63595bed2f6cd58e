//! Each node gathers what its ranks send at one of them, these exchange what is for each other's nodes, and hand it out.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008); for short blocks, as in
//! Kumar, Sabharwal, Garg, Heidelberger, "Optimization of all-to-all communication on the Blue Gene/L", ICPP 2008. Cost: a
//! gather and a scatter of p blocks a rank in each node, one message between any two nodes; a block is copied four times
//! more. Preconditions: several nodes, known to all; blocks of one length.

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::part::Part;
use crate::root::{Direction, Root};
use crate::rooted;

/// # Safety
/// What `from` says must be readable, what `to` says writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    layout: &Layout,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let here = Part::node(link, layout);
    let leaders = layout.leaders(None);
    let leader = Root::Rank(0);
    let (size, len) = (link.size(), to(link.rank()).bytes());
    let row = size * len;
    // Blocks of a rank stand in the order of nodes.
    let mut own = link.memory(row)?;
    let own = own.start();
    let at = |start: *mut u8, block: usize| start.wrapping_add(block * len);
    let rows = |start: *mut u8| move |place: usize| Some(elements::bytes(start.wrapping_add(place * row), row));
    let own_row = elements::bytes(own, row);
    // SAFETY: the caller's promise; each region has room for the blocks that go through it.
    unsafe {
        for (place, rank) in layout.by_node().enumerate() {
            link.pack(from(rank), at(own, place));
        }
        match Part::of(link, &leaders) {
            None => {
                rooted::run(&here, Direction::ToRoot, Some(own_row), |_| None, leader)?;
                rooted::run(&here, Direction::FromRoot, Some(own_row), |_| None, leader)?;
            }
            Some(among) => {
                let ours = here.size();
                let (mut first, mut second) = (link.memory(ours * row)?, link.memory(ours * row)?);
                let (by_rank, by_node) = (first.start(), second.start());
                rooted::run(&here, Direction::ToRoot, Some(own_row), rows(by_rank), leader)?;
                let sizes = layout.nodes().map(<[u32]>::len).enumerate();
                let with_starts = || sizes.clone().map(|(node, theirs)| (layout.start_of(node), theirs));
                for (start, theirs) in with_starts() {
                    for place in 0..ours {
                        let blocks = elements::bytes(at(by_rank, place * size + start), theirs * len);
                        link.pack(blocks, at(by_node, start * ours + place * theirs));
                    }
                }
                let of_node = |memory: *mut u8| {
                    move |node: usize| {
                        let blocks = layout.node(node).len() * ours;
                        elements::bytes(at(memory, layout.start_of(node) * ours), blocks * len)
                    }
                };
                super::run_v(&among, of_node(by_node), of_node(by_rank))?;
                for (start, theirs) in with_starts() {
                    for (sender, place) in (0..theirs).flat_map(|sender| (0..ours).map(move |place| (sender, place))) {
                        let block = elements::bytes(at(by_rank, start * ours + sender * ours + place), len);
                        link.pack(block, at(by_node, place * size + start + sender));
                    }
                }
                rooted::run(&here, Direction::FromRoot, Some(own_row), rows(by_node), leader)?;
            }
        }
        for (place, rank) in layout.by_node().enumerate() {
            link.unpack(at(own, place), len, to(rank));
        }
    }
    Ok(())
}
