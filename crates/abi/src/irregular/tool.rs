//! The tool interface. It has no error handlers: its functions return their codes.

use std::ffi::{CStr, c_char, c_int, c_void};

use isthmus_mpi::constants::THREAD_MULTIPLE;
use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::handle::Handle;
use isthmus_mpi::tool::{self, CATEGORY, Control, Failure, Id, Result, TEXT_ROOM, Value};

use crate::abi::Abi;
use crate::entry::CHandle;
use crate::generated::constants::{Bind, ErrorClass, ThreadLevel, VariableClass, VariableScope, Verbosity};

/// `MPI_UNSIGNED_LONG_LONG`, the type of variables that are numbers.
pub(super) const VALUE: Handle<Datatype> = Handle::from_raw(0x20f);
/// `MPI_CHAR`, the type of variables that are texts.
const CHARACTERS: Handle<Datatype> = Handle::from_raw(0x243);
/// `MPI_T_VERBOSITY_TUNER_BASIC`
pub(super) const TUNER_BASIC: i32 = 17;
/// `MPI_T_BIND_NO_OBJECT`
pub(super) const NO_OBJECT: i32 = 1;
/// `MPI_T_SCOPE_LOCAL`
const LOCAL: i32 = 3;
/// `MPI_T_PVAR_CLASS_COUNTER`
const COUNTER: i32 = 7;

/// What the C function returns.
pub(super) fn answer<A: Abi>(result: Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(failure) => A::word_out::<ErrorClass>(failure as i32),
    }
}

/// Give a result whose argument must not be null.
///
/// # Safety
/// `output` is null or writable.
pub(super) unsafe fn put<T>(output: *mut T, value: impl FnOnce() -> Result<T>) -> Result<()> {
    tool::check()?;
    if output.is_null() {
        return Err(Failure::Invalid);
    }
    // SAFETY: not null, and the caller keeps it writable.
    unsafe { output.write(value()?) };
    Ok(())
}

/// Give a result that is wanted only if its argument is not null.
///
/// # Safety
/// `output` is null or writable.
pub(super) unsafe fn tell<T>(output: *mut T, value: T) {
    if !output.is_null() {
        // SAFETY: not null, and the caller keeps it writable.
        unsafe { output.write(value) }
    }
}

/// Give as much of a string as there is room for, and how much there would be (MPI-5.0 §15.3.3).
///
/// # Safety
/// `length` is null or writable, and `output` is null or has room for so many bytes.
pub(super) unsafe fn text(output: *mut c_char, length: *mut c_int, value: &str) {
    if length.is_null() {
        return;
    }
    // SAFETY: not null; the rest is the caller's promise.
    unsafe {
        let room = length.read();
        length.write(value.len() as c_int + 1);
        if !output.is_null() && room > 0 {
            let kept = value.len().min(room as usize - 1);
            std::ptr::copy_nonoverlapping(value.as_ptr(), output.cast(), kept);
            output.add(kept).write(0);
        }
    }
}

/// Give the first of `0..count`.
///
/// # Safety
/// `indices` is null or has room for `length` numbers.
pub(super) unsafe fn list(indices: *mut c_int, length: c_int, count: c_int) -> Result<()> {
    if length < 0 || indices.is_null() && length > 0 {
        return Err(Failure::Invalid);
    }
    for index in 0..count.min(length) {
        // SAFETY: below `length`, so within the caller's array.
        unsafe { indices.add(index as usize).write(index) };
    }
    Ok(())
}

/// # Safety
/// `name` is null or a string.
pub(super) unsafe fn name<'a>(name: *const c_char) -> Result<&'a CStr> {
    tool::check()?;
    if name.is_null() {
        return Err(Failure::Invalid);
    }
    // SAFETY: not null; the rest is the caller's promise.
    Ok(unsafe { CStr::from_ptr(name) })
}

/// The value at an address.
///
/// # Safety
/// `buf` is null or readable.
unsafe fn given(buf: *const c_void) -> Result<u64> {
    tool::check()?;
    if buf.is_null() {
        return Err(Failure::Invalid);
    }
    // SAFETY: not null; the rest is the caller's promise. Nothing says that it is aligned.
    Ok(unsafe { buf.cast::<u64>().read_unaligned() })
}

