//! Attributes: callbacks by address, and values that are addresses.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use isthmus_mpi::attribute::{Copy, CopyFn, Delete, DeleteFn, Value};
use isthmus_mpi::comm::Comm;
use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::error::Result;
use isthmus_mpi::procedures;
use isthmus_mpi::win::{self, Win};

use super::callback;
use crate::abi::{ABIS, Abi, ErrorCode, Predefined};
use crate::argument;
use crate::entry::{self, CHandle, Scope};
use crate::generated::constants::{Keyval, Rank, WinFlavor, WinModel};
use crate::mpich::{self, CopyProxy, DeleteProxy, POINTER, Through};

/// `MPI_Comm_copy_attr_function` and its siblings.
type CCopy<A> =
    unsafe extern "C-unwind" fn(CHandle<A>, c_int, *mut c_void, *mut c_void, *mut *mut c_void, *mut c_int) -> c_int;

/// `MPI_Comm_delete_attr_function` and its siblings.
type CDelete<A> = unsafe extern "C-unwind" fn(CHandle<A>, c_int, *mut c_void, *mut c_void) -> c_int;

/// `MPI_COMM_DUP_FN` and its siblings in the standard ABI. In the others they are functions.
const DUP_FN: usize = 1;

unsafe fn copy_fn<A: Abi, T: Predefined>(address: *const c_void, through: &Arc<Through>) -> Result<Copy<T>> {
    if address.is_null() {
        return Ok(Copy::Null);
    }
    if address.addr() == DUP_FN {
        return Ok(Copy::Dup);
    }
    // SAFETY: the program gives the address of a copy function.
    let function: CCopy<A> = unsafe { callback::function(address, "copy_fn")? };
    let through = Arc::clone(through);
    let copy: CopyFn<T> = Box::new(move |object, keyval, extra, value, wanted| {
        let mut new = value;
        let mut flag = 0;
        let keyval = A::word_out::<Keyval>(keyval);
        let object = A::handle_out(object);
        let (new_output, flag_output) = (&raw mut new, &raw mut flag);
        // SAFETY: the program promised that its function can be called so, or the library that it uses that its own can.
        let code = unsafe {
            match through.function(0) {
                None => function(object, keyval, extra, value, new_output, flag_output),
                Some(proxy) => {
                    let call: CopyProxy = callback::of(proxy);
                    let function = function as *const c_void;
                    call(
                        function,
                        A::to_int(object),
                        keyval,
                        extra,
                        POINTER,
                        value,
                        new_output,
                        flag_output,
                    )
                }
            }
        };
        *wanted = flag != 0;
        if code == 0 {
            Ok(new)
        } else {
            Err(A::word_in::<ErrorCode>(code))
        }
    });
    Ok(Copy::User(copy))
}

unsafe fn delete_fn<A: Abi, T: Predefined>(address: *const c_void, through: &Arc<Through>) -> Result<Delete<T>> {
    if address.is_null() {
        return Ok(Delete::Null);
    }
    // SAFETY: the program gives the address of a delete function.
    let function: CDelete<A> = unsafe { callback::function(address, "delete_fn")? };
    let through = Arc::clone(through);
    let delete: DeleteFn<T> = Box::new(move |object, keyval, value, extra| {
        let keyval = A::word_out::<Keyval>(keyval);
        let object = A::handle_out(object);
        // SAFETY: the program promised that its function can be called so, or the library that it uses that its own can.
        A::word_in::<ErrorCode>(unsafe {
            match through.function(1) {
                None => function(object, keyval, value, extra),
                Some(proxy) => {
                    let call: DeleteProxy = callback::of(proxy);
                    let function = function as *const c_void;
                    call(function, A::to_int(object), keyval, POINTER, value, extra)
                }
            }
        })
    });
    Ok(Delete::User(delete))
}

/// `MPI_Comm_create_keyval`
///
/// # Safety
/// As for the C function.
#[inline(always)] // As for MPIX_Comm_agree.
pub unsafe fn comm_create_keyval<A: Abi>(
    comm_copy_attr_fn: *const c_void,
    comm_delete_attr_fn: *const c_void,
    comm_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    entry::enter::<A>("MPI_Comm_create_keyval", Scope::Process, || {
        let output = argument::output(comm_keyval, "comm_keyval")?;
        let through = Arc::default();
        // SAFETY: the caller's promise.
        let (copy, delete) = unsafe {
            (
                copy_fn::<A, Comm>(comm_copy_attr_fn, &through)?,
                delete_fn::<A, Comm>(comm_delete_attr_fn, &through)?,
            )
        };
        let keyval = procedures::comm_create_keyval(copy, delete, extra_state)?;
        output.put(A::word_out::<Keyval>(keyval));
        mpich::made::<A>(A::word_out::<Keyval>(keyval), &through);
        Ok(())
    })
}

