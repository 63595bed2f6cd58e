//! Types of elements.

use isthmus_armci::{accumulate, reduction};

use crate::element::{Complex, Element};
use crate::error::{Error, Result};

/// What the elements of an array are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementKind {
    /// `int`.
    Int,
    /// `long`.
    Long,
    /// `long long`.
    LongLong,
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// Two `float`s.
    Complex,
    /// Two `double`s.
    DoubleComplex,
    /// So many bytes that only the program understands (`NGA_Register_type`).
    Registered(u32),
}

/// The first number that `NGA_Register_type` gives. Above all of `macdecls.h`.
pub const FIRST_REGISTERED: i32 = 2000;

impl ElementKind {
    /// By the numbers of `macdecls.h`; those of Fortran's types stand for the C types of the same bytes. Registered types are found by
    /// [`crate::registered::bytes`].
    ///
    /// # Errors
    /// There is none of that number.
    pub fn of(number: i32) -> Result<Self> {
        Ok(match number {
            1001 | 1010 | 1011 => Self::Int,
            1002 => Self::Long,
            1016 => Self::LongLong,
            1003 | 1012 => Self::Float,
            1004 | 1013 => Self::Double,
            1006 | 1014 => Self::Complex,
            1007 | 1015 => Self::DoubleComplex,
            number if number >= FIRST_REGISTERED => Self::Registered(crate::registered::bytes(number)?),
            _ => {
                return Err(Error::argument(format!(
                    "type={number} is no type of macdecls.h that arrays can have"
                )));
            }
        })
    }

    /// The number in `macdecls.h`.
    pub fn number(self) -> i32 {
        match self {
            Self::Int => 1001,
            Self::Long => 1002,
            Self::LongLong => 1016,
            Self::Float => 1003,
            Self::Double => 1004,
            Self::Complex => 1006,
            Self::DoubleComplex => 1007,
            Self::Registered(bytes) => crate::registered::number_of(bytes),
        }
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Self::Int | Self::Float => 4,
            Self::Long | Self::LongLong | Self::Double | Self::Complex => 8,
            Self::DoubleComplex => 16,
            Self::Registered(bytes) => bytes as usize,
        }
    }

    /// As accumulates know it.
    ///
    /// # Errors
    /// Registered types cannot be added.
    pub fn of_accumulate(self) -> Result<accumulate::AccumulateType> {
        Ok(match self {
            Self::Int => accumulate::AccumulateType::Int,
            Self::Long | Self::LongLong => accumulate::AccumulateType::Long,
            Self::Float => accumulate::AccumulateType::Float,
            Self::Double => accumulate::AccumulateType::Double,
            Self::Complex => accumulate::AccumulateType::Complex,
            Self::DoubleComplex => accumulate::AccumulateType::DoubleComplex,
            Self::Registered(_) => return Err(Error::no_arithmetic()),
        })
    }

    /// As reductions know it.
    ///
    /// # Errors
    /// Registered types cannot be combined.
    pub fn of_reduction(self) -> Result<reduction::ReductionType> {
        Ok(match self {
            Self::Int => reduction::ReductionType::Int,
            Self::Long => reduction::ReductionType::Long,
            Self::LongLong => reduction::ReductionType::LongLong,
            Self::Float => reduction::ReductionType::Float,
            Self::Double => reduction::ReductionType::Double,
            Self::Complex => reduction::ReductionType::Complex,
            Self::DoubleComplex => reduction::ReductionType::DoubleComplex,
            Self::Registered(_) => return Err(Error::no_arithmetic()),
        })
    }
}

/// Something that is done to elements of any type.
pub trait Generic {
    /// The result.
    type Output;

    /// Do it to elements of this type.
    fn call<T: Element>(self) -> Result<Self::Output>;
}

/// Do `work` to elements of that type.
///
/// # Errors
/// What the work says; registered types have no arithmetic.
pub fn dispatch<W: Generic>(kind: ElementKind, work: W) -> Result<W::Output> {
    match kind {
        ElementKind::Int => work.call::<i32>(),
        ElementKind::Long | ElementKind::LongLong => work.call::<i64>(),
        ElementKind::Float => work.call::<f32>(),
        ElementKind::Double => work.call::<f64>(),
        ElementKind::Complex => work.call::<Complex<f32>>(),
        ElementKind::DoubleComplex => work.call::<Complex<f64>>(),
        ElementKind::Registered(_) => Err(Error::no_arithmetic()),
    }
}
