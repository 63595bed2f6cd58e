//! Binomial tree: a rank that has the data sends it on, farthest rank first.
//!
//! Source: folklore; Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: ceil(log2 p) rounds of n bytes; p - 1 messages, so no byte crosses more often than it must.
//! Preconditions: none. Any number of ranks. Scatter and all-gather, which halves the time of the last rank on a network, moves
//! each byte twice: on one node memory is what all ranks share, and it loses.

use crate::error::Result;
use crate::link::{Incoming, Link, Outgoing};

/// The root's part.
///
/// # Safety
/// `data` must be readable for `len` bytes.
pub unsafe fn send(link: &impl Link, data: *const u8, len: usize, root: usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { forward(link, data, len, root, link.size().next_power_of_two()) }
}

/// Everyone else's.
///
/// # Safety
/// `data` must be readable and writable for `len` bytes.
pub unsafe fn receive(link: &impl Link, data: *mut u8, len: usize, root: usize) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let place = (rank + size - root) % size;
    let lowest_bit = 1 << place.trailing_zeros();
    let incoming = Incoming {
        from: (place - lowest_bit + root) % size,
        into: data,
        len,
    };
    // SAFETY: the caller's promise.
    unsafe {
        link.transfer(&[incoming], &[])?;
        forward(link, data, len, root, lowest_bit)
    }
}

/// Send to those whose place is ours plus a power of two below `limit`.
///
/// # Safety
/// As for [`send`].
unsafe fn forward(link: &impl Link, data: *const u8, len: usize, root: usize, limit: usize) -> Result<()> {
    let size = link.size();
    let place = (link.rank() + size - root) % size;
    let mut children: Vec<Outgoing> = Vec::new();
    let mut distance = limit / 2;
    while distance > 0 {
        if place + distance < size {
            let to = (place + distance + root) % size;
            children.push(Outgoing { to, data, len });
        }
        distance /= 2;
    }
    if children.is_empty() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { link.transfer(&[], &children) }
}