/// `MPI_Keyval_create`
///
/// # Safety
/// As for the C function.
#[inline(always)] // As for MPIX_Comm_agree.
pub unsafe fn keyval_create<A: Abi>(
    copy_fn: *const c_void,
    delete_fn: *const c_void,
    keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { comm_create_keyval::<A>(copy_fn, delete_fn, keyval, extra_state) }
}

/// `MPI_Type_create_keyval`
///
/// # Safety
/// As for the C function.
#[inline(always)] // As for MPIX_Comm_agree.
pub unsafe fn type_create_keyval<A: Abi>(
    type_copy_attr_fn: *const c_void,
    type_delete_attr_fn: *const c_void,
    type_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    entry::enter::<A>("MPI_Type_create_keyval", Scope::Process, || {
        let output = argument::output(type_keyval, "type_keyval")?;
        let through = Arc::default();
        // SAFETY: the caller's promise.
        let (copy, delete) = unsafe {
            (
                copy_fn::<A, Datatype>(type_copy_attr_fn, &through)?,
                delete_fn::<A, Datatype>(type_delete_attr_fn, &through)?,
            )
        };
        let keyval = procedures::type_create_keyval(copy, delete, extra_state)?;
        output.put(A::word_out::<Keyval>(keyval));
        mpich::made::<A>(A::word_out::<Keyval>(keyval), &through);
        Ok(())
    })
}

/// `MPI_Comm_set_attr`
///
/// # Safety
/// As for the C function.
pub unsafe fn comm_set_attr<A: Abi>(comm: CHandle<A>, comm_keyval: c_int, attribute_val: *mut c_void) -> c_int {
    entry::enter::<A>("MPI_Comm_set_attr", entry::on_comm::<A>(comm), || {
        let comm = A::handle_in::<Comm>(comm).resolve("comm")?;
        procedures::comm_set_attr(comm, A::word_in::<Keyval>(comm_keyval), attribute_val)
    })
}

/// `MPI_Attr_put`
///
/// # Safety
/// As for the C function.
pub unsafe fn attr_put<A: Abi>(comm: CHandle<A>, keyval: c_int, attribute_val: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { comm_set_attr::<A>(comm, keyval, attribute_val) }
}

/// `MPI_Type_set_attr`
///
/// # Safety
/// As for the C function.
pub unsafe fn type_set_attr<A: Abi>(datatype: CHandle<A>, type_keyval: c_int, attribute_val: *mut c_void) -> c_int {
    entry::enter::<A>("MPI_Type_set_attr", Scope::Process, || {
        let datatype = A::handle_in::<Datatype>(datatype).resolve("datatype")?;
        procedures::type_set_attr(datatype, A::word_in::<Keyval>(type_keyval), attribute_val)
    })
}

/// `MPI_Comm_get_attr`: `attribute_val` is the address of a pointer.
///
/// # Safety
/// As for the C function.
pub unsafe fn comm_get_attr<A: Abi>(
    comm: CHandle<A>,
    comm_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    entry::enter::<A>("MPI_Comm_get_attr", entry::on_comm::<A>(comm), || {
        let comm = A::handle_in::<Comm>(comm).resolve("comm")?;
        let output = argument::output(attribute_val.cast::<*mut c_void>(), "attribute_val")?;
        let flag = argument::output(flag, "flag")?;
        let keyval = A::word_in::<Keyval>(comm_keyval);
        let value = procedures::comm_get_attr(comm, keyval)?;
        flag.put(c_int::from(value.is_some()));
        match value {
            Some(Value::Pointer(pointer)) => output.put(pointer),
            Some(Value::Integer(integer)) => output.put(address_of::<A>(keyval, integer)),
            None => {}
        }
        Ok(())
    })
}

/// `MPI_Attr_get`
///
/// # Safety
/// As for the C function.
pub unsafe fn attr_get<A: Abi>(comm: CHandle<A>, keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { comm_get_attr::<A>(comm, keyval, attribute_val, flag) }
}

