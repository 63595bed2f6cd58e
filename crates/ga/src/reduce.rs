//! Reductions to one number: dot products, norms, the largest and smallest element; collective.

use isthmus_armci::reduction::{Operator, all_reduce};

use crate::array::Array;
use crate::element::{Complex, Element};
use crate::error::{Error, Result};
use crate::kind::{ElementKind, Generic, dispatch};
use crate::life::collectively;
use crate::local::{AT_A_TIME, ArrayPatch, as_bytes, fold, operand, turned_operand};
use crate::onesided::fetch;

struct DoDot<'a>(ArrayPatch<'a>, bool, ArrayPatch<'a>, bool);

/// Of a type, in the first bytes.
type Scalar = [u8; 16];

impl Generic for DoDot<'_> {
    type Output = Scalar;

    fn call<T: Element>(self) -> Result<Scalar> {
        let Self(a, transpose_a, b, transpose_b) = self;
        a.0.check(a.1)?;
        b.0.check(b.1)?;
        a.0.check_like(a.1, b.0, b.1)?;
        let mut sum = [T::ZERO];
        // Operands of other extents are fetched whole, once for all.
        let is_turned = transpose_a != transpose_b;
        let may_be_cut = match is_turned {
            true => a.1.extents() == b.1.transposed().extents(),
            false => a.1.extents() == b.1.extents(),
        };
        let most = if may_be_cut { AT_A_TIME } else { i64::MAX };
        for block in a.0.own_blocks(a.1) {
            for piece in block.patch.slabs(most) {
                let ours: Vec<T> = fetch(a.0, &piece)?;
                let theirs: Vec<T> = match is_turned {
                    false => operand(&piece, a.1, b.0, b.1)?,
                    true => turned_operand(&piece, a.1, b.0, b.1)?,
                };
                for (x, y) in ours.into_iter().zip(theirs) {
                    sum[0] = sum[0].add(x.mul(y));
                }
            }
        }
        all_reduce(
            &a.0.group()?.link()?,
            as_bytes(&mut sum),
            T::KIND.of_reduction()?,
            Operator::Sum,
        )?;
        let mut scalar = [0; 16];
        scalar[..size_of::<T>()].copy_from_slice(as_bytes(&mut sum));
        Ok(scalar)
    }
}

/// `GA_?dot`, `NGA_?dot_patch`: the sum of products, not conjugated, in the first bytes of the answer. If one of the two is transposed, `b`'s
/// dimensions are in the other order; patches of different extents have their elements in the same order. Collective.
///
/// # Errors
/// Patches of different numbers of elements, arrays of another type than `kind`.
pub fn dot(
    kind: &[ElementKind],
    a: ArrayPatch<'_>,
    transpose_a: bool,
    b: ArrayPatch<'_>,
    transpose_b: bool,
) -> Result<Scalar> {
    if !kind.contains(&a.0.kind) {
        return Err(Error::argument(format!(
            "array '{}' has elements of type {:?}, this is for {:?}",
            a.0.name, a.0.kind, kind
        )));
    }
    collectively(&*a.0.group()?, || {
        dispatch(a.0.kind, DoDot(a, transpose_a, b, transpose_b))
    })
}

/// A norm of the elements, whether they are a vector or a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// The sum of their absolute values.
    One,
    /// The largest absolute value.
    Infinity,
}

struct DoNorm<'a>(&'a Array, Norm);

impl Generic for DoNorm<'_> {
    type Output = f64;

    fn call<T: Element>(self) -> Result<f64> {
        let Self(array, norm) = self;
        if array.rank() > 2 {
            return Err(Error::argument(format!(
                "array '{}' is no vector or matrix",
                array.name
            )));
        }
        let (together, operator): (fn(f64, f64) -> f64, _) = match norm {
            Norm::One => (|sum, value| sum + value, Operator::Sum),
            Norm::Infinity => (f64::max, Operator::Max),
        };
        let mut found = [fold(array, &array.whole(), 0.0, |so_far, _, element: T| {
            together(so_far, magnitude(element))
        })?];
        let kind = ElementKind::Double.of_reduction()?;
        all_reduce(&array.group()?.link()?, as_bytes(&mut found), kind, operator)?;
        Ok(found[0])
    }
}

