//! Handles as integers: `MPI_Comm_toint` and its siblings, and their Fortran forms in the ABIs of MPICH and Open MPI.

use std::ffi::{c_int, c_void};

use isthmus_mpi::comm::Comm;
use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::errhandler::Errhandler;
use isthmus_mpi::group::Group;
use isthmus_mpi::info::Info;
use isthmus_mpi::op::Op;
use isthmus_mpi::probe::Message;
use isthmus_mpi::request::Request;
use isthmus_mpi::session::Session;
use isthmus_mpi::win::Win;

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
    ($name:ident, from $object:ty) => {
        /// The handle that an integer stands for.
        ///
        /// # Safety
        /// None.
        pub unsafe fn $name<A: Abi>(integer: c_int) -> CHandle<A> {
            A::from_int::<$object>(integer)
        }
    };
    ($name:ident, to_file) => {
        /// A file's handle, an address in all ABIs, as an integer.
        ///
        /// # Safety
        /// None.
        pub unsafe fn $name<A: Abi>(handle: *mut c_void) -> c_int {
            A::file_to_int(handle)
        }
    };
    ($name:ident, from_file) => {
        /// The file's handle that an integer stands for.
        ///
        /// # Safety
        /// None.
        pub unsafe fn $name<A: Abi>(integer: c_int) -> *mut c_void {
            A::file_from_int(integer)
        }
    };
}

entry!(comm_toint, to);
entry!(comm_fromint, from Comm);
entry!(comm_c2f, to);
entry!(comm_f2c, from Comm);
entry!(errhandler_toint, to);
entry!(errhandler_fromint, from Errhandler);
entry!(errhandler_c2f, to);
entry!(errhandler_f2c, from Errhandler);
entry!(file_toint, to_file);
entry!(file_fromint, from_file);
entry!(file_c2f, to_file);
entry!(file_f2c, from_file);
entry!(group_toint, to);
entry!(group_fromint, from Group);
entry!(group_c2f, to);
entry!(group_f2c, from Group);
entry!(info_toint, to);
entry!(info_fromint, from Info);
entry!(info_c2f, to);
entry!(info_f2c, from Info);
entry!(message_toint, to);
entry!(message_fromint, from Message);
entry!(message_c2f, to);
entry!(message_f2c, from Message);
entry!(op_toint, to);
entry!(op_fromint, from Op);
entry!(op_c2f, to);
entry!(op_f2c, from Op);
entry!(request_toint, to);
entry!(request_fromint, from Request);
entry!(request_c2f, to);
entry!(request_f2c, from Request);
entry!(session_toint, to);
entry!(session_fromint, from Session);
entry!(session_c2f, to);
entry!(session_f2c, from Session);
entry!(type_toint, to);
entry!(type_fromint, from Datatype);
entry!(type_c2f, to);
entry!(type_f2c, from Datatype);
entry!(win_toint, to);
entry!(win_fromint, from Win);
entry!(win_c2f, to);
entry!(win_f2c, from Win);
