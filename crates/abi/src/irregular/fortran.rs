//! Fortran's statuses: in the ABIs of MPICH and Open MPI all three forms of a status are the same integers.

use std::ffi::{c_int, c_void};

use isthmus_mpi::error::Result;
use isthmus_mpi::fail;

use crate::abi::Abi;
use crate::argument;
use crate::entry::{self, CStatus, Scope};

/// Copy one form of a status to another. Ignored statuses have no content (MPI-5.0 §19.3.5).
unsafe fn copy<A: Abi>(name: &'static str, from: *const c_void, to: *mut c_void) -> c_int {
    entry::any_time::<A>(name, Scope::Process, || {
        if from.addr() <= A::STATUS_IGNORE {
            return Err(fail!(Arg, "the status to be converted is none"));
        }
        if to.addr() <= A::STATUS_IGNORE {
            return Err(fail!(Arg, "there is no status for the result"));
        }
        let to = argument::output(to.cast::<CStatus<A>>(), "the converted status")?;
        // SAFETY: the caller gave the address of a status in one of its forms.
        to.put(unsafe { from.cast::<CStatus<A>>().read_unaligned() });
        Ok(()) as Result<()>
    })
}

/// `MPI_Status_c2f`
///
/// # Safety
/// As for the C function.
pub unsafe fn status_c2f<A: Abi>(c_status: *const CStatus<A>, f_status: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { copy::<A>("MPI_Status_c2f", c_status.cast(), f_status.cast()) }
}

/// `MPI_Status_f2c`
///
/// # Safety
/// As for the C function.
pub unsafe fn status_f2c<A: Abi>(f_status: *const c_int, c_status: *mut CStatus<A>) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { copy::<A>("MPI_Status_f2c", f_status.cast(), c_status.cast()) }
}

/// `MPI_Status_c2f08`
///
/// # Safety
/// As for the C function.
pub unsafe fn status_c2f08<A: Abi>(c_status: *const CStatus<A>, f08_status: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { copy::<A>("MPI_Status_c2f08", c_status.cast(), f08_status) }
}

/// `MPI_Status_f082c`
///
/// # Safety
/// As for the C function.
pub unsafe fn status_f082c<A: Abi>(f08_status: *const c_void, c_status: *mut CStatus<A>) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { copy::<A>("MPI_Status_f082c", f08_status, c_status.cast()) }
}

/// `MPI_Status_f2f08`
///
/// # Safety
/// As for the C function.
pub unsafe fn status_f2f08<A: Abi>(f_status: *const c_int, f08_status: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { copy::<A>("MPI_Status_f2f08", f_status.cast(), f08_status) }
}

/// `MPI_Status_f082f`
///
/// # Safety
/// As for the C function.
pub unsafe fn status_f082f<A: Abi>(f08_status: *const c_void, f_status: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { copy::<A>("MPI_Status_f082f", f08_status, f_status.cast()) }
}
