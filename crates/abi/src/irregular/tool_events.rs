//! Events of the tool interface, and where they come from: a type of events for each counter.

use std::ffi::{c_char, c_int, c_void};

use isthmus_mpi::info::{self, Info};
use isthmus_mpi::tool::events::{self, Callback, DroppedCallback, ELEMENTS, EventCallback, FreedCallback};
use isthmus_mpi::tool::{self, Failure, Result};

use super::tool::{NO_OBJECT, TUNER_BASIC, VALUE, answer, id, list, pointer, put, tell, text};
use crate::abi::Abi;
use crate::entry::CHandle;
use crate::generated::constants::{Bind, CallbackSafety, SourceOrder, Verbosity};

/// `MPI_T_SOURCE_ORDERED`
const ORDERED: i32 = 1;

/// Hints of the program, of which none is known.
fn hints<A: Abi>(info: A::Handle) -> Result<()> {
    let handle = A::handle_in::<Info>(info);
    if handle.is_null() || handle.resolve("info").is_ok() {
        Ok(())
    } else {
        Err(Failure::Invalid)
    }
}

/// Give hints in use, of which there are none, if they are wanted and `known` is what they are of.
///
/// # Safety
/// `output` is null or writable.
unsafe fn no_hints<A: Abi>(output: *mut A::Handle, known: impl FnOnce() -> Result<()>) -> Result<()> {
    known()?;
    if !output.is_null() {
        let made = info::info_create().map_err(|_| Failure::Memory)?;
        // SAFETY: not null, and the caller keeps it writable.
        unsafe { output.write(A::handle_out(made)) };
    }
    Ok(())
}

/// As [`no_hints`]; they must be wanted.
///
/// # Safety
/// As for [`no_hints`].
unsafe fn wanted_hints<A: Abi>(output: *mut A::Handle, known: impl FnOnce() -> Result<()>) -> Result<()> {
    tool::check()?;
    if output.is_null() {
        return Err(Failure::Invalid);
    }
    // SAFETY: the caller's promise.
    unsafe { no_hints::<A>(output, known) }
}

/// A program's function of type `F`, and what it is to be called with; `None` if it is null.
///
/// # Safety
/// `function` is null, or the address of a function of type `F`.
unsafe fn callback<A: Abi, F: Copy>(
    function: *const c_void,
    safety: c_int,
    user_data: *mut c_void,
) -> Option<Callback<F>> {
    const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
    (!function.is_null()).then(|| Callback {
        // SAFETY: the sizes agree, it is not null, and it is a function of this type by the caller's promise.
        function: unsafe { std::mem::transmute_copy(&function) },
        safety,
        user_data,
    })
}

/// What an event consists of: as many elements as there is room for, and how many there are.
///
/// # Safety
/// `count` is null or writable, and the others are null or have room for so many.
unsafe fn elements<A: Abi>(datatypes: *mut A::Handle, displacements: *mut i64, count: *mut c_int) {
    if count.is_null() {
        return;
    }
    // SAFETY: not null; the rest is the caller's promise.
    unsafe {
        for element in 0..ELEMENTS.min(usize::try_from(count.read()).unwrap_or(0)) {
            if !datatypes.is_null() {
                datatypes.add(element).write(A::handle_out(VALUE));
            }
            if !displacements.is_null() {
                displacements.add(element).write((element * size_of::<u64>()) as i64);
            }
        }
        count.write(ELEMENTS as c_int);
    }
}

/// Give values wherever the program has room for them.
///
/// # Safety
/// `buffer` is null or has room for a `T`.
unsafe fn give<T>(buffer: *mut c_void, value: impl FnOnce() -> Result<T>) -> Result<()> {
    tool::check()?;
    if buffer.is_null() {
        return Err(Failure::Invalid);
    }
    // SAFETY: not null; the rest is the caller's promise. Nothing says that it is aligned.
    unsafe { buffer.cast::<T>().write_unaligned(value()?) };
    Ok(())
}

/// `MPI_T_event_get_num`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_get_num<A: Abi>(num_events: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(num_events, tool::performances) })
}

/// `MPI_T_event_get_index`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_get_index<A: Abi>(name: *const c_char, event_index: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { super::tool::name(name).and_then(|name| put(event_index, || tool::performance_index(name))) })
}

/// `MPI_T_event_get_info`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_get_info<A: Abi>(
    event_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    array_of_datatypes: *mut CHandle<A>,
    array_of_displacements: *mut i64,
    num_elements: *mut c_int,
    enumtype: *mut *mut c_void,
    info: *mut CHandle<A>,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
) -> c_int {
    let row = match tool::performance(event_index) {
        Ok(row) => row,
        Err(failure) => return answer::<A>(Err(failure)),
    };
    // SAFETY: the caller's promise.
    answer::<A>(unsafe {
        text(name, name_len, row.name);
        tell(verbosity, A::word_out::<Verbosity>(TUNER_BASIC));
        elements::<A>(array_of_datatypes, array_of_displacements, num_elements);
        tell(enumtype, std::ptr::null_mut());
        let about = format!(
            "Raised with every count, which it tells with the new total: {}",
            row.doc
        );
        text(desc, desc_len, &about);
        tell(bind, A::word_out::<Bind>(NO_OBJECT));
        no_hints::<A>(info, || Ok(()))
    })
}

/// `MPI_T_event_handle_alloc`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_handle_alloc<A: Abi>(
    event_index: c_int,
    _obj_handle: *mut c_void,
    info: CHandle<A>,
    event_registration: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe {
        hints::<A>(info).and_then(|()| {
            put(event_registration, || {
                events::event_handle_alloc(event_index).map(pointer)
            })
        })
    })
}

