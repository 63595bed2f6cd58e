//! What the header declares and this library has not got: each says so.

use std::ffi::c_int;

use super::entries;
use crate::error::Error;

macro_rules! unsupported {
    ($($name:ident)*) => {
        entries! {$(
            fn $name() -> c_int {
                Err::<c_int, Error>(Error::unsupported("this routine"))?
            }
        )*}
    };
}

unsupported! {
    isthmus_ga_GA_Overlay
    isthmus_ga_GA_Assemble_duplicate
    isthmus_ga_GA_Step_bound_info
    isthmus_ga_GA_Step_bound_info_patch
    isthmus_ga_GA_Step_bound_info_patch64
    isthmus_ga_NGA_Get_field
    isthmus_ga_NGA_Put_field
    isthmus_ga_NGA_Nbget_field
    isthmus_ga_NGA_Nbput_field
}
