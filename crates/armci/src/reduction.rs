//! The `gop` family: combine arrays of all members of a group, and tell all.

use crate::error::{Result, argument};
use crate::link::{AT_A_TIME, Link};

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

macro_rules! integers {
    ($type:ty, $operator:expr) => {
        match $operator {
            Operator::Sum => fold::<$type>(|a, b| a.wrapping_add(b)),
            Operator::Product => fold::<$type>(|a, b| a.wrapping_mul(b)),
            Operator::Max => fold::<$type>(|a, b| a.max(b)),
            Operator::Min => fold::<$type>(|a, b| a.min(b)),
            Operator::AbsMax => fold::<$type>(|a, b| a.wrapping_abs().max(b.wrapping_abs())),
            Operator::AbsMin => fold::<$type>(|a, b| a.wrapping_abs().min(b.wrapping_abs())),
            Operator::BitOr => fold::<$type>(|a, b| a | b),
            Operator::BitAnd => fold::<$type>(|a, b| a & b),
            Operator::BitXor => fold::<$type>(|a, b| a ^ b),
            Operator::Or => fold::<$type>(|a, b| (a != 0 || b != 0).into()),
            Operator::And => fold::<$type>(|a, b| (a != 0 && b != 0).into()),
        }
    };
}

macro_rules! floats {
    ($type:ty, $operator:expr) => {
        match $operator {
            Operator::Sum => fold::<$type>(|a, b| a + b),
            Operator::Product => fold::<$type>(|a, b| a * b),
            Operator::Max => fold::<$type>(|a, b| a.max(b)),
            Operator::Min => fold::<$type>(|a, b| a.min(b)),
            Operator::AbsMax => fold::<$type>(|a, b| a.abs().max(b.abs())),
            Operator::AbsMin => fold::<$type>(|a, b| a.abs().min(b.abs())),
            operator => return Err(argument(format!("{operator:?} is not defined for floating point"))),
        }
    };
}

macro_rules! complexes {
    ($type:ty, $operator:expr) => {
        match $operator {
            Operator::Sum => fold::<[$type; 2]>(|a, b| [a[0] + b[0], a[1] + b[1]]),
            Operator::Product => fold::<[$type; 2]>(|a, b| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]),
            operator => return Err(argument(format!("{operator:?} is not defined for complex numbers"))),
        }
    };
}

/// Combines the second array into the first, element by element.
type Fold = Box<dyn FnMut(&mut [u8], &[u8])>;

fn fold<T: Copy + 'static>(combine: fn(T, T) -> T) -> Fold {
    Box::new(move |inout, other| {
        let width = size_of::<T>();
        for (a, b) in inout.chunks_exact_mut(width).zip(other.chunks_exact(width)) {
            // SAFETY: the chunks are as long as an element, which any bytes are.
            unsafe {
                let (pa, pb) = (a.as_mut_ptr().cast::<T>(), b.as_ptr().cast::<T>());
                pa.write_unaligned(combine(pa.read_unaligned(), pb.read_unaligned()));
            }
        }
    })
}

fn folding(kind: ReductionType, operator: Operator) -> Result<Fold> {
    Ok(match kind {
        ReductionType::Int => integers!(i32, operator),
        ReductionType::Long | ReductionType::LongLong => integers!(i64, operator),
        ReductionType::Float => floats!(f32, operator),
        ReductionType::Double => floats!(f64, operator),
        ReductionType::Complex => complexes!(f32, operator),
        ReductionType::DoubleComplex => complexes!(f64, operator),
    })
}

/// Combine the arrays of all members; all get the same result. Blocks.
///
/// # Errors
/// The operator is not defined for the type, or a member has failed.
pub fn all_reduce(link: &Link<'_>, data: &mut [u8], kind: ReductionType, operator: Operator) -> Result<()> {
    let mut combine = folding(kind, operator)?;
    if matches!(operator, Operator::AbsMax | Operator::AbsMin) {
        // Also where there is nothing to combine with.
        for piece in data.chunks_mut(AT_A_TIME) {
            let own = piece.to_vec();
            combine(piece, &own);
        }
    }
    link.all_reduce(data, combine)
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
    let mut combine = folding(kind, operator)?;
    let mut best: Option<usize> = None;
    let element = |member: usize| &all[member * (width + 1)..][..width];
    for member in (0..link.size()).filter(|member| all[member * (width + 1) + width] != 0) {
        let Some(so_far) = best else {
            best = Some(member);
            continue;
        };
        let mut winner = element(so_far).to_vec();
        combine(&mut winner, element(member));
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
        folding(kind, operator).expect("defined")(&mut inout, &other);
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
        assert!(folding(ReductionType::Double, Operator::BitOr).is_err());
        assert!(folding(ReductionType::Complex, Operator::Max).is_err());
    }
}
