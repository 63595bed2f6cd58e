//! Whether buffers of programs may lie in memory of CUDA devices, and what libraries say that take none.

use isthmus_mem as mem;
use isthmus_os::device;
use isthmus_os::switches::Switch;

use crate::tunables;

/// May they? If this machine has the driver, unless the user says otherwise.
pub fn supports_devices() -> bool {
    let wanted = tunables::DEVICE_MEMORY.get();
    wanted > 1 || (wanted == 1 && device::has_driver())
}

/// Why a library that takes host memory only refuses a buffer; `None`: it takes it. Without a driver one predictable branch.
#[inline(always)]
pub fn refused<T>(buffer: *const T) -> Option<String> {
    if Switch::Devices.is_on() {
        return ask(buffer.cast());
    }
    None
}

#[cold]
#[inline(never)]
fn ask(buffer: *const u8) -> Option<String> {
    match mem::kind_of(buffer) {
        Ok(kind) if kind.is_device() => Some(format!(
            "{buffer:p} lies in the memory of a CUDA device; only calls of MPI take such memory (docs/gpu.md)"
        )),
        Ok(_) => None,
        Err(error) => Some(format!("{buffer:p}: {error}")),
    }
}
