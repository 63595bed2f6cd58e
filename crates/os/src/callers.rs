//! The functions that the calling thread is in, by the names under which libraries export them, and where the thread came into this library.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

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
    // SAFETY: the context is good during this call.
    let address = unsafe { _Unwind_GetIP(context) };
    walk.left -= 1;
    if name_at(address).is_some_and(|name| (walk.pick)(name)) || walk.left == 0 {
        STOP
    } else {
        GO_ON
    }
}

/// The name under which the function is exported that returns to this address, while its library stays loaded.
pub fn name_at(address: usize) -> Option<&'static str> {
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null::<c_char>(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null::<c_char>(),
        dli_saddr: std::ptr::null_mut(),
    };
    // A return address may lie behind the function: step back into the call.
    let within = address.wrapping_sub(1) as *const c_void;
    // SAFETY: any address may be asked for, and there is room for the answer.
    let known = unsafe { libc::dladdr(within, &raw mut found) } != 0;
    if !known || found.dli_sname.is_null() {
        return None;
    }
    // SAFETY: names of symbols end with a zero, and stay while the library does, which is on the caller's stack.
    unsafe { CStr::from_ptr(found.dli_sname) }.to_str().ok()
}

/// Where a thread came into this library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// An address in the function that was called.
    pub called: usize,
    /// Where that returns to.
    pub caller: usize,
}

struct Search {
    own: Range<usize>,
    called: usize,
    caller: usize,
    left: u32,
}

/// Where the calling thread came into the library that this function is part of; `None`: it is part of the program itself, or too many
/// calls deep. About a microsecond. Does not block but for the loader's lock.
pub fn entry() -> Option<Entry> {
    let mut search = Search {
        own: own_code()?,
        called: 0,
        caller: 0,
        left: DEEPEST,
    };
    // SAFETY: `step` gets the search, which lives as long as the call.
    unsafe { _Unwind_Backtrace(step, (&raw mut search).cast()) };
    (search.caller != 0 && search.called != 0).then_some(Entry {
        called: search.called,
        caller: search.caller,
    })
}

unsafe extern "C" fn step(context: *mut c_void, argument: *mut c_void) -> c_int {
    // SAFETY: it is what `entry` gave, and nobody else has it.
    let search = unsafe { &mut *argument.cast::<Search>() };
    // SAFETY: the context is good during this call.
    let address = unsafe { _Unwind_GetIP(context) };
    search.left -= 1;
    if !search.own.contains(&address) {
        search.caller = address;
        return STOP;
    }
    search.called = address;
    if search.left == 0 { STOP } else { GO_ON }
}

/// The addresses of the library, or program, that this function is part of.
fn own_code() -> Option<Range<usize>> {
    static OWN: OnceLock<Option<Range<usize>>> = OnceLock::new();
    OWN.get_or_init(|| {
        let mut found = None::<Range<usize>>;
        // SAFETY: `segments` gets the answer's place, which lives as long as the call.
        unsafe { libc::dl_iterate_phdr(Some(segments), (&raw mut found).cast()) };
        found
    })
    .clone()
}

unsafe extern "C" fn segments(library: *mut libc::dl_phdr_info, _size: usize, answer: *mut c_void) -> c_int {
    // SAFETY: the loader describes a library that is loaded.
    let library = unsafe { &*library };
    // SAFETY: it has so many program headers.
    let headers = unsafe { std::slice::from_raw_parts(library.dlpi_phdr, library.dlpi_phnum.into()) };
    let own = segments as *const () as usize;
    let ranges = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD)
        .map(|header| {
            let start = (library.dlpi_addr + header.p_vaddr) as usize;
            start..start + header.p_memsz as usize
        });
    match ranges.clone().any(|range| range.contains(&own)) {
        false => 0,
        true => {
            let start = ranges.clone().map(|range| range.start).min().unwrap_or(own);
            let all = start..ranges.map(|range| range.end).max().unwrap_or(own);
            // SAFETY: it is what `own_code` gave.
            unsafe { answer.cast::<Option<Range<usize>>>().write(Some(all)) };
            1
        }
    }
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

    #[test]
    fn a_call_from_the_own_program_enters_no_library() {
        let own = super::own_code().expect("there are program headers");
        assert!(own.contains(&(super::entry as *const () as usize)));
        // The first caller that is not this program is the C library, which started the thread.
        assert!(super::entry().is_none_or(|entry| own.contains(&entry.called) && !own.contains(&entry.caller)));
    }
}
