//! Put, get, accumulate, by patches and by elements.

use std::ffi::{c_int, c_long, c_void};

use isthmus_armci::error::room;
use isthmus_armci::nonblocking;

use super::{Number, entries, find, indexed, list, patch};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::onesided::{self, Buffer, Operation};
use crate::patch::MOST_DIMENSIONS;
use crate::{counter, handles};

/// The buffer of a call.
///
/// # Safety
/// `ld` must have a number for each dimension but the slowest.
unsafe fn buffer<I: Number>(
    array: &Array,
    patch: &crate::patch::Patch,
    at: *mut c_void,
    ld: *const I,
) -> Result<Buffer> {
    // SAFETY: the caller's promise.
    let ld = unsafe { list(ld, array.rank() - 1, "ld") }?;
    Buffer::new(at.cast(), &ld, patch).map_err(|error| Error::argument(format!("array '{}': {error}", array.name)))
}

/// Numbers of the program's, without taking memory.
///
/// # Safety
/// They must be there.
#[inline(always)]
unsafe fn few<I: Number>(at: *const I, count: usize) -> [i64; MOST_DIMENSIONS] {
    let mut numbers = [0; MOST_DIMENSIONS];
    for (n, number) in numbers.iter_mut().enumerate().take(count) {
        // SAFETY: the caller's promise.
        *number = unsafe { at.add(n).read() }.wide();
    }
    numbers
}

/// # Safety
/// As the header says.
unsafe fn transfer<I: Number>(
    handle: c_int,
    lo: *const I,
    hi: *const I,
    at: *mut c_void,
    ld: *const I,
    operation: Operation,
) -> Result<()> {
    handles::with(handle, |array| {
        let rank = array.rank();
        // SAFETY: the caller's promise.
        unsafe {
            if !lo.is_null() && !hi.is_null() && (rank == 1 || !ld.is_null()) {
                let (lo, hi, ld) = (few(lo, rank), few(hi, rank), few(ld, rank - 1));
                if onesided::transfer_within(array, &lo[..rank], &hi[..rank], at.cast(), &ld, operation)? {
                    return Ok(());
                }
            }
            let patch = patch(array, lo, hi)?;
            array.check(&patch)?;
            onesided::transfer(array, &patch, &buffer(array, &patch, at, ld)?, operation)
        }
    })
}

/// # Safety
/// As the header says.
unsafe fn periodic<I: Number>(
    handle: c_int,
    lo: *const I,
    hi: *const I,
    at: *mut c_void,
    ld: *const I,
    operation: Operation,
) -> Result<()> {
    let array = find(handle)?;
    // SAFETY: the caller's promise.
    unsafe {
        let patch = patch(&array, lo, hi)?;
        onesided::periodic(&array, &patch, &buffer(&array, &patch, at, ld)?, operation)
    }
}

/// # Safety
/// As the header says.
unsafe fn strided<I: Number>(
    handle: c_int,
    (lo, hi, skip): (*const I, *const I, *const I),
    at: *mut c_void,
    ld: *const I,
    operation: Operation,
) -> Result<()> {
    let array = find(handle)?;
    // SAFETY: the caller's promise.
    unsafe {
        let patch = patch(&array, lo, hi)?;
        array.check(&patch)?;
        let skip = list(skip, array.rank(), "skip")?;
        if let Some(d) = skip.iter().position(|step| *step < 1) {
            return Err(Error::argument(format!(
                "array '{}': skip[{d}]={} must be positive",
                array.name, skip[d]
            )));
        }
        // What the buffer holds is denser than the patch.
        let mut dense = patch.clone();
        for (d, step) in skip.iter().enumerate() {
            dense.hi[d] = dense.lo[d] + (patch.hi[d] - patch.lo[d]) / step;
        }
        let buffer = buffer(&array, &dense, at, ld)?;
        onesided::transfer_strided(&array, &patch, &skip, &buffer, operation)
    }
}

/// # Safety
/// As the header says.
unsafe fn field<I: Number>(
    handle: c_int,
    (lo, hi): (*const I, *const I),
    (offset, bytes): (c_int, c_int),
    at: *mut c_void,
    ld: *const I,
    operation: Operation,
) -> Result<()> {
    let array = find(handle)?;
    // SAFETY: the caller's promise.
    unsafe {
        let patch = patch(&array, lo, hi)?;
        array.check(&patch)?;
        let buffer = buffer(&array, &patch, at, ld)?;
        onesided::transfer_field(&array, &patch, (offset.into(), bytes.into()), &buffer, operation)
    }
}

