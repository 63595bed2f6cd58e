//! Each round halves what a rank is responsible for, and combines it with what the rank has that differs in the next bit;
//! then the parts come together at the root, as the branches of a tree do.
//!
//! Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; Thakur, Rabenseifner, Gropp,
//! "Optimization of collective communication operations in MPICH", 2005.
//! Cost: 2 log2 p rounds, 2 n (p - 1) / p bytes and n (p - 1) / p operations; one more round of n, and perhaps two, if p
//! is no power of two. Preconditions: none. Any number of ranks, any operation.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::reduction::halving::Halves;

/// `output` matters at the root, and may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and, at the root, `output` have room for them.
pub unsafe fn run(
    link: &impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: usize,
) -> Result<()> {
    let halves = Halves::of(link, count);
    let (first, second) = (operand.scratch(link, count)?, operand.scratch(link, count)?);
    let areas = (first.elements, second.elements);
    let top = halves.place_for(root);
    let stands_for_root = halves.rank_of(top);
    // SAFETY: the caller's promise; the areas have room for all elements.
    unsafe {
        let have = halves.combine(link, operand, input, areas)?;
        if let Some(place) = halves.place {
            for (bit, own, other) in halves.rounds(place).into_iter().rev() {
                let with = halves.rank_of(place ^ bit);
                if place & bit != top & bit {
                    let (from, sent) = own.area(operand, have);
                    operand.send(link, with, from, sent)?;
                    break;
                }
                let (at, count) = other.area(operand, have);
                operand.receive(link, with, at, count)?;
            }
        }
        if stands_for_root != root {
            if link.rank() == stands_for_root {
                operand.send(link, root, have, count)?;
            } else if link.rank() == root {
                operand.receive(link, stands_for_root, have, count)?;
            }
        }
        match link.rank() == root {
            true => operand.copy(link, have, output, count),
            false => Ok(()),
        }
    }
}
