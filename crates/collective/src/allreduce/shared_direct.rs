//! Everyone combines everyone's elements, straight out of their memory.
//!
//! Source: the flat form of the shared-memory all-reduce of Graham, Shipman, EuroPVM/MPI 2008, by direct reads (Chakraborty, Subramoni,
//! Panda, CLUSTER 2017). Cost: (p - 1) n bytes by single copies and combined at each rank, while they are in its nearest cache; two
//! steps, in each of which all wait for all.
//! Preconditions: a board, single copies between all; elements without gaps; no user's operation.

use isthmus_twice::twice;

use super::shared_flat;
use crate::error::Result;
use crate::link::operand::Operand;
use crate::shared::Access;

/// `output` may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and `output` have room for them.
#[twice]
pub async unsafe fn run(
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        match access
            .combine_remote(operand, input, count, Some((0, count)), output)
            .await?
        {
            true => Ok(()),
            false => shared_flat::run(access, operand, input, output, count).await,
        }
    }
}
