//! Long arrays of members on several nodes, which do not map each other's memory: they cross by the algorithms that communicators have, once a
//! round has compared the call.

use std::sync::{Arc, OnceLock};

use isthmus_datatype::{Reduction, Type};

use super::{Combine, Group};
use crate::error::Result;
use crate::link::elements::Elements;
use crate::link::operand::Operand;
use crate::value::Value;

/// So many bytes.
pub(super) fn bytes(address: *const u8, length: usize) -> Elements<'static> {
    Elements::new(address.cast(), length as i64, u8::datatype())
}

/// What the kernel works on, for algorithms that want to know how wide it is. Of widths that floating-point numbers have it is taken for such:
/// then elements are combined in one order, whichever algorithm is taken.
pub(super) fn operand(combine: Combine) -> Operand<'static> {
    static WIDE: OnceLock<Arc<Type>> = OnceLock::new();
    let datatype: &'static Type = match combine.width {
        1 => u8::datatype(),
        2 => u16::datatype(),
        4 => f32::datatype(),
        8 => f64::datatype(),
        _ => WIDE.get_or_init(|| Type::of_name("MPI_C_DOUBLE_COMPLEX")),
    };
    Operand::new(datatype, Reduction::Kernel(combine.kernel), true)
}

impl Group<'_> {
    /// What the team did went well, or the job ends.
    pub(super) fn done(&self, result: Result<()>) {
        result.unwrap_or_else(|error| self.caller.refuse(error));
    }
}
