//! The frame around every entry: is MPI there, run, hand an error to the error handler.

use isthmus_engine::{State, is_in_use};
use isthmus_os::process as os_process;
use isthmus_os::switches::Switch;
use std::ffi::{c_int, c_void};
use std::sync::Once;

pub use isthmus_mpi::coll::{refused, refused_by_name, refused_immediate, refused_persistent};
use isthmus_mpi::comm::Comm;
use isthmus_mpi::errhandler;
pub use isthmus_mpi::errhandler::Scope;
use isthmus_mpi::error::{Error, Result};
use isthmus_mpi::fail;
use isthmus_mpi::tool::events;
use isthmus_mpi::{procedures, process};

use crate::abi::{Abi, ErrorCode};
use crate::foreign;

/// `MPI_Comm` and its siblings in an ABI.
pub type CHandle<A> = <A as Abi>::Handle;
/// `MPI_Status` in an ABI.
pub type CStatus<A> = <A as Abi>::Status;

/// Run `body`, which needs MPI: initialized and not finalized, or in use by a session, and not in a child made by `fork`. What the C function returns.
#[inline(always)]
pub fn enter<A: Abi>(name: &'static str, scope: Scope, body: impl FnOnce() -> Result<()>) -> c_int {
    if !is_in_use() {
        return absent::<A>(name, scope);
    }
    finish::<A>(name, scope, body())
}

/// Run `body`, which may run before MPI is initialized and after it is finalized.
#[inline(always)]
pub fn any_time<A: Abi>(name: &'static str, scope: Scope, body: impl FnOnce() -> Result<()>) -> c_int {
    if !is_in_use() {
        explain_panics();
    }
    finish::<A>(name, scope, body())
}

/// What the C function returns for a procedure that is not implemented.
#[cold]
pub fn unsupported<A: Abi>(name: &'static str, scope: Scope) -> c_int {
    let error = fail!(
        UnsupportedOperation,
        "not implemented yet (share/doc/isthmus/unfinished.md in the installation lists what is not)"
    );
    enter::<A>(name, scope, || Err(error))
}

/// As [`unsupported`], for a procedure that starts or joins processes. From any thread but the one that initialized MPI the
/// job ends: other threads wait for the result of that thread, and would hang (docs/decisions/0125).
#[cold]
pub fn unsupported_processes<A: Abi>(name: &'static str, scope: Scope) -> c_int {
    if is_in_use() && procedures::is_thread_main().is_ok_and(|is_main| !is_main) {
        let error = fail!(
            UnsupportedOperation,
            "not implemented yet, and called by a thread whose work others wait for: the job ends (mpi4py.futures needs it not \
             when started by `mpiexec -n N python -m mpi4py.futures SCRIPT`)"
        );
        process::end_job(name, &error);
    }
    unsupported::<A>(name, scope)
}

#[inline(always)]
fn finish<A: Abi>(name: &'static str, scope: Scope, result: Result<()>) -> c_int {
    let code = match result {
        Ok(()) => 0,
        Err(error) => raise::<A>(name, scope, &error),
    };
    if Switch::Events.is_on() {
        events::tell();
    }
    code
}

/// Tell the error handler; the code that the C function returns.
#[cold]
#[inline(never)]
pub fn raise<A: Abi>(name: &'static str, scope: Scope, error: &Error) -> c_int {
    let explained = foreign::explained::<A>(error);
    A::word_out::<ErrorCode>(errhandler::raise(scope, name, explained.as_ref().unwrap_or(error)))
}

#[cold]
#[inline(never)]
fn absent<A: Abi>(name: &'static str, scope: Scope) -> c_int {
    explain_panics();
    let scope = match scope {
        Scope::NewComm(_) | Scope::NewSession(_) => scope,
        _ => Scope::Process,
    };
    let error = match isthmus_engine::state() {
        State::Forked => fail!(
            Other,
            "called in a child that a rank has made by `fork`, and which is none: only the rank itself may call MPI"
        ),
        _ => fail!(Other, "needs MPI between its initialization and its finalization"),
    };
    raise::<A>(name, scope, &error)
}

/// A panic here is a defect of ours. It ends the process with a line, rather than unwind through the program.
///
/// Every process passes here before MPI is initialized: the first call finds it inactive.
#[cold]
fn explain_panics() {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            eprintln!("isthmus: internal error, please report it: {panic}");
            if !isthmus_engine::allows_threads() && os_process::threads() > 1 {
                os_process::say(
                    "isthmus: the process has several threads; if more than one calls MPI, the program must ask MPI_Init_thread for \
                     MPI_THREAD_MULTIPLE: try ISTHMUS_THREAD_LEVEL=multiple, or ISTHMUS_CHECK=1",
                );
            }
            std::process::abort();
        }));
    });
}

/// The error handler of a communicator.
#[inline(always)]
pub fn on_comm<A: Abi>(comm: A::Handle) -> Scope {
    Scope::Comm(A::handle_in(comm))
}

/// The error handler of the communicator at an address.
#[inline(always)]
pub fn on_comm_at<A: Abi>(comm: *mut A::Handle) -> Scope {
    if comm.is_null() {
        return Scope::Process;
    }
    // SAFETY: not null, and the program keeps the handle readable during the call.
    on_comm::<A>(unsafe { comm.read() })
}

/// The error handler that a new communicator is to have.
#[inline(always)]
pub fn on_new_comm<A: Abi>(errhandler: A::Handle) -> Scope {
    Scope::NewComm(A::handle_in(errhandler))
}

