//! Cache management (deprecated): caches are coherent, so there is nothing to do.

use std::ffi::c_void;

use crate::call::Call;
use crate::job::job;

/// `shmem_clear_cache_inv` and its siblings.
///
/// # Safety
/// None is needed.
pub unsafe fn cache_all(call: Call) {
    let _ = job(call);
}

/// `shmem_clear_cache_line_inv` and its siblings.
///
/// # Safety
/// None is needed.
pub unsafe fn cache_line(call: Call, _dest: *mut c_void) {
    let _ = job(call);
}
