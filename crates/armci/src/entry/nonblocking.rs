//! Waiting for non-blocking operations. The calls themselves stand beside their blocking forms. A handle has all operations that were started on
//! it, so aggregate handles are as others.

use super::onesided::Handle;
use super::{DONE, answer, done};
use crate::nonblocking;

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Wait(handle: Handle) -> i32 {
    // SAFETY: the caller's promise: it is good, or null.
    let waited = match unsafe { handle.as_mut() } {
        Some(handle) => nonblocking::wait(std::mem::take(handle).cast_unsigned()),
        None => nonblocking::wait_for(None),
    };
    done("ARMCI_Wait", waited)
}

/// 0: complete.
#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Test(handle: Handle) -> i32 {
    // SAFETY: as above.
    let number = unsafe { handle.as_ref() }.map_or(0, |handle| handle.cast_unsigned());
    i32::from(!answer("ARMCI_Test", nonblocking::test(number)))
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_WaitAll() -> i32 {
    done("ARMCI_WaitAll", nonblocking::wait_for(None))
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_WaitProc(proc: i32) -> i32 {
    done("ARMCI_WaitProc", nonblocking::wait_for(Some(proc)))
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_SET_AGGREGATE_HANDLE(_: Handle) -> i32 {
    DONE
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_UNSET_AGGREGATE_HANDLE(_: Handle) -> i32 {
    DONE
}
