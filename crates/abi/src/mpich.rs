//! What programs of the MPICH ABI, and the Fortran and C++ libraries that MPICH brings, take from its library beside the standard's functions.
//!
//! Those libraries make an object with a function of the standard, which the C interface would call as a C function, and then say in the next
//! call of the same thread how it is to be called instead: [`made`] and [`Through`].

mod extensions;

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use isthmus_mpi::attribute::Value;
use isthmus_mpi::comm::Comm;
use isthmus_mpi::error::Result;
use isthmus_mpi::procedures;
use isthmus_mpi::win::{self, Win};

use crate::abi::{Abi, Mpich, Word};
use crate::argument;
use crate::entry::{self, Scope};
use crate::generated::constants::{Keyval, WinFlavor, WinModel};
use crate::irregular;

type A = Mpich;

/// Through which functions another language's library wants the program's callbacks of an object to be called; null: directly, as C does.
#[derive(Default)]
pub struct Through([AtomicPtr<c_void>; 2]);

impl Through {
    /// The `at`-th of these functions.
    pub fn function(&self, at: usize) -> Option<*mut c_void> {
        // SYNC: callbacks-through
        let function = self.0[at].load(Ordering::Acquire);
        (!function.is_null()).then_some(function)
    }
}

thread_local! {
    /// What this thread has made last: its handle or key, as an integer.
    static LAST: RefCell<Option<(c_int, Arc<Through>)>> = const { RefCell::new(None) };
}

/// This thread has made an object with callbacks, whose handle or key is this integer.
pub fn made<B: Abi>(number: c_int, through: &Arc<Through>) {
    if B::INDEX == Mpich::INDEX {
        LAST.set(Some((number, Arc::clone(through))));
    }
}

/// The callbacks of what this thread has made last, which is `number`, are called through `functions`.
fn call_through(number: c_int, functions: [*mut c_void; 2]) {
    LAST.with_borrow(|last| {
        if let Some((_, through)) = last.as_ref().filter(|(made, _)| *made == number) {
            for (place, function) in through.0.iter().zip(functions) {
                // SYNC: callbacks-through
                place.store(function, Ordering::Release);
            }
        }
    });
}

