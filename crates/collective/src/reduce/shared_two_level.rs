//! The ranks of each unit of the machine (package, NUMA node, cache) but the root combine what they have, a slice each,
//! segment by segment; the root combines what came of that in all units with what it has itself. Where there is little, one
//! rank of each unit has the only slice.
//!
//! Source: the levels of XHC (Katevenis et al., "XHC: hierarchical collectives", EuroMPI/USA 2022), with slices as in Open MPI's
//! acoll, on copies in shared memory. Cost: for u units of m ranks, n bytes in, n (m - 1) / m out and as many combined at each
//! rank; the root reads and combines u n, of which (u - 1) n cross the border of its unit, where the flat form takes (p - 1) n
//! and (p - m) n. Only who combines waits for others, until those are several segments or calls ahead.
//! Preconditions: a board; all ranks know where on the machine each of them is; an operation that commutes, since units need
//! not have ranks that follow each other; elements without gaps. The result of an operation that is not exact depends on
//! which ranks share a unit, and on the root.

use isthmus_twice::twice;

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;
use crate::shared::slices::Slices;
use crate::shared::units::{Partials, Workers};

/// `output` matters at the root, and may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and, at the root, `output` have room for them.
#[twice]
pub async unsafe fn run(
    access: &Access<'_>,
    layout: &Layout,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
    root: usize,
) -> Result<()> {
    let rank = access.rank();
    let at_once = access.elements_at_once(operand, count);
    for done in (0..count).step_by(at_once as usize) {
        let now = at_once.min(count - done);
        let slices = Slices::among(layout, operand, done, now);
        let (given, partial) = (access.step(), access.step());
        // SAFETY: the caller's promise.
        unsafe {
            if rank == root {
                let partials = Partials {
                    units: Workers::of_all(layout, Some(root)),
                    slices,
                    wanted: 0..slices.number,
                    step: partial,
                };
                access.every_partial(&partials).await?;
                access.fold_partials(operand, &partials, Some(input), output)?;
            } else {
                let here = Workers::beside(layout, rank, Some(root));
                let in_unit = access
                    .combine_in_unit(operand, here, slices, input, [given, partial])
                    .await?;
                if let Some(draft) = in_unit {
                    access.post_to(root, &draft);
                }
            }
        }
        if done + now < count {
            access.finish(partial);
        }
    }
    Ok(())
}
