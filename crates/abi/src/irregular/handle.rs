//! Handles as integers: `MPI_Comm_toint` and its siblings, and their Fortran forms in the MPICH ABI.

use std::ffi::{c_int, c_void};

use crate::abi::Abi;
use crate::entry::CHandle;

macro_rules! entry {
    ($name:ident, to) => {
        /// A handle as an integer.
        ///
        /// # Safety
        /// None.
        pub unsafe fn $name<A: Abi>(handle: CHandle<A>) -> c_int {
            A::to_int(handle)
        }
    };
    ($name:ident, from) => {
        /// The handle that an integer stands for.
        ///
        /// # Safety
        /// None.
        pub unsafe fn $name<A: Abi>(integer: c_int) -> CHandle<A> {
            A::from_int(integer)
        }
    };
    ($name:ident, to_file) => {
        /// A file's handle, an address in both ABIs, as an integer.
        ///
        /// # Safety
        /// None.
        pub unsafe fn $name<A: Abi>(handle: *mut c_void) -> c_int {
            handle.addr() as c_int
        }
    };
    ($name:ident, from_file) => {
        /// The file's handle that an integer stands for.
        ///
        /// # Safety
        /// None.
        pub unsafe fn $name<A: Abi>(integer: c_int) -> *mut c_void {
            std::ptr::without_provenance_mut(integer.cast_unsigned() as usize)
        }
    };
}

entry!(comm_toint, to);
entry!(comm_fromint, from);
entry!(comm_c2f, to);
entry!(comm_f2c, from);
entry!(errhandler_toint, to);
entry!(errhandler_fromint, from);
entry!(errhandler_c2f, to);
entry!(errhandler_f2c, from);
entry!(file_toint, to_file);
entry!(file_fromint, from_file);
entry!(file_c2f, to_file);
entry!(file_f2c, from_file);
entry!(group_toint, to);
entry!(group_fromint, from);
entry!(group_c2f, to);
entry!(group_f2c, from);
entry!(info_toint, to);
entry!(info_fromint, from);
entry!(info_c2f, to);
entry!(info_f2c, from);
entry!(message_toint, to);
entry!(message_fromint, from);
entry!(message_c2f, to);
entry!(message_f2c, from);
entry!(op_toint, to);
entry!(op_fromint, from);
entry!(op_c2f, to);
entry!(op_f2c, from);
entry!(request_toint, to);
entry!(request_fromint, from);
entry!(request_c2f, to);
entry!(request_f2c, from);
entry!(session_toint, to);
entry!(session_fromint, from);
entry!(session_c2f, to);
entry!(session_f2c, from);
entry!(type_toint, to);
entry!(type_fromint, from);
entry!(type_c2f, to);
entry!(type_f2c, from);
entry!(win_toint, to);
entry!(win_fromint, from);
entry!(win_c2f, to);
entry!(win_f2c, from);
