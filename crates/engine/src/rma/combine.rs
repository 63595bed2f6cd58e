//! What an accumulate does to an element: a kernel of [`isthmus_datatype::op`], which is given the origin's elements as the left operands, and
//! the target's as the right ones, which are also where the results go.

use isthmus_datatype::op::{self, Predefined};
use isthmus_datatype::{Element, Kernel};

/// What an element is, as far as atomic instructions care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// A signed integer.
    Signed = 0,
    /// An unsigned integer, or bits.
    Unsigned = 1,
    /// A number of IEEE 754.
    Float = 2,
    /// Two of them.
    Complex = 3,
    /// Anything else: only its kernel knows.
    Opaque = 4,
}

/// How origin and target are combined, as far as atomic instructions care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)] // The usual words.
pub enum Operator {
    /// The target becomes the origin.
    Replace = 0,
    /// The target stays.
    NoOp = 1,
    Sum = 2,
    Product = 3,
    Minimum = 4,
    Maximum = 5,
    And = 6,
    Or = 7,
    Xor = 8,
    /// Whatever the kernel does.
    Other = 9,
}

/// Elements wider than this cannot be combined.
pub const WIDEST: u32 = 64;

/// What an accumulate does: to elements of one width, by one operator.
#[derive(Debug, Clone, Copy)]
pub struct Combine {
    pub(super) class: Class,
    pub(super) operator: Operator,
    pub(super) width: u32,
    /// What other processes know the kernel by.
    pub(super) number: u32,
    pub(super) kernel: Kernel,
}

impl Combine {
    /// One of the usual operators on numbers of 1, 2, 4 or 8 bytes (floating point: 4 or 8; complex: 8 or 16), or replace or no-op on
    /// elements of up to 64 bytes. `None`: there is none such.
    pub fn of(class: Class, width: u32, operator: Operator) -> Option<Self> {
        if width == 0 || width > WIDEST {
            return None;
        }
        let (number, kernel) = match operator {
            Operator::Replace => (number_of_move(width, operator), replace(width)?),
            Operator::NoOp => (number_of_move(width, operator), nothing as Kernel),
            _ => {
                let (which, element) = (predefined(operator)?, element(class, width)?);
                (op::number_of(which, element), op::find_for(which, element)?)
            }
        };
        Some(Self {
            class,
            operator,
            width,
            number,
            kernel,
        })
    }

    /// What a [numbered](op::find_numbered) kernel does. `class` and `operator` say what atomic instruction does the same, if there is one: if
    /// in doubt, [`Class::Opaque`] and [`Operator::Other`]. `None`: elements of no such width are combined.
    ///
    /// # Safety
    /// In this process `number` stands for `kernel`, as far as it stands for anything, and `class` and `operator` for what it does.
    #[inline]
    pub unsafe fn with(class: Class, width: u32, operator: Operator, number: u32, kernel: Kernel) -> Option<Self> {
        (width > 0 && width <= WIDEST).then_some(Self {
            class,
            operator,
            width,
            number,
            kernel,
        })
    }

    /// What other processes know the kernel by.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Bytes of an element.
    pub fn width(&self) -> u32 {
        self.width
    }
}

/// The number of what only moves elements: below those of kernels.
fn number_of_move(width: u32, operator: Operator) -> u32 {
    width << 8 | u32::from(operator as u8)
}

fn predefined(operator: Operator) -> Option<Predefined> {
    Some(match operator {
        Operator::Sum => Predefined::Sum,
        Operator::Product => Predefined::Prod,
        Operator::Minimum => Predefined::Min,
        Operator::Maximum => Predefined::Max,
        Operator::And => Predefined::Band,
        Operator::Or => Predefined::Bor,
        Operator::Xor => Predefined::Bxor,
        Operator::Replace | Operator::NoOp | Operator::Other => return None,
    })
}

fn element(class: Class, width: u32) -> Option<Element> {
    Some(match (class, width) {
        (Class::Signed, 1) => Element::I8,
        (Class::Signed, 2) => Element::I16,
        (Class::Signed, 4) => Element::I32,
        (Class::Signed, 8) => Element::I64,
        (Class::Unsigned, 1) => Element::U8,
        (Class::Unsigned, 2) => Element::U16,
        (Class::Unsigned, 4) => Element::U32,
        (Class::Unsigned, 8) => Element::U64,
        (Class::Float, 4) => Element::F32,
        (Class::Float, 8) => Element::F64,
        (Class::Complex, 8) => Element::C32,
        (Class::Complex, 16) => Element::C64,
        _ => return None,
    })
}

/// # Safety
/// None: it does nothing.
pub(super) unsafe fn nothing(_left: *const u8, _right: *const u8, _result: *mut u8, _count: usize) {}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T: Copy>(class: Class, operator: Operator, left: T, right: T) -> Option<T> {
        let kernel = Combine::of(class, size_of::<T>() as u32, operator)?.kernel;
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
