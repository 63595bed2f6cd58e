//! The functions that the calling thread is in, by the names under which libraries export them.

use std::ffi::{CStr, c_char, c_int, c_void};

type Visit = unsafe extern "C" fn(context: *mut c_void, argument: *mut c_void) -> c_int;

unsafe extern "C" {
    // Itanium C++ ABI, exception handling: of libgcc_s, which Rust's own panics use.
    fn _Unwind_Backtrace(visit: Visit, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// Go on to the caller; stop here.
const GO_ON: c_int = 0;
const STOP: c_int = 5;
/// No call of ours is deeper.
const DEEPEST: u32 = 128;

struct Walk<'a> {
    pick: &'a mut dyn FnMut(&str) -> bool,
    left: u32,
}

/// Show `pick` the name of each function that is exported, from the innermost on, until it says true. Slow: some microseconds, more
/// the first time. Does not block but for the loader's lock.
pub fn find(pick: &mut dyn FnMut(&str) -> bool) {
    let mut walk = Walk { pick, left: DEEPEST };
    // SAFETY: `visit` gets the walk, which lives as long as the call.
    unsafe { _Unwind_Backtrace(visit, (&raw mut walk).cast()) };
}

unsafe extern "C" fn visit(context: *mut c_void, argument: *mut c_void) -> c_int {
    // SAFETY: it is what `find` gave, and nobody else has it.
    let walk = unsafe { &mut *argument.cast::<Walk<'_>>() };
    // SAFETY: the context is good during this call. A return address may lie behind the function: step back into the call.
    let address = unsafe { _Unwind_GetIP(context) }.wrapping_sub(1);
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null::<c_char>(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null::<c_char>(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: any address may be asked for, and there is room for the answer.
    let known = unsafe { libc::dladdr(address as *const c_void, &raw mut found) } != 0;
    walk.left -= 1;
    if known && !found.dli_sname.is_null() {
        // SAFETY: names of symbols end with a zero, and stay while the library does, which is on our stack.
        let name = unsafe { CStr::from_ptr(found.dli_sname) };
        if name.to_str().is_ok_and(|name| (walk.pick)(name)) {
            return STOP;
        }
    }
    if walk.left == 0 { STOP } else { GO_ON }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_walk_ends() {
        let mut seen = 0;
        super::find(&mut |_| {
            seen += 1;
            seen == 1
        });
        assert!(seen <= 1);
    }
}
