//! Put, get, accumulate: contiguous, strided, by vectors; and single values.

use std::ffi::c_void;

use super::{answer, done};
use crate::accumulate::{self, AccumulateType, Sum};
use crate::error::{Result, argument};
use crate::rmw::{self, Operation};
use crate::section::Section;
use crate::transfer;
use crate::vector::{End, Vector, vectors};
use crate::{form, nonblocking};

/// The arguments of a strided call.
#[derive(Clone, Copy)]
struct Strided {
    pub from: *const c_void,
    pub from_strides: *const i32,
    pub to: *mut c_void,
    pub to_strides: *const i32,
    pub count: *const i32,
    pub levels: i32,
    pub proc: i32,
}

impl Strided {
    /// # Safety
    /// The pointers must be good for what the counts say.
    unsafe fn with(self, f: impl FnOnce(&Section) -> Result<()>) -> Result<()> {
        // SAFETY: the caller's promise.
        match unsafe { Section::parse(self.levels, self.count, self.from_strides, self.to_strides) }? {
            Some(section) => f(&section),
            None => crate::life::job()?.process(self.proc).map(drop),
        }
    }

    /// # Safety
    /// As for [`with`](Self::with).
    pub unsafe fn copy(self, end: End) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.with(|section| transfer::section(end, section, self.from.cast(), self.to.cast(), self.proc)) }
    }

    /// # Safety
    /// As for [`with`](Self::with), and `scale` for an element.
    pub unsafe fn accumulate(self, operation: i32, scale: *const c_void) -> Result<()> {
        let sum = Sum {
            kind: AccumulateType::of(operation)?,
            scale: scale.cast(),
        };
        // SAFETY: the caller's promise.
        unsafe { self.with(|section| accumulate::section(sum, section, self.from.cast(), self.to.cast(), self.proc)) }
    }
}

/// # Safety
/// The pointers must be good.
unsafe fn accumulate_row(
    operation: i32,
    scale: *const c_void,
    from: *const c_void,
    to: *mut c_void,
    bytes: i32,
    proc: i32,
) -> Result<()> {
    let sum = Sum {
        kind: AccumulateType::of(operation)?,
        scale: scale.cast(),
    };
    let bytes = u64::try_from(bytes).map_err(|_| argument(format!("bytes={bytes} is negative")))?;
    if bytes == 0 {
        return crate::life::job()?.process(proc).map(drop);
    }
    // SAFETY: the caller's promise.
    unsafe { accumulate::section(sum, &Section::row(bytes), from.cast(), to.cast(), proc) }
}

/// # Safety
/// The arrays must be as long as they say, and pointers good.
unsafe fn vector(end: End, entries: *const Vector, length: i32, proc: i32) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { vectors(entries, length).and_then(|entries| transfer::pieces(end, entries, proc)) }
}

/// # Safety
/// As for [`vector`].
unsafe fn accumulate_vector(
    operation: i32,
    scale: *const c_void,
    entries: *const Vector,
    length: i32,
    proc: i32,
) -> Result<()> {
    let sum = Sum {
        kind: AccumulateType::of(operation)?,
        scale: scale.cast(),
    };
    // SAFETY: the caller's promise.
    unsafe { vectors(entries, length).and_then(|entries| accumulate::pieces(sum, entries, proc)) }
}

/// The value is copied or sent when this returns, whatever the form of the call.
///
/// # Safety
/// `to` must be good for a value.
unsafe fn put_value<T>(value: T, to: *mut c_void, proc: i32) -> Result<()> {
    let from = (&raw const value).cast();
    // SAFETY: the value is ours; the caller's promise for the other one.
    form::blocking(|| unsafe { transfer::row(End::Target, from, to.cast(), size_of::<T>() as i32, proc) })
}

/// `armci_hdl_t *`; null is the implicit handle.
pub(super) type Handle = *mut i32;

