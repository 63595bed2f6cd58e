//! The types of elements, and what reductions do with them.

use std::ops::{Add, Mul};

/// C's `long double`: Rust has none, so its bytes.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
pub struct LongDouble([u8; 16]);

/// C's `_Complex`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Complex<F> {
    real: F,
    imaginary: F,
}

/// A type of elements, of which every pattern of bits is one.
///
/// # Safety
/// Any bytes are a value, and it may go to other threads.
pub unsafe trait Element: Copy + Send + Sync + 'static {}

macro_rules! elements {
    ($($of:ty),*) => { $(
        // SAFETY: plain numbers.
        unsafe impl Element for $of {}
    )* };
}
elements!(
    i8,
    i16,
    i32,
    i64,
    isize,
    u8,
    u16,
    u32,
    u64,
    usize,
    f32,
    f64,
    LongDouble,
    [u64; 2],
    Complex<f32>,
    Complex<f64>
);

/// An operation of reductions on a type.
pub trait Operation<T> {
    /// Of two values, the one of the lower PE first.
    fn combine(a: T, b: T) -> T;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident),*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
    )* };
}
operations!(
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The larger one.
    Max,
    /// The smaller one.
    Min,
    /// The sum; integers wrap.
    Sum,
    /// The product; integers wrap.
    Prod
);

macro_rules! integers {
    ($($of:ty),*) => { $(
        impl Operation<$of> for And { #[inline(always)] fn combine(a: $of, b: $of) -> $of { a & b } }
        impl Operation<$of> for Or { #[inline(always)] fn combine(a: $of, b: $of) -> $of { a | b } }
        impl Operation<$of> for Xor { #[inline(always)] fn combine(a: $of, b: $of) -> $of { a ^ b } }
        impl Operation<$of> for Max { #[inline(always)] fn combine(a: $of, b: $of) -> $of { if b > a { b } else { a } } }
        impl Operation<$of> for Min { #[inline(always)] fn combine(a: $of, b: $of) -> $of { if b < a { b } else { a } } }
        impl Operation<$of> for Sum { #[inline(always)] fn combine(a: $of, b: $of) -> $of { a.wrapping_add(b) } }
        impl Operation<$of> for Prod { #[inline(always)] fn combine(a: $of, b: $of) -> $of { a.wrapping_mul(b) } }
    )* };
}
integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

macro_rules! floats {
    ($($of:ty),*) => { $(
        impl Operation<$of> for Max { #[inline(always)] fn combine(a: $of, b: $of) -> $of { if b > a { b } else { a } } }
        impl Operation<$of> for Min { #[inline(always)] fn combine(a: $of, b: $of) -> $of { if b < a { b } else { a } } }
        impl Operation<$of> for Sum { #[inline(always)] fn combine(a: $of, b: $of) -> $of { a + b } }
        impl Operation<$of> for Prod { #[inline(always)] fn combine(a: $of, b: $of) -> $of { a * b } }
    )* };
}
floats!(f32, f64);

impl<F: Add<Output = F>> Operation<Complex<F>> for Sum {
    #[inline(always)]
    fn combine(a: Complex<F>, b: Complex<F>) -> Complex<F> {
        Complex {
            real: a.real + b.real,
            imaginary: a.imaginary + b.imaginary,
        }
    }
}

impl<F: Copy + Mul<Output = F> + Add<Output = F> + std::ops::Sub<Output = F>> Operation<Complex<F>> for Prod {
    #[inline(always)]
    fn combine(a: Complex<F>, b: Complex<F>) -> Complex<F> {
        Complex {
            real: a.real * b.real - a.imaginary * b.imaginary,
            imaginary: a.real * b.imaginary + a.imaginary * b.real,
        }
    }
}

mod c {
    use super::LongDouble;

    unsafe extern "C" {
        pub fn isthmus_shmem_long_double_sum(from: *const LongDouble, to: *mut LongDouble);
        pub fn isthmus_shmem_long_double_prod(from: *const LongDouble, to: *mut LongDouble);
        pub fn isthmus_shmem_long_double_min(from: *const LongDouble, to: *mut LongDouble);
        pub fn isthmus_shmem_long_double_max(from: *const LongDouble, to: *mut LongDouble);
    }
}

macro_rules! long_doubles {
    ($($operation:ident by $function:ident),*) => { $(
        impl Operation<LongDouble> for $operation {
            fn combine(mut a: LongDouble, b: LongDouble) -> LongDouble {
                // SAFETY: both are values of ours, aligned as C wants them.
                unsafe { c::$function(&b, &mut a) };
                a
            }
        }
    )* };
}
long_doubles!(
    Sum by isthmus_shmem_long_double_sum,
    Prod by isthmus_shmem_long_double_prod,
    Min by isthmus_shmem_long_double_min,
    Max by isthmus_shmem_long_double_max
);

/// What an exclusive scan gives the first PE.
pub trait Zero {
    /// Nought.
    const ZERO: Self;
}

macro_rules! zeros {
    ($($of:ty = $zero:expr),*) => { $( impl Zero for $of { const ZERO: Self = $zero; } )* };
}
zeros!(
    i8 = 0, i16 = 0, i32 = 0, i64 = 0, isize = 0, u8 = 0, u16 = 0, u32 = 0, u64 = 0, usize = 0, f32 = 0.0, f64 = 0.0,
    LongDouble = LongDouble([0; 16]), Complex<f32> = Complex { real: 0.0, imaginary: 0.0 },
    Complex<f64> = Complex { real: 0.0, imaginary: 0.0 }
);
