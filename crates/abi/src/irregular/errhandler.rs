//! Error handlers: callbacks by address.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use isthmus_mpi::comm::Comm;
use isthmus_mpi::errhandler::{Errhandler, ErrorFn, Scope};
use isthmus_mpi::error::Result;
use isthmus_mpi::handle::Handle;
use isthmus_mpi::procedures;
use isthmus_mpi::session::Session;
use isthmus_mpi::win::Win;

use super::callback;
use crate::abi::{Abi, ErrorCode, Predefined};
use crate::argument::{self, HandleOutput};
use crate::entry::{self, CHandle};
use crate::mpich::{self, ErrorProxy, Through};

/// `MPI_Comm_errhandler_function` and its siblings. They are variadic, and we pass no more than these two.
type CError<H> = unsafe extern "C-unwind" fn(*mut H, *mut c_int, ...);

/// The kinds of objects, as MPICH's C++ library numbers them; it knows no sessions.
const COMM: c_int = 0;
const FILE: c_int = 1;
const WIN: c_int = 2;
const SESSION: c_int = 3;

/// The program's error handler at `address`; `theirs` makes its handle of ours.
unsafe fn error_fn<A: Abi, H: 'static>(
    address: *const c_void,
    name: &str,
    theirs: fn(u32) -> H,
    (kind, through): (c_int, Arc<Through>),
) -> Result<ErrorFn> {
    // SAFETY: the program gives the address of an error handler.
    let function: CError<H> = unsafe { callback::function(address, name)? };
    Ok(Box::new(move |raw, code| {
        let mut object = theirs(raw);
        let mut code = A::word_out::<ErrorCode>(code);
        // SAFETY: the program promised that its function can be called so, or the library that it uses that its own can.
        unsafe {
            match through.function(0) {
                None => function(&raw mut object, &raw mut code),
                Some(proxy) => {
                    let call: ErrorProxy = callback::of(proxy);
                    call(kind, (&raw mut object).cast(), &raw mut code, function as *const c_void);
                }
            }
        }
    }))
}

unsafe fn create<A: Abi, H: 'static>(
    name: &'static str,
    function: *const c_void,
    argument: &str,
    errhandler: *mut CHandle<A>,
    (kind, theirs): (c_int, fn(u32) -> H),
    make: fn(ErrorFn) -> Result<Handle<Errhandler>>,
) -> c_int {
    entry::any_time::<A>(name, Scope::Process, || {
        let output = argument::output(errhandler, "errhandler")?;
        let through = Arc::default();
        let as_said = (kind, Arc::clone(&through));
        // SAFETY: the caller's promise.
        let made = A::handle_out(make(unsafe { error_fn::<A, H>(function, argument, theirs, as_said)? })?);
        output.put(made);
        mpich::made::<A>(A::to_int(made), &through);
        Ok(())
    })
}

fn handle<A: Abi, T: Predefined>(raw: u32) -> CHandle<A> {
    A::handle_out(Handle::<T>::from_raw(raw))
}

/// `MPI_Comm_create_errhandler`
///
/// # Safety
/// As for the C function.
pub unsafe fn comm_create_errhandler<A: Abi>(comm_errhandler_fn: *const c_void, errhandler: *mut CHandle<A>) -> c_int {
    let name = "MPI_Comm_create_errhandler";
    let make = procedures::comm_create_errhandler;
    // SAFETY: the caller's promise.
    unsafe {
        create::<A, _>(
            name,
            comm_errhandler_fn,
            "comm_errhandler_fn",
            errhandler,
            (COMM, handle::<A, Comm>),
            make,
        )
    }
}

/// `MPI_Errhandler_create`
///
/// # Safety
/// As for the C function.
pub unsafe fn errhandler_create<A: Abi>(function: *const c_void, errhandler: *mut CHandle<A>) -> c_int {
    let make = procedures::comm_create_errhandler;
    // SAFETY: the caller's promise.
    unsafe {
        create::<A, _>(
            "MPI_Errhandler_create",
            function,
            "function",
            errhandler,
            (COMM, handle::<A, Comm>),
            make,
        )
    }
}

/// `MPI_Session_create_errhandler`
///
/// # Safety
/// As for the C function.
pub unsafe fn session_create_errhandler<A: Abi>(
    session_errhandler_fn: *const c_void,
    errhandler: *mut CHandle<A>,
) -> c_int {
    let name = "MPI_Session_create_errhandler";
    let make = procedures::session_create_errhandler;
    // SAFETY: the caller's promise.
    unsafe {
        create::<A, _>(
            name,
            session_errhandler_fn,
            "session_errhandler_fn",
            errhandler,
            (SESSION, handle::<A, Session>),
            make,
        )
    }
}

/// `MPI_Win_create_errhandler`
///
/// # Safety
/// As for the C function.
pub unsafe fn win_create_errhandler<A: Abi>(win_errhandler_fn: *const c_void, errhandler: *mut CHandle<A>) -> c_int {
    let name = "MPI_Win_create_errhandler";
    let make = procedures::win_create_errhandler;
    // SAFETY: the caller's promise.
    unsafe {
        create::<A, _>(
            name,
            win_errhandler_fn,
            "win_errhandler_fn",
            errhandler,
            (WIN, handle::<A, Win>),
            make,
        )
    }
}

/// `MPI_File_create_errhandler`
///
/// # Safety
/// As for the C function.
pub unsafe fn file_create_errhandler<A: Abi>(file_errhandler_fn: *const c_void, errhandler: *mut CHandle<A>) -> c_int {
    let name = "MPI_File_create_errhandler";
    let make = procedures::file_create_errhandler;
    let theirs = |raw| A::file_out(Handle::from_raw(raw));
    // SAFETY: the caller's promise.
    unsafe {
        create::<A, _>(
            name,
            file_errhandler_fn,
            "file_errhandler_fn",
            errhandler,
            (FILE, theirs),
            make,
        )
    }
}

/// `MPI_File_set_errhandler`
///
/// # Safety
/// As for the C function.
pub unsafe fn file_set_errhandler<A: Abi>(file: *mut c_void, errhandler: CHandle<A>) -> c_int {
    entry::enter::<A>("MPI_File_set_errhandler", entry::on_file::<A>(file), || {
        let errhandler = A::handle_in::<Errhandler>(errhandler).resolve("errhandler")?;
        procedures::file_set_errhandler(A::file_in(file), errhandler)
    })
}

/// `MPI_File_get_errhandler`
///
/// # Safety
/// As for the C function.
pub unsafe fn file_get_errhandler<A: Abi>(file: *mut c_void, errhandler: *mut CHandle<A>) -> c_int {
    entry::enter::<A>("MPI_File_get_errhandler", entry::on_file::<A>(file), || {
        let output = HandleOutput::<A>::at(errhandler, "errhandler")?;
        output.put(procedures::file_get_errhandler(A::file_in(file))?);
        Ok(())
    })
}

/// `MPI_File_call_errhandler`
///
/// # Safety
/// As for the C function.
pub unsafe fn file_call_errhandler<A: Abi>(file: *mut c_void, errorcode: c_int) -> c_int {
    entry::enter::<A>("MPI_File_call_errhandler", entry::on_file::<A>(file), || {
        procedures::file_call_errhandler(A::file_in(file), A::word_in::<ErrorCode>(errorcode))
    })
}