/// The non-blocking form of a call.
///
/// # Safety
/// The handle must be good, or null.
pub(super) unsafe fn start(handle: *mut c_long, call: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: the caller's promise.
    let handle = unsafe { handle.as_mut() };
    let (result, number) = nonblocking::start(handle.as_deref().copied().map(number_of), call);
    if let Some(handle) = handle {
        *handle = number.into();
    }
    result
}

/// The number of a handle; 0: it has nothing under way. In Fortran handles of 32 bits have a sign.
fn number_of(handle: c_long) -> u32 {
    handle as u32
}

/// Indexes in an array of pointers to them, as [`flat`] has them.
///
/// # Safety
/// There must be `count` pointers, each to a number for each dimension.
unsafe fn pointed<I: Number>(array: &Array, at: *const *const I, count: i64) -> Result<Vec<i64>> {
    let count = counted(count)?;
    if count > 0 && at.is_null() {
        return Err(Error::argument("subsarray is null"));
    }
    let mut all = room(count.saturating_mul(array.rank()))?;
    for n in 0..count {
        // SAFETY: the caller's promise.
        all.extend(unsafe { list(at.add(n).read(), array.rank(), "subsarray") }?);
    }
    Ok(all)
}

/// Indexes one behind the other.
///
/// # Safety
/// There must be `count` times as many numbers as dimensions.
unsafe fn flat<I: Number>(array: &Array, at: *const I, count: i64) -> Result<Vec<i64>> {
    // SAFETY: the caller's promise.
    unsafe { list(at, counted(count)?.saturating_mul(array.rank()), "subsarray") }
}

fn counted(count: i64) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::argument(format!("n={count} is negative")))
}

/// # Safety
/// As the header says.
unsafe fn elements(array: &Array, values: *mut c_void, indexes: Vec<i64>, operation: Operation) -> Result<()> {
    if !indexes.is_empty() && values.is_null() {
        return Err(Error::argument("v is null"));
    }
    // SAFETY: the caller's promise.
    unsafe { onesided::elements(array, values.cast(), &indexes, operation) }
}

indexed! {
    fn isthmus_ga_NGA_Put, isthmus_ga_NGA_Put64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index,
    ) { transfer(handle, lo, hi, at, ld, Operation::Put)? }
    fn isthmus_ga_NGA_Get, isthmus_ga_NGA_Get64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index,
    ) { transfer(handle, lo, hi, at, ld, Operation::Get)? }
    fn isthmus_ga_NGA_Acc, isthmus_ga_NGA_Acc64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index, alpha: *const c_void,
    ) { transfer(handle, lo, hi, at, ld, Operation::Accumulate(alpha.cast()))? }
    fn isthmus_ga_NGA_NbPut, isthmus_ga_NGA_NbPut64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index, request: *mut c_long,
    ) { start(request, || transfer(handle, lo, hi, at, ld, Operation::Put))? }
    fn isthmus_ga_NGA_NbGet, isthmus_ga_NGA_NbGet64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index, request: *mut c_long,
    ) { start(request, || transfer(handle, lo, hi, at, ld, Operation::Get))? }
    fn isthmus_ga_NGA_NbAcc, isthmus_ga_NGA_NbAcc64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index, alpha: *const c_void,
        request: *mut c_long,
    ) { start(request, || transfer(handle, lo, hi, at, ld, Operation::Accumulate(alpha.cast())))? }
    fn isthmus_ga_NGA_Periodic_put, isthmus_ga_NGA_Periodic_put64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index,
    ) { periodic(handle, lo, hi, at, ld, Operation::Put)? }
    fn isthmus_ga_NGA_Periodic_get, isthmus_ga_NGA_Periodic_get64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index,
    ) { periodic(handle, lo, hi, at, ld, Operation::Get)? }
    fn isthmus_ga_NGA_Periodic_acc, isthmus_ga_NGA_Periodic_acc64(
        handle: c_int, lo: *const Index, hi: *const Index, at: *mut c_void, ld: *const Index, alpha: *const c_void,
    ) { periodic(handle, lo, hi, at, ld, Operation::Accumulate(alpha.cast()))? }
    fn isthmus_ga_NGA_Strided_put, isthmus_ga_NGA_Strided_put64(
        handle: c_int, lo: *const Index, hi: *const Index, skip: *const Index, at: *mut c_void, ld: *const Index,
    ) { strided(handle, (lo, hi, skip), at, ld, Operation::Put)? }
    fn isthmus_ga_NGA_Strided_get, isthmus_ga_NGA_Strided_get64(
        handle: c_int, lo: *const Index, hi: *const Index, skip: *const Index, at: *mut c_void, ld: *const Index,
    ) { strided(handle, (lo, hi, skip), at, ld, Operation::Get)? }
    fn isthmus_ga_NGA_Strided_acc, isthmus_ga_NGA_Strided_acc64(
        handle: c_int, lo: *const Index, hi: *const Index, skip: *const Index, at: *mut c_void, ld: *const Index,
        alpha: *const c_void,
    ) { strided(handle, (lo, hi, skip), at, ld, Operation::Accumulate(alpha.cast()))? }
    fn isthmus_ga_NGA_Scatter, isthmus_ga_NGA_Scatter64(
        handle: c_int, values: *mut c_void, at: *const *const Index, count: Index,
    ) {
        let array = find(handle)?;
        elements(&array, values, pointed(&array, at, count.wide())?, Operation::Put)?
    }
    fn isthmus_ga_NGA_Gather, isthmus_ga_NGA_Gather64(
        handle: c_int, values: *mut c_void, at: *const *const Index, count: Index,
    ) {
        let array = find(handle)?;
        elements(&array, values, pointed(&array, at, count.wide())?, Operation::Get)?
    }
    fn isthmus_ga_NGA_Scatter_acc, isthmus_ga_NGA_Scatter_acc64(
        handle: c_int, values: *mut c_void, at: *const *const Index, count: Index, alpha: *const c_void,
    ) {
        let array = find(handle)?;
        elements(&array, values, pointed(&array, at, count.wide())?, Operation::Accumulate(alpha.cast()))?
    }
    fn isthmus_ga_NGA_Scatter_flat, isthmus_ga_NGA_Scatter_flat64(
        handle: c_int, values: *mut c_void, at: *const Index, count: Index,
    ) {
        let array = find(handle)?;
        elements(&array, values, flat(&array, at, count.wide())?, Operation::Put)?
    }
    fn isthmus_ga_NGA_Gather_flat, isthmus_ga_NGA_Gather_flat64(
        handle: c_int, values: *mut c_void, at: *const Index, count: Index,
    ) {
        let array = find(handle)?;
        elements(&array, values, flat(&array, at, count.wide())?, Operation::Get)?
    }
    fn isthmus_ga_NGA_Scatter_acc_flat, isthmus_ga_NGA_Scatter_acc_flat64(
        handle: c_int, values: *mut c_void, at: *const Index, count: Index, alpha: *const c_void,
    ) {
        let array = find(handle)?;
        elements(&array, values, flat(&array, at, count.wide())?, Operation::Accumulate(alpha.cast()))?
    }
    fn isthmus_ga_NGA_Read_inc, isthmus_ga_NGA_Read_inc64(handle: c_int, subscript: *const Index, by: c_long) -> c_long {
        if subscript.is_null() {
            return Err(Error::argument("subscript is null"));
        }
        counter::read_inc(handle, |d| subscript.add(d).read().wide(), by)?
    }
}

