//! Reductions by kernels of devices.

use isthmus_datatype::{Element, Family, Predefined, Reduction, Type};
use isthmus_mem::{self as mem, Device, Number};

use crate::error::Result;

/// The kernel of an operation on elements of a type.
#[derive(Clone, Copy)]
pub(crate) struct Combine {
    op: mem::Op,
    number: Number,
}

impl Combine {
    /// `None`: there is no kernel for it.
    pub fn of(op: Option<Predefined>, datatype: &Type) -> Option<Self> {
        let (op, named) = (op?, datatype.named()?);
        // Truth values have a form of their own in each language.
        if named.family == Family::Logical || Reduction::predefined(op, datatype).is_none() {
            return None;
        }
        let number = match *named.elements {
            [Element::I8] => Number::I8,
            [Element::I16] => Number::I16,
            [Element::I32] => Number::I32,
            [Element::I64] => Number::I64,
            [Element::U8] => Number::U8,
            [Element::U16] => Number::U16,
            [Element::U32] => Number::U32,
            [Element::U64] => Number::U64,
            [Element::F16] => Number::F16,
            [Element::BF16] => Number::BF16,
            [Element::F32] => Number::F32,
            [Element::F64] => Number::F64,
            [Element::C32] => Number::C32,
            [Element::C64] => Number::C64,
            [Element::I16, Element::I32] => Number::I16I32,
            [Element::I32, Element::I32] => Number::I32I32,
            [Element::I64, Element::I32] => Number::I64I32,
            [Element::F32, Element::I32] => Number::F32I32,
            [Element::F64, Element::I32] => Number::F64I32,
            [Element::F32, Element::F32] => Number::F32F32,
            [Element::F64, Element::F64] => Number::F64F64,
            _ => return None,
        };
        let op = match op {
            Predefined::Max => mem::Op::Max,
            Predefined::Min => mem::Op::Min,
            Predefined::Sum => mem::Op::Sum,
            Predefined::Prod => mem::Op::Prod,
            Predefined::Land => mem::Op::Land,
            Predefined::Band => mem::Op::Band,
            Predefined::Lor => mem::Op::Lor,
            Predefined::Bor => mem::Op::Bor,
            Predefined::Lxor => mem::Op::Lxor,
            Predefined::Bxor => mem::Op::Bxor,
            Predefined::Minloc => mem::Op::Minloc,
            Predefined::Maxloc => mem::Op::Maxloc,
            Predefined::Replace | Predefined::NoOp => return None,
        };
        mem::combines(op, number).then_some(Self { op, number })
    }

    /// `result[i] = left[i] op right[i]`.
    ///
    /// # Safety
    /// All are good for as many elements, in memory that `device` reaches.
    pub unsafe fn apply(
        self,
        device: Device,
        result: *mut u8,
        left: *const u8,
        right: *const u8,
        count: i64,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        let done = unsafe { mem::combine(self.op, self.number, device, result, left, right, count as usize) };
        done.map_err(|error| super::failed(&error))
    }
}
