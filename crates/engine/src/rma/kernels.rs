//! The usual operators on numbers, for models that bring no kernels of their own.

use super::combine::{Class, Kernel, Operator, WIDEST};

/// The kernel, if there is one.
pub(super) fn find(class: Class, width: u32, operator: Operator) -> Option<Kernel> {
    match operator {
        Operator::Replace => return replace(width),
        Operator::NoOp => return Some(nothing),
        _ => {}
    }
    match (class, width) {
        (Class::Signed, 1) => integer::<i8>(operator),
        (Class::Signed, 2) => integer::<i16>(operator),
        (Class::Signed, 4) => integer::<i32>(operator),
        (Class::Signed, 8) => integer::<i64>(operator),
        (Class::Unsigned, 1) => integer::<u8>(operator),
        (Class::Unsigned, 2) => integer::<u16>(operator),
        (Class::Unsigned, 4) => integer::<u32>(operator),
        (Class::Unsigned, 8) => integer::<u64>(operator),
        (Class::Float, 4) => float::<f32>(operator),
        (Class::Float, 8) => float::<f64>(operator),
        (Class::Complex, 8) => complex::<f32>(operator),
        (Class::Complex, 16) => complex::<f64>(operator),
        _ => None,
    }
}

unsafe fn nothing(_left: *const u8, _right: *const u8, _result: *mut u8, _count: usize) {}

fn replace(width: u32) -> Option<Kernel> {
    macro_rules! widths {
        ($($width:literal)*) => {
            match width {
                $($width => Some(replace_of::<$width> as Kernel),)*
                _ => None,
            }
        };
    }
    const { assert!(WIDEST == 64) };
    widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64)
}

/// # Safety
/// As for [`Kernel`].
unsafe fn replace_of<const WIDTH: usize>(left: *const u8, _right: *const u8, result: *mut u8, count: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(left, result, count * WIDTH) };
}

/// # Safety
/// As for [`Kernel`], with elements that are a T.
#[inline(always)]
unsafe fn each<T: Copy>(left: *const u8, right: *const u8, result: *mut u8, count: usize, f: impl Fn(T, T) -> T) {
    let (left, right, result) = (left.cast::<T>(), right.cast::<T>(), result.cast::<T>());
    for index in 0..count {
        // SAFETY: the caller's promise.
        unsafe {
            let value = f(left.add(index).read_unaligned(), right.add(index).read_unaligned());
            result.add(index).write_unaligned(value);
        }
    }
}

macro_rules! kernel {
    ($type:ty, $f:expr) => {{
        /// # Safety
        /// As for [`Kernel`].
        unsafe fn kernel<T: Number>(left: *const u8, right: *const u8, result: *mut u8, count: usize) {
            // SAFETY: the caller's promise.
            unsafe { each::<$type>(left, right, result, count, $f) }
        }
        Some(kernel::<T> as Kernel)
    }};
}

trait Number: Copy + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

trait Bits: Number {
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn minus(self, other: Self) -> Self { self.wrapping_sub(other) }
        }
        impl Bits for $type {
            fn and(self, other: Self) -> Self { self & other }
            fn or(self, other: Self) -> Self { self | other }
            fn xor(self, other: Self) -> Self { self ^ other }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Number for $type {
            fn plus(self, other: Self) -> Self { self + other }
            fn times(self, other: Self) -> Self { self * other }
            fn minus(self, other: Self) -> Self { self - other }
        }
    )*};
}
floats!(f32 f64);

fn float<T: Number>(operator: Operator) -> Option<Kernel> {
    match operator {
        Operator::Sum => kernel!(T, |a: T, b: T| a.plus(b)),
        Operator::Product => kernel!(T, |a: T, b: T| a.times(b)),
        Operator::Minimum => kernel!(T, |a: T, b: T| if a < b { a } else { b }),
        Operator::Maximum => kernel!(T, |a: T, b: T| if a > b { a } else { b }),
        _ => None,
    }
}

fn integer<T: Bits>(operator: Operator) -> Option<Kernel> {
    macro_rules! bits {
        ($f:expr) => {{
            /// # Safety
            /// As for [`Kernel`].
            unsafe fn kernel<T: Bits>(left: *const u8, right: *const u8, result: *mut u8, count: usize) {
                // SAFETY: the caller's promise.
                unsafe { each::<T>(left, right, result, count, $f) }
            }
            Some(kernel::<T> as Kernel)
        }};
    }
    match operator {
        Operator::And => bits!(|a: T, b: T| a.and(b)),
        Operator::Or => bits!(|a: T, b: T| a.or(b)),
        Operator::Xor => bits!(|a: T, b: T| a.xor(b)),
        _ => float::<T>(operator),
    }
}

fn complex<T: Number>(operator: Operator) -> Option<Kernel> {
    match operator {
        Operator::Sum => kernel!([T; 2], |a: [T; 2], b: [T; 2]| [a[0].plus(b[0]), a[1].plus(b[1])]),
        Operator::Product => kernel!([T; 2], |a: [T; 2], b: [T; 2]| [
            a[0].times(b[0]).minus(a[1].times(b[1])),
            a[0].times(b[1]).plus(a[1].times(b[0]))
        ]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T: Copy>(class: Class, operator: Operator, left: T, right: T) -> Option<T> {
        let kernel = find(class, size_of::<T>() as u32, operator)?;
        let mut right = right;
        let at = (&raw mut right).cast::<u8>();
        // SAFETY: one element each.
        unsafe { kernel((&raw const left).cast(), at, at, 1) };
        Some(right)
    }

    #[test]
    fn what_they_do() {
        assert_eq!(run(Class::Signed, Operator::Sum, i8::MAX, 1i8), Some(i8::MIN), "wraps");
        assert_eq!(run(Class::Signed, Operator::Minimum, -1i64, 1), Some(-1));
        assert_eq!(run(Class::Unsigned, Operator::Minimum, u32::MAX, 1), Some(1));
        assert_eq!(run(Class::Unsigned, Operator::Xor, 6u16, 3), Some(5));
        assert_eq!(run(Class::Float, Operator::Product, 1.5f32, 2.0), Some(3.0));
        assert_eq!(run(Class::Float, Operator::Maximum, 1.5f64, 2.0), Some(2.0));
        assert_eq!(
            run(Class::Complex, Operator::Product, [0.0f64, 1.0], [0.0, 1.0]),
            Some([-1.0, 0.0])
        );
        assert_eq!(run(Class::Opaque, Operator::Replace, [7u8; 13], [1; 13]), Some([7; 13]));
        assert_eq!(run(Class::Opaque, Operator::NoOp, [7u8; 13], [1; 13]), Some([1; 13]));
        assert_eq!(run(Class::Float, Operator::And, 1.0f64, 1.0), None);
        assert_eq!(run(Class::Opaque, Operator::Sum, 1u64, 1), None);
    }
}
