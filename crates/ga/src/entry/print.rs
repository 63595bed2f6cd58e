//! Showing arrays.

use std::ffi::{CString, c_char, c_int, c_void};
use std::io::Write;

use super::{entries, find, indexed, patch};
use crate::error::Result;
use crate::{allocator, print};

unsafe extern "C" {
    fn fputs(text: *const c_char, file: *mut c_void) -> c_int;
    fn fflush(file: *mut c_void) -> c_int;
}

fn show(text: &str) {
    let mut out = std::io::stdout();
    // Where nobody reads there is nobody to tell.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

indexed! {
    fn isthmus_ga_NGA_Print_patch, isthmus_ga_NGA_Print_patch64(
        handle: c_int, lo: *const Index, hi: *const Index, _pretty: c_int,
    ) {
        let array = find(handle)?;
        show(&print::text(handle, &array, &patch(&array, lo, hi)?)?)
    }
}

/// # Safety
/// It must be a `FILE` of the C library.
unsafe fn show_in(file: *mut c_void, text: &str) -> Result<()> {
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // SAFETY: the caller's promise.
    unsafe {
        fputs(text.as_ptr(), file);
        fflush(file);
    }
    Ok(())
}

entries! {
    fn isthmus_ga_GA_Print(handle: c_int) {
        let array = find(handle)?;
        show(&print::text(handle, &array, &array.whole())?)
    }
    fn isthmus_ga_GA_Print_patch(handle: c_int, ilo: c_int, ihi: c_int, jlo: c_int, jhi: c_int, _pretty: c_int) {
        let array = find(handle)?;
        let patch = crate::patch::Patch::new([ilo.into(), jlo.into()], [ihi.into(), jhi.into()]);
        show(&print::text(handle, &array, &patch)?)
    }
    fn isthmus_ga_GA_Print_file(file: *mut c_void, handle: c_int) {
        let array = find(handle)?;
        let text = print::text(handle, &array, &array.whole())?;
        if !file.is_null() && !text.is_empty() {
            show_in(file, &text)?;
        }
    }
    fn isthmus_ga_GA_Print_distribution(handle: c_int) { show(&print::distribution(handle, &*find(handle)?)?) }
    fn isthmus_ga_GA_Print_stats() { show(&print::statistics()) }
    fn isthmus_ga_GA_Summarize(verbose: c_int) {
        if isthmus_armci::life::job()?.me == 0 {
            show(&print::summary(verbose != 0)?);
        }
    }
    fn isthmus_ga_MA_summarize_allocated_blocks() { show(&allocator::summary()) }
    fn isthmus_ga_MA_print_stats(_routines: i64) { show(&allocator::summary()) }
}
