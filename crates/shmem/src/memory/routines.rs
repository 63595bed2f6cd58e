//! Memory management (OpenSHMEM 1.6, "Memory Management Routines"). All are collective: every PE makes the same requests, and
//! gets the same answer.

use std::ffi::{c_long, c_void};

use isthmus_collective::symmetric::Terms;

use crate::call::Call;
use crate::job::{Job, job};
use crate::order;

/// Alignment that any object of C has.
const ALIGNMENT: usize = 16;
/// Freed blocks of this size or more give their memory back.
const LARGE: u64 = 4 << 20;

/// `shmem_malloc`: null if there is no room on some PE, or for 0 bytes.
///
/// # Safety
/// None is needed.
pub unsafe fn malloc(call: Call, size: usize) -> *mut c_void {
    allocate(call, size, ALIGNMENT, false)
}

/// `shmem_malloc_with_hints`: all of the heap serves atomics and signals alike, and a hint that nobody knows is none.
///
/// # Safety
/// None is needed.
pub unsafe fn malloc_with_hints(call: Call, size: usize, _hints: c_long) -> *mut c_void {
    allocate(call, size, ALIGNMENT, false)
}

/// `shmem_calloc`: zeroed.
///
/// # Safety
/// None is needed.
pub unsafe fn calloc(call: Call, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(length) => allocate(call, length, ALIGNMENT, true),
        None => std::ptr::null_mut(),
    }
}

/// `shmem_align`
///
/// # Safety
/// None is needed.
pub unsafe fn align(call: Call, alignment: usize, size: usize) -> *mut c_void {
    if !alignment.is_power_of_two() {
        call.refuse(format!("alignment={alignment} is not a power of two"));
    }
    allocate(call, size, alignment, false)
}

/// `shmem_realloc`: null, and the old block as it was, if there is no room.
///
/// # Safety
/// `ptr` must be null or from these routines, and no PE may use it during the call.
pub unsafe fn realloc(call: Call, ptr: *mut c_void, size: usize) -> *mut c_void {
    if ptr.is_null() {
        return allocate(call, size, ALIGNMENT, false);
    }
    let job = job(call);
    let at = offset(job, call, ptr);
    let Some(before) = job.heap().wanted(at) else {
        refuse_pointer(call, ptr)
    };
    if size == 0 {
        // SAFETY: the caller's promise.
        unsafe { free(call, ptr) };
        return std::ptr::null_mut();
    }
    order::complete(job, call);
    round(job, call, ("size", size as u64), true);
    if job.heap().resize(at, size as u64) {
        return ptr;
    }
    let new = allocate(call, size, ALIGNMENT, false);
    if !new.is_null() {
        // SAFETY: both are blocks of the heap with that many bytes, and disjoint.
        unsafe { std::ptr::copy_nonoverlapping(ptr.cast::<u8>(), new.cast(), size.min(before as usize)) };
        round(job, call, ("size", size as u64), true);
        release(job, at);
    }
    new
}

/// `shmem_free`
///
/// # Safety
/// `ptr` must be null or from these routines, and no PE may use it any more.
pub unsafe fn free(call: Call, ptr: *mut c_void) {
    if ptr.is_null() {
        return;
    }
    let job = job(call);
    let at = offset(job, call, ptr);
    if job.heap().wanted(at).is_none() {
        refuse_pointer(call, ptr);
    }
    order::complete(job, call);
    round(job, call, ("ptr", at), true);
    release(job, at);
}

fn release(job: &Job, at: u64) {
    if let Some(length) = job.heap().release(at)
        && length >= LARGE
    {
        job.give_back(at, length);
    }
}

fn offset(job: &Job, call: Call, ptr: *mut c_void) -> u64 {
    let heap = job.ranges.heap();
    let at = ptr.addr().wrapping_sub(heap.first());
    if at >= heap.length() {
        refuse_pointer(call, ptr);
    }
    at as u64
}

#[cold]
fn refuse_pointer(call: Call, ptr: *mut c_void) -> ! {
    call.refuse(format!(
        "ptr={ptr:p} is not an object of the symmetric heap: it was never allocated, or was freed before"
    ))
}

fn allocate(call: Call, size: usize, alignment: usize, zeroed: bool) -> *mut c_void {
    let job = job(call);
    if size == 0 {
        return std::ptr::null_mut();
    }
    let found = job.heap().allocate(size as u64, alignment as u64);
    // Of a large block only bytes outside whole pages are written to.
    let is_large = zeroed && size as u64 >= LARGE;
    let zeros = found.filter(|_| is_large).and_then(|at| job.give_back(at, size as u64));
    let found = found.filter(|&at| {
        let granted = job.piece().grant(at, size as u64).is_ok();
        if !granted {
            job.heap().release(at);
        }
        granted
    });
    let heap = job.ranges.heap();
    let address = |at: u64| std::ptr::with_exposed_provenance_mut::<c_void>(heap.first() + at as usize);
    if let (Some(at), true) = (found, zeroed) {
        let end = at + size as u64;
        let zeros = zeros.unwrap_or(end..end);
        for part in [at..zeros.start, zeros.end..end] {
            let bytes = (part.end - part.start) as usize;
            // SAFETY: part of the block, which is ours, and nobody has it yet.
            unsafe { address(part.start).cast::<u8>().write_bytes(0, bytes) };
        }
    }
    let address = found.map(address);
    let everywhere = round(job, call, ("size", size as u64), found.is_some());
    if !everywhere {
        if let Some(at) = found {
            job.heap().release(at);
        }
        return std::ptr::null_mut();
    }
    address.unwrap_or(std::ptr::null_mut())
}

/// Meet all PEs, which make the same request. Did it go well everywhere?
fn round(job: &Job, call: Call, argument: (&'static str, u64), well: bool) -> bool {
    let round = job
        .world
        .round(Terms::new(call.into(), argument), &[u64::from(well)], &[]);
    (0..job.world.size()).all(|member| round.word(member, 0) == 1)
}
