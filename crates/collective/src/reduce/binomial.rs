//! Binomial tree: in round k those whose place has bit k send what they have to the place without it.
//!
//! Source: folklore; Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH", 2005.
//! Cost: ceil(log2 p) rounds of n bytes and one operation each.
//! Preconditions: none. Any number of ranks. Operands stay in the order of places, which is that of ranks if the top is rank 0.

use crate::error::Result;
use crate::link::Link;
use crate::link::operand::{Operand, Scratch};

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
    // The order of ranks must be kept from rank 0 on, whoever the root is.
    let top = if operand.is_commutative() { root } else { 0 };
    // SAFETY: the caller's promise; the scratch area has room for all elements.
    unsafe {
        let (result, _scratch) = to_top(link, operand, input, count, top)?;
        if top != root {
            if link.rank() == top {
                operand.send(link, root, result, count)?;
            } else if link.rank() == root {
                // The root's own input is on its way to rank 0, or has arrived there.
                let last = operand.scratch(link, count)?;
                operand.receive(link, top, last.elements, count)?;
                operand.copy(link, last.elements, output, count)?;
            }
        } else if link.rank() == root {
            operand.copy(link, result, output, count)?;
        }
    }
    Ok(())
}

/// At `top`, where the result lies, and what keeps it there. Elsewhere it means nothing.
///
/// # Safety
/// `input` must hold `count` elements.
pub unsafe fn to_top<'l>(
    link: &'l impl Link,
    operand: &Operand<'_>,
    input: *const u8,
    count: i64,
    top: usize,
) -> Result<(*const u8, [Option<Scratch<'l>>; 2])> {
    let (rank, size) = (link.rank(), link.size());
    let place = (rank + size - top) % size;
    // What we have lies in `input` first, then in one scratch area while the other receives.
    let mut have = input;
    let mut areas = [None, None];
    let mut distance = 1;
    while distance < size {
        if place & distance != 0 {
            // SAFETY: `have` holds `count` elements.
            unsafe { operand.send(link, (place - distance + top) % size, have, count)? };
            break;
        }
        if place + distance < size {
            let area = match areas[0].take() {
                Some(area) => area,
                None => operand.scratch(link, count)?,
            };
            // SAFETY: `area` has room for `count` elements, and is not where `have` lies.
            unsafe {
                operand.receive(link, (place + distance + top) % size, area.elements, count)?;
                operand.apply(link, have, area.elements, count);
            }
            have = area.elements;
            areas = [areas[1].take(), Some(area)];
        }
        distance *= 2;
    }
    Ok((have, areas))
}