/// The non-blocking form of a call.
///
/// # Safety
/// The handle must be good, or null.
unsafe fn start(name: &str, handle: Handle, call: impl FnOnce() -> Result<()>) -> i32 {
    // SAFETY: the caller's promise.
    let handle = unsafe { handle.as_mut() };
    let number = handle.as_ref().map(|handle| handle.cast_unsigned());
    let (result, number) = nonblocking::start(number, call);
    if let Some(handle) = handle {
        *handle = number.cast_signed();
    }
    done(name, result)
}

/// The blocking and the non-blocking form of a call.
macro_rules! both {
    ($($blocking:ident $name:literal, $nonblocking:ident $nb_name:literal =
        ($($argument:ident: $type:ty),*) $does:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $blocking($($argument: $type),*) -> i32 {
            // SAFETY: the caller's promise.
            done($name, unsafe { $does })
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $nonblocking($($argument: $type,)* handle: Handle) -> i32 {
            // SAFETY: the caller's promise.
            unsafe { start($nb_name, handle, || $does) }
        }
    )*};
}
both! {
    isthmus_armci_ARMCI_Put "ARMCI_Put", isthmus_armci_ARMCI_NbPut "ARMCI_NbPut" =
        (from: *const c_void, to: *mut c_void, bytes: i32, proc: i32)
        transfer::row(End::Target, from.cast(), to.cast(), bytes, proc);
    isthmus_armci_ARMCI_Get "ARMCI_Get", isthmus_armci_ARMCI_NbGet "ARMCI_NbGet" =
        (from: *const c_void, to: *mut c_void, bytes: i32, proc: i32)
        transfer::row(End::Source, from.cast(), to.cast(), bytes, proc);
    isthmus_armci_ARMCI_Acc "ARMCI_Acc", isthmus_armci_ARMCI_NbAcc "ARMCI_NbAcc" =
        (operation: i32, scale: *const c_void, from: *const c_void, to: *mut c_void, bytes: i32, proc: i32)
        accumulate_row(operation, scale, from, to, bytes, proc);
    isthmus_armci_ARMCI_PutS "ARMCI_PutS", isthmus_armci_ARMCI_NbPutS "ARMCI_NbPutS" =
        (from: *const c_void, from_strides: *const i32, to: *mut c_void, to_strides: *const i32, count: *const i32, levels: i32, proc: i32)
        Strided { from, from_strides, to, to_strides, count, levels, proc }.copy(End::Target);
    isthmus_armci_ARMCI_GetS "ARMCI_GetS", isthmus_armci_ARMCI_NbGetS "ARMCI_NbGetS" =
        (from: *const c_void, from_strides: *const i32, to: *mut c_void, to_strides: *const i32, count: *const i32, levels: i32, proc: i32)
        Strided { from, from_strides, to, to_strides, count, levels, proc }.copy(End::Source);
    isthmus_armci_ARMCI_AccS "ARMCI_AccS", isthmus_armci_ARMCI_NbAccS "ARMCI_NbAccS" =
        (operation: i32, scale: *const c_void, from: *const c_void, from_strides: *const i32, to: *mut c_void, to_strides: *const i32,
            count: *const i32, levels: i32, proc: i32)
        Strided { from, from_strides, to, to_strides, count, levels, proc }.accumulate(operation, scale);
    isthmus_armci_ARMCI_PutV "ARMCI_PutV", isthmus_armci_ARMCI_NbPutV "ARMCI_NbPutV" =
        (entries: *const Vector, length: i32, proc: i32)
        vector(End::Target, entries, length, proc);
    isthmus_armci_ARMCI_GetV "ARMCI_GetV", isthmus_armci_ARMCI_NbGetV "ARMCI_NbGetV" =
        (entries: *const Vector, length: i32, proc: i32)
        vector(End::Source, entries, length, proc);
    isthmus_armci_ARMCI_AccV "ARMCI_AccV", isthmus_armci_ARMCI_NbAccV "ARMCI_NbAccV" =
        (operation: i32, scale: *const c_void, entries: *const Vector, length: i32, proc: i32)
        accumulate_vector(operation, scale, entries, length, proc);
    isthmus_armci_ARMCI_PutValueInt "ARMCI_PutValueInt", isthmus_armci_ARMCI_NbPutValueInt "ARMCI_NbPutValueInt" =
        (value: i32, to: *mut c_void, proc: i32) put_value(value, to, proc);
    isthmus_armci_ARMCI_PutValueLong "ARMCI_PutValueLong", isthmus_armci_ARMCI_NbPutValueLong "ARMCI_NbPutValueLong" =
        (value: i64, to: *mut c_void, proc: i32) put_value(value, to, proc);
    isthmus_armci_ARMCI_PutValueFloat "ARMCI_PutValueFloat", isthmus_armci_ARMCI_NbPutValueFloat "ARMCI_NbPutValueFloat" =
        (value: f32, to: *mut c_void, proc: i32) put_value(value, to, proc);
    isthmus_armci_ARMCI_PutValueDouble "ARMCI_PutValueDouble", isthmus_armci_ARMCI_NbPutValueDouble "ARMCI_NbPutValueDouble" =
        (value: f64, to: *mut c_void, proc: i32) put_value(value, to, proc);
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Put_flag(
    from: *const c_void,
    to: *mut c_void,
    bytes: i32,
    flag: *mut i32,
    value: i32,
    proc: i32,
) -> i32 {
    // SAFETY: as above.
    done("ARMCI_Put_flag", unsafe {
        transfer::row(End::Target, from.cast(), to.cast(), bytes, proc)
            .and_then(|()| transfer::raise(flag, value, proc))
    })
}

macro_rules! flagged {
    ($($entry:ident $name:literal)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $entry(
            from: *const c_void,
            from_strides: *const i32,
            to: *mut c_void,
            to_strides: *const i32,
            count: *const i32,
            levels: i32,
            flag: *mut i32,
            value: i32,
            proc: i32,
        ) -> i32 {
            let call = Strided { from, from_strides, to, to_strides, count, levels, proc };
            // SAFETY: the caller's promise.
            done($name, unsafe {
                call.copy(End::Target).and_then(|()| transfer::raise(flag, value, proc))
            })
        }
    )*};
}
flagged! {
    isthmus_armci_ARMCI_PutS_flag "ARMCI_PutS_flag"
    isthmus_armci_ARMCI_PutS_flag_dir "ARMCI_PutS_flag_dir"
}

macro_rules! values {
    ($($get:ident $get_name:literal $type:ty)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $get(from: *const c_void, proc: i32) -> $type {
            let mut value = <$type>::default();
            // SAFETY: the value is ours.
            answer($get_name, unsafe {
                transfer::row(End::Source, from.cast(), (&raw mut value).cast(), size_of::<$type>() as i32, proc)
            });
            value
        }
    )*};
}
values! {
    isthmus_armci_ARMCI_GetValueInt "ARMCI_GetValueInt" i32
    isthmus_armci_ARMCI_GetValueLong "ARMCI_GetValueLong" i64
    isthmus_armci_ARMCI_GetValueFloat "ARMCI_GetValueFloat" f32
    isthmus_armci_ARMCI_GetValueDouble "ARMCI_GetValueDouble" f64
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Rmw(
    operation: i32,
    local: *mut c_void,
    remote: *mut c_void,
    extra: i32,
    proc: i32,
) -> i32 {
    let operation = Operation::of(operation);
    // SAFETY: the caller's promise.
    done("ARMCI_Rmw", unsafe {
        operation.and_then(|operation| rmw::rmw(operation, local.cast(), remote.cast(), extra, proc))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn isthmus_armci_ARMCI_Copy(from: *const c_void, to: *mut c_void, bytes: i32) {
    if let Ok(bytes) = usize::try_from(bytes) {
        // SAFETY: the caller's promise.
        unsafe { isthmus_transfer::copy::copy(from.cast(), to.cast(), bytes) };
    }
}
