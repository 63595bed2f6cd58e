//! The loops of `extended.c`: long double and binary128, real and complex.

use std::ffi::c_void;

use super::kernels::{Kernel, Predefined};
use crate::datatype::Element;

macro_rules! loops {
    ($($name:ident = $symbol:literal;)*) => {
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
            unsafe fn $name(input: *const u8, inout: *mut u8, count: usize) {
                // SAFETY: the caller's promise; the C loop assumes no alignment.
                unsafe { c::$name(input.cast(), inout.cast(), count) }
            }
        )*
    };
}

loops! {
    x87_sum = "isthmus_x87_sum";
    x87_prod = "isthmus_x87_prod";
    x87_min = "isthmus_x87_min";
    x87_max = "isthmus_x87_max";
    f128_sum = "isthmus_f128_sum";
    f128_prod = "isthmus_f128_prod";
    f128_min = "isthmus_f128_min";
    f128_max = "isthmus_f128_max";
    cx87_sum = "isthmus_cx87_sum";
    cx87_prod = "isthmus_cx87_prod";
    c128_sum = "isthmus_c128_sum";
    c128_prod = "isthmus_c128_prod";
    x87_int_minloc = "isthmus_x87_int_minloc";
    x87_int_maxloc = "isthmus_x87_int_maxloc";
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
