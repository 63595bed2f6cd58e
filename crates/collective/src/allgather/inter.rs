//! On an intercommunicator: everyone sends its block to everyone of the other group, all at once, beginning with the rank
//! like its own.
//!
//! Source: [`direct`](super::direct), between two groups. Cost: one message of a block per rank of the other group, one round.
//! Preconditions: an intercommunicator. Any number of ranks, any sizes.

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements, Packed};

/// # Safety
/// `own` must be readable, and the blocks writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, remote) = (link.rank(), link.remote_size());
    let others = || (0..remote).map(|i| (rank + i) % remote);
    let receives = others().map(|from| (link.across(from), block(from)));
    // SAFETY: the caller's promise. Packed once for all.
    unsafe {
        let packed = own.map(|own| Packed::of(link, own)).transpose()?;
        let sends = others().filter_map(|to| Some((link.across(to), packed.as_ref()?.bytes())));
        elements::transfer(link, receives, sends)
    }
}