/// The error handler that a new session is to have.
#[inline(always)]
pub fn on_new_session<A: Abi>(errhandler: A::Handle) -> Scope {
    Scope::NewSession(A::handle_in(errhandler))
}

/// The error handler of a session.
#[inline(always)]
pub fn on_session<A: Abi>(session: A::Handle) -> Scope {
    Scope::Session(A::handle_in(session))
}

/// The error handler of the session at an address.
#[inline(always)]
pub fn on_session_at<A: Abi>(session: *mut A::Handle) -> Scope {
    if session.is_null() {
        return Scope::Process;
    }
    // SAFETY: not null, and the program keeps the handle readable during the call.
    on_session::<A>(unsafe { session.read() })
}

/// The error handler of a window.
#[inline(always)]
pub fn on_win<A: Abi>(win: A::Handle) -> Scope {
    Scope::Win(A::handle_in(win))
}

/// The error handler of the window at an address.
#[inline(always)]
pub fn on_win_at<A: Abi>(win: *mut A::Handle) -> Scope {
    if win.is_null() {
        return Scope::Process;
    }
    // SAFETY: not null, and the program keeps the handle readable during the call.
    on_win::<A>(unsafe { win.read() })
}

/// The error handler of a file.
#[inline(always)]
pub fn on_file<A: Abi>(file: *mut c_void) -> Scope {
    Scope::File(A::file_in(file))
}

/// The error handler of the file at an address.
#[inline(always)]
pub fn on_file_at<A: Abi>(file: *mut *mut c_void) -> Scope {
    if file.is_null() {
        return Scope::NoFile;
    }
    // SAFETY: not null, and the program keeps the handle readable during the call.
    on_file::<A>(unsafe { file.read() })
}

/// Arguments of a collective call, or what it fails with after the other members have been told of the error in them.
#[inline(always)]
pub fn refusable<T>(look: impl FnOnce() -> Result<T>, tell: impl FnOnce(Error) -> Error) -> Result<T> {
    look().map_err(tell)
}

/// Tells the other ranks of a call that its arguments were refused, unless that is disarmed. It is of interest only where ranks
/// are checked to call the same.
pub struct Refusal {
    comm: &'static Comm,
    call: &'static str,
    tell: fn(&'static Comm, &str),
}

impl Refusal {
    /// The arguments of this call are being looked at: `call` as `tell` takes it, the name of a collective or a procedure.
    #[inline(always)]
    pub fn new(comm: &'static Comm, call: &'static str, tell: fn(&'static Comm, &str)) -> Self {
        Self { comm, call, tell }
    }

    /// They are good: the procedure itself tells.
    #[inline(always)]
    pub fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for Refusal {
    #[inline(always)]
    fn drop(&mut self) {
        (self.tell)(self.comm, self.call);
    }
}

/// Exports entries for all ABIs: `MPI_Send = send::<c_int>(buf: *const c_void, ...) -> c_int;` makes
/// `isthmus_std_MPI_Send`, `isthmus_mpich_MPI_Send` and `isthmus_openmpi_MPI_Send`.
macro_rules! export {
    ($($name:ident = $($entry:ident)::+ $(::<$width:ty>)? ($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {$(
        crate::entry::export!(@one Std "isthmus_std_" $name [$($entry)::+] [$($width)?] ($($argument: $kind),*) -> $result);
        crate::entry::export!(@one Mpich "isthmus_mpich_" $name [$($entry)::+] [$($width)?] ($($argument: $kind),*) -> $result);
        crate::entry::export!(@one OpenMpi "isthmus_openmpi_" $name [$($entry)::+] [$($width)?] ($($argument: $kind),*) -> $result);
    )*};
    (@one $abi:ident $prefix:literal $name:ident [$($entry:ident)::+] [$($width:ty)?]
     ($($argument:ident: $kind:ty),*) -> $result:ty) => {
        const _: () = {
            type A = crate::abi::$abi;
            #[unsafe(export_name = concat!($prefix, stringify!($name)))]
            unsafe extern "C-unwind" fn entry($($argument: $kind),*) -> $result {
                // SAFETY: the promises are the caller's, as for the C function.
                unsafe { $($entry)::+::<A $(, $width)?>($($argument),*) }
            }
        };
    };
}
pub(crate) use export;

/// Exports stubs for all ABIs: `MPI_Put(...) => entry::unsupported::<A>(...);`
macro_rules! unfinished {
    ($($name:ident($($argument:ident: $kind:ty),*) => $answer:expr;)*) => {$(
        crate::entry::unfinished!(@one Std "isthmus_std_" $name ($($argument: $kind),*) $answer);
        crate::entry::unfinished!(@one Mpich "isthmus_mpich_" $name ($($argument: $kind),*) $answer);
        crate::entry::unfinished!(@one OpenMpi "isthmus_openmpi_" $name ($($argument: $kind),*) $answer);
    )*};
    (@one $abi:ident $prefix:literal $name:ident ($($argument:ident: $kind:ty),*) $answer:expr) => {
        const _: () = {
            type A = crate::abi::$abi;
            #[unsafe(export_name = concat!($prefix, stringify!($name)))]
            #[allow(unused_variables)] // Of its arguments a stub needs the object at most.
            unsafe extern "C-unwind" fn entry($($argument: $kind),*) -> c_int {
                $answer
            }
        };
    };
}
pub(crate) use unfinished;
