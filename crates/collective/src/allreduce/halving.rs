//! Each round halves what a rank is responsible for, and combines it with what the rank has that differs in the next bit;
//! the way back puts the halves together again.
//!
//! Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; Thakur, Rabenseifner, Gropp,
//! "Optimization of collective communication operations in MPICH", 2005. Near ranks come first, so that operands stay in
//! the order of ranks, whatever the operation.
//! Cost: 2 log2 p rounds, 2 n (p - 1) / p bytes and n (p - 1) / p operations; two more rounds of n if p is no power of two.
//! Preconditions: none. Any number of ranks, any operation.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::reduction::halving::Halves;

/// # Safety
/// `input` must hold `count` elements and `output` have room for them; they are the same or do not overlap.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    let halves = Halves::of(link, count);
    let (first, second) = (operand.scratch(link, count)?, operand.scratch(link, count)?);
    let areas = (first.elements, second.elements);
    // SAFETY: the caller's promise; the areas have room for all elements.
    unsafe {
        let have = halves.combine(link, operand, input, areas)?;
        if let Some(place) = halves.place {
            for (bit, own, other) in halves.rounds(place).into_iter().rev() {
                let (at, count) = other.area(operand, have);
                let (from, sent) = own.area(operand, have);
                let with = halves.rank_of(place ^ bit);
                operand.transfer(link, &[(with, at, count)], &[(with, from.cast_const(), sent)])?;
            }
        }
        halves.tell_the_idle(link, operand, have, count)?;
        operand.copy(link, have, output, count)
    }
}
