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
    isthmus_ga_NGA_Sprs_array_access_col_block
    isthmus_ga_NGA_Sprs_array_access_col_block64
    isthmus_ga_NGA_Sprs_array_add_element
    isthmus_ga_NGA_Sprs_array_add_element64
    isthmus_ga_NGA_Sprs_array_assemble
    isthmus_ga_NGA_Sprs_array_create
    isthmus_ga_NGA_Sprs_array_create64
    isthmus_ga_NGA_Sprs_array_create_from_dense
    isthmus_ga_NGA_Sprs_array_create_from_dense64
    isthmus_ga_NGA_Sprs_array_create_from_sparse
    isthmus_ga_NGA_Sprs_array_column_distribution
    isthmus_ga_NGA_Sprs_array_column_distribution64
    isthmus_ga_NGA_Sprs_array_col_block_list
    isthmus_ga_NGA_Sprs_array_count_sketch
    isthmus_ga_NGA_Sprs_array_destroy
    isthmus_ga_NGA_Sprs_array_diag_left_multiply
    isthmus_ga_NGA_Sprs_array_diag_right_multiply
    isthmus_ga_NGA_Sprs_array_dnssprs_multiply
    isthmus_ga_NGA_Sprs_array_duplicate
    isthmus_ga_NGA_Sprs_array_export
    isthmus_ga_NGA_Sprs_array_get_block
    isthmus_ga_NGA_Sprs_array_get_block64
    isthmus_ga_NGA_Sprs_array_get_column
    isthmus_ga_NGA_Sprs_array_get_column64
    isthmus_ga_NGA_Sprs_array_get_diag
    isthmus_ga_NGA_Sprs_array_matmat_multiply
    isthmus_ga_NGA_Sprs_array_matvec_multiply
    isthmus_ga_NGA_Sprs_array_row_distribution
    isthmus_ga_NGA_Sprs_array_row_distribution64
    isthmus_ga_NGA_Sprs_array_scale
    isthmus_ga_NGA_Sprs_array_shift_diag
    isthmus_ga_NGA_Sprs_array_sprsdns_multiply
}