/// How another language's library calls a copy callback: (the callback, object, key, extra state, kind of value, value, place of the copy, flag).
pub type CopyProxy = unsafe extern "C-unwind" fn(
    *const c_void,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;

/// The same of a delete callback: (the callback, object, key, kind of value, value, extra state).
pub type DeleteProxy =
    unsafe extern "C-unwind" fn(*const c_void, c_int, c_int, c_int, *mut c_void, *mut c_void) -> c_int;

/// The same of an operation: (input, result, count, datatype, the callback).
pub type OpProxy = unsafe extern "C-unwind" fn(*const c_void, *mut c_void, c_int, c_int, *const c_void);

/// The same of an error handler: (0: of a communicator, 1: a file, 2: a window, address of the object's handle, of the code, the callback).
pub type ErrorProxy = unsafe extern "C-unwind" fn(c_int, *mut c_void, *mut c_int, *const c_void);

/// The kind of an attribute's value that is a pointer.
pub const POINTER: c_int = 0;

#[unsafe(export_name = "isthmus_mpich_MPII_Keyval_set_proxy")]
extern "C-unwind" fn keyval_set_proxy(keyval: c_int, copy: *mut c_void, delete: *mut c_void) {
    call_through(keyval, [copy, delete]);
}

#[unsafe(export_name = "isthmus_mpich_MPII_Op_set_cxx")]
extern "C-unwind" fn op_set_cxx(op: c_int, call: *mut c_void) {
    call_through(op, [call; 2]);
}

#[unsafe(export_name = "isthmus_mpich_MPII_Errhandler_set_cxx")]
extern "C-unwind" fn errhandler_set_cxx(errhandler: c_int, call: *mut c_void) {
    call_through(errhandler, [call; 2]);
}

/// The callbacks are Fortran's: any address but null says so.
#[unsafe(export_name = "isthmus_mpich_MPII_Grequest_set_lang_f77")]
extern "C-unwind" fn grequest_set_lang_f77(request: c_int) {
    call_through(request, [std::ptr::dangling_mut(); 2]);
}

/// A predefined key as Fortran counts: one more than C's. C's value is an address, Fortran's what is there.
fn predefined(keyval: c_int) -> Option<i32> {
    let canonical = Keyval::from_mpich(keyval.wrapping_sub(1));
    (501..=605).contains(&canonical).then_some(canonical)
}

/// Give what an attribute is as an integer that an address fits into.
unsafe fn give(
    name: &'static str,
    scope: Scope,
    output: *mut c_void,
    flag: *mut c_int,
    value: impl FnOnce() -> Result<Option<isize>>,
) -> c_int {
    entry::enter::<A>(name, scope, || {
        let output = argument::output(output.cast::<isize>(), "attribute_val")?;
        let flag = argument::output(flag, "flag")?;
        let value = value()?;
        flag.put(c_int::from(value.is_some()));
        if let Some(value) = value {
            output.put(value);
        }
        Ok(())
    })
}

fn canonical(keyval: c_int) -> i32 {
    predefined(keyval).unwrap_or_else(|| A::word_in::<Keyval>(keyval))
}

#[unsafe(export_name = "isthmus_mpich_MPII_Comm_get_attr")]
unsafe extern "C-unwind" fn comm_get_attr(
    comm: c_int,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
    kind: c_int,
) -> c_int {
    // SAFETY: the caller's promise, as for the C function.
    unsafe {
        if kind == POINTER && predefined(keyval).is_none() {
            return irregular::comm_get_attr::<A>(comm, keyval, value, flag);
        }
        give("MPI_Comm_get_attr", entry::on_comm::<A>(comm), value, flag, || {
            let comm = A::handle_in::<Comm>(comm).resolve("comm")?;
            let keyval = canonical(keyval);
            Ok(procedures::comm_get_attr(comm, keyval)?.map(|value| match value {
                Value::Pointer(pointer) => pointer.addr() as isize,
                Value::Integer(integer) => irregular::integer_out::<A>(keyval, integer) as isize,
            }))
        })
    }
}

#[unsafe(export_name = "isthmus_mpich_MPII_Type_get_attr")]
unsafe extern "C-unwind" fn type_get_attr(
    datatype: c_int,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
    _kind: c_int,
) -> c_int {
    // Datatypes have no predefined keys: all values are what was set.
    // SAFETY: the caller's promise, as for the C function.
    unsafe { irregular::type_get_attr::<A>(datatype, keyval, value, flag) }
}

#[unsafe(export_name = "isthmus_mpich_MPII_Win_get_attr")]
unsafe extern "C-unwind" fn win_get_attr(
    win: c_int,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
    kind: c_int,
) -> c_int {
    // SAFETY: the caller's promise, as for the C function.
    unsafe {
        if kind == POINTER && predefined(keyval).is_none() {
            return irregular::win_get_attr::<A>(win, keyval, value, flag);
        }
        give("MPI_Win_get_attr", entry::on_win::<A>(win), value, flag, || {
            let win = A::handle_in::<Win>(win).resolve("win")?;
            Ok(
                procedures::win_get_attr(win, canonical(keyval))?.map(|value| match value {
                    win::Value::Pointer(pointer) => pointer.addr() as isize,
                    win::Value::Size(size) => size as isize,
                    win::Value::Unit(unit) => unit as isize,
                    win::Value::Flavor(flavor) => A::word_out::<WinFlavor>(flavor) as isize,
                    win::Value::Model(model) => A::word_out::<WinModel>(model) as isize,
                }),
            )
        })
    }
}

#[unsafe(export_name = "isthmus_mpich_MPII_Comm_set_attr")]
unsafe extern "C-unwind" fn comm_set_attr(comm: c_int, keyval: c_int, value: *mut c_void, _kind: c_int) -> c_int {
    // SAFETY: the caller's promise, as for the C function.
    unsafe { irregular::comm_set_attr::<A>(comm, keyval, value) }
}

#[unsafe(export_name = "isthmus_mpich_MPII_Type_set_attr")]
unsafe extern "C-unwind" fn type_set_attr(datatype: c_int, keyval: c_int, value: *mut c_void, _kind: c_int) -> c_int {
    // SAFETY: the caller's promise, as for the C function.
    unsafe { irregular::type_set_attr::<A>(datatype, keyval, value) }
}

#[unsafe(export_name = "isthmus_mpich_MPII_Win_set_attr")]
unsafe extern "C-unwind" fn win_set_attr(win: c_int, keyval: c_int, value: *mut c_void, _kind: c_int) -> c_int {
    // SAFETY: the caller's promise, as for the C function.
    unsafe { irregular::win_set_attr::<A>(win, keyval, value) }
}
