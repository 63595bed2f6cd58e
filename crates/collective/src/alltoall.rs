//! `MPI_Alltoall`, `MPI_Alltoallv`, `MPI_Alltoallw` (MPI-5.0 §6.8).

mod bruck;
mod direct;
mod inter;
mod nodes;
mod pairwise;
mod shared;
mod shared_direct;
mod shared_morton;

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::elements::{self, Elements};
use crate::select::{Alltoall, Alltoallv, Case, Traits, choose};

/// `from` says what goes to a rank, `to` where its block belongs. Blocks are of one length.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run<'a>(
    link: &impl Link,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        if link.remote_size() > 0 {
            return inter::run(link, from, to);
        }
        match choose(&Case::on(link, to(0).bytes(), Traits::COMMUTATIVE))? {
            Alltoall::Nodes => nodes::run(link, link.map(), from, to),
            Alltoall::Shared => shared::run(link.board(), from, to).await,
            Alltoall::SharedDirect => shared_direct::run(link.board(), from, to).await,
            Alltoall::SharedMorton => shared_morton::run(link.board(), from, to).await,
            Alltoall::Bruck => bruck::run(link, from, to),
            Alltoall::Pairwise => pairwise::run(link, from, to),
            Alltoall::Direct => direct::run(link, from, to),
        }
    }
}

/// As [`run`], with blocks of any lengths.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run_v<'a>(
    link: &impl Link,
    from: impl Fn(usize) -> Elements<'a>,
    to: impl Fn(usize) -> Elements<'a>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        if link.remote_size() > 0 {
            return inter::run(link, from, to);
        }
        match choose(&Case::on(link, 0, Traits::COMMUTATIVE))? {
            Alltoallv::Shared => shared::run(link.board(), from, to).await,
            Alltoallv::SharedDirect => shared_direct::run(link.board(), from, to).await,
            Alltoallv::Pairwise => pairwise::run(link, from, to),
            Alltoallv::Direct => direct::run(link, from, to),
        }
    }
}

/// The data for a rank lies where that rank's block belongs: a copy of it is sent.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run_in_place<'a>(
    link: &impl Link,
    to: impl Fn(usize) -> Elements<'a>,
    of_one_length: bool,
) -> Result<()> {
    let mut ends = vec![0];
    for rank in 0..link.size() {
        ends.push(ends[rank] + to(rank).bytes());
    }
    let mut memory = link.memory(ends[link.size()])?;
    let copies = memory.start();
    for (rank, end) in ends.iter().enumerate().take(link.size()) {
        // SAFETY: the caller's promise; there is room for all.
        unsafe {
            match link.shared() {
                Some(access) => access.pack(to(rank), copies.add(*end)),
                None => link.pack(to(rank), copies.add(*end)),
            }
        }
    }
    let from = |rank: usize| elements::bytes(copies.wrapping_add(ends[rank]), ends[rank + 1] - ends[rank]);
    // SAFETY: the caller's promise; the copies live until the end of this function.
    unsafe {
        match of_one_length {
            true => run(link, from, to).await,
            false => run_v(link, from, to).await,
        }
    }
}
