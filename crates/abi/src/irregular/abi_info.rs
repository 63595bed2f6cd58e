//! What an ABI says of itself.

use std::ffi::{c_int, c_void};

use isthmus_mpi::errhandler::Scope;
use isthmus_mpi::procedures;

use crate::abi::Abi;
use crate::argument;
use crate::entry;

/// `MPI_Abi_get_version`: clients tell the ABIs apart by it, so the MPICH ABI answers -1, -1.
///
/// # Safety
/// As for the C function.
pub unsafe fn abi_get_version<A: Abi>(abi_major: *mut c_int, abi_minor: *mut c_int) -> c_int {
    entry::any_time::<A>("MPI_Abi_get_version", Scope::Process, || {
        let major = argument::output(abi_major, "abi_major")?;
        let minor = argument::output(abi_minor, "abi_minor")?;
        major.put(A::VERSION.0);
        minor.put(A::VERSION.1);
        Ok(())
    })
}

/// `MPI_Abi_get_fortran_booleans`
///
/// # Safety
/// As for the C function.
pub unsafe fn abi_get_fortran_booleans<A: Abi>(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
    is_set: *mut c_int,
) -> c_int {
    entry::any_time::<A>("MPI_Abi_get_fortran_booleans", Scope::Process, || {
        argument::output(logical_true, "logical_true")?;
        argument::output(logical_false, "logical_false")?;
        let output = argument::output(is_set, "is_set")?;
        // SAFETY: the caller has room for two logicals of that size there.
        let set = unsafe { procedures::abi_get_fortran_booleans(logical_size, logical_true, logical_false)? };
        output.put(c_int::from(set));
        Ok(())
    })
}

/// `MPI_Abi_set_fortran_booleans`
///
/// # Safety
/// As for the C function.
pub unsafe fn abi_set_fortran_booleans<A: Abi>(
    logical_size: c_int,
    logical_true: *mut c_void,
    logical_false: *mut c_void,
) -> c_int {
    entry::any_time::<A>("MPI_Abi_set_fortran_booleans", Scope::Process, || {
        argument::output(logical_true, "logical_true")?;
        argument::output(logical_false, "logical_false")?;
        // SAFETY: the caller gives the addresses of two logicals of that size.
        unsafe { procedures::abi_set_fortran_booleans(logical_size, logical_true, logical_false) }
    })
}
