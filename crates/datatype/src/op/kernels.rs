//! The predefined operations as loops over unaligned elements: `output[i] = left[i] op right[i]`.
//!
//! Loops over numbers exist three times: for every processor, and with vectors of 32 and of 64 bytes. All give the same bits: elements are
//! combined one by one, and nothing is contracted. A sum of 512 doubles in the nearest cache takes 33.7 ns with 32 bytes and 16.5 with 64 (Zen 5).
//!
//! Integers wrap, as C's unsigned and every peer's signed ones do. Comparing with a NaN is false, so the second operand
//! stays; since every algorithm keeps the operands' order, all ranks still see the same result.

use super::extended;
use super::half::{Brain, Half};
use super::predefined::{Kernel, Number, Predefined, bring};
use crate::predefined::{Element, Family, NAMED, Named};

use Predefined::*;

/// The loop for an operation on a type, if the standard defines it.
pub fn find(op: Predefined, named: &Named) -> Option<Kernel> {
    if !op.is_defined_for(named.family) {
        return None;
    }
    match *named.elements {
        [element] => single(op, element),
        [value, index] => pair(op, value, index),
        _ => None,
    }
}

/// The loop for an operation on elements of a kind, whatever type they are of.
pub fn find_for(op: Predefined, element: Element) -> Option<Kernel> {
    single(op, element)
}

/// Numbers of kernels, by which processes of a job name them to each other, begin here: 256 elements or pairs for each operation.
pub const FIRST_NUMBER: u32 = 1 << 24;

/// The number of an operation on elements of a kind.
pub fn number_of(op: Predefined, element: Element) -> u32 {
    FIRST_NUMBER | (op as u32) << 8 | element as u32
}

/// The number of an operation on the pairs of a predefined type.
pub fn number_of_pair(op: Predefined, named: &Named) -> u32 {
    FIRST_NUMBER | (op as u32) << 8 | named.raw & 0xff
}

/// The loop of a number, whichever process says it; `None`: there is no such loop.
pub fn find_numbered(number: u32) -> Option<Kernel> {
    if number & 0xff00_0000 != FIRST_NUMBER {
        return None;
    }
    let op = *Predefined::ALL.iter().find(|op| **op as u32 == number >> 8 & 0xffff)?;
    let is_pair = |named: &&Named| named.family == Family::Pair && number_of_pair(op, named) == number;
    if let Some(named) = NAMED.iter().find(is_pair) {
        return find(op, named);
    }
    let elements = NAMED.iter().filter_map(|named| match *named.elements {
        [element] => Some(element),
        _ => None,
    });
    let mut same = elements.filter(|element| number_of(op, *element) == number);
    single(op, same.next()?)
}

fn single(op: Predefined, element: Element) -> Option<Kernel> {
    match element {
        Element::I8 => integer::<i8>(op),
        Element::I16 => integer::<i16>(op),
        Element::I32 => integer::<i32>(op),
        Element::I64 => integer::<i64>(op),
        Element::I128 => integer::<i128>(op),
        Element::U8 => integer::<u8>(op),
        Element::U16 => integer::<u16>(op),
        Element::U32 => integer::<u32>(op),
        Element::U64 => integer::<u64>(op),
        Element::F16 => ordered::<Half>(op),
        Element::BF16 => ordered::<Brain>(op),
        Element::F32 => ordered::<f32>(op),
        Element::F64 => ordered::<f64>(op),
        Element::C16 => complex::<Half>(op),
        Element::C32 => complex::<f32>(op),
        Element::C64 => complex::<f64>(op),
        Element::X87 | Element::F128 | Element::CX87 | Element::C128 => extended::single(op, element),
    }
}

fn pair(op: Predefined, value: Element, index: Element) -> Option<Kernel> {
    match (value, index) {
        (Element::F32, Element::I32) => located::<f32, i32>(op),
        (Element::F64, Element::I32) => located::<f64, i32>(op),
        (Element::I64, Element::I32) => located::<i64, i32>(op),
        (Element::I32, Element::I32) => located::<i32, i32>(op),
        (Element::I16, Element::I32) => located::<i16, i32>(op),
        (Element::F32, Element::F32) => located::<f32, f32>(op),
        (Element::F64, Element::F64) => located::<f64, f64>(op),
        (Element::X87, Element::I32) => extended::located(op),
        _ => None,
    }
}

/// Fewer bytes are not worth the question of which vectors there are (7 % of an all-reduce of 8 bytes).
#[cfg(target_arch = "x86_64")]
const VECTORS_FROM: usize = 64;