/// The characters at an address, up to a zero.
///
/// # Safety
/// `buf` is null or good for reading up to a zero, or [`TEXT_ROOM`] characters.
unsafe fn given_text(buf: *const c_void) -> Result<String> {
    if buf.is_null() {
        return Err(Failure::Invalid);
    }
    let start: *const u8 = buf.cast();
    // SAFETY: not null, and nothing behind the zero is read.
    let text = (0..TEXT_ROOM).map(|at| unsafe { start.add(at).read() });
    let text: Vec<u8> = text.take_while(|byte| *byte != 0).collect();
    String::from_utf8(text).map_err(|_| Failure::Invalid)
}

/// A handle that a program holds.
pub(super) fn id(handle: *mut c_void) -> Id {
    handle.addr()
}

/// The handle of a performance variable that a program holds, or that of all.
fn pvar<A: Abi>(handle: *mut c_void) -> Id {
    match handle.addr() {
        all if all == A::ALL_PVAR_HANDLES => tool::ALL_HANDLES,
        // It means all of them in other ABIs only.
        tool::ALL_HANDLES => Id::MAX,
        id => id,
    }
}

pub(super) fn pointer(id: Id) -> *mut c_void {
    std::ptr::without_provenance_mut(id)
}

/// Free what the handle at `output` names, and make it null.
///
/// # Safety
/// `output` is null or the address of a handle.
unsafe fn release(output: *mut *mut c_void, free: impl FnOnce(Id) -> Result<()>) -> Result<()> {
    tool::check()?;
    if output.is_null() {
        return Err(Failure::Invalid);
    }
    // SAFETY: not null; the rest is the caller's promise.
    unsafe {
        free(id(output.read()))?;
        output.write(std::ptr::null_mut());
    }
    Ok(())
}

/// `MPI_T_init_thread`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_init_thread<A: Abi>(required: c_int, provided: *mut c_int) -> c_int {
    if provided.is_null() {
        return answer::<A>(Err(Failure::Invalid));
    }
    let level = A::word_in::<ThreadLevel>(required).min(THREAD_MULTIPLE);
    // SAFETY: not null, and the caller keeps it writable.
    unsafe { provided.write(A::word_out::<ThreadLevel>(level)) };
    tool::init();
    0
}

/// `MPI_T_finalize`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_finalize<A: Abi>() -> c_int {
    answer::<A>(tool::finalize())
}

/// `MPI_T_cvar_get_num`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_cvar_get_num<A: Abi>(num_cvar: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(num_cvar, tool::controls) })
}

/// `MPI_T_pvar_get_num`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_get_num<A: Abi>(num_pvar: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(num_pvar, tool::performances) })
}

/// `MPI_T_category_get_num`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_category_get_num<A: Abi>(num_cat: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(num_cat, || Ok(1)) })
}

/// `MPI_T_cvar_get_index`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_cvar_get_index<A: Abi>(name: *const c_char, cvar_index: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { self::name(name).and_then(|name| put(cvar_index, || tool::control_index(name))) })
}

/// `MPI_T_cvar_get_info`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_cvar_get_info<A: Abi>(
    cvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    datatype: *mut CHandle<A>,
    enumtype: *mut *mut c_void,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    scope: *mut c_int,
) -> c_int {
    let row = match tool::control(cvar_index) {
        Ok(row) => row,
        Err(failure) => return answer::<A>(Err(failure)),
    };
    let (kind, about) = match row {
        Control::Number(row) => (VALUE, format!("{} ({})", row.doc, row.unit)),
        Control::Text(row) => (CHARACTERS, row.doc.to_owned()),
    };
    // SAFETY: the caller's promise.
    unsafe {
        text(name, name_len, row.name());
        tell(verbosity, A::word_out::<Verbosity>(TUNER_BASIC));
        tell(datatype, A::handle_out(kind));
        tell(enumtype, std::ptr::null_mut());
        text(desc, desc_len, &about);
        tell(bind, A::word_out::<Bind>(NO_OBJECT));
        tell(scope, A::word_out::<VariableScope>(LOCAL));
    }
    0
}

