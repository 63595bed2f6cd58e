//! Operations on elements, whole arrays or patches; collective over the array's group.

use crate::array::Array;
use crate::element::Element;
use crate::error::Result;
use crate::kind::{Generic, dispatch};
use crate::life::collectively;
use crate::local::{ArrayPatch, combine, for_each_row, map, scalar};
use crate::patch::Patch;

/// Operations on one array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unary {
    /// Become this one.
    Fill(*const u8),
    /// Be multiplied by this one.
    Scale(*const u8),
    /// This one is added.
    AddConstant(*const u8),
    /// The absolute value.
    Abs,
    /// 1 over it.
    Reciprocal,
}

struct DoUnary<'a>(&'a Array, &'a Patch, Unary);

impl Generic for DoUnary<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let Self(array, patch, operation) = self;
        // SAFETY: `unary`'s caller vouches for the scalar.
        let value = |at| unsafe { scalar::<T>(at, "the scalar") };
        match operation {
            Unary::Fill(at) => {
                let value = value(at)?;
                map(array, patch, |_: T| value)
            }
            Unary::Scale(at) => {
                let value = value(at)?;
                map(array, patch, |element: T| value.mul(element))
            }
            Unary::AddConstant(at) => {
                let value = value(at)?;
                map(array, patch, |element: T| element.add(value))
            }
            Unary::Abs => map(array, patch, T::abs),
            Unary::Reciprocal => map(array, patch, |element: T| T::ONE.div(element)),
        }
    }
}

/// Do it to all elements of a patch. Collective.
///
/// # Errors
/// The patch is not within the array; a null scalar.
///
/// # Safety
/// A scalar must be good for one element.
pub unsafe fn unary(array: &Array, patch: &Patch, operation: Unary) -> Result<()> {
    array.check(patch)?;
    collectively(&*array.group()?, || {
        dispatch(array.kind, DoUnary(array, patch, operation))
    })
}

/// Set all bytes of a patch to zero, whatever the type. Collective.
///
/// # Errors
/// The patch is not within the array.
pub fn zero(array: &Array, patch: &Patch) -> Result<()> {
    collectively(&*array.group()?, || {
        array.check(patch)?;
        let width = array.kind.bytes();
        for block in array.own_blocks(patch) {
            let length = block.patch.extents().last().copied().unwrap_or(0) as usize * width;
            for first in block.patch.rows() {
                let at = array.own_part().wrapping_add(block.place(&first) as usize * width);
                // SAFETY: a row of our own part.
                unsafe { at.write_bytes(0, length) };
            }
        }
        Ok(())
    })
}

/// Operations on two arrays, into a third.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// `alpha * a + beta * b`.
    Add(*const u8, *const u8),
    /// `a * b`.
    Multiply,
    /// `a / b`.
    Divide,
    /// The larger one.
    Maximum,
    /// The smaller one.
    Minimum,
}

struct DoBinary<'a>(ArrayPatch<'a>, ArrayPatch<'a>, ArrayPatch<'a>, Binary);

impl Generic for DoBinary<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        let Self(to, a, b, operation) = self;
        match operation {
            Binary::Add(alpha, beta) => {
                // SAFETY: `binary`'s caller vouches for the scalars.
                let (alpha, beta) = unsafe { (scalar::<T>(alpha, "alpha")?, scalar::<T>(beta, "beta")?) };
                combine(to, [a, b], |[a, b]: [T; 2]| alpha.mul(a).add(beta.mul(b)))
            }
            Binary::Multiply => combine(to, [a, b], |[a, b]: [T; 2]| a.mul(b)),
            Binary::Divide => combine(to, [a, b], |[a, b]: [T; 2]| a.div(b)),
            Binary::Maximum => combine(to, [a, b], |[a, b]: [T; 2]| a.larger(b)),
            Binary::Minimum => combine(to, [a, b], |[a, b]: [T; 2]| a.smaller(b)),
        }
    }
}

/// Do it to the elements of `a` and `b`; the results go to `to`. Collective.
///
/// # Errors
/// Patches that are not within their arrays, or of different numbers of elements or types; a null scalar.
///
/// # Safety
/// Scalars must be good for one element.
pub unsafe fn binary(to: ArrayPatch<'_>, a: ArrayPatch<'_>, b: ArrayPatch<'_>, operation: Binary) -> Result<()> {
    collectively(&*to.0.group()?, || dispatch(to.0.kind, DoBinary(to, a, b, operation)))
}

struct DoMedian<'a>(ArrayPatch<'a>, [ArrayPatch<'a>; 3]);

impl Generic for DoMedian<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        combine(self.0, self.1, |[a, b, c]: [T; 3]| {
            a.larger(b).smaller(a.smaller(b).larger(c))
        })
    }
}

/// `GA_Median`: the middle one of three. Collective.
///
/// # Errors
/// As for [`binary`].
pub fn median(to: ArrayPatch<'_>, from: [ArrayPatch<'_>; 3]) -> Result<()> {
    collectively(&*to.0.group()?, || dispatch(to.0.kind, DoMedian(to, from)))
}

struct DoRandom<'a>(&'a Array, *const u8);

