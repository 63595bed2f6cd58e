//! Generalized requests: callbacks by address.

use std::ffi::{c_int, c_void};

use isthmus_mpi::errhandler::Scope;
use isthmus_mpi::procedures;
use isthmus_mpi::request::{CancelFn, FreeFn, QueryFn};

use super::callback;
use crate::abi::{Abi, ErrorCode};
use crate::argument::HandlePlace;
use crate::entry::{self, CHandle, CStatus};

/// `MPI_Grequest_query_function`
type CQuery<A> = unsafe extern "C-unwind" fn(*mut c_void, *mut CStatus<A>) -> c_int;
/// `MPI_Grequest_free_function`
type CFree = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
/// `MPI_Grequest_cancel_function`
type CCancel = unsafe extern "C-unwind" fn(*mut c_void, c_int) -> c_int;

/// `MPI_Grequest_start`
///
/// # Safety
/// As for the C function.
pub unsafe fn grequest_start<A: Abi>(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    extra_state: *mut c_void,
    request: *mut CHandle<A>,
) -> c_int {
    entry::enter::<A>("MPI_Grequest_start", Scope::Process, || {
        let place = HandlePlace::<A>::at(request, "request")?;
        // SAFETY: the program gives the addresses of such functions.
        let (query, free, cancel): (CQuery<A>, CFree, CCancel) = unsafe {
            (
                callback::function(query_fn, "query_fn")?,
                callback::function(free_fn, "free_fn")?,
                callback::function(cancel_fn, "cancel_fn")?,
            )
        };
        let query: QueryFn = Box::new(move |extra, status| {
            let mut theirs = A::status_from(status);
            // SAFETY: the program promised that its function can be called so.
            let code = unsafe { query(extra, &raw mut theirs) };
            *status = A::status_in(&theirs);
            A::word_in::<ErrorCode>(code)
        });
        let free: FreeFn = Box::new(move |extra| {
            // SAFETY: the program promised that its function can be called so.
            A::word_in::<ErrorCode>(unsafe { free(extra) })
        });
        let cancel: CancelFn = Box::new(move |extra, complete| {
            // SAFETY: the program promised that its function can be called so.
            A::word_in::<ErrorCode>(unsafe { cancel(extra, c_int::from(complete)) })
        });
        place.put(procedures::grequest_start(query, free, cancel, extra_state)?);
        Ok(())
    })
}