/// `MPI_T_cvar_handle_alloc`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_cvar_handle_alloc<A: Abi>(
    cvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: *mut *mut c_void,
    count: *mut c_int,
) -> c_int {
    let mut elements = 0;
    let alloc = || {
        tool::cvar_handle_alloc(cvar_index).map(|(id, count)| {
            elements = count as c_int;
            pointer(id)
        })
    };
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(handle, alloc).map(|()| tell(count, elements)) })
}

/// `MPI_T_cvar_handle_free`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_cvar_handle_free<A: Abi>(handle: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { release(handle, tool::cvar_handle_free) })
}

/// `MPI_T_cvar_read`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_cvar_read<A: Abi>(handle: *mut c_void, buf: *mut c_void) -> c_int {
    let read = || match tool::cvar_read(id(handle))? {
        // SAFETY: the caller's promise; nobody else writes there.
        Value::Number(value) => unsafe { put(buf.cast(), || Ok(value)) },
        Value::Text(value) => {
            if buf.is_null() {
                return Err(Failure::Invalid);
            }
            let mut room = TEXT_ROOM as c_int;
            // SAFETY: not null, and the caller has room for as many elements as the handle was said to have.
            unsafe { text(buf.cast(), &raw mut room, &value) };
            Ok(())
        }
    };
    answer::<A>(read())
}

/// `MPI_T_cvar_write`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_cvar_write<A: Abi>(handle: *mut c_void, buf: *const c_void) -> c_int {
    let write = || {
        let value = match tool::cvar(id(handle))? {
            // SAFETY: the caller's promise.
            Control::Number(_) => Value::Number(unsafe { given(buf)? }),
            // SAFETY: the caller's promise.
            Control::Text(_) => Value::Text(unsafe { given_text(buf)? }),
        };
        tool::cvar_write(id(handle), value)
    };
    answer::<A>(write())
}

/// `MPI_T_pvar_get_index`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_get_index<A: Abi>(name: *const c_char, var_class: c_int, pvar_index: *mut c_int) -> c_int {
    if var_class != A::word_out::<VariableClass>(COUNTER) {
        // There are none of other classes.
        return answer::<A>(tool::check().and(Err(Failure::InvalidName)));
    }
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { self::name(name).and_then(|name| put(pvar_index, || tool::performance_index(name))) })
}

/// `MPI_T_pvar_get_info`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_get_info<A: Abi>(
    pvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    var_class: *mut c_int,
    datatype: *mut CHandle<A>,
    enumtype: *mut *mut c_void,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    readonly: *mut c_int,
    continuous: *mut c_int,
    atomic: *mut c_int,
) -> c_int {
    let row = match tool::performance(pvar_index) {
        Ok(row) => row,
        Err(failure) => return answer::<A>(Err(failure)),
    };
    // SAFETY: the caller's promise.
    unsafe {
        text(name, name_len, row.name);
        tell(verbosity, A::word_out::<Verbosity>(TUNER_BASIC));
        tell(var_class, A::word_out::<VariableClass>(COUNTER));
        tell(datatype, A::handle_out(VALUE));
        tell(enumtype, std::ptr::null_mut());
        text(desc, desc_len, row.doc);
        tell(bind, A::word_out::<Bind>(NO_OBJECT));
        // Each handle counts for itself, so it can be written, started and stopped.
        tell(readonly, 0);
        tell(continuous, 0);
        tell(atomic, 1);
    }
    0
}

/// `MPI_T_pvar_session_create`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_session_create<A: Abi>(pe_session: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(pe_session, || tool::pvar_session_create().map(pointer)) })
}

/// `MPI_T_pvar_session_free`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_session_free<A: Abi>(pe_session: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { release(pe_session, tool::pvar_session_free) })
}

/// `MPI_T_pvar_handle_alloc`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_handle_alloc<A: Abi>(
    pe_session: *mut c_void,
    pvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: *mut *mut c_void,
    count: *mut c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe {
        put(handle, || {
            tool::pvar_handle_alloc(id(pe_session), pvar_index).map(pointer)
        })
        .map(|()| tell(count, 1))
    })
}

/// `MPI_T_pvar_handle_free`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_handle_free<A: Abi>(pe_session: *mut c_void, handle: *mut *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { release(handle, |handle| tool::pvar_handle_free(id(pe_session), handle)) })
}

