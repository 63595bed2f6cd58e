//! The loops of `extended.c`: long double and binary128, real and complex.

use std::ffi::c_void;

use super::predefined::{Kernel, Predefined, bring};
use crate::predefined::Element;

macro_rules! loops {
    ($($name:ident = $symbol:literal, $size:literal;)*) => {
        mod c {
            use super::c_void;
            unsafe extern "C" {
                $(#[link_name = $symbol]
                pub fn $name(input: *const c_void, inout: *mut c_void, count: usize);)*
            }
        }
        $(
            /// # Safety
            /// As for [`Kernel`].
            unsafe fn $name(left: *const u8, right: *const u8, output: *mut u8, count: usize) {
                // SAFETY: the caller's promise; the C loop assumes no alignment.
                unsafe {
                    bring(right, output, count, $size);
                    c::$name(left.cast(), output.cast(), count);
                }
            }
        )*
    };
}

// With the bytes of an element.
loops! {
    x87_sum = "isthmus_x87_sum", 16;
    x87_prod = "isthmus_x87_prod", 16;
    x87_min = "isthmus_x87_min", 16;
    x87_max = "isthmus_x87_max", 16;
    f128_sum = "isthmus_f128_sum", 16;
    f128_prod = "isthmus_f128_prod", 16;
    f128_min = "isthmus_f128_min", 16;
    f128_max = "isthmus_f128_max", 16;
    cx87_sum = "isthmus_cx87_sum", 32;
    cx87_prod = "isthmus_cx87_prod", 32;
    c128_sum = "isthmus_c128_sum", 32;
    c128_prod = "isthmus_c128_prod", 32;
    x87_int_minloc = "isthmus_x87_int_minloc", 32;
    x87_int_maxloc = "isthmus_x87_int_maxloc", 32;
}

pub(super) fn single(op: Predefined, element: Element) -> Option<Kernel> {
    use Predefined::{Max, Min, Prod, Sum};
    Some(match (element, op) {
        (Element::X87, Sum) => x87_sum,
        (Element::X87, Prod) => x87_prod,
        (Element::X87, Min) => x87_min,
        (Element::X87, Max) => x87_max,
        (Element::F128, Sum) => f128_sum,
        (Element::F128, Prod) => f128_prod,
        (Element::F128, Min) => f128_min,
        (Element::F128, Max) => f128_max,
        (Element::CX87, Sum) => cx87_sum,
        (Element::CX87, Prod) => cx87_prod,
        (Element::C128, Sum) => c128_sum,
        (Element::C128, Prod) => c128_prod,
        _ => return None,
    })
}

/// `MPI_LONG_DOUBLE_INT`.
pub(super) fn located(op: Predefined) -> Option<Kernel> {
    match op {
        Predefined::Minloc => Some(x87_int_minloc),
        Predefined::Maxloc => Some(x87_int_maxloc),
        _ => None,
    }
}
