//! On an intercommunicator: everyone sends to everyone of the other group, all at once, beginning with the rank like its own.
//!
//! Source: [`direct`](super::direct), between two groups. Cost: one message of a block per rank of the other group, one round.
//! Preconditions: an intercommunicator. Any number of ranks, any sizes.

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};

/// # Safety
/// What `from` says must be readable, what `to` says writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, remote) = (link.rank(), link.remote_size());
    let others = || (0..remote).map(|i| (rank + i) % remote);
    let receives = others().map(|other| (link.across(other), to(other)));
    let sends = others().map(|other| (link.across(other), from(other)));
    // SAFETY: the caller's promise.
    unsafe { elements::transfer(link, receives, sends) }
}
