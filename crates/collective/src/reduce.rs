//! `MPI_Reduce` (MPI-5.0 §6.9.1).

pub(crate) mod binomial;
mod halving;
pub(crate) mod inter;
pub(crate) mod linear;
mod nodes;
mod ring;
mod shared;
mod shared_direct;
pub(crate) mod shared_sliced;
mod shared_two_level;

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::root::Root;
use crate::select::{Case, Reduce, choose};

/// As [`run`], with a root that may be in the other group.
///
/// # Safety
/// As for the procedure: what goes out must be readable and what comes in writable where the elements lie.
#[twice]
pub async unsafe fn run_at(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: Root,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match root {
            Root::Rank(root) => run(link, operand, input, output, count, root).await,
            _ => inter::run(link, operand, input, output, count, root),
        }
    }
}

/// `output` matters at the root, and may be `input`.
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
    root: usize,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe {
        match choose(&Case::of(operand, link, count))? {
            Reduce::Shared => shared::run(link.board(), operand, input, output, count, root).await,
            Reduce::SharedDirect => shared_direct::run(link.board(), operand, input, output, count, root).await,
            Reduce::SharedSliced => shared_sliced::run(link.board(), operand, input, output, count, Some(root)).await,
            Reduce::SharedTwoLevel => {
                shared_two_level::run(link.board(), link.map(), operand, input, output, count, root).await
            }
            Reduce::Linear => linear::run(link, operand, input, output, count, root),
            Reduce::Nodes => nodes::run(link, link.map(), operand, input, output, count, root),
            Reduce::Halving => halving::run(link, operand, input, output, count, root),
            Reduce::Ring => ring::run(link, operand, input, output, count, root),
            Reduce::Binomial => binomial::run(link, operand, input, output, count, root),
        }
    }
}
