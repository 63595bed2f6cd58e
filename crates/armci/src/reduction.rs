//! The `gop` family: combine arrays of all members of a group, and tell all.

use std::sync::{Arc, OnceLock};

use isthmus_collective::{Operand, Value};
use isthmus_datatype::{Kernel, Predefined, Reduction, Type};

use crate::error::{Result, argument};
use crate::link::Link;

/// Types of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReductionType {
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
    /// Two `float`s; for sums and products only.
    Complex,
    /// Two `double`s; for sums and products only.
    DoubleComplex,
}

impl ReductionType {
    /// By the numbers of `message.h`.
    ///
    /// # Errors
    /// There is none of that number.
    pub fn of(number: i32) -> Result<Self> {
        Ok(match number {
            -99 => Self::Int,
            -101 => Self::Long,
            -102 => Self::LongLong,
            -306 => Self::Float,
            -307 => Self::Double,
            _ => return Err(argument(format!("type={number} is no type of message.h"))),
        })
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Self::Int | Self::Float => 4,
            Self::Long | Self::LongLong | Self::Double | Self::Complex => 8,
            Self::DoubleComplex => 16,
        }
    }
}

/// The operation on two elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Sum,
    /// `*`
    Product,
    /// `max`
    Max,
    /// `min`
    Min,
    /// `absmax`
    AbsMax,
    /// `absmin`
    AbsMin,
    /// `or`, `|`, `bor`
    BitOr,
    /// `&`, `band`
    BitAnd,
    /// `^`, `bxor`
    BitXor,
    /// `||`, `lor`
    Or,
    /// `&&`, `land`
    And,
}

impl Operator {
    /// By its name, as programs write it.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn of(name: &str) -> Result<Self> {
        const NAMES: [(&str, Operator); 17] = [
            ("+", Operator::Sum),
            ("*", Operator::Product),
            ("max", Operator::Max),
            ("min", Operator::Min),
            ("absmax", Operator::AbsMax),
            ("absmin", Operator::AbsMin),
            ("or", Operator::BitOr),
            ("bor", Operator::BitOr),
            ("band", Operator::BitAnd),
            ("bxor", Operator::BitXor),
            ("land", Operator::And),
            ("lor", Operator::Or),
            ("&&", Operator::And),
            ("||", Operator::Or),
            ("&", Operator::BitAnd),
            ("|", Operator::BitOr),
            ("^", Operator::BitXor),
        ];
        // What follows the name is ignored, as by others: programs pass blanks from Fortran.
        let found = NAMES.iter().find(|(own, _)| name.starts_with(own));
        found
            .map(|&(_, operator)| operator)
            .ok_or_else(|| argument(format!("op=\"{name}\" is no operator")))
    }
}

impl ReductionType {
    fn datatype(self) -> &'static Type {
        static COMPLEX: OnceLock<[Arc<Type>; 2]> = OnceLock::new();
        let complex = || COMPLEX.get_or_init(|| ["MPI_C_COMPLEX", "MPI_C_DOUBLE_COMPLEX"].map(Type::of_name));
        match self {
            Self::Int => i32::datatype(),
            Self::Long | Self::LongLong => i64::datatype(),
            Self::Float => f32::datatype(),
            Self::Double => f64::datatype(),
            Self::Complex => &complex()[0],
            Self::DoubleComplex => &complex()[1],
        }
    }
}

/// Of the operations that MPI does not have: on the absolute values of each pair of elements.
///
/// # Safety
/// As for [`Kernel`].
unsafe fn absolute<T: Absolute, const LARGEST: bool>(left: *const u8, right: *const u8, output: *mut u8, count: usize) {
    let (left, right, output) = (left.cast::<T>(), right.cast::<T>(), output.cast::<T>());
    for index in 0..count {
        // SAFETY: the caller's promise; no alignment is assumed.
        unsafe {
            let left = left.add(index).read_unaligned().absolute();
            let right = right.add(index).read_unaligned().absolute();
            let result = if (left > right) == LARGEST { left } else { right };
            output.add(index).write_unaligned(result);
        }
    }
}

/// Numbers that have an absolute value.
trait Absolute: Copy + PartialOrd {
    /// Of the most negative integer it is that one itself.
    fn absolute(self) -> Self;
}

macro_rules! absolutes {
    ($($type:ty: $method:ident)*) => {$(
        impl Absolute for $type {
            fn absolute(self) -> Self {
                self.$method()
            }
        }
    )*};
}
absolutes! { i32: wrapping_abs  i64: wrapping_abs  f32: abs  f64: abs }

/// The kernel of an absolute maximum or minimum; `None`: it is not defined for the type.
fn absolute_kernel(kind: ReductionType, largest: bool) -> Option<Kernel> {
    macro_rules! of {
        ($type:ty) => {
            match largest {
                true => absolute::<$type, true>,
                false => absolute::<$type, false>,
            }
        };
    }
    Some(match kind {
        ReductionType::Int => of!(i32),
        ReductionType::Long | ReductionType::LongLong => of!(i64),
        ReductionType::Float => of!(f32),
        ReductionType::Double => of!(f64),
        ReductionType::Complex | ReductionType::DoubleComplex => return None,
    })
}

