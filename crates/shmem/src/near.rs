//! What programs do without a call: `shmem-near.h` has bodies of the shortest routines that find the heap in a table of the library.
//!
//! The table lies in `liboshmem.so` (or, by a copy relocation, in the program), filled with zeros: then all calls come here. It is
//! filled when the library is initialised, if nobody has put routines of their own before ours: a profiling library counts all calls.

use std::ffi::{CStr, CString, c_int};
use std::ptr::NonNull;

use crate::call::{Call, entries};
use crate::generated::NEAR;
use crate::job::{Job, job};

/// PEs that the table has room for.
const MOST: usize = 64;

/// `struct isthmus_shmem_near_1`: it never changes; another one gets another name.
#[repr(C)]
struct Near {
    first: usize,
    pes: usize,
    unused: [usize; 2],
    lengths: [usize; 4],
    displacements: [isize; MOST],
    watchers: [*const u32; MOST],
}

// What programs were compiled with, and what the trampolines reserve.
const _: () = assert!(size_of::<Near>() == 1088);

entries! {
    wake_1 = wake [] (pe: c_int);
}

/// PE `pe` waits for its memory to change, and the program has changed it.
///
/// # Safety
/// None is needed.
unsafe fn wake(call: Call, pe: c_int) {
    let job = job(call);
    job.tell_of_write(job.pe(call, pe));
}

/// Where everybody finds the symbol; null: nowhere.
fn find(name: &CStr) -> *mut libc::c_void {
    // SAFETY: a name that ends.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// Are all routines that programs do by themselves the library's own?
fn are_ours() -> bool {
    NEAR.iter().all(|name| {
        let profiling = CString::new([b"p", name.to_bytes()].concat());
        profiling.is_ok_and(|profiling| find(name) == find(&profiling))
    })
}

fn table() -> Option<NonNull<Near>> {
    NonNull::new(find(c"isthmus_shmem_near_1").cast())
}

/// From now on programs do the shortest routines by themselves, where they can.
pub fn open(job: &Job) {
    let Some(table) = table() else { return };
    let heap = job.ranges.heap();
    let displacements = heap.displacements();
    let everywhere = displacements.iter().all(Option::is_some);
    if displacements.len() > MOST || !everywhere || job.bells.fence_needed() || !are_ours() {
        return;
    }
    let mut near = Near {
        first: heap.first(),
        pes: displacements.len(),
        unused: [0; 2],
        lengths: [0, 1, 2, 3].map(|shift| heap.length() >> shift),
        displacements: [0; MOST],
        watchers: [std::ptr::null(); MOST],
    };
    for (pe, by) in displacements.iter().enumerate() {
        near.displacements[pe] = by.unwrap_or_default();
        near.watchers[pe] = job.watchers_of(pe as u32).as_ptr();
    }
    // SAFETY: the symbol of this name has this layout; nobody calls routines before we are initialised.
    unsafe { table.write(near) };
}

/// From now on all calls come to the library.
pub fn close() {
    if let Some(table) = table() {
        // SAFETY: as in `open`; nobody calls routines while the library is finalised.
        unsafe { (&raw mut (*table.as_ptr()).pes).write(0) };
    }
}
