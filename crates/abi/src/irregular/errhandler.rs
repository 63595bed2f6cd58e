//! Error handlers: callbacks by address.

use std::ffi::{c_int, c_void};

use isthmus_mpi::comm::Comm;
use isthmus_mpi::errhandler::{Errhandler, ErrorFn, Scope};
use isthmus_mpi::error::Result;
use isthmus_mpi::handle::Handle;
use isthmus_mpi::procedures;
use isthmus_mpi::session::Session;

use super::callback;
use crate::abi::{Abi, ErrorCode, Predefined};
use crate::argument::HandlePlace;
use crate::entry::{self, CHandle};

/// `MPI_Comm_errhandler_function` and its siblings. They are variadic, and we pass no more than these two.
type CError<A> = unsafe extern "C-unwind" fn(*mut CHandle<A>, *mut c_int, ...);

unsafe fn error_fn<A: Abi, T: Predefined>(address: *const c_void, name: &str) -> Result<ErrorFn> {
    // SAFETY: the program gives the address of an error handler.
    let function: CError<A> = unsafe { callback::function(address, name)? };
    Ok(Box::new(move |raw, code| {
        let mut object = A::handle_out(Handle::<T>::from_raw(raw));
        let mut code = A::word_out::<ErrorCode>(code);
        // SAFETY: the program promised that its function can be called so.
        unsafe { function(&raw mut object, &raw mut code) }
    }))
}

unsafe fn create<A: Abi, T: Predefined>(
    name: &'static str,
    function: *const c_void,
    argument: &str,
    errhandler: *mut CHandle<A>,
    make: fn(ErrorFn) -> Result<Handle<Errhandler>>,
) -> c_int {
    entry::any_time::<A>(name, Scope::Process, || {
        let place = HandlePlace::<A>::at(errhandler, "errhandler")?;
        // SAFETY: the caller's promise.
        place.put(make(unsafe { error_fn::<A, T>(function, argument)? })?);
        Ok(())
    })
}

/// `MPI_Comm_create_errhandler`
///
/// # Safety
/// As for the C function.
pub unsafe fn comm_create_errhandler<A: Abi>(comm_errhandler_fn: *const c_void, errhandler: *mut CHandle<A>) -> c_int {
    let name = "MPI_Comm_create_errhandler";
    let make = procedures::comm_create_errhandler;
    // SAFETY: the caller's promise.
    unsafe { create::<A, Comm>(name, comm_errhandler_fn, "comm_errhandler_fn", errhandler, make) }
}

/// `MPI_Errhandler_create`
///
/// # Safety
/// As for the C function.
pub unsafe fn errhandler_create<A: Abi>(function: *const c_void, errhandler: *mut CHandle<A>) -> c_int {
    let make = procedures::comm_create_errhandler;
    // SAFETY: the caller's promise.
    unsafe { create::<A, Comm>("MPI_Errhandler_create", function, "function", errhandler, make) }
}

/// `MPI_Session_create_errhandler`
///
/// # Safety
/// As for the C function.
pub unsafe fn session_create_errhandler<A: Abi>(
    session_errhandler_fn: *const c_void,
    errhandler: *mut CHandle<A>,
) -> c_int {
    let name = "MPI_Session_create_errhandler";
    let make = procedures::session_create_errhandler;
    // SAFETY: the caller's promise.
    unsafe { create::<A, Session>(name, session_errhandler_fn, "session_errhandler_fn", errhandler, make) }
}
