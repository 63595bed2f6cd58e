//! Each rank combines one slice of everyone's elements, straight from shared memory, and shows the result to all.
//!
//! Source: the two-level shared-memory all-reduce of Open MPI's acoll, on copies in shared memory; the reduce-scatter and
//! all-gather of Rabenseifner, 2004. Cost: about 2 n bytes in and 2 n out at each rank, and n (p - 1) / p combined,
//! whatever p; two steps per segment.
//! Preconditions: a board; elements without gaps, at least one for each rank.

use isthmus_twice::twice;

use crate::error::Result;
use crate::link::operand::Operand;
use crate::reduce::shared_sliced;
use crate::shared::Access;

/// `output` may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and `output` have room for them.
#[twice]
#[inline]
pub async unsafe fn run(
    access: &Access<'_>,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { shared_sliced::run(access, operand, input, output, count, None).await }
}
