//! The types of elements, and what reductions do with them.

use isthmus_datatype::{Element as Kind, Predefined};

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

/// A type that reductions combine.
pub trait Reduces: Element {
    /// What it is to them.
    const KIND: Kind;
}

macro_rules! reduces {
    ($($of:ty as $kind:ident),*) => { $( impl Reduces for $of { const KIND: Kind = Kind::$kind; } )* };
}
reduces!(
    i8 as I8, i16 as I16, i32 as I32, i64 as I64, isize as I64, u8 as U8, u16 as U16, u32 as U32, u64 as U64, usize as U64, f32 as F32,
    f64 as F64, LongDouble as X87, Complex<f32> as C32, Complex<f64> as C64
);

/// An operation of reductions.
pub trait Operation {
    /// Which one.
    const OP: Predefined;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident is $op:ident),*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl Operation for $name {
            const OP: Predefined = Predefined::$op;
        }
    )* };
}
operations!(
    /// Bitwise and.
    And is Band,
    /// Bitwise or.
    Or is Bor,
    /// Bitwise exclusive or.
    Xor is Bxor,
    /// The larger one.
    Max is Max,
    /// The smaller one.
    Min is Min,
    /// The sum; integers wrap.
    Sum is Sum,
    /// The product; integers wrap.
    Prod is Prod
);
