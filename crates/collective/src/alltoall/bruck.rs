//! In round k everyone sends all blocks that have bit k of their way still before them to the rank 2^k after.
//!
//! Source: Bruck, Ho, Kipnis, Upfal, Weathersby, IEEE TPDS 8(11), 1997.
//! Cost: ceil(log2 p) rounds of half of all blocks; each block is copied log p times, so this is for tiny blocks.
//! Preconditions: blocks of one length. Any number of ranks.

use crate::error::Result;
use crate::link::elements::{self, Elements};
use crate::link::{Incoming, Link, Outgoing};

/// # Safety
/// What `from` says must be readable, what `to` says writable.
pub unsafe fn run<'a>(
    link: &impl Link,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    let (rank, size) = (link.rank(), link.size());
    let len = to(rank).bytes();
    let (mut blocks, mut out, mut heard) = (
        link.memory(size * len)?,
        link.memory(size * len)?,
        link.memory(size * len)?,
    );
    let (blocks, out, heard) = (blocks.start(), out.start(), heard.start());
    let block = |index: usize| blocks.wrapping_add(index * len);
    // SAFETY: the caller's promise; there is room for a block of each rank.
    unsafe {
        // First by how far they have to go, at last by how far they have come.
        for distance in 0..size {
            let from = from((rank + distance) % size);
            if from.bytes() != len {
                link.mismatch(rank, from.bytes(), len);
                return Ok(());
            }
            link.pack(from, block(distance));
        }
        let mut bit = 1;
        while bit < size {
            let moving = || (0..size).filter(|distance| distance & bit != 0).enumerate();
            for (index, distance) in moving() {
                link.pack(elements::bytes(block(distance), len), out.add(index * len));
            }
            let len_of_all = moving().count() * len;
            let incoming = Incoming {
                from: (rank + size - bit) % size,
                into: heard,
                len: len_of_all,
            };
            let outgoing = Outgoing {
                to: (rank + bit) % size,
                data: out,
                len: len_of_all,
            };
            link.transfer(&[incoming], &[outgoing])?;
            for (index, distance) in moving() {
                link.pack(elements::bytes(heard.add(index * len), len), block(distance));
            }
            bit *= 2;
        }
        for distance in 0..size {
            link.unpack(block(distance), len, to((rank + size - distance) % size));
        }
    }
    Ok(())
}
