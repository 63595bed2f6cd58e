//! Functions that MPICH has beside the standard's, and that programs call.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, PoisonError, RwLock};

use isthmus_engine::supports_devices;
use isthmus_mpi::datatype::Datatype;
use isthmus_mpi::error::Result;
use isthmus_mpi::fail;
use isthmus_mpi::procedures;
use isthmus_mpi::request::{Functions, Request};

use crate::abi::{Abi, ErrorCode, Mpich};
use crate::argument;
use crate::entry::{self, CHandle, CStatus, Scope};
use crate::irregular::callback;
use crate::irregular::request;

type A = Mpich;

/// `MPIX_Query_cuda_support`, of all ABIs: may buffers lie in memory of CUDA devices? At any time.
#[unsafe(export_name = "isthmus_mpich_MPIX_Query_cuda_support")]
extern "C-unwind" fn query_cuda_support() -> c_int {
    c_int::from(supports_devices())
}

/// Its siblings for other GPUs (`hip`, `ze`, `rocm`): not supported.
#[unsafe(export_name = "isthmus_mpich_MPIX_Query_other_support")]
extern "C-unwind" fn query_other_support() -> c_int {
    0
}

/// `MPIX_GPU_SUPPORT_CUDA`; those of Level Zero and HIP follow.
const CUDA: c_int = 0;
const KINDS_OF_GPUS: c_int = 3;

/// `MPIX_GPU_query_support`: as the others, of any kind of GPU; at any time.
#[unsafe(export_name = "isthmus_mpich_MPIX_GPU_query_support")]
extern "C-unwind" fn gpu_query_support(gpu_type: c_int, is_supported: *mut c_int) -> c_int {
    entry::any_time::<A>("MPIX_GPU_query_support", Scope::Process, || {
        let output = argument::output(is_supported, "is_supported")?;
        if !(0..KINDS_OF_GPUS).contains(&gpu_type) {
            return Err(fail!(Arg, "{gpu_type} is no kind of GPU"));
        }
        output.put(c_int::from(gpu_type == CUDA && supports_devices()));
        Ok(())
    })
}

/// `MPIX_Request_is_complete`: the request stays as it is.
#[unsafe(export_name = "isthmus_mpich_MPIX_Request_is_complete")]
extern "C-unwind" fn request_is_complete(request: c_int) -> c_int {
    let mut answer = false;
    entry::enter::<A>("MPIX_Request_is_complete", Scope::Process, || {
        (answer, _) = procedures::request_get_status(A::handle_in::<Request>(request))?;
        Ok(())
    });
    c_int::from(answer)
}

/// `MPIX_Grequest_poll_function`: (extra state, status)
type CPoll = unsafe extern "C-unwind" fn(*mut c_void, *mut CStatus<A>) -> c_int;
/// `MPIX_Grequest_wait_function`: (how many, their extra states, time limit in seconds or 0 for none, statuses)
type CWait = unsafe extern "C-unwind" fn(c_int, *mut *mut c_void, f64, *mut CStatus<A>) -> c_int;

/// The functions at these addresses, of which the last two may be null.
///
/// # Safety
/// The program gave the addresses of such functions.
unsafe fn functions([query_fn, free_fn, cancel_fn, poll_fn, wait_fn]: [*const c_void; 5]) -> Result<Arc<Functions>> {
    // SAFETY: the caller's promise.
    let mut functions = unsafe { request::functions::<A>(query_fn, free_fn, cancel_fn, &Arc::default())? };
    let unread = || A::status_from(&isthmus_mpi::status::Status::EMPTY);
    if !poll_fn.is_null() {
        // SAFETY: the address is not null; the rest is the caller's promise.
        let poll: CPoll = unsafe { callback::of(poll_fn) };
        functions.poll = Some(Box::new(move |extra| {
            let mut status = unread();
            // SAFETY: the program promised that its function can be called so.
            A::word_in::<ErrorCode>(unsafe { poll(extra, &raw mut status) })
        }));
    }
    if !wait_fn.is_null() {
        // SAFETY: as above.
        let wait: CWait = unsafe { callback::of(wait_fn) };
        functions.wait = Some(Box::new(move |mut extra| {
            let mut status = unread();
            // SAFETY: the program promised that its function can be called so, with arrays of one.
            A::word_in::<ErrorCode>(unsafe { wait(1, &raw mut extra, 0.0, &raw mut status) })
        }));
    }
    Ok(Arc::new(functions))
}

#[unsafe(export_name = "isthmus_mpich_MPIX_Grequest_start")]
unsafe extern "C-unwind" fn grequest_start(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    poll_fn: *const c_void,
    wait_fn: *const c_void,
    extra_state: *mut c_void,
    request: *mut CHandle<A>,
) -> c_int {
    entry::enter::<A>("MPIX_Grequest_start", Scope::Process, || {
        let output = argument::output(request, "request")?;
        // SAFETY: the program gives the addresses of such functions.
        let functions = unsafe { functions([query_fn, free_fn, cancel_fn, poll_fn, wait_fn])? };
        output.put(A::handle_out(procedures::grequest_start(functions, extra_state)?));
        Ok(())
    })
}

