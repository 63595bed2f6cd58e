//! The ranks of each unit of the machine (package, NUMA node, cache) combine what they have, a slice each; ranks that have the
//! same slice combine what came of it in all units; each shows the result to its own unit. Where there is little, one rank of
//! each unit has the only slice.
//!
//! Source: the levels of XHC (Katevenis et al., "XHC: hierarchical collectives", EuroMPI/USA 2022) and the two-level
//! shared-memory all-reduce of Open MPI's acoll, on copies in shared memory. Cost: for u units of m ranks, n (m + 1) / m bytes
//! in and n (2 m + u - 3) / m out at each rank, and n (m + u - 2) / m combined; (u - 1) n bytes cross into each unit,
//! where slices among all ranks take about 2 n (p - m) m / p; three steps per segment.
//! Preconditions: a board; all ranks know where on the machine each of them is; an operation that commutes, since units need
//! not have ranks that follow each other; elements without gaps. The result of an operation that is not exact depends on
//! which ranks share a unit.

use isthmus_twice::twice;

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::shared::Access;
use crate::shared::slices::{Slices, length};
use crate::shared::units::{Partials, Workers};

/// `output` may be `input`.
///
/// # Safety
/// `input` must hold `count` elements and `output` have room for them.
#[twice]
pub async unsafe fn run(
    access: &Access<'_>,
    layout: &Layout,
    operand: &Operand<'_>,
    input: *const u8,
    output: *mut u8,
    count: i64,
) -> Result<()> {
    let rank = access.rank();
    let here = Workers::beside(layout, rank, None);
    let at_once = access.most_elements(operand);
    for done in (0..count).step_by(at_once as usize) {
        let now = at_once.min(count - done);
        let is_last = done + now == count;
        let slices = Slices::among(layout, operand, done, now);
        let (given, partial, combined) = (access.step(), access.step(), access.step());
        // SAFETY: the caller's promise; drafts have room for what they are made for.
        unsafe {
            let in_unit = access
                .combine_in_unit(operand, here, slices, input, [given, partial])
                .await?;
            // What we showed is not read here again.
            access.finish(given);
            if let Some(draft) = in_unit {
                access.post(&draft);
                let partials = Partials {
                    units: Workers::of_all(layout, None),
                    slices,
                    wanted: here.slices_of(rank, slices),
                    step: partial,
                };
                access.every_partial(&partials).await?;
                // Nobody waits for a rank that is alone, and what it has staged may be something else when others are done with it.
                let alone = (here.count() == 1).then_some(input);
                access.fold_partials(operand, &partials, alone, output)?;
                let own = here.share_of(rank, slices);
                if here.count() > 1 {
                    let result = operand.at(output, own.start);
                    let draft = access
                        .draft_operands(combined, operand, result, length(&own), true)
                        .await?;
                    access.post(&draft);
                }
            }
            for other in here.others(rank) {
                let theirs = here.share_of(other, slices);
                if !theirs.is_empty() {
                    let posted = access.read(other, combined).await?;
                    let result = access.operands(operand, other, posted, length(&theirs))?;
                    operand.fetch(result, operand.at(output, theirs.start), length(&theirs));
                }
            }
        }
        if !is_last {
            access.finish(combined);
        }
    }
    Ok(())
}
