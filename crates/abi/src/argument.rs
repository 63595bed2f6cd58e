//! Checks and conversions of arguments, by kind. What they refuse carries the argument's name and value.

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use isthmus_mpi::completion::{Completing, Completion};
use isthmus_mpi::constants::{ANY_SOURCE, PROC_NULL, UNDEFINED};
use isthmus_mpi::counts::{Counts, Width};
use isthmus_mpi::error::{Error, Result, room};
use isthmus_mpi::fail;
use isthmus_mpi::handle::Handle;
use isthmus_mpi::info::Info;
use isthmus_mpi::probe::{MESSAGE_NO_PROC, Message};
use isthmus_mpi::status::{Status, Statuses};

use crate::abi::{Abi, Predefined, Word};

/// The width of counts: `int`, or 64 bits in large-count procedures.
pub trait Number: Copy + Into<i64> + 'static {
    /// Which it is.
    const WIDTH: Width;
    /// An array of them.
    fn counts(values: &[Self]) -> Counts<'_>;
    /// A result; `MPI_UNDEFINED` if it does not fit (MPI-5.0 §5.1.5).
    fn narrow(value: i64) -> Self;
}

impl Number for c_int {
    const WIDTH: Width = Width::Int;

    #[inline(always)]
    fn counts(values: &[Self]) -> Counts<'_> {
        Counts::Int(values)
    }

    #[inline(always)]
    fn narrow(value: i64) -> Self {
        Self::try_from(value).unwrap_or(UNDEFINED)
    }
}

impl Number for i64 {
    const WIDTH: Width = Width::Large;

    #[inline(always)]
    fn counts(values: &[Self]) -> Counts<'_> {
        Counts::Large(values)
    }

    #[inline(always)]
    fn narrow(value: i64) -> Self {
        value
    }
}

/// A count, size or number of entries that may not be negative.
#[inline(always)]
pub fn count<N: Number>(value: N, name: &str) -> Result<i64> {
    match value.into() {
        count @ 0.. => Ok(count),
        negative => Err(is_negative(negative, name)),
    }
}

#[cold]
fn is_negative(count: i64, name: &str) -> Error {
    fail!(Count, "{name}={count} is negative")
}

/// The length of an array.
#[inline(always)]
pub fn length<N: Number>(value: N, name: &str) -> Result<usize> {
    Ok(count(value, name)? as usize)
}

/// The number of dimensions of a grid.
pub fn dimensions(value: c_int, name: &str) -> Result<usize> {
    usize::try_from(value).map_err(|_| fail!(Dims, "{name}={value} is negative"))
}

/// An output argument.
pub struct Output<T>(NonNull<T>);

impl<T> Output<T> {
    /// Give the result.
    #[inline(always)]
    pub fn put(&self, value: T) {
        // SAFETY: the caller of the C function keeps the memory for its result writable during the call.
        unsafe { self.0.write(value) }
    }

    /// The value that is there.
    #[inline(always)]
    pub fn get(&self) -> T
    where
        T: Copy,
    {
        // SAFETY: as for `put`; only arguments that are also inputs are read.
        unsafe { self.0.read() }
    }
}

/// Where a result goes.
#[inline(always)]
pub fn output<T>(pointer: *mut T, name: &str) -> Result<Output<T>> {
    match NonNull::new(pointer) {
        Some(output) => Ok(Output(output)),
        None => Err(null(name)),
    }
}

/// An array of `length` entries.
///
/// # Safety
/// If not null, `pointer` is good for reading `length` entries while the result lives.
#[inline(always)]
pub unsafe fn array<'a, T>(pointer: *const T, length: usize, name: &str) -> Result<&'a [T]> {
    if length == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() || length > const { isize::MAX as usize / size_of::<T>() } {
        return Err(no_array(pointer.is_null(), length, name));
    }
    // SAFETY: not null, and no more than memory can hold; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// As [`array`], to be written to.
///
/// # Safety
/// If not null, `pointer` is good for reading and writing `length` entries while the result lives, and nobody else uses them.
#[inline(always)]
pub unsafe fn array_mut<'a, T>(pointer: *mut T, length: usize, name: &str) -> Result<&'a mut [T]> {
    if length == 0 {
        return Ok(&mut []);
    }
    if pointer.is_null() || length > const { isize::MAX as usize / size_of::<T>() } {
        return Err(no_array(pointer.is_null(), length, name));
    }
    // SAFETY: not null, and no more than memory can hold; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length) })
}

/// An array of counts.
///
/// # Safety
/// As for [`array`].
#[inline(always)]
pub unsafe fn counts<'a, N: Number>(pointer: *const N, length: usize, name: &str) -> Result<Counts<'a>> {
    // SAFETY: the caller's promise.
    Ok(N::counts(unsafe { array(pointer, length, name)? }))
}

/// An array of handles.
///
/// # Safety
/// As for [`array`].
pub unsafe fn handles<A: Abi, T: Predefined>(
    pointer: *const A::Handle,
    length: usize,
    name: &str,
) -> Result<Vec<Handle<T>>> {
    // SAFETY: the caller's promise.
    let handles = unsafe { array(pointer, length, name)? };
    let mut ours = room(length, name)?;
    ours.extend(handles.iter().map(|handle| A::handle_in(*handle)));
    Ok(ours)
}

/// An array of integers in canonical values.
///
/// # Safety
/// As for [`array`].
pub unsafe fn words<A: Abi, W: Word>(pointer: *const c_int, length: usize, name: &str) -> Result<Vec<i32>> {
    // SAFETY: the caller's promise.
    let words = unsafe { array(pointer, length, name)? };
    let mut ours = room(length, name)?;
    ours.extend(words.iter().map(|word| A::word_in::<W>(*word)));
    Ok(ours)
}

/// A string that a program gives.
///
/// # Safety
/// If not null, `pointer` is the address of a string that ends in a zero and stays as it is while the result lives.
pub unsafe fn string<'a>(pointer: *const c_char, name: &str) -> Result<&'a CStr> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null; the rest is the caller's promise.
    Ok(unsafe { CStr::from_ptr(pointer) })
}

