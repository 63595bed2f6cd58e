//! Memory and text that a C program names in the arguments of its calls, of ARMCI and of Global Arrays.

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use isthmus_engine::refused;

use crate::error::{Result, argument};

/// From so many bytes on it is looked whether there is memory of them: a fraction of what an operation on them takes.
const LOOKED_AT_FROM: usize = 64 << 10;

/// A C string; null is an empty one.
///
/// # Safety
/// `text` must be null, or end with a zero, and stay.
pub unsafe fn text<'a>(text: *const c_char) -> Cow<'a, str> {
    if text.is_null() {
        return "".into();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// The argument `name`, so many bytes. Does not block.
///
/// # Errors
/// It is null, or there is no memory of all of them, as where the program's count is wrong.
///
/// # Safety
/// Nothing else touches these bytes meanwhile. That there is no memory at some of the addresses is an error.
pub unsafe fn checked_bytes<'a>(name: &str, data: *mut u8, length: usize) -> Result<&'a mut [u8]> {
    if length != 0 && data.is_null() {
        return Err(argument(format!("{name} is null")));
    }
    if length > 0 {
        check_host(name, data)?;
    }
    if length >= LOOKED_AT_FROM && !isthmus_os::mmap::is_mapped(data.addr(), length) {
        return Err(argument(format!(
            "{name}={data:p}, {length} bytes, is beyond the memory that this process has there: is the count wrong?"
        )));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { bytes(data, length) })
}

/// Refuse memory of a device, where an object of the caller's own is to be.
///
/// # Errors
/// It is.
#[inline(always)]
pub fn check_host(name: &str, data: *const u8) -> Result<()> {
    match refused(data) {
        None => Ok(()),
        Some(why) => Err(argument(format!("{name}={why}"))),
    }
}

/// Bytes that the caller gave; null is none.
///
/// # Safety
/// `data` must be good for `length` bytes, which nobody else touches meanwhile.
pub unsafe fn bytes<'a>(data: *mut u8, length: usize) -> &'a mut [u8] {
    if length == 0 || data.is_null() {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(data, length) }
}
