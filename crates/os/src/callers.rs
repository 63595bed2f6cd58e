//! The functions that the calling thread is in, by the names under which libraries export them, and where the thread came into this library.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::OnceLock;

type TraceFn = unsafe extern "C" fn(context: *mut c_void, argument: *mut c_void) -> c_int;

unsafe extern "C" {
    // Itanium C++ ABI, exception handling: of libgcc_s, which Rust's own panics use.
    fn _Unwind_Backtrace(trace: TraceFn, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    // The stack pointer of the function that the context is of, at the call that it is in.
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
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

/// A call from outside into this library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LibraryCall {
    /// An address in the function that was called.
    pub called: usize,
    /// Where that returns to.
    pub caller: usize,
    /// Has this thread come in there before?
    pub is_known: bool,
}

/// Where the calling thread came into the library that this function is part of; `None`: it is part of the program itself, or too many
/// calls deep. About a microsecond the first time, for a call that is known some ten nanoseconds. Does not block but for the loader's lock.
#[inline(never)]
pub fn entry() -> Option<LibraryCall> {
    let own = own_code()?;
    let here = frames::here();
    if let Some(entry) = frames::known(here, &own) {
        return Some(entry);
    }
    let mut search = Search {
        own,
        called: 0,
        caller: 0,
        left: DEEPEST,
        frames: Vec::new(),
    };
    // SAFETY: `step` gets the search, which lives as long as the call.
    unsafe { _Unwind_Backtrace(step, (&raw mut search).cast()) };
    frames::learn(here, &search.frames);
    (search.caller != 0 && search.called != 0).then_some(LibraryCall {
        called: search.called,
        caller: search.caller,
        is_known: false,
    })
}

struct Search {
    own: Range<usize>,
    called: usize,
    caller: usize,
    left: u32,
    /// Of each function: where it goes on, and its stack pointer there.
    frames: Vec<(usize, usize)>,
}

unsafe extern "C" fn step(context: *mut c_void, argument: *mut c_void) -> c_int {
    // SAFETY: it is what `entry` gave, and nobody else has it.
    let search = unsafe { &mut *argument.cast::<Search>() };
    // SAFETY: the context is good during this call.
    let (address, stack) = unsafe { (_Unwind_GetIP(context), _Unwind_GetCFA(context)) };
    search.left -= 1;
    search.frames.push((address, stack));
    if !search.own.contains(&address) {
        search.caller = address;
        return STOP;
    }
    search.called = address;
    if search.left == 0 { STOP } else { GO_ON }
}

/// Walks that are known. How many bytes of stack a function has at a place where it calls another one is the same each time, unless it
/// aligns its stack: so a walk goes from return address to return address, as long as each is one that was met before at this place.
#[cfg(target_arch = "x86_64")]
mod frames {
    use std::cell::RefCell;
    use std::ops::Range;

    use super::LibraryCall;

    /// Frames that are known at a time. A power of two.
    const FRAMES: usize = 512;
    /// Of a frame outside of the library: the walk ends there.
    const END: usize = usize::MAX;

    #[derive(Clone, Copy)]
    struct Frame {
        /// Where a function goes on; 0: nowhere.
        address: usize,
        /// How far from its stack pointer there the one of its caller is; 0: that differs.
        bytes: usize,
    }

    struct KnownFrames {
        /// How far the stack pointer of the caller of [`super::entry`] is from where it was taken.
        first: usize,
        frames: Box<[Frame; FRAMES]>,
    }

    impl KnownFrames {
        fn frame(&mut self, address: usize) -> &mut Frame {
            const MIX: usize = 0x9e37_79b9_7f4a_7c15;
            &mut self.frames[address.wrapping_mul(MIX) >> (usize::BITS - FRAMES.trailing_zeros())]
        }

        fn learn(&mut self, address: usize, bytes: usize) {
            let frame = self.frame(address);
            let differs = frame.address == address && frame.bytes != bytes;
            *frame = Frame {
                address,
                bytes: if differs { 0 } else { bytes },
            };
        }
    }

    thread_local! {
        static KNOWN: RefCell<Option<KnownFrames>> = const { RefCell::new(None) };
    }

    /// The stack pointer.
    #[inline(always)]
    pub fn here() -> usize {
        let stack: usize;
        // SAFETY: a register is read.
        unsafe { std::arch::asm!("mov {}, rsp", out(reg) stack, options(nomem, nostack, preserves_flags)) };
        stack
    }

    pub fn known(here: usize, own: &Range<usize>) -> Option<LibraryCall> {
        KNOWN.with_borrow_mut(|known| {
            let known = known.as_mut()?;
            let mut stack = here + known.first;
            let mut called = 0;
            loop {
                // SAFETY: the stack pointer of a function that is not over, by what was learned of all below it: the return address
                // of the call that it is in lies before.
                let address = unsafe { std::ptr::with_exposed_provenance::<usize>(stack - size_of::<usize>()).read() };
                let frame = *known.frame(address);
                match frame.bytes {
                    _ if frame.address != address => return None,
                    0 => return None,
                    END if called == 0 || own.contains(&address) => return None,
                    END => {
                        return Some(LibraryCall {
                            called,
                            caller: address,
                            is_known: true,
                        });
                    }
                    bytes => stack += bytes,
                }
                called = address;
            }
        })
    }

    /// What a walk from here has met: [`super::entry`] itself, its callers, and the first that is outside.
    pub fn learn(here: usize, frames: &[(usize, usize)]) {
        let [_, callers @ ..] = frames else { return };
        let Some(&(_, first)) = callers.first() else { return };
        KNOWN.with_borrow_mut(|known| {
            let none = Frame { address: 0, bytes: 0 };
            let known = known.get_or_insert_with(|| KnownFrames {
                first: 0,
                frames: Box::new([none; FRAMES]),
            });
            known.first = first.wrapping_sub(here);
            for pair in callers.windows(2) {
                known.learn(pair[0].0, pair[1].1.wrapping_sub(pair[0].1));
            }
            if let Some(&(outside, _)) = callers.last() {
                known.learn(outside, END);
            }
        });
    }
}

/// Return addresses lie elsewhere on other processors: every walk is made in full.
#[cfg(not(target_arch = "x86_64"))]
mod frames {
    use std::ops::Range;

    use super::LibraryCall;

    pub fn here() -> usize {
        0
    }

    pub fn known(_here: usize, _own: &Range<usize>) -> Option<LibraryCall> {
        None
    }

    pub fn learn(_here: usize, _frames: &[(usize, usize)]) {}
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
