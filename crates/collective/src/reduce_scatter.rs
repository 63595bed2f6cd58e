//! `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block` (MPI-5.0 §6.10).

pub(crate) mod direct;
mod halving;
mod inter;
mod linear;
mod nodes;
mod pairwise;
mod shared;
mod shared_direct;

use isthmus_twice::twice;
use smallvec::SmallVec;

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::select::{Case, ReduceScatter, choose};

/// Ranks whose blocks are listed on the stack.
pub const FEW: usize = 16;

/// `output` may be `input`.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    counts: &[i64],
) -> Result<()> {
    let starts: SmallVec<[i64; FEW]> = counts
        .iter()
        .scan(0, |next, count| Some(std::mem::replace(next, *next + count)))
        .collect();
    // SAFETY: the caller's promise.
    unsafe {
        let block = |rank: usize| (starts[rank], counts[rank]);
        if link.remote_size() > 0 {
            return inter::run(link, operand, input, output, block);
        }
        match choose(&Case::of(
            operand,
            link,
            starts[link.size() - 1] + counts[link.size() - 1],
        ))? {
            ReduceScatter::Nodes => nodes::run(link, link.map(), operand, input, output, block),
            ReduceScatter::Shared => shared::run(link.board(), operand, input, output, block).await,
            ReduceScatter::SharedDirect => shared_direct::run(link.board(), operand, input, output, block).await,
            ReduceScatter::Halving => halving::run(link, operand, input, output, block),
            ReduceScatter::Pairwise => pairwise::run(link, operand, input, output, block),
            ReduceScatter::Linear => linear::run(link, operand, input, output, block),
            ReduceScatter::Direct => direct::run(link, operand, input, output, block),
        }
    }
}
