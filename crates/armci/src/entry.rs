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

use crate::error::{Error, Result, fatal};

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
