//! Generalized requests: callbacks by address.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use isthmus_mpi::errhandler::Scope;
use isthmus_mpi::error::Result;
use isthmus_mpi::procedures;
use isthmus_mpi::request::{CancelFn, FreeFn, Functions, QueryFn};

use super::callback;
use crate::abi::{Abi, ErrorCode};
use crate::argument;
use crate::entry::{self, CHandle, CStatus};
use crate::mpich::{self, Through};

/// `MPI_Grequest_query_function`
type CQuery<A> = unsafe extern "C-unwind" fn(*mut c_void, *mut CStatus<A>) -> c_int;
/// `MPI_Grequest_free_function`
type CFree = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
/// `MPI_Grequest_cancel_function`
type CCancel = unsafe extern "C-unwind" fn(*mut c_void, c_int) -> c_int;

/// The same of Fortran.
type FortranQuery<A> = unsafe extern "C-unwind" fn(*mut c_void, *mut CStatus<A>, *mut c_int);
type FortranFree = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int);
type FortranCancel = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int, *mut c_int);

/// `MPI_Grequest_start`
///
/// # Safety
/// As for the C function.
#[inline(always)] // As for MPIX_Comm_agree.
pub unsafe fn grequest_start<A: Abi>(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *mut c_void,
    request: *mut CHandle<A>,
) -> c_int {
    entry::enter::<A>("MPI_Grequest_start", Scope::Process, || {
        let output = argument::output(request, "request")?;
        let through = Arc::default();
        // SAFETY: the caller's promise.
        let functions = unsafe { functions::<A>(query_fn, free_fn, cancel_fn, &through)? };
        let made = A::handle_out(procedures::grequest_start(Arc::new(functions), extra_state)?);
        output.put(made);
        mpich::made::<A>(A::to_int(made), &through);
        Ok(())
    })
}

/// The functions at these addresses, which Fortran's library may want to be called through others.
///
/// # Safety
/// The program gave the addresses of such functions.
pub unsafe fn functions<A: Abi>(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    through: &Arc<Through>,
) -> Result<Functions> {
    // SAFETY: the program gives the addresses of such functions.
    let (query, free, cancel): (CQuery<A>, CFree, CCancel) = unsafe {
        (
            callback::function(query_fn, "query_fn")?,
            callback::function(free_fn, "free_fn")?,
            callback::function(cancel_fn, "cancel_fn")?,
        )
    };
    // Fortran's functions take all by address, and put the error code last.
    let [of_query, of_free, of_cancel] = [(); 3].map(|()| Arc::clone(through));
    let is_fortran = |through: &Through| through.function(0).is_some();
    let query: QueryFn = Box::new(move |extra, status| {
        let mut theirs = A::status_from(status);
        // SAFETY: the program promised that its function can be called so; Fortran's status is C's.
        let code = unsafe {
            if is_fortran(&of_query) {
                let (query, mut code): (FortranQuery<A>, c_int) = (callback::of(query as *const c_void), 0);
                query(extra, &raw mut theirs, &raw mut code);
                code
            } else {
                query(extra, &raw mut theirs)
            }
        };
        *status = A::status_in(&theirs);
        A::word_in::<ErrorCode>(code)
    });
    let free: FreeFn = Box::new(move |extra| {
        // SAFETY: the program promised that its function can be called so.
        A::word_in::<ErrorCode>(unsafe {
            if is_fortran(&of_free) {
                let (free, mut code): (FortranFree, c_int) = (callback::of(free as *const c_void), 0);
                free(extra, &raw mut code);
                code
            } else {
                free(extra)
            }
        })
    });
    let cancel: CancelFn = Box::new(move |extra, complete| {
        let mut complete = c_int::from(complete);
        // SAFETY: the program promised that its function can be called so.
        A::word_in::<ErrorCode>(unsafe {
            if is_fortran(&of_cancel) {
                let (cancel, mut code): (FortranCancel, c_int) = (callback::of(cancel as *const c_void), 0);
                cancel(extra, &raw mut complete, &raw mut code);
                code
            } else {
                cancel(extra, complete)
            }
        })
    });
    Ok(Functions {
        query,
        free,
        cancel,
        poll: None,
        wait: None,
    })
}
