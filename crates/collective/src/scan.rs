//! `MPI_Scan` and `MPI_Exscan` (MPI-5.0 §6.11).

mod chain;
mod direct;
mod nodes;
mod recursive_doubling;
mod shared;

use isthmus_twice::twice;

use crate::error::Result;
use crate::layout::Layout;
use crate::link::Link;
use crate::link::operand::Operand;
use crate::select::{Case, Scan, Traits, choose};

/// `output` may be `input`.
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
    inclusive: bool,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let mut case = Case::of(operand, link, count);
    // The order is that of ranks, also if the operation commutes.
    if !link.layout().is_some_and(Layout::is_in_order) {
        case.offers = case.offers.without(Traits::NODES);
    }
    // SAFETY: the caller's promise.
    unsafe {
        match choose(&case)? {
            Scan::Nodes => nodes::run(link, link.map(), operand, input, output, count, inclusive),
            Scan::Shared => shared::run(link.board(), operand, input, output, count, inclusive).await,
            Scan::Chain => chain::run(link, operand, input, output, count, inclusive),
            Scan::Direct => direct::run(link, operand, input, output, count, inclusive),
            Scan::RecursiveDoubling => recursive_doubling::run(link, operand, input, output, count, inclusive),
        }
    }
}