entries! {
    fn isthmus_ga_NGA_Get_field(
        handle: c_int, lo: *const c_int, hi: *const c_int, offset: c_int, bytes: c_int, at: *mut c_void, ld: *const c_int,
    ) { field(handle, (lo, hi), (offset, bytes), at, ld, Operation::Get)? }
    fn isthmus_ga_NGA_Put_field(
        handle: c_int, lo: *const c_int, hi: *const c_int, offset: c_int, bytes: c_int, at: *mut c_void, ld: *const c_int,
    ) { field(handle, (lo, hi), (offset, bytes), at, ld, Operation::Put)? }
    fn isthmus_ga_NGA_Nbget_field(
        handle: c_int, lo: *const c_int, hi: *const c_int, offset: c_int, bytes: c_int, at: *mut c_void, ld: *const c_int,
        request: *mut c_long,
    ) { start(request, || field(handle, (lo, hi), (offset, bytes), at, ld, Operation::Get))? }
    fn isthmus_ga_NGA_Nbput_field(
        handle: c_int, lo: *const c_int, hi: *const c_int, offset: c_int, bytes: c_int, at: *mut c_void, ld: *const c_int,
        request: *mut c_long,
    ) { start(request, || field(handle, (lo, hi), (offset, bytes), at, ld, Operation::Put))? }
    fn isthmus_ga_NGA_NbWait(request: *mut c_long) {
        match request.as_mut() {
            Some(request) => nonblocking::wait(number_of(std::mem::take(request)))?,
            None => nonblocking::wait_for(None)?,
        }
    }
    // 1: it is over.
    fn isthmus_ga_NGA_NbTest(request: *mut c_long) -> c_int {
        nonblocking::test(request.as_ref().copied().map_or(0, number_of)).map(c_int::from)?
    }
    fn isthmus_ga_NGA_Alloc_gatscat_buf(_count: c_int) {}
    fn isthmus_ga_NGA_Free_gatscat_buf() {}
}
