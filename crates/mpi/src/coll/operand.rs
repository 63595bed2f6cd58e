//! What reductions work on, from what users give.

use isthmus_collective::Operand;

use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::Op;

/// `count` elements of a datatype with an operation, which is kept as long as it may be called.
#[inline]
pub fn of<'a>(datatype: &'a Datatype, count: i64, op: &Op) -> Result<Operand<'a>> {
    let reduction = op.reduction_of(datatype, count)?;
    Ok(Operand::new(datatype, reduction, op.is_commutative()))
}
