//! `macdecls.h`, and memory for programs.

use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::{entries, tell, text};
use crate::allocator as ma;
use crate::error::{Error, Result};
use crate::getmem;
use crate::kind::ElementKind;
use crate::life::group_number;

/// A C truth value.
type Truth = c_long;

/// A function that MA calls instead of ending the job, as `ARMCI_Error` is.
type Callback = unsafe extern "C" fn(*const c_char, c_int);

static CALLBACK: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// A refused request is an answer here, which is said once, where the user sees it; the end only if the program wants that.
///
/// # Errors
/// It wants that.
fn granted<T>(call: &str, result: Result<T>) -> Result<Option<T>> {
    let error = match result {
        Ok(answer) => return Ok(Some(answer)),
        Err(error) => error,
    };
    let refusals = ma::refusals(|_| {});
    if refusals.are_fatal {
        let callback = CALLBACK.load(Ordering::Acquire);
        if !callback.is_null() {
            let line = CString::new(isthmus_armci::error::line(call, &error.to_string())).unwrap_or_default();
            // SAFETY: `MA_set_error_callback` stored a function, which takes what `ARMCI_Error` takes.
            unsafe { std::mem::transmute::<*mut c_void, Callback>(callback)(line.as_ptr(), 0) };
        }
        return Err(error);
    }
    if refusals.are_said {
        isthmus_os::process::say(&isthmus_armci::error::line(call, &error.to_string()));
    }
    Ok(None)
}

/// # Safety
/// The pointers must be good, or null.
unsafe fn take(
    call: &str,
    kind: c_long,
    count: c_long,
    name: *const c_char,
    handle: *mut c_long,
    index: *mut c_long,
    is_stack: bool,
) -> Result<Truth> {
    // SAFETY: the caller's promise.
    unsafe {
        let taken = granted(call, ma::allocate(kind, count, &text(name), is_stack))?;
        let Some(taken) = taken else { return Ok(0) };
        tell(handle, [taken]);
        tell(index, ma::index(taken));
    }
    Ok(1)
}

entries! {
    fn isthmus_ga_MA_init(kind: c_long, stack: c_long, heap: c_long) -> Truth {
        granted("MA_init", ma::initialize(kind, stack, heap))?.is_some().into()
    }
    fn isthmus_ga_MA_initialized() -> Truth { ma::is_initialized().into() }
    fn isthmus_ga_MA_alloc_get(
        kind: c_long, count: c_long, name: *const c_char, handle: *mut c_long, index: *mut c_long,
    ) -> Truth { take("MA_alloc_get", kind, count, name, handle, index, false)? }
    fn isthmus_ga_MA_allocate_heap(kind: c_long, count: c_long, name: *const c_char, handle: *mut c_long) -> Truth {
        take("MA_allocate_heap", kind, count, name, handle, std::ptr::null_mut(), false)?
    }
    fn isthmus_ga_MA_push_get(
        kind: c_long, count: c_long, name: *const c_char, handle: *mut c_long, index: *mut c_long,
    ) -> Truth { take("MA_push_get", kind, count, name, handle, index, true)? }
    fn isthmus_ga_MA_push_stack(kind: c_long, count: c_long, name: *const c_char, handle: *mut c_long) -> Truth {
        take("MA_push_stack", kind, count, name, handle, std::ptr::null_mut(), true)?
    }
    fn isthmus_ga_MA_pop_stack(handle: c_long) -> Truth { granted("MA_pop_stack", ma::pop(handle, false))?.is_some().into() }
    fn isthmus_ga_MA_chop_stack(handle: c_long) -> Truth { granted("MA_chop_stack", ma::pop(handle, true))?.is_some().into() }
    fn isthmus_ga_MA_free_heap(handle: c_long) -> Truth { granted("MA_free_heap", ma::free(handle))?.is_some().into() }
    fn isthmus_ga_MA_get_pointer(handle: c_long, to: *mut *mut c_void) -> Truth {
        match granted("MA_get_pointer", ma::address(handle))? {
            Some(address) if !to.is_null() => {
                to.write(address.cast());
                1
            }
            _ => 0,
        }
    }
    fn isthmus_ga_MA_get_index(handle: c_long, index: *mut c_long) -> Truth {
        match granted("MA_get_index", ma::index(handle))? {
            Some(at) => {
                tell(index, [at]);
                1
            }
            None => 0,
        }
    }
    fn isthmus_ga_MA_free_heap_piece(handle: c_long, count: c_long) -> Truth {
        granted("MA_free_heap_piece", ma::free_piece(handle, count))?.is_some().into()
    }
    // Indexes count from address 0.
    fn isthmus_ga_MA_get_mbase(_kind: c_long) -> *mut c_void { std::ptr::null_mut() }
    fn isthmus_ga_MA_inquire_avail(kind: c_long) -> c_long { ma::left(kind) }
    fn isthmus_ga_MA_sizeof(kind: c_long, count: c_long, other: c_long) -> c_long {
        let bytes = ma::bytes(kind).unwrap_or(0) * count;
        ma::bytes(other).map_or(0, |width| (bytes + width - 1) / width)
    }
    fn isthmus_ga_MA_sizeof_overhead(_kind: c_long) -> c_long { 0 }
    fn isthmus_ga_MA_init_memhandle_iterator(at: *mut c_long) -> Truth {
        tell(at, [-1]);
        1
    }
    fn isthmus_ga_MA_get_next_memhandle(at: *mut c_long, handle: *mut c_long) -> Truth {
        if at.is_null() {
            return Ok(0);
        }
        match ma::next(at.read()) {
            Some(next) => {
                at.write(next);
                tell(handle, [next]);
                1
            }
            None => 0,
        }
    }
    fn isthmus_ga_MA_set_auto_verify(_value: Truth) -> Truth { 0 }
    fn isthmus_ga_MA_set_error_print(value: Truth) -> Truth {
        ma::refusals(|refusals| refusals.are_said = value != 0).are_said.into()
    }
    fn isthmus_ga_MA_set_hard_fail(value: Truth) -> Truth {
        ma::refusals(|refusals| refusals.are_fatal = value != 0).are_fatal.into()
    }
    fn isthmus_ga_MA_set_error_callback(callback: *mut c_void) { CALLBACK.store(callback, Ordering::Release) }
    fn isthmus_ga_MA_set_numalign(_value: c_long) -> Truth { 1 }
    fn isthmus_ga_MA_get_numalign(value: *mut c_long) -> Truth {
        tell(value, [6]);
        1
    }
    fn isthmus_ga_MA_trace(_value: Truth) {}
    fn isthmus_ga_MA_verify_allocator_stuff() -> Truth { 1 }
    fn isthmus_ga_GA_Getmem(kind: c_int, count: c_int, group: c_int) -> *mut c_void {
        match getmem::take(ElementKind::of(kind)?, count, group_number(group)) {
            // Null, at every process, if the memory cannot be had.
            Err(Error::Armci(isthmus_armci::Error::Memory { .. })) => std::ptr::null_mut(),
            taken => taken?.cast(),
        }
    }
    fn isthmus_ga_GA_Freemem(at: *mut c_void) { getmem::give_back(at.cast())? }
    // Memory is this library's own.
    fn isthmus_ga_GA_Register_stack_memory(_allocate: *const c_void, _free: *const c_void) {}
}
