//! The non-blocking forms. An operation is complete when its call returns, so explicit, implicit and aggregate handles have
//! nothing to remember; waiting for one only looks whether the arguments can be.

use std::ffi::c_void;

use super::onesided::{Strided, accumulate_row, accumulate_vector, vector};
use super::{DONE, done};
use crate::life::job;
use crate::transfer::{self, End, Vector};

/// `armci_hdl_t *`; null is the implicit handle.
type Handle = *mut i32;

macro_rules! rows {
    ($($entry:ident $name:literal $end:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $entry(from: *const c_void, to: *mut c_void, bytes: i32, proc: i32, _: Handle) -> i32 {
            // SAFETY: the caller's promise.
            done($name, unsafe { transfer::row(End::$end, from.cast(), to.cast(), bytes, proc) })
        }
    )*};
}
rows! {
    isthmus_armci_ARMCI_NbPut "ARMCI_NbPut" Target
    isthmus_armci_ARMCI_NbGet "ARMCI_NbGet" Source
}

macro_rules! strided {
    ($($entry:ident $name:literal $end:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $entry(
            from: *const c_void,
            from_strides: *const i32,
            to: *mut c_void,
            to_strides: *const i32,
            count: *const i32,
            levels: i32,
            proc: i32,
            _: Handle,
        ) -> i32 {
            let call = Strided { from, from_strides, to, to_strides, count, levels, proc };
            // SAFETY: the caller's promise.
            done($name, unsafe { call.copy(End::$end) })
        }
    )*};
}
strided! {
    isthmus_armci_ARMCI_NbPutS "ARMCI_NbPutS" Target
    isthmus_armci_ARMCI_NbGetS "ARMCI_NbGetS" Source
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_NbAcc(
    operation: i32,
    scale: *const c_void,
    from: *const c_void,
    to: *mut c_void,
    bytes: i32,
    proc: i32,
    _: Handle,
) -> i32 {
    // SAFETY: the caller's promise.
    done("ARMCI_NbAcc", unsafe {
        accumulate_row(operation, scale, from, to, bytes, proc)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_NbAccS(
    operation: i32,
    scale: *const c_void,
    from: *const c_void,
    from_strides: *const i32,
    to: *mut c_void,
    to_strides: *const i32,
    count: *const i32,
    levels: i32,
    proc: i32,
    _: Handle,
) -> i32 {
    let call = Strided {
        from,
        from_strides,
        to,
        to_strides,
        count,
        levels,
        proc,
    };
    // SAFETY: the caller's promise.
    done("ARMCI_NbAccS", unsafe { call.accumulate(operation, scale) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_NbPutV(entries: *const Vector, length: i32, proc: i32, _: Handle) -> i32 {
    // SAFETY: the caller's promise.
    done("ARMCI_NbPutV", unsafe { vector(End::Target, entries, length, proc) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_NbGetV(entries: *const Vector, length: i32, proc: i32, _: Handle) -> i32 {
    // SAFETY: the caller's promise.
    done("ARMCI_NbGetV", unsafe { vector(End::Source, entries, length, proc) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_NbAccV(
    operation: i32,
    scale: *const c_void,
    entries: *const Vector,
    length: i32,
    proc: i32,
    _: Handle,
) -> i32 {
    // SAFETY: the caller's promise.
    done("ARMCI_NbAccV", unsafe {
        accumulate_vector(operation, scale, entries, length, proc)
    })
}

macro_rules! values {
    ($($entry:ident $name:literal $type:ty)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $entry(value: $type, to: *mut c_void, proc: i32, _: Handle) -> i32 {
            // SAFETY: the value is ours.
            done($name, unsafe {
                transfer::row(End::Target, (&raw const value).cast(), to.cast(), size_of::<$type>() as i32, proc)
            })
        }
    )*};
}
values! {
    isthmus_armci_ARMCI_NbPutValueInt "ARMCI_NbPutValueInt" i32
    isthmus_armci_ARMCI_NbPutValueLong "ARMCI_NbPutValueLong" i64
    isthmus_armci_ARMCI_NbPutValueFloat "ARMCI_NbPutValueFloat" f32
    isthmus_armci_ARMCI_NbPutValueDouble "ARMCI_NbPutValueDouble" f64
}

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
