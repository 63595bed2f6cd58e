//! The ranks of each node wait for one another, one of each node for those of the others, and the rest for that one.
//!
//! Source: the two levels of every library that spans nodes (Graham, Shipman, EuroPVM/MPI 2008). Cost: a barrier in a node,
//! one among nodes, and a broadcast of nothing. Preconditions: several nodes, known to all.

use crate::bcast::binomial;
use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::part::Part;

pub fn run(link: &impl Link, layout: &Layout) -> Result<()> {
    let here = Part::node(link, layout);
    super::run(&here)?;
    let leaders = layout.leaders(None);
    if let Some(leaders) = Part::of(link, &leaders) {
        super::run(&leaders)?;
        // SAFETY: there are no bytes.
        return unsafe { binomial::send(&here, std::ptr::dangling(), 0, 0) };
    }
    // SAFETY: there are no bytes.
    unsafe { binomial::receive(&here, std::ptr::dangling_mut(), 0, 0) }
}
