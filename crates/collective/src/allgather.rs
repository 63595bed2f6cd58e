//! `MPI_Allgather` and `MPI_Allgatherv` (MPI-5.0 §6.7).

mod bruck;
mod direct;
mod inter;
mod nodes;
mod ring;
mod shared;
mod shared_direct;

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::Elements;
use crate::select::{Allgather, Allgatherv, Case, Traits, choose};

/// `one` is where the block of rank 0 belongs; the others follow.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run(link: &impl Link, own: Option<Elements<'_>>, one: Elements<'_>) -> Result<()> {
    let block = |rank: usize| one.nth(rank);
    // SAFETY: the caller's promise.
    unsafe {
        if link.remote_size() > 0 {
            return inter::run(link, own, block);
        }
        match choose(&Case::on(link, one.bytes(), Traits::NONE))? {
            Allgather::Shared => shared::run(link.board(), own, block).await,
            Allgather::SharedDirect => shared_direct::run(link.board(), own, block).await,
            Allgather::Nodes => nodes::run(link, link.map(), own, one),
            Allgather::Ring => ring::run(link, own, block),
            Allgather::Bruck => bruck::run(link, own, one),
            Allgather::Direct => direct::run(link, own, block),
        }
    }
}

/// `block` says where a rank's block belongs.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run_v<'a>(
    link: &impl Link,
    own: Option<Elements<'a>>,
    block: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        if link.remote_size() > 0 {
            return inter::run(link, own, block);
        }
        let bytes = (0..link.size()).map(|rank| block(rank).bytes()).sum();
        match choose(&Case::on(link, bytes, Traits::NONE))? {
            Allgatherv::Shared => shared::run(link.board(), own, block).await,
            Allgatherv::SharedDirect => shared_direct::run(link.board(), own, block).await,
            Allgatherv::Ring => ring::run(link, own, block),
            Allgatherv::Direct => direct::run(link, own, block),
        }
    }
}