/// The absolute value, as a real number.
pub fn magnitude<T: Element>(element: T) -> f64 {
    match T::KIND {
        ElementKind::Complex | ElementKind::DoubleComplex => element.order().sqrt(),
        _ => element.order().abs(),
    }
}

/// `GA_Norm1`, `GA_Norm_infinity`. Collective.
///
/// # Errors
/// The array has more than two dimensions.
pub fn norm(array: &Array, norm: Norm) -> Result<f64> {
    collectively(&*array.group()?, || dispatch(array.kind, DoNorm(array, norm)))
}

/// What the first bytes of an answer of [`dot`] are.
pub fn real<T: Element>(scalar: &Scalar) -> T {
    // SAFETY: 16 bytes hold an element of any type, and any bytes are one.
    unsafe { scalar.as_ptr().cast::<T>().read_unaligned() }
}

/// As a C function answers it.
pub type DoubleComplex = Complex<f64>;

struct DoSelect<'a>(&'a Array, Operator);

impl Generic for DoSelect<'_> {
    type Output = (Scalar, Vec<i64>);

    fn call<T: Element>(self) -> Result<Self::Output> {
        let Self(array, operator) = self;
        let exceeds = |new: T, old: T| match operator {
            Operator::Max => old.larger(new) == new && new != old,
            _ => old.smaller(new) == new && new != old,
        };
        // Of those that nothing exceeds the first in the array, whoever has it, and in which block.
        let is_better =
            |new: T, at: &[i64], old: T, before: &[i64]| exceeds(new, old) || (at < before && !exceeds(old, new));
        let best = fold(
            array,
            &array.whole(),
            None,
            |best: Option<(T, Vec<i64>)>, index, element: T| match best {
                Some((old, at)) if !is_better(element, index, old, &at) => Some((old, at)),
                _ => Some((element, index.to_vec())),
            },
        )?;
        // The best of each process, with its index; a process without elements says so.
        let width = size_of::<T>();
        let mut mine = vec![0_u8; width + 8 * array.rank() + 1];
        if let Some((element, index)) = &best {
            mine[..width].copy_from_slice(as_bytes(&mut [*element]));
            for (d, at) in index.iter().enumerate() {
                mine[width + 8 * d..][..8].copy_from_slice(&at.to_ne_bytes());
            }
            mine[width + 8 * array.rank()] = 1;
        }
        let all = array.group()?.link()?.all_gather(&mine)?;
        let mut chosen: Option<(T, Vec<i64>)> = None;
        for told in all.chunks_exact(mine.len()).filter(|told| told[mine.len() - 1] == 1) {
            // SAFETY: as many bytes as an element has.
            let element = unsafe { told.as_ptr().cast::<T>().read_unaligned() };
            let index = (0..array.rank())
                .map(|d| i64::from_ne_bytes(told[width + 8 * d..][..8].try_into().unwrap_or_default()))
                .collect::<Vec<_>>();
            let is_chosen = chosen
                .as_ref()
                .is_none_or(|(old, at)| is_better(element, &index, *old, at));
            if is_chosen {
                chosen = Some((element, index));
            }
        }
        let (element, index) = chosen.ok_or_else(|| Error::argument("the array has no elements"))?;
        let mut scalar = [0; 16];
        scalar[..width].copy_from_slice(as_bytes(&mut [element]));
        Ok((scalar, index))
    }
}

/// `NGA_Select_elem`: the largest or smallest element, of complex ones by absolute value, and where the first one is that none exceeds. Collective.
///
/// # Errors
/// Another operator than `max` and `min`.
pub fn select(array: &Array, operator: &str) -> Result<(Scalar, Vec<i64>)> {
    let operator = match Operator::of(operator)? {
        operator @ (Operator::Max | Operator::Min) => operator,
        _ => return Err(Error::argument(format!("op=\"{operator}\" must be \"max\" or \"min\""))),
    };
    collectively(&*array.group()?, || dispatch(array.kind, DoSelect(array, operator)))
}