/// Room for a string of at most `room` bytes, the terminating zero included.
pub struct Text {
    output: Output<c_char>,
    room: usize,
}

impl Text {
    /// Room at `pointer`.
    pub fn at(pointer: *mut c_char, room: usize, name: &str) -> Result<Self> {
        Ok(Self {
            output: output(pointer, name)?,
            room,
        })
    }

    /// Write as much of `text` as fits; its length, without the zero.
    pub fn put(&self, text: impl AsRef<[u8]>) -> c_int {
        let text = text.as_ref();
        let Some(most) = self.room.checked_sub(1) else {
            return 0;
        };
        let length = text.len().min(most);
        let start: *mut u8 = self.output.0.as_ptr().cast();
        // SAFETY: the caller of the C function has `room` bytes there, and `length` is less.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), start, length);
            start.add(length).write(0);
        }
        length as c_int
    }
}

/// Where a status goes: nowhere, if it is to be ignored.
pub struct StatusOutput<A: Abi>(Option<Output<A::Status>>);

impl<A: Abi> From<Output<A::Status>> for StatusOutput<A> {
    fn from(output: Output<A::Status>) -> Self {
        Self(Some(output))
    }
}

impl<A: Abi> StatusOutput<A> {
    /// One status.
    #[inline(always)]
    pub fn at(pointer: *mut A::Status, name: &str) -> Result<Self> {
        if pointer.addr() == A::STATUS_IGNORE {
            return Ok(Self(None));
        }
        Ok(Self(Some(output(pointer, name)?)))
    }

    /// An array with at least `length` entries.
    #[inline(always)]
    pub fn array(pointer: *mut A::Status, length: usize, name: &str) -> Result<Self> {
        if length == 0 {
            return Ok(Self(None));
        }
        Self::at(pointer, name)
    }

    /// The one status.
    #[inline(always)]
    pub fn put(&self, status: &Status) {
        if let Some(output) = self.entry(0) {
            A::status_out(output, status);
        }
    }

    #[inline(always)]
    #[allow(clippy::mut_from_ref)] // It is the program's, and ours during the call.
    fn entry(&self, at: usize) -> Option<&mut A::Status> {
        // SAFETY: the program's array has an entry for each request, and `at` is the position of one.
        self.0.as_ref().map(|output| unsafe { output.0.add(at).as_mut() })
    }
}

impl<A: Abi> Statuses for StatusOutput<A> {
    fn put(&self, at: usize, status: &Status) {
        if let Some(output) = self.entry(at) {
            A::status_out(output, status);
        }
    }

    fn put_error(&self, at: usize, code: i32) {
        if let Some(output) = self.entry(at) {
            let status = A::status_in(output);
            let error = Some(code);
            A::status_out(output, &Status { error, ..status });
        }
    }
}

/// A handle that a call may change.
pub struct HandleOutput<A: Abi>(Output<A::Handle>);

impl<A: Abi> HandleOutput<A> {
    /// The handle at `pointer`.
    #[inline(always)]
    pub fn at(pointer: *mut A::Handle, name: &str) -> Result<Self> {
        Ok(Self(output(pointer, name)?))
    }

    /// What it is.
    #[inline(always)]
    pub fn get<T: Predefined>(&self) -> Handle<T> {
        A::handle_in(self.0.get())
    }

    /// What it becomes.
    #[inline(always)]
    pub fn put<T: Predefined>(&self, handle: Handle<T>) {
        self.0.put(A::handle_out(handle));
    }
}

/// The source of a message that a probe has matched, as far as it is known: `MPI_PROC_NULL` if there is no message.
#[inline(always)]
pub fn source_of(message: Handle<Message>) -> i32 {
    if message == MESSAGE_NO_PROC {
        PROC_NULL
    } else {
        ANY_SOURCE
    }
}