/// The classes, which live as long as the process.
static CLASSES: RwLock<Vec<Arc<Functions>>> = RwLock::new(Vec::new());

#[unsafe(export_name = "isthmus_mpich_MPIX_Grequest_class_create")]
unsafe extern "C-unwind" fn grequest_class_create(
    query_fn: *const c_void,
    free_fn: *const c_void,
    cancel_fn: *const c_void,
    poll_fn: *const c_void,
    wait_fn: *const c_void,
    greq_class: *mut c_int,
) -> c_int {
    entry::enter::<A>("MPIX_Grequest_class_create", Scope::Process, || {
        let output = argument::output(greq_class, "greq_class")?;
        // SAFETY: the program gives the addresses of such functions.
        let functions = unsafe { functions([query_fn, free_fn, cancel_fn, poll_fn, wait_fn])? };
        let mut classes = CLASSES.write().unwrap_or_else(PoisonError::into_inner);
        classes.push(functions);
        output.put(c_int::try_from(classes.len()).map_err(|_| fail!(Other, "there are too many classes of requests"))?);
        Ok(())
    })
}

#[unsafe(export_name = "isthmus_mpich_MPIX_Grequest_class_allocate")]
extern "C-unwind" fn grequest_class_allocate(
    greq_class: c_int,
    extra_state: *mut c_void,
    request: *mut CHandle<A>,
) -> c_int {
    entry::enter::<A>("MPIX_Grequest_class_allocate", Scope::Process, || {
        let output = argument::output(request, "request")?;
        let functions = {
            let classes = CLASSES.read().unwrap_or_else(PoisonError::into_inner);
            let at = usize::try_from(greq_class)
                .ok()
                .and_then(|number| number.checked_sub(1));
            at.and_then(|at| classes.get(at).cloned())
        };
        let functions = functions.ok_or_else(|| {
            fail!(
                Arg,
                "greq_class={greq_class} is none that MPIX_Grequest_class_create has made"
            )
        })?;
        output.put(A::handle_out(procedures::grequest_start(functions, extra_state)?));
        Ok(())
    })
}

/// `MPIX_Iov`
#[repr(C)]
struct Iov {
    /// The displacement, as an address relative to `MPI_BOTTOM`.
    base: isize,
    length: isize,
}

#[unsafe(export_name = "isthmus_mpich_MPIX_Type_iov_len")]
extern "C-unwind" fn type_iov_len(
    datatype: CHandle<A>,
    max_iov_bytes: i64,
    iov_len: *mut i64,
    actual_iov_bytes: *mut i64,
) -> c_int {
    entry::enter::<A>("MPIX_Type_iov_len", Scope::Process, || {
        let datatype = A::handle_in::<Datatype>(datatype).resolve("datatype")?;
        // As in MPICH: all of it.
        let most = match max_iov_bytes {
            -1 => i64::MAX,
            bytes => argument::count(bytes, "max_iov_bytes")?,
        };
        let runs_output = argument::output(iov_len, "iov_len")?;
        let (runs, bytes) = procedures::type_iov_len(datatype, most)?;
        runs_output.put(runs);
        // May be null, as in MPICH.
        if let Ok(output) = argument::output(actual_iov_bytes, "actual_iov_bytes") {
            output.put(bytes);
        }
        Ok(())
    })
}

#[unsafe(export_name = "isthmus_mpich_MPIX_Type_iov")]
unsafe extern "C-unwind" fn type_iov(
    datatype: CHandle<A>,
    iov_offset: i64,
    iov: *mut Iov,
    max_iov_len: i64,
    actual_iov_len: *mut i64,
) -> c_int {
    entry::enter::<A>("MPIX_Type_iov", Scope::Process, || {
        let datatype = A::handle_in::<Datatype>(datatype).resolve("datatype")?;
        let first = argument::count(iov_offset, "iov_offset")?;
        let most = argument::count(max_iov_len, "max_iov_len")?;
        let output = argument::output(actual_iov_len, "actual_iov_len")?;
        if most > 0 && iov.is_null() {
            return Err(fail!(Arg, "iov is a null pointer"));
        }
        let mut next = iov;
        output.put(procedures::type_iov(datatype, first, most, |base, length| {
            let run = Iov {
                base: base as isize,
                length: length as isize,
            };
            // SAFETY: the program's array has room for `max_iov_len`, and no more are told.
            unsafe {
                next.write(run);
                next = next.add(1);
            }
        })?);
        Ok(())
    })
}
