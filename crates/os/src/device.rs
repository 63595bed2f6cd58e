//! Is there a driver of GPUs, and has the process loaded its library? Without that there are no addresses that only a device can read.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Where a driver of NVIDIA's is: its control device, or the one of a Windows host.
const DRIVERS: [&str; 2] = ["/dev/nvidiactl", "/dev/dxg"];

/// What `dlopen` answered, once the library is there.
static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// How many libraries had been loaded when the driver's was looked for, and not found.
static LOADED: AtomicU64 = AtomicU64::new(u64::MAX);

/// Does this machine have such a driver?
pub fn has_driver() -> bool {
    DRIVERS.iter().any(|device| Path::new(device).exists())
}

/// The driver's library, for `dlsym`, if this process has loaded it. Without it, the cost is that of looking whether any library has been
/// loaded since the last call.
#[inline]
pub fn library() -> Option<NonNull<c_void>> {
    NonNull::new(LIBRARY.load(Ordering::Acquire)).or_else(look_for_library)
}

#[cold]
fn look_for_library() -> Option<NonNull<c_void>> {
    let loaded = libraries_loaded();
    if LOADED.load(Ordering::Relaxed) == loaded {
        return None;
    }
    // SAFETY: it loads nothing; the library, if it is there, is kept from now on.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    LIBRARY.store(library, Ordering::Release);
    LOADED.store(loaded, Ordering::Relaxed);
    NonNull::new(library)
}

/// How many libraries this process has ever loaded.
fn libraries_loaded() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: the linker gives a valid record, and `data` is the counter below.
        unsafe { *data.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut count = 0_u64;
    // SAFETY: the callback writes to `count`, which lives during the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_drivers_library_none_is_found() {
        assert!(libraries_loaded() > 0);
        assert!(library().is_none());
    }
}
