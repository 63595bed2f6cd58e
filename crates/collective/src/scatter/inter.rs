//! On an intercommunicator: the root sends each of the other group its block, all at once.
//!
//! Source: [`linear`](super::linear), between two groups. Cost: one message of a block per rank of the other group, one round.
//! Preconditions: an intercommunicator. Any number of ranks, any sizes.

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::root::Root;

/// # Safety
/// `own` must be writable, and the blocks readable.
pub unsafe fn run<'a>(
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Option<Elements<'a>>,
    root: Root,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match root {
            Root::Here => {
                let blocks = (0..link.remote_size()).filter_map(|rank| Some((link.across(rank), block(rank)?)));
                elements::transfer(link, [], blocks)
            }
            Root::There(root) => elements::transfer(link, own.map(|own| (link.across(root), own)), []),
            _ => Ok(()),
        }
    }
}