/// The loop that combines elements.
fn kernel(kind: ReductionType, operator: Operator) -> Result<Kernel> {
    let predefined = |op| match Reduction::predefined(op, kind.datatype()) {
        Some(Reduction::Kernel(kernel)) => Some(kernel),
        _ => None,
    };
    let found = match operator {
        Operator::Sum => predefined(Predefined::Sum),
        Operator::Product => predefined(Predefined::Prod),
        Operator::Max => predefined(Predefined::Max),
        Operator::Min => predefined(Predefined::Min),
        Operator::BitOr => predefined(Predefined::Bor),
        Operator::BitAnd => predefined(Predefined::Band),
        Operator::BitXor => predefined(Predefined::Bxor),
        Operator::Or => predefined(Predefined::Lor),
        Operator::And => predefined(Predefined::Land),
        Operator::AbsMax => absolute_kernel(kind, true),
        Operator::AbsMin => absolute_kernel(kind, false),
    };
    found.ok_or_else(|| argument(format!("{operator:?} is not defined for elements of type {kind:?}")))
}

/// Combine the arrays of all members; all get the same result. Blocks.
///
/// # Errors
/// The operator is not defined for the type, or a member has failed.
pub fn all_reduce(link: &Link<'_>, data: &mut [u8], kind: ReductionType, operator: Operator) -> Result<()> {
    let kernel = kernel(kind, operator)?;
    if matches!(operator, Operator::AbsMax | Operator::AbsMin) {
        // Also where there is nothing to combine with.
        let at = data.as_mut_ptr();
        // SAFETY: so many elements are there, and the output is the right operand.
        unsafe { kernel(at, at, at, data.len() / kind.bytes()) };
    }
    link.all_reduce(data, &Operand::new(kind.datatype(), Reduction::Kernel(kernel), true))
}

/// `sel`: all get the bytes of the member whose first element is the largest, or smallest, of all contributions; of the
/// first one, if there are several. Nothing changes if nobody contributes.
///
/// # Errors
/// Another operator than max or min, or a member has failed.
pub fn select(
    link: &Link<'_>,
    data: &mut [u8],
    kind: ReductionType,
    operator: Operator,
    contribute: bool,
) -> Result<()> {
    let width = kind.bytes();
    if !matches!(operator, Operator::Max | Operator::Min) {
        return Err(argument("op must be \"max\" or \"min\""));
    }
    if data.len() < width {
        return Err(argument(format!("n={} is less than an element", data.len())));
    }
    let mut mine = vec![0; width + 1];
    mine[..width].copy_from_slice(&data[..width]);
    mine[width] = contribute.into();
    let all = link.all_gather(&mine)?;
    let kernel = kernel(kind, operator)?;
    let mut best: Option<usize> = None;
    let element = |member: usize| &all[member * (width + 1)..][..width];
    for member in (0..link.size()).filter(|member| all[member * (width + 1) + width] != 0) {
        let Some(so_far) = best else {
            best = Some(member);
            continue;
        };
        let mut winner = element(so_far).to_vec();
        // SAFETY: each is an element, and the output is the right operand.
        unsafe { kernel(element(member).as_ptr(), winner.as_ptr(), winner.as_mut_ptr(), 1) };
        if winner != element(so_far) {
            best = Some(member);
        }
    }
    match best {
        Some(root) => link.broadcast(data, root),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubles(kind: ReductionType, operator: Operator, a: &[f64], b: &[f64]) -> Vec<f64> {
        let bytes = |numbers: &[f64]| {
            numbers
                .iter()
                .flat_map(|number| number.to_ne_bytes())
                .collect::<Vec<_>>()
        };
        let (mut inout, other) = (bytes(a), bytes(b));
        let kernel = kernel(kind, operator).expect("defined");
        // SAFETY: both have as many bytes, and the output is the right operand.
        unsafe {
            kernel(
                other.as_ptr(),
                inout.as_ptr(),
                inout.as_mut_ptr(),
                inout.len() / kind.bytes(),
            )
        };
        inout
            .chunks_exact(8)
            .map(|chunk| f64::from_ne_bytes(chunk.try_into().expect("eight")))
            .collect()
    }

    #[test]
    fn operators_by_name() {
        assert_eq!(Operator::of("+").expect("sum"), Operator::Sum);
        assert_eq!(Operator::of("absmax").expect("absmax"), Operator::AbsMax);
        assert_eq!(Operator::of("max   ").expect("max"), Operator::Max);
        assert_eq!(Operator::of("&&").expect("and"), Operator::And);
        assert!(Operator::of("average").is_err());
    }

    #[test]
    fn elements_are_combined() {
        assert_eq!(
            doubles(ReductionType::Double, Operator::Sum, &[1.0, 2.0], &[3.0, -5.0]),
            [4.0, -3.0]
        );
        assert_eq!(
            doubles(ReductionType::Double, Operator::AbsMax, &[1.0, 2.0], &[3.0, -5.0]),
            [3.0, 5.0]
        );
        assert_eq!(
            doubles(
                ReductionType::DoubleComplex,
                Operator::Product,
                &[0.0, 1.0],
                &[0.0, 1.0]
            ),
            [-1.0, 0.0]
        );
        assert!(kernel(ReductionType::Double, Operator::BitOr).is_err());
        assert!(kernel(ReductionType::Complex, Operator::Max).is_err());
    }
}