/// `MPI_T_event_handle_free`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_handle_free<A: Abi>(
    event_registration: *mut c_void,
    user_data: *mut c_void,
    free_cb_function: *const c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let freed = unsafe { callback::<A, FreedCallback>(free_cb_function, 0, user_data) };
    answer::<A>(events::event_handle_free(id(event_registration), freed))
}

/// `MPI_T_event_handle_get_info`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_handle_get_info<A: Abi>(event_registration: *mut c_void, info_used: *mut CHandle<A>) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { wanted_hints::<A>(info_used, || events::check_registration(id(event_registration))) })
}

/// `MPI_T_event_handle_set_info`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_handle_set_info<A: Abi>(event_registration: *mut c_void, info: CHandle<A>) -> c_int {
    answer::<A>(events::check_registration(id(event_registration)).and_then(|()| hints::<A>(info)))
}

/// `MPI_T_event_register_callback`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_register_callback<A: Abi>(
    event_registration: *mut c_void,
    cb_safety: c_int,
    info: CHandle<A>,
    user_data: *mut c_void,
    event_cb_function: *const c_void,
) -> c_int {
    // SAFETY: the caller's promise.
    let told = unsafe { callback::<A, EventCallback>(event_cb_function, cb_safety, user_data) };
    let safety = A::word_in::<CallbackSafety>(cb_safety);
    answer::<A>(hints::<A>(info).and_then(|()| events::event_register_callback(id(event_registration), safety, told)))
}

/// `MPI_T_event_callback_get_info`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_callback_get_info<A: Abi>(
    event_registration: *mut c_void,
    cb_safety: c_int,
    info_used: *mut CHandle<A>,
) -> c_int {
    let safety = A::word_in::<CallbackSafety>(cb_safety);
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { wanted_hints::<A>(info_used, || events::check_callback(id(event_registration), safety)) })
}

/// `MPI_T_event_callback_set_info`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_callback_set_info<A: Abi>(
    event_registration: *mut c_void,
    cb_safety: c_int,
    info: CHandle<A>,
) -> c_int {
    let safety = A::word_in::<CallbackSafety>(cb_safety);
    answer::<A>(events::check_callback(id(event_registration), safety).and_then(|()| hints::<A>(info)))
}

/// `MPI_T_event_set_dropped_handler`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_set_dropped_handler<A: Abi>(
    event_registration: *mut c_void,
    dropped_cb_function: *const c_void,
) -> c_int {
    // SAFETY: null, or a function of this type by the caller's promise; a pointer either way.
    let dropped: Option<DroppedCallback> = unsafe { std::mem::transmute(dropped_cb_function) };
    answer::<A>(events::event_set_dropped_handler(id(event_registration), dropped))
}

/// `MPI_T_event_read`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_read<A: Abi>(event_instance: *mut c_void, element_index: c_int, buffer: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { give(buffer, || events::event_read(id(event_instance), element_index)) })
}

/// `MPI_T_event_copy`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_copy<A: Abi>(event_instance: *mut c_void, buffer: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { give(buffer, || events::event_copy(id(event_instance))) })
}

/// `MPI_T_event_get_source`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_get_source<A: Abi>(event_instance: *mut c_void, source_index: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(source_index, || events::event_get_source(id(event_instance))) })
}

/// `MPI_T_event_get_timestamp`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_event_get_timestamp<A: Abi>(event_instance: *mut c_void, event_timestamp: *mut i64) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(event_timestamp, || events::event_get_timestamp(id(event_instance))) })
}

/// `MPI_T_source_get_num`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_source_get_num<A: Abi>(num_sources: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(num_sources, || Ok(1)) })
}

/// `MPI_T_source_get_info`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_source_get_info<A: Abi>(
    source_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    ordering: *mut c_int,
    ticks_per_second: *mut i64,
    max_ticks: *mut i64,
    info: *mut CHandle<A>,
) -> c_int {
    if let Err(failure) = events::check_source(source_index) {
        return answer::<A>(Err(failure));
    }
    // SAFETY: the caller's promise.
    answer::<A>(unsafe {
        text(name, name_len, events::SOURCE.0);
        text(desc, desc_len, events::SOURCE.1);
        tell(ordering, A::word_out::<SourceOrder>(ORDERED));
        tell(ticks_per_second, events::TICKS_PER_SECOND);
        tell(max_ticks, i64::MAX);
        no_hints::<A>(info, || Ok(()))
    })
}

/// `MPI_T_source_get_timestamp`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_source_get_timestamp<A: Abi>(source_index: c_int, timestamp: *mut i64) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe { put(timestamp, || events::source_get_timestamp(source_index)) })
}

/// `MPI_T_category_get_num_events`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_category_get_num_events<A: Abi>(cat_index: c_int, num_events: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe {
        put(num_events, || {
            tool::check_category(cat_index).and_then(|()| tool::performances())
        })
    })
}

/// `MPI_T_category_get_events`
///
/// # Safety
/// As for the C function.
pub unsafe fn t_category_get_events<A: Abi>(cat_index: c_int, len: c_int, indices: *mut c_int) -> c_int {
    // SAFETY: the caller's promise.
    answer::<A>(unsafe {
        tool::check_category(cat_index)
            .and_then(|()| tool::performances())
            .and_then(|count| list(indices, len, count))
    })
}
