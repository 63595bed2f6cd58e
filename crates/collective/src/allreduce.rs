//! `MPI_Allreduce` (MPI-5.0 §6.9.6).

mod direct;
pub(crate) mod halving;
mod inter;
mod linear;
mod nodes;
mod recursive_doubling;
pub(crate) mod ring;
mod shared_direct;
mod shared_flat;
mod shared_sliced;
mod shared_two_level;
mod sliced;

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::select::{Allreduce, Case, choose};

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
    count: i64,
) -> Result<()> {
    // SAFETY: the caller's promise; scratch areas have room for all elements.
    unsafe {
        if link.remote_size() > 0 {
            return inter::run(link, operand, input, output, count);
        }
        if count == 0 || link.size() == 1 {
            return operand.copy(link, input, output, count);
        }
        match choose(&Case::of(operand, link, count))? {
            Allreduce::SharedFlat => shared_flat::run(link.board(), operand, input, output, count).await,
            Allreduce::SharedSliced => shared_sliced::run(link.board(), operand, input, output, count).await,
            Allreduce::SharedDirect => shared_direct::run(link.board(), operand, input, output, count).await,
            Allreduce::SharedTwoLevel => {
                shared_two_level::run(link.board(), link.map(), operand, input, output, count).await
            }
            Allreduce::Nodes => nodes::run(link, link.map(), operand, input, output, count),
            Allreduce::Halving => halving::run(link, operand, input, output, count),
            Allreduce::Ring => ring::run(link, operand, input, output, count),
            Allreduce::Direct => direct::run(link, operand, input, output, count),
            Allreduce::Linear => linear::run(link, operand, input, output, count),
            Allreduce::Sliced => sliced::run(link, operand, input, output, count),
            Allreduce::RecursiveDoubling => recursive_doubling::run(link, operand, input, output, count),
        }
    }
}