/// Apply `f` to each pair of elements.
///
/// # Safety
/// As for [`Kernel`].
#[inline(always)]
unsafe fn each<T: Copy>(left: *const u8, right: *const u8, output: *mut u8, count: usize, f: impl Fn(T, T) -> T) {
    #[cfg(target_arch = "x86_64")]
    if count * size_of::<T>() >= VECTORS_FROM {
        if std::arch::is_x86_feature_detected!("avx512bw") && std::arch::is_x86_feature_detected!("avx512dq") {
            // SAFETY: the caller's promise, and the processor has these vectors.
            return unsafe { each_by_widest_vectors(left, right, output, count, f) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the caller's promise, and the processor has these vectors.
            return unsafe { each_by_wide_vectors(left, right, output, count, f) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { each_pair(left, right, output, count, f) }
}

/// # Safety
/// As for [`Kernel`]; the processor has AVX-512 for elements of all widths.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
unsafe fn each_by_widest_vectors<T: Copy>(
    left: *const u8,
    right: *const u8,
    output: *mut u8,
    count: usize,
    f: impl Fn(T, T) -> T,
) {
    // SAFETY: the caller's promise.
    unsafe { each_pair(left, right, output, count, f) }
}

/// # Safety
/// As for [`Kernel`]; the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn each_by_wide_vectors<T: Copy>(
    left: *const u8,
    right: *const u8,
    output: *mut u8,
    count: usize,
    f: impl Fn(T, T) -> T,
) {
    // SAFETY: the caller's promise.
    unsafe { each_pair(left, right, output, count, f) }
}

/// # Safety
/// As for [`Kernel`].
#[inline(always)]
unsafe fn each_pair<T: Copy>(left: *const u8, right: *const u8, output: *mut u8, count: usize, f: impl Fn(T, T) -> T) {
    let in_place = output.cast_const() == right;
    let (left, right, output) = (left.cast::<T>(), right.cast::<T>(), output.cast::<T>());
    // SAFETY: the caller's promise; no alignment is assumed.
    unsafe {
        // Two loops, since the compiler makes vectors only where it can tell that the regions do not overlap.
        if in_place {
            for i in 0..count {
                let result = f(left.add(i).read_unaligned(), output.add(i).read_unaligned());
                output.add(i).write_unaligned(result);
            }
        } else {
            for i in 0..count {
                let result = f(left.add(i).read_unaligned(), right.add(i).read_unaligned());
                output.add(i).write_unaligned(result);
            }
        }
    }
}

macro_rules! kernel {
    ($type:ty, $f:expr) => {
        |left, right, output, count| {
            // SAFETY: kernels are only called as `Kernel` demands.
            unsafe { each::<$type>(left, right, output, count, $f) }
        }
    };
}

/// Integers and their bits.
trait Integer: Number + PartialOrd {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn truth(self) -> bool;
    fn from_truth(value: bool) -> Self;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
        impl Integer for $type {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn truth(self) -> bool {
                self != 0
            }
            #[inline(always)]
            fn from_truth(value: bool) -> Self {
                value.into()
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Number for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    )*};
}
floats!(f32, f64);

fn integer<T: Integer>(op: Predefined) -> Option<Kernel> {
    Some(match op {
        Land => kernel!(T, |a, b| T::from_truth(a.truth() & b.truth())),
        Lor => kernel!(T, |a, b| T::from_truth(a.truth() | b.truth())),
        Lxor => kernel!(T, |a, b| T::from_truth(a.truth() ^ b.truth())),
        Band => kernel!(T, T::and),
        Bor => kernel!(T, T::or),
        Bxor => kernel!(T, T::xor),
        _ => return ordered::<T>(op),
    })
}

fn ordered<T: Number + PartialOrd>(op: Predefined) -> Option<Kernel> {
    Some(match op {
        Sum => kernel!(T, T::plus),
        Prod => kernel!(T, T::times),
        Min => kernel!(T, |a, b| if a < b { a } else { b }),
        Max => kernel!(T, |a, b| if a > b { a } else { b }),
        _ => return None,
    })
}

fn complex<T: Number>(op: Predefined) -> Option<Kernel> {
    Some(match op {
        Sum => kernel!([T; 2], |a, b| [a[0].plus(b[0]), a[1].plus(b[1])]),
        Prod => kernel!([T; 2], |a, b| [
            a[0].times(b[0]).minus(a[1].times(b[1])),
            a[0].times(b[1]).plus(a[1].times(b[0])),
        ]),
        _ => return None,
    })
}

/// A value and where it was found, laid out as C does.
#[derive(Clone, Copy)]
#[repr(C)]
struct Located<V, I> {
    value: V,
    index: I,
}

fn located<V: Copy + PartialOrd, I: Copy + PartialOrd>(op: Predefined) -> Option<Kernel> {
    Some(match op {
        Minloc => |left, right, output, count| {
            // SAFETY: kernels are only called as `Kernel` demands.
            unsafe {
                bring(right, output, count, size_of::<Located<V, I>>());
                locate::<V, I>(left, output, count, |a, b| a < b);
            }
        },
        Maxloc => |left, right, output, count| {
            // SAFETY: kernels are only called as `Kernel` demands.
            unsafe {
                bring(right, output, count, size_of::<Located<V, I>>());
                locate::<V, I>(left, output, count, |a, b| a > b);
            }
        },
        _ => return None,
    })
}

/// Take the better value, and of equal values the smaller index. Padding is left alone.
///
/// # Safety
/// Both must be good for that many elements, and not overlap.
#[inline(always)]
unsafe fn locate<V: Copy + PartialOrd, I: Copy + PartialOrd>(
    input: *const u8,
    inout: *mut u8,
    count: usize,
    better: impl Fn(V, V) -> bool,
) {
    let (input, inout) = (input.cast::<Located<V, I>>(), inout.cast::<Located<V, I>>());
    for i in 0..count {
        // SAFETY: the caller's promise; fields are addressed without references, so no alignment is assumed.
        unsafe {
            let (a, b) = (input.add(i), inout.add(i));
            let (value_a, value_b) = (
                (&raw const (*a).value).read_unaligned(),
                (&raw const (*b).value).read_unaligned(),
            );
            let (index_a, index_b) = (
                (&raw const (*a).index).read_unaligned(),
                (&raw const (*b).index).read_unaligned(),
            );
            if better(value_a, value_b) {
                (&raw mut (*b).value).write_unaligned(value_a);
                (&raw mut (*b).index).write_unaligned(index_a);
            } else if value_a == value_b && index_a < index_b {
                (&raw mut (*b).index).write_unaligned(index_a);
            }
        }
    }
}
