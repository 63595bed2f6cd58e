//! The C functions of `ga.h` and `macdecls.h`, as the trampolines of `libga.so` call them.
//!
//! Each is named `isthmus_ga_` and its own name; the list is `standard/ga.txt`. What they promise stands in the header and in
//! docs/ga.md; pointers are the program's promise. Errors end in [`crate::error::fatal`].
#![allow(non_snake_case, missing_docs, clippy::missing_safety_doc)] // The header's names, and what it says of them.

mod access;
mod create;
mod elements;
mod ghosts;
mod groups;
mod inquire;
mod life;
mod linear;
mod memory;
mod onesided;
mod print;
mod sparse;

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use isthmus_armci::arguments::text;
use isthmus_armci::error::room;

use crate::array::Array;
use crate::error::{Error, Result, fatal};
use crate::handles;
use crate::linear::Orientation;
use crate::patch::Patch;

const PREFIX: usize = "isthmus_ga_".len();

/// The answer, or the end.
#[inline(always)]
fn answer<T>(name: &str, result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => fatal(&name[PREFIX..], &error.to_string(), 1),
    }
}

/// C functions whose body may fail.
macro_rules! entries {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $type),*) $(-> $ret)? {
            #[allow(unused_unsafe, clippy::redundant_closure_call)]
            // SAFETY: the program's promise, as the header says: pointers are good for what their names say.
            let result = (|| unsafe { Ok($body) })();
            $crate::entry::answer(stringify!($name), result)
        }
    )*};
}

/// C functions in two forms: with indexes of `int`, and of `int64_t`. In the body `Index` is the one or the other.
macro_rules! indexed {
    ($(fn $name:ident, $wide:ident($($arg:ident: $type:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            type Index = c_int;
            entries! { fn $name($($arg: $type),*) $(-> $ret)? $body }
        }
        mod $wide {
            #[allow(unused_imports)]
            use super::*;
            type Index = i64;
            entries! { fn $wide($($arg: $type),*) $(-> $ret)? $body }
        }
    )*};
}

use {entries, indexed};

/// `int` or `int64_t`.
trait Number: Copy {
    fn wide(self) -> i64;
    fn narrow(value: i64) -> Self;
}

impl Number for c_int {
    fn wide(self) -> i64 {
        self.into()
    }
    fn narrow(value: i64) -> Self {
        value.clamp(Self::MIN.into(), Self::MAX.into()) as Self
    }
}

impl Number for i64 {
    fn wide(self) -> i64 {
        self
    }
    fn narrow(value: i64) -> Self {
        value
    }
}

/// `count` numbers of the program's.
///
/// # Safety
/// They must be there, unless the pointer is null.
unsafe fn list<I: Number>(at: *const I, count: usize, name: &str) -> Result<Vec<i64>> {
    if count > 0 && at.is_null() {
        return Err(Error::argument(format!("{name} is null")));
    }
    let mut all = room(count)?;
    // SAFETY: the caller's promise.
    all.extend((0..count).map(|n| unsafe { at.add(n).read() }.wide()));
    Ok(all)
}

/// Tell numbers.
///
/// # Safety
/// There must be room for them, unless the pointer is null: then nobody wants them.
unsafe fn tell<I: Number>(to: *mut I, values: impl IntoIterator<Item = i64>) {
    if to.is_null() {
        return;
    }
    for (n, value) in values.into_iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { to.add(n).write(I::narrow(value)) };
    }
}

/// A patch.
///
/// # Safety
/// The corners must have a number for each dimension of the array.
unsafe fn patch<I: Number>(array: &Array, lo: *const I, hi: *const I) -> Result<Patch> {
    // SAFETY: the caller's promise.
    unsafe {
        Ok(Patch {
            lo: list(lo, array.rank(), "lo")?,
            hi: list(hi, array.rank(), "hi")?,
        })
    }
}

/// An array by its handle.
fn find(handle: c_int) -> Result<Arc<Array>> {
    handles::find(handle)
}

/// What the letters of BLAS say of a factor.
fn orientation(letter: c_char) -> Result<Orientation> {
    match letter as u8 {
        b'n' | b'N' => Ok(Orientation::Plain),
        b't' | b'T' => Ok(Orientation::Transposed),
        b'c' | b'C' => Ok(Orientation::Adjoint),
        other => Err(Error::argument(format!(
            "'{}' is not 'n', 't' or 'c'",
            char::from(other)
        ))),
    }
}

/// As [`orientation`], where nothing is conjugated.
fn is_transposed(letter: c_char) -> Result<bool> {
    match orientation(letter)? {
        Orientation::Plain => Ok(false),
        Orientation::Transposed => Ok(true),
        Orientation::Adjoint => Err(Error::argument(format!(
            "'{}': only factors of matrix products are conjugated",
            char::from(letter as u8)
        ))),
    }
}