impl Generic for DoRandom<'_> {
    type Output = ();

    fn call<T: Element>(self) -> Result<()> {
        // SAFETY: `randomize`'s caller vouches for the scalar.
        let most = unsafe { scalar::<T>(self.1, "value") }?;
        let patch = self.0.whole();
        for_each_row(self.0, &patch, |_, row: &mut [T]| {
            row.iter_mut().for_each(|element| {
                *element = match T::KIND {
                    // A fraction of an integer is none.
                    crate::kind::ElementKind::Int
                    | crate::kind::ElementKind::Long
                    | crate::kind::ElementKind::LongLong => T::from_real((most.order() * random()).trunc()),
                    _ => most.mul(T::from_real(random())),
                }
            });
            Ok(())
        })
    }
}

/// `GA_Randomize`: numbers from 0 to `value`. Collective.
///
/// # Errors
/// A null scalar.
///
/// # Safety
/// `value` must be good for one element.
pub unsafe fn randomize(array: &Array, value: *const u8) -> Result<()> {
    collectively(&*array.group()?, || dispatch(array.kind, DoRandom(array, value)))
}

/// The state of `GA_Rand`, of each process.
static RANDOM: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0x9e37_79b9_7f4a_7c15);

/// Begin a sequence; processes have different ones.
pub fn seed(number: i32) {
    let process = isthmus_armci::life::job().map_or(0, |job| job.me as u64);
    let seed = u64::from(number.unsigned_abs()) << 20 | process;
    RANDOM.store(
        seed.wrapping_add(0x9e37_79b9_7f4a_7c15),
        std::sync::atomic::Ordering::Relaxed,
    );
}

/// A number from 0 up to 1 (S. Vigna, splitmix64, <https://prng.di.unimi.it/splitmix64.c>).
pub fn random() -> f64 {
    let step = 0x9e37_79b9_7f4a_7c15;
    let mut z = RANDOM
        .fetch_add(step, std::sync::atomic::Ordering::Relaxed)
        .wrapping_add(step);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

struct DoStepMax<'a>(ArrayPatch<'a>, ArrayPatch<'a>);

impl Generic for DoStepMax<'_> {
    type Output = f64;

    fn call<T: Element>(self) -> Result<f64> {
        let (a, b) = (self.0, self.1);
        a.0.check(a.1)?;
        b.0.check(b.1)?;
        a.0.check_like(a.1, b.0, b.1)?;
        let mut least = f64::INFINITY;
        for block in a.0.own_blocks(a.1) {
            let values: Vec<T> = crate::onesided::fetch(a.0, &block.patch)?;
            let steps: Vec<T> = crate::local::operand(&block.patch, a.1, b.0, b.1)?;
            for (value, step) in values.iter().zip(steps) {
                if step.order() < 0.0 {
                    least = least.min(-value.order() / step.order());
                }
            }
        }
        Ok(least)
    }
}

/// `GA_Step_max`: the largest number by which `b` may be multiplied so that no element of `a` plus that gets negative, of the calling
/// process's elements.
///
/// # Errors
/// As for [`binary`].
pub fn step_max(a: ArrayPatch<'_>, b: ArrayPatch<'_>) -> Result<f64> {
    dispatch(a.0.kind, DoStepMax(a, b))
}

/// How far one may go from a point along a direction until elements meet their bounds (`GA_Step_bound_info`).
#[derive(Debug, Clone, Copy)]
pub struct StepBounds {
    /// The least step at which an element meets a bound: 0 where one that does not move is at a bound.
    pub least: f64,
    /// The least step at which one that moves does.
    pub least_of_moving: f64,
    /// The step at which the last one does; infinite if one never does.
    pub most: f64,
    /// No element is outside its bounds.
    pub is_inside: bool,
}

struct DoStepBounds<'a>([ArrayPatch<'a>; 4]);

impl Generic for DoStepBounds<'_> {
    type Output = StepBounds;

    fn call<T: Element>(self) -> Result<StepBounds> {
        let [point, others @ ..] = self.0;
        point.0.check(point.1)?;
        for (other, its) in others {
            other.check(its)?;
            point.0.check_like(point.1, other, its)?;
        }
        let mut found = StepBounds {
            least: f64::INFINITY,
            least_of_moving: f64::INFINITY,
            most: 0.0,
            is_inside: true,
        };
        for block in point.0.own_blocks(point.1) {
            let values: Vec<T> = crate::onesided::fetch(point.0, &block.patch)?;
            let operand = |(other, its): ArrayPatch<'_>| crate::local::operand::<T>(&block.patch, point.1, other, its);
            let (steps, lower, upper) = (operand(others[0])?, operand(others[1])?, operand(others[2])?);
            for (at, value) in values.iter().enumerate() {
                let (above, below) = (upper[at].sub(*value).order(), value.sub(lower[at]).order());
                found.is_inside &= above >= 0.0 && below >= 0.0;
                let step = steps[at].order();
                let until = match step {
                    _ if step > 0.0 => above / step,
                    _ if step < 0.0 => below / -step,
                    _ if above == 0.0 || below == 0.0 => 0.0,
                    _ => f64::INFINITY,
                };
                found.least = found.least.min(until);
                found.most = found.most.max(until);
                if step != 0.0 {
                    found.least_of_moving = found.least_of_moving.min(until);
                }
            }
        }
        Ok(found)
    }
}

/// `GA_Step_bound_info`, of the calling process's elements: the point, the direction, the lower and the upper bounds.
///
/// # Errors
/// As for [`binary`].
pub fn step_bounds(parts: [ArrayPatch<'_>; 4]) -> Result<StepBounds> {
    dispatch(parts[0].0.kind, DoStepBounds(parts))
}