/// One of two ranks, `MPI_PROC_NULL` if both are.
#[inline(always)]
pub fn either(one: i32, other: i32) -> i32 {
    if one == PROC_NULL { other } else { one }
}

/// How many handles are converted without a look at the heap.
const FEW: usize = 64;

/// A program's array of handles that a call may change: what changed is written back in the end.
pub struct HandleArray<'a, A: Abi, T: Predefined> {
    theirs: &'a mut [A::Handle],
    few: [MaybeUninit<Handle<T>>; FEW],
    many: Vec<Handle<T>>,
}

impl<A: Abi, T: Predefined> HandleArray<'_, A, T> {
    /// The array of `length` handles at `pointer`.
    ///
    /// # Safety
    /// As for [`array_mut`].
    #[inline]
    pub unsafe fn at(pointer: *mut A::Handle, length: usize, name: &str) -> Result<Self> {
        // SAFETY: the caller's promise.
        let theirs = unsafe { array_mut(pointer, length, name)? };
        let mut few = [MaybeUninit::uninit(); FEW];
        let mut many = Vec::new();
        if length > FEW {
            many = room(length, name)?;
            many.extend(theirs.iter().map(|handle| A::handle_in(*handle)));
        } else {
            for (ours, theirs) in few.iter_mut().zip(&*theirs) {
                // One by one, as they were stored: a load of several that a program has just stored waits until its stores are in the
                // cache, and all before them, also those into rings, whose lines are with others.
                // SAFETY: a reference may be read.
                ours.write(A::handle_in(unsafe { std::ptr::read_volatile(theirs) }));
            }
        }
        Ok(Self { theirs, few, many })
    }

    /// The handles.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [Handle<T>] {
        self.both().1
    }

    /// Theirs and ours.
    #[inline(always)]
    fn both(&mut self) -> (&mut [A::Handle], &mut [Handle<T>]) {
        let length = self.theirs.len();
        let ours = if length > FEW {
            &mut self.many[..]
        } else {
            // SAFETY: so many were written.
            unsafe { self.few[..length].assume_init_mut() }
        };
        (self.theirs, ours)
    }
}

impl<A: Abi, T: Predefined> Drop for HandleArray<'_, A, T> {
    #[inline]
    fn drop(&mut self) {
        let (theirs, ours) = self.both();
        for (their, now) in theirs.iter_mut().zip(ours) {
            if A::handle_in::<T>(*their) != *now {
                *their = A::handle_out(*now);
            }
        }
    }
}

/// What a program's status says.
///
/// # Safety
/// If not null, `pointer` is the address of a status.
pub unsafe fn status<A: Abi>(pointer: *const A::Status, name: &str) -> Result<Status> {
    if pointer.addr() == A::STATUS_IGNORE || pointer.is_null() {
        return Err(fail!(Arg, "{name} is no status"));
    }
    // SAFETY: the caller's promise.
    Ok(A::status_in(unsafe { &*pointer }))
}

/// A status that a call changes: one that is there.
pub fn status_inout<A: Abi>(pointer: *mut A::Status, name: &str) -> Result<Output<A::Status>> {
    if pointer.addr() == A::STATUS_IGNORE {
        return Err(fail!(Arg, "{name} is no status"));
    }
    output(pointer, name)
}

/// An info object, or none for `MPI_INFO_NULL`.
pub fn info<A: Abi>(handle: A::Handle, name: &str) -> Result<Option<&'static Info>> {
    let handle = A::handle_in::<Info>(handle);
    if handle.is_null() {
        Ok(None)
    } else {
        handle.resolve(name).map(Some)
    }
}

/// What a call that failed returns nevertheless.
#[inline(always)]
pub fn completion<T>(result: &Result<T>) -> Option<&Completion> {
    match result {
        Ok(_) => None,
        Err(error) => error.completion(),
    }
}

#[cold]
fn no_array(is_null: bool, length: usize, name: &str) -> Error {
    if is_null {
        return null(name);
    }
    fail!(
        Arg,
        "{name} is said to have {length} entries, more than memory can hold"
    )
}

#[cold]
fn null(name: &str) -> Error {
    fail!(Arg, "{name} is a null pointer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_cut_to_its_room() {
        let mut room = [1 as c_char; 4];
        let text = Text::at(room.as_mut_ptr(), room.len(), "name").expect("not null");
        assert_eq!(text.put("abcdef"), 3);
        assert_eq!(room, [b'a', b'b', b'c', 0].map(|byte| byte as c_char));
    }

    #[test]
    fn results_that_do_not_fit_are_undefined() {
        assert_eq!(c_int::narrow(1 << 40), UNDEFINED);
        assert_eq!(i64::narrow(1 << 40), 1 << 40);
    }

    #[test]
    fn negative_counts_are_refused() {
        assert_eq!(count(-1, "count").expect_err("negative").code(), 2);
        assert_eq!(count(7_i64, "count"), Ok(7));
    }
}