/// `MPI_Type_get_attr`: `attribute_val` is the address of a pointer.
///
/// # Safety
/// As for the C function.
pub unsafe fn type_get_attr<A: Abi>(
    datatype: CHandle<A>,
    type_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    entry::enter::<A>("MPI_Type_get_attr", Scope::Process, || {
        let datatype = A::handle_in::<Datatype>(datatype).resolve("datatype")?;
        let output = argument::output(attribute_val.cast::<*mut c_void>(), "attribute_val")?;
        let flag = argument::output(flag, "flag")?;
        let value = procedures::type_get_attr(datatype, A::word_in::<Keyval>(type_keyval))?;
        flag.put(c_int::from(value.is_some()));
        if let Some(value) = value {
            output.put(value);
        }
        Ok(())
    })
}

/// `MPI_TAG_UB`, the first of the keys that every communicator has; they follow one another.
const FIRST: i32 = 501;

/// The integer that a predefined key of communicators holds, in the ABI's own value.
pub(crate) fn integer_out<A: Abi>(keyval: i32, value: i32) -> c_int {
    match keyval {
        // MPI_IO and MPI_HOST are ranks, MPI_LASTUSEDCODE is an error code.
        502 | 503 => A::word_out::<Rank>(value),
        506 => A::word_out::<ErrorCode>(value),
        _ => value,
    }
}

/// The address of an integer that a predefined key holds, in the ABI's own value. It stays valid as long as the process lives.
fn address_of<A: Abi>(keyval: i32, value: i32) -> *mut c_void {
    static PLACES: [[AtomicI32; 7]; ABIS] = [const { [const { AtomicI32::new(0) }; 7] }; ABIS];
    let places = &PLACES[A::INDEX];
    let value = integer_out::<A>(keyval, value);
    let place = &places[((keyval - FIRST) as usize).min(places.len() - 1)];
    place.store(value, Ordering::Relaxed);
    place.as_ptr().cast()
}

/// `MPI_Win_create_keyval`
///
/// # Safety
/// As for the C function.
#[inline(always)] // As for MPIX_Comm_agree.
pub unsafe fn win_create_keyval<A: Abi>(
    win_copy_attr_fn: *const c_void,
    win_delete_attr_fn: *const c_void,
    win_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    entry::enter::<A>("MPI_Win_create_keyval", Scope::Process, || {
        let output = argument::output(win_keyval, "win_keyval")?;
        let through = Arc::default();
        // SAFETY: the caller's promise.
        let (copy, delete) = unsafe {
            (
                copy_fn::<A, Win>(win_copy_attr_fn, &through)?,
                delete_fn::<A, Win>(win_delete_attr_fn, &through)?,
            )
        };
        let keyval = procedures::win_create_keyval(copy, delete, extra_state)?;
        output.put(A::word_out::<Keyval>(keyval));
        mpich::made::<A>(A::word_out::<Keyval>(keyval), &through);
        Ok(())
    })
}

/// `MPI_Win_set_attr`
///
/// # Safety
/// As for the C function.
pub unsafe fn win_set_attr<A: Abi>(win: CHandle<A>, win_keyval: c_int, attribute_val: *mut c_void) -> c_int {
    entry::enter::<A>("MPI_Win_set_attr", entry::on_win::<A>(win), || {
        let win = A::handle_in::<Win>(win).resolve("win")?;
        procedures::win_set_attr(win, A::word_in::<Keyval>(win_keyval), attribute_val)
    })
}

/// `MPI_Win_get_attr`: `attribute_val` is the address of a pointer.
///
/// # Safety
/// As for the C function.
pub unsafe fn win_get_attr<A: Abi>(
    win: CHandle<A>,
    win_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    entry::enter::<A>("MPI_Win_get_attr", entry::on_win::<A>(win), || {
        let win = A::handle_in::<Win>(win).resolve("win")?;
        let output = argument::output(attribute_val.cast::<*mut c_void>(), "attribute_val")?;
        let flag = argument::output(flag, "flag")?;
        let value = procedures::win_get_attr(win, A::word_in::<Keyval>(win_keyval))?;
        flag.put(c_int::from(value.is_some()));
        let words = win.words(A::INDEX);
        match value {
            Some(win::Value::Pointer(pointer)) => output.put(pointer),
            Some(win::Value::Size(size)) => output.put(words.size(size).cast()),
            Some(win::Value::Unit(unit)) => output.put(words.integer(0, unit).cast()),
            Some(win::Value::Flavor(flavor)) => {
                output.put(words.integer(1, A::word_out::<WinFlavor>(flavor)).cast());
            }
            Some(win::Value::Model(model)) => output.put(words.integer(2, A::word_out::<WinModel>(model)).cast()),
            None => {}
        }
        Ok(())
    })
}
