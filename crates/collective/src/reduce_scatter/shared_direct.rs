//! Everyone combines its own block of everyone's elements, straight out of their memory.
//!
//! Source: the pairwise exchange of Thakur, Rabenseifner, Gropp, 2005, by direct reads (Chakraborty, Subramoni, Panda, CLUSTER 2017).
//! Cost: (p - 1) n / p bytes by single copies and combined at each rank, while they are in its nearest cache; two steps, in each of
//! which all wait for all.
//! Preconditions: a board, single copies between all; elements without gaps; no user's operation. Blocks of any lengths, which all ranks
//! know.

use isthmus_twice::twice;

use super::shared;
use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;

/// `block` says where a rank's block lies in `input`: (first element, number of elements).
///
/// # Safety
/// `input` must hold all blocks, `output` have room for the own one. `output` may lie in `input`.
#[twice]
pub async unsafe fn run(
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    block: impl Fn(usize) -> (i64, i64),
) -> Result<()> {
    let (first, count) = block(access.size() - 1);
    let own = Some(block(access.rank()));
    // SAFETY: the caller's promise.
    unsafe {
        match access
            .combine_remote(operand, input, first + count, own, output)
            .await?
        {
            true => Ok(()),
            false => shared::run(access, operand, input, output, block).await,
        }
    }
}
