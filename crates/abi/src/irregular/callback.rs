//! Functions that programs give to MPI, by the address that C passes.

use std::ffi::c_void;

use isthmus_mpi::error::Result;
use isthmus_mpi::fail;

/// The function of type `F` at an address that may not be null.
///
/// # Safety
/// `F` is the type of a function pointer, and the program gave the address of such a function.
pub unsafe fn function<F: Copy>(address: *const c_void, name: &str) -> Result<F> {
    if address.is_null() {
        return Err(fail!(Arg, "{name} is a null pointer"));
    }
    // SAFETY: the address is not null; the rest is the caller's promise.
    Ok(unsafe { of(address) })
}

/// The function of type `F` at an address that is not null.
///
/// # Safety
/// As for [`function`].
pub unsafe fn of<F: Copy>(address: *const c_void) -> F {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    // SAFETY: the sizes agree, and at the address is a function of this type by the caller's promise.
    unsafe { std::mem::transmute_copy(&address) }
}
