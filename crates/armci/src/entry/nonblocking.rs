//! Waiting for non-blocking operations. An operation is complete at the origin when its call returns, so explicit, implicit and
//! aggregate handles have nothing to remember; waiting for one only looks whether the arguments can be. The calls themselves stand beside their
//! blocking forms.

use super::onesided::Handle;
use super::{DONE, done};
use crate::life::job;

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Wait(_: Handle) -> i32 {
    done("ARMCI_Wait", job().map(drop))
}

/// 0: complete.
#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_Test(_: Handle) -> i32 {
    done("ARMCI_Test", job().map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_WaitAll() -> i32 {
    done("ARMCI_WaitAll", job().map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_WaitProc(proc: i32) -> i32 {
    done("ARMCI_WaitProc", job().and_then(|job| job.process(proc)).map(drop))
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_SET_AGGREGATE_HANDLE(_: Handle) -> i32 {
    DONE
}

#[unsafe(no_mangle)]
extern "C" fn isthmus_armci_ARMCI_UNSET_AGGREGATE_HANDLE(_: Handle) -> i32 {
    DONE
}
