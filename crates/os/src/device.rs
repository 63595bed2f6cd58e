//! Memory of a GPU: is an address one that only the device can read?
//!
//! Asked of NVIDIA's driver library, where the process has loaded it: without it there are no such addresses.
//! `cuPointerGetAttribute` and its numbers: CUDA Driver API, "Unified Addressing"
//! (<https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__UNIFIED.html>).

use std::ffi::{c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Where a driver of NVIDIA's is: its control device, or the one of a Windows host.
const DRIVERS: [&str; 2] = ["/dev/nvidiactl", "/dev/dxg"];
/// `CU_POINTER_ATTRIBUTE_MEMORY_TYPE`.
const MEMORY_TYPE: c_int = 2;
/// `CU_MEMORYTYPE_DEVICE`.
const DEVICE: c_uint = 2;
/// `CU_POINTER_ATTRIBUTE_IS_MANAGED`: the driver moves it to where it is accessed.
const IS_MANAGED: c_int = 8;

/// `CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)`.
type PointerGetAttribute = unsafe extern "C" fn(*mut c_void, c_int, u64) -> c_int;

static WATCHED: AtomicBool = AtomicBool::new(false);
/// A [`PointerGetAttribute`], once the library is there.
static ASK: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// What `dlopen` answered, once the library is there.
static LIBRARY: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// How many libraries had been loaded when the driver's was looked for, and not found.
static LOADED: AtomicU64 = AtomicU64::new(u64::MAX);

/// Does this machine have such a driver?
pub fn has_driver() -> bool {
    DRIVERS.iter().any(|device| Path::new(device).exists())
}

/// From now on [`is_watched`] says yes: addresses shall be asked about.
pub fn watch() {
    WATCHED.store(true, Ordering::Relaxed);
}

/// Shall addresses be asked about? One load.
#[inline(always)]
pub fn is_watched() -> bool {
    WATCHED.load(Ordering::Relaxed)
}

/// The driver's library, for `dlsym`, if this process has loaded it. Without it, the cost is that of looking whether any library has been
/// loaded since the last call.
#[inline]
pub fn library() -> Option<NonNull<c_void>> {
    NonNull::new(LIBRARY.load(Ordering::Acquire)).or_else(look_for_library)
}

/// Is it memory of a device that the processor cannot read? No for managed memory, and as long as the process has not loaded
/// the driver's library: then the cost is that of looking whether it has loaded any since.
#[cold]
pub fn is_device_memory(address: *const c_void) -> bool {
    let Some(ask) = driver() else { return false };
    let mut kind: c_uint = 0;
    let mut managed: c_uint = 0;
    let address = address.addr() as u64;
    // SAFETY: both attributes are an `unsigned int`; the driver takes any address, and answers an error for what it does not know.
    unsafe {
        ask((&raw mut kind).cast(), MEMORY_TYPE, address) == 0
            && kind == DEVICE
            && !(ask((&raw mut managed).cast(), IS_MANAGED, address) == 0 && managed != 0)
    }
}

fn driver() -> Option<PointerGetAttribute> {
    let mut at = ASK.load(Ordering::Acquire);
    if at.is_null() {
        let library = library()?;
        // SAFETY: the library is there, and kept.
        at = unsafe { libc::dlsym(library.as_ptr(), c"cuPointerGetAttribute".as_ptr()) };
        ASK.store(at, Ordering::Release);
    }
    // SAFETY: the driver's function of this name has this type; null is `None`.
    unsafe { std::mem::transmute::<*mut c_void, Option<PointerGetAttribute>>(at) }
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
    fn memory_of_the_process_is_no_devices() {
        let value = 5;
        assert!(libraries_loaded() > 0);
        assert!(!is_device_memory((&raw const value).cast()));
    }
}
