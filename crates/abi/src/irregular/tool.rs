//! The tool interface: it can be initialized, and has nothing to show yet. It has no error handlers.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

use isthmus_mpi::constants::THREAD_SERIALIZED;

use crate::abi::Abi;
use crate::generated::constants::{ErrorClass, ThreadLevel};

/// `MPI_T_ERR_NOT_INITIALIZED`
const NOT_INITIALIZED: i32 = 1003;
/// `MPI_T_ERR_INVALID`
const INVALID: i32 = 1006;

/// How often the interface has been initialized more than finalized.
static USERS: AtomicU32 = AtomicU32::new(0);

fn code<A: Abi>(canonical: i32) -> c_int {
    A::word_out::<ErrorClass>(canonical)
}

/// `MPI_T_init_thread`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_init_thread<A: Abi>(required: c_int, provided: *mut c_int) -> c_int {
    if provided.is_null() {
        return code::<A>(INVALID);
    }
    let level = A::word_in::<ThreadLevel>(required).min(THREAD_SERIALIZED);
    // SAFETY: not null, and the caller keeps it writable.
    unsafe { provided.write(A::word_out::<ThreadLevel>(level)) };
    USERS.fetch_add(1, Ordering::Relaxed);
    0
}

/// `MPI_T_finalize`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_finalize<A: Abi>() -> c_int {
    match USERS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |users| users.checked_sub(1)) {
        Ok(_) => 0,
        Err(_) => code::<A>(NOT_INITIALIZED),
    }
}

macro_rules! entry {
    ($name:ident) => {
        /// How many there are: none.
        ///
        /// # Safety
        /// As for the C function.
        pub unsafe fn $name<A: Abi>(count: *mut c_int) -> c_int {
            // SAFETY: the caller's promise.
            unsafe { none::<A>(count) }
        }
    };
}

entry!(t_category_get_num);
entry!(t_cvar_get_num);
entry!(t_event_get_num);
entry!(t_pvar_get_num);
entry!(t_source_get_num);

/// Safety: `count` is null or writable.
unsafe fn none<A: Abi>(count: *mut c_int) -> c_int {
    if USERS.load(Ordering::Relaxed) == 0 {
        return code::<A>(NOT_INITIALIZED);
    }
    if count.is_null() {
        return code::<A>(INVALID);
    }
    // SAFETY: the caller's promise.
    unsafe { count.write(0) };
    0
}
