//! The root combines everyone's elements, straight out of their memory.
//!
//! Source: the flat form of the shared-memory reduce of Graham, Shipman, EuroPVM/MPI 2008, by direct reads (Chakraborty, Subramoni, Panda,
//! CLUSTER 2017). Cost: (p - 1) n bytes by single copies and combined at the root, while they are in its nearest cache; two steps. All
//! wait for the root.
//! Preconditions: a board, single copies between all; elements without gaps; no user's operation.

use isthmus_twice::twice;

use super::shared;
use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;

/// `output` matters at the root, and may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and, at the root, `output` have room for them.
#[twice]
pub async unsafe fn run(
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: usize,
) -> Result<()> {
    let share = (access.rank() == root).then_some((0, count));
    // SAFETY: the caller's promise.
    unsafe {
        match access.combine_remote(operand, input, count, share, output).await? {
            true => Ok(()),
            false => shared::run(access, operand, input, output, count, root).await,
        }
    }
}
