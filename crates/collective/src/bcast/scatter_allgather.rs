//! The root scatters the message along a binomial tree, and everyone gathers it around a ring.
//!
//! Source: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts, "Interprocessor collective communication library", 1994;
//! Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: ceil(log2 p) + p - 1 rounds; about 2 n bytes in and out at each rank, whatever p.
//! Preconditions: none. Any number of ranks.

use crate::error::Result;
use crate::link::{Incoming, Link, Outgoing};

/// # Safety
/// `data` must be readable and, but at the root, writable for `len` bytes.
pub unsafe fn run(link: &impl Link, data: *mut u8, len: usize, root: usize) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let place = (rank + size - root) % size;
    let rank_of = |place: usize| (place + root) % size;
    // Where the block of a place begins.
    let start = |place: usize| (len as u128 * place as u128 / size as u128) as usize;
    let part = |first: usize, last: usize| (data.wrapping_add(start(first)), start(last) - start(first));
    // Our part of the tree: the places from ours on, before this distance.
    let count = match place {
        0 => size.next_power_of_two(),
        place => 1 << place.trailing_zeros(),
    };
    // SAFETY: the caller's promise; blocks lie within the message.
    unsafe {
        if place > 0 {
            let (into, len) = part(place, (place + count).min(size));
            let from = rank_of(place - count);
            link.transfer(&[Incoming { from, into, len }], &[])?;
        }
        let mut children: Vec<Outgoing> = Vec::new();
        let mut distance = count / 2;
        while distance > 0 {
            let child = place + distance;
            if child < size {
                let (data, len) = part(child, (child + distance).min(size));
                let to = rank_of(child);
                children.push(Outgoing { to, data, len });
            }
            distance /= 2;
        }
        link.transfer(&[], &children)?;
        for step in 0..size - 1 {
            let (mine, theirs) = ((place + size - step) % size, (place + 2 * size - step - 1) % size);
            let (data, len) = part(mine, mine + 1);
            let outgoing = Outgoing {
                to: rank_of((place + 1) % size),
                data,
                len,
            };
            let (into, len) = part(theirs, theirs + 1);
            let incoming = Incoming {
                from: rank_of((place + size - 1) % size),
                into,
                len,
            };
            link.transfer(&[incoming], &[outgoing])?;
        }
    }
    Ok(())
}
