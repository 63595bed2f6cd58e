//! Starting, ending, errors.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{Ordering, fence};

use isthmus_engine::abort;

use super::{answer, done};
use crate::arguments::text;
use crate::error::line;
use crate::life;

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Init() -> i32 {
    done("ARMCI_Init", life::init_by_program(None))
}

/// ARMCI-MPI's: threads may call what MPI lets them call, whatever was asked for.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Init_thread(_level: i32) -> i32 {
    done("ARMCI_Init_thread", life::init_by_program(None))
}

/// ARMCI-MPI's, before loads and stores of the own block, which then see all operations that have completed here.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Access_begin(_block: *mut c_void) {
    fence(Ordering::SeqCst);
}

/// ARMCI-MPI's, after them.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Access_end(_block: *mut c_void) {
    fence(Ordering::SeqCst);
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Initialized() -> i32 {
    life::is_initialized().into()
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Finalize() {
    answer("ARMCI_Finalize", life::finalize_by_program());
}

/// There is nothing to clean up that the end of the process does not.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Cleanup() {}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Error(message: *const c_char, code: i32) {
    // SAFETY: the caller's promise.
    let message = unsafe { text(message) };
    abort(
        exit_code(code),
        &line("ARMCI_Error", &format!("{message} (code {code})")),
    );
}

/// A job that an error ends does not end well.
fn exit_code(code: i32) -> i32 {
    if code == 0 { 1 } else { code }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_dassertp_fail(
    condition: *const c_char,
    file: *const c_char,
    function: *const c_char,
    at: u32,
    code: i32,
) -> i32 {
    // SAFETY: the caller's promise, for each.
    let [condition, file, function] = unsafe { [text(condition), text(file), text(function)] };
    let what = format!("{file}:{at}: {function}: ({condition}) does not hold");
    abort(exit_code(code), &line("assertion", &what));
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Set_shm_limit(_bytes: std::ffi::c_ulong) {}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Uses_shm() -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Uses_shm_grp(_group: *const i32) -> i32 {
    1
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_armci_msg_abort(code: i32) {
    abort(
        exit_code(code),
        &line("armci_msg_abort", &format!("code {code}, the job ends")),
    );
}