/// `MPI_T_pvar_start`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_start<A: Abi>(pe_session: *mut c_void, handle: *mut c_void) -> c_int {
    answer::<A>(tool::pvar_start(id(pe_session), pvar::<A>(handle)))
}

/// `MPI_T_pvar_stop`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_stop<A: Abi>(pe_session: *mut c_void, handle: *mut c_void) -> c_int {
    answer::<A>(tool::pvar_stop(id(pe_session), pvar::<A>(handle)))
}

/// `MPI_T_pvar_reset`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_reset<A: Abi>(pe_session: *mut c_void, handle: *mut c_void) -> c_int {
    answer::<A>(tool::pvar_reset(id(pe_session), pvar::<A>(handle)))
}

/// `MPI_T_pvar_read`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_read<A: Abi>(pe_session: *mut c_void, handle: *mut c_void, buf: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(buf.cast(), || tool::pvar_read(id(pe_session), pvar::<A>(handle))) })
}

/// `MPI_T_pvar_readreset`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_readreset<A: Abi>(pe_session: *mut c_void, handle: *mut c_void, buf: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(buf.cast(), || tool::pvar_readreset(id(pe_session), pvar::<A>(handle))) })
}

/// `MPI_T_pvar_write`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_pvar_write<A: Abi>(pe_session: *mut c_void, handle: *mut c_void, buf: *const c_void) -> c_int {
    let (session, handle) = (id(pe_session), pvar::<A>(handle));
    // A handle of no variable has no value, and the buffer is not looked at.
    let known = tool::pvar_read(session, handle);
    // SAFETY: the caller's promise.
    let value = known.and_then(|_| unsafe { given(buf) });
    answer::<A>(value.and_then(|value| tool::pvar_write(session, handle, value)))
}

/// `MPI_T_category_get_index`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_category_get_index<A: Abi>(name: *const c_char, cat_index: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { self::name(name).and_then(|name| put(cat_index, || tool::category_index(name))) })
}

/// `MPI_T_category_get_info`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_category_get_info<A: Abi>(
    cat_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    num_cvars: *mut c_int,
    num_pvars: *mut c_int,
    num_categories: *mut c_int,
) -> c_int {
    let numbers = tool::check_category(cat_index).and_then(|()| Ok((tool::controls()?, tool::performances()?)));
    let (controls, performances) = match numbers {
        Ok(numbers) => numbers,
        Err(failure) => return answer::<A>(Err(failure)),
    };
    // SAFETY: the caller's promise.
    unsafe {
        text(name, name_len, CATEGORY.0);
        text(desc, desc_len, CATEGORY.1);
        tell(num_cvars, controls);
        tell(num_pvars, performances);
        tell(num_categories, 0);
    }
    0
}

/// `MPI_T_category_changed`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_category_changed<A: Abi>(update_number: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(update_number, || Ok(0)) })
}

/// `MPI_T_category_get_cvars`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_category_get_cvars<A: Abi>(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe {
        tool::check_category(cat_index)
            .and_then(|()| tool::controls())
            .and_then(|count| list(indices, len, count))
    })
}

/// `MPI_T_category_get_pvars`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_category_get_pvars<A: Abi>(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe {
        tool::check_category(cat_index)
            .and_then(|()| tool::performances())
            .and_then(|count| list(indices, len, count))
    })
}

/// `MPI_T_category_get_categories`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_category_get_categories<A: Abi>(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe {
        tool::check_category(cat_index)
            .map(|()| 0)
            .and_then(|count| list(indices, len, count))
    })
}

macro_rules! entry {
    ($name:ident, $failure:ident, $($argument:ident: $kind:ty),*) => {
        /// There are no enumerations: whatever the argument names, it is not there.
        ///
        /// # Safety
        /// As for the C function.
        pub unsafe fn $name<A: Abi>($($argument: $kind),*) -> c_int {
            answer::<A>(tool::check().and(Err(Failure::$failure)))
        }
    };
}

entry!(t_enum_get_info, InvalidHandle, _a: *mut c_void, _b: *mut c_int, _c: *mut c_char, _d: *mut c_int);
entry!(t_enum_get_item, InvalidHandle, _a: *mut c_void, _b: c_int, _c: *mut c_int, _d: *mut c_char, _e: *mut c_int);
