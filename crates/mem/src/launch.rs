//! Kernels compiled by the driver, and run.

use std::ffi::{CString, c_uint, c_void};
use std::ptr::null_mut;

use crate::api::{Api, Object};
use crate::counts::{COUNTS, count};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::place::{Lane, Place};
use crate::ptx;

/// Threads of a block.
const BLOCK: u32 = 256;

/// Have `lane` run `kernel` with `threads` threads or fewer. `parameters` point to the values that it takes.
///
/// # Safety
/// The parameters are what the kernel's text takes, and the memory that they name is reached by the device.
pub unsafe fn launch(
    kernel: Kernel,
    api: &Api,
    place: &Place,
    lane: &Lane,
    threads: u64,
    parameters: &mut [*mut c_void],
) -> Result<()> {
    let function = place.function(api, kernel, || load(kernel, api))?;
    let blocks = threads
        .div_ceil(u64::from(BLOCK))
        .clamp(1, u64::from(place.most_blocks())) as c_uint;
    // SAFETY: the caller's promise; the driver copies the parameters before it returns.
    let answer = unsafe {
        (api.launch)(
            function,
            blocks,
            1,
            1,
            BLOCK,
            1,
            1,
            0,
            lane.stream,
            parameters.as_mut_ptr(),
            null_mut(),
        )
    };
    count(&COUNTS.kernels);
    api.check(answer, "cuLaunchKernel", || format!("cannot run {}", kernel.name()))
}

/// Does the driver take the kernel?
pub fn is_there(kernel: Kernel, api: &Api, place: &Place) -> bool {
    place.function(api, kernel, || load(kernel, api)).is_ok()
}

/// Where a value is, as [`launch`] takes it.
pub fn parameter<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

/// Have the driver compile it for the current context.
fn load(kernel: Kernel, api: &Api) -> Result<Object> {
    let name = kernel.name();
    let c_text = |text: String| CString::new(text).unwrap_or_else(|_| unreachable!("no zero in a kernel's text"));
    let (text, c_name) = (c_text(ptx::text(kernel)), c_text(name.clone()));
    let mut module = null_mut();
    let mut function = null_mut();
    // SAFETY: the text is that of a module; the module is kept, so that the function stays.
    unsafe {
        let answer = (api.module_load)(&raw mut module, text.as_ptr().cast());
        api.check(answer, "cuModuleLoadData", || format!("cannot compile {name}"))?;
        let answer = (api.module_function)(&raw mut function, module, c_name.as_ptr());
        api.check(answer, "cuModuleGetFunction", || format!("cannot find {name}"))?;
    }
    Ok(function)
}
