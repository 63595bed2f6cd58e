//! The C functions of `armci.h` and `message.h`, as the trampolines of `libarmci.so` call them.
//!
//! Each is named `isthmus_armci_` and its own name; the list is `standard/armci.txt`. What they promise stands in the headers;
//! pointers are the caller's promise. Errors end the job ([`crate::error::fatal`]), but for memory that cannot be had, which is
//! returned.
#![allow(non_snake_case)] // ARMCI's names.

mod groups;
mod iterator;
mod life;
mod memory;
mod messages;
mod nonblocking;
mod onesided;
mod synchronization;

use std::ffi::{CStr, c_char};

use crate::error::{Error, Result, argument, fatal};

/// Success, in C.
const DONE: i32 = 0;
/// `FAIL` of `armci.h`.
const FAIL: i32 = -1;

/// The answer, or the end.
#[inline(always)]
fn answer<T>(call: &str, result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => fatal(call, &error),
    }
}

/// Success, or the end.
#[inline(always)]
fn done(call: &str, result: Result<()>) -> i32 {
    answer(call, result);
    DONE
}

/// Memory that cannot be had is for the caller to handle; the rest is the end.
fn done_or_refused(call: &str, result: Result<()>) -> i32 {
    match result {
        Ok(()) => DONE,
        Err(Error::Memory { .. } | Error::Engine(isthmus_engine::Error::NoMemory(_))) => FAIL,
        Err(error) => fatal(call, &error),
    }
}

/// A C string; null is an empty one.
///
/// # Safety
/// `text` must be null, or end with a zero, and stay.
unsafe fn text<'a>(text: *const c_char) -> std::borrow::Cow<'a, str> {
    if text.is_null() {
        return "".into();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// From so many bytes on it is looked whether there is memory of them: a fraction of what an operation on them takes.
const LOOKED_AT_FROM: usize = 64 << 10;

/// The argument `name`, so many bytes. Does not block.
///
/// # Errors
/// It is null, or there is no memory of all of them, as where the program's count is wrong.
///
/// # Safety
/// Nothing else touches these bytes meanwhile. That there is no memory at some of the addresses is an error.
pub unsafe fn argument_bytes<'a>(name: &str, data: *mut u8, length: usize) -> Result<&'a mut [u8]> {
    if length != 0 && data.is_null() {
        return Err(argument(format!("{name} is null")));
    }
    if length >= LOOKED_AT_FROM && !isthmus_os::mmap::is_mapped(data.addr(), length) {
        return Err(argument(format!(
            "{name}={data:p}, {length} bytes, is beyond the memory that this process has there: is the count wrong?"
        )));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { bytes(data, length) })
}

/// Bytes that the caller gave.
///
/// # Safety
/// `data` must be good for `length` bytes, which nobody else touches meanwhile.
unsafe fn bytes<'a>(data: *mut u8, length: usize) -> &'a mut [u8] {
    if length == 0 || data.is_null() {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(data, length) }
}
