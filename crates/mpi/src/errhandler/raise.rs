//! The way from an error to its handler.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Errhandler, Target, for_new_files as for_files};
use crate::comm::{COMM_SELF, COMM_WORLD, Comm};
use crate::completion::Completing;
use crate::error::Error;
use crate::file::File;
use crate::handle::Handle;
use crate::process::{self, codes};
use crate::session::Session;
use crate::win::Win;

/// The object whose error handler hears of an error.
#[derive(Debug, Clone, Copy)]
pub enum Scope {
    /// The call has no object: `MPI_COMM_SELF`'s handler hears of it, or that of `MPI_COMM_WORLD` if the program has set only
    /// that one (docs/decisions/0052), or the initial one while they do not exist.
    Process,
    /// The call is on a communicator. If the handle names none, as [`Scope::Process`].
    Comm(Handle<Comm>),
    /// The call is on a session. If the handle names none, as [`Scope::Process`].
    Session(Handle<Session>),
    /// The call is on a window. If the handle names none, as [`Scope::Process`].
    Win(Handle<Win>),
    /// The call is to make a communicator that has this error handler (MPI-5.0 §11.6). If the handle names none for
    /// communicators, as [`Scope::Process`].
    NewComm(Handle<Errhandler>),
    /// The call is to make a session that has this error handler (MPI-5.0 §11.3.1). If the handle names none for sessions, as
    /// [`Scope::Process`].
    NewSession(Handle<Errhandler>),
    /// The call is about a file, and there is none yet: the handler of `MPI_FILE_NULL` hears of it.
    NoFile,
    /// The call is on a file. If the handle names none, as [`Scope::NoFile`].
    File(Handle<File>),
}

/// `MPI_FILE_NULL`, whose error handler is the one that new files get, and the one for errors without a file (MPI-5.0
/// §14.7).
const FILE_NULL: u32 = Handle::<File>::NULL.raw();

/// `procedure` (as in `MPI_Send`) failed with `error`: tell the error handler, of the communicator of the request that failed
/// where there is one. The canonical code that the call returns, if it returns.
#[cold]
pub fn raise(scope: Scope, procedure: &str, error: &Error) -> i32 {
    codes::remember(procedure, error);
    let completion = error.completion();
    let own = completion.and_then(|completion| completion.errhandler.clone());
    let requests = completion.and_then(|completion| completion.scope.as_ref());
    let (errhandler, raw) = match (own, requests) {
        (Some((errhandler, raw)), _) => (Some(errhandler), raw),
        (None, Some(comm)) => (Some(comm.errhandler()), comm.handle().raw()),
        (None, None) => find(scope),
    };
    match errhandler {
        Some(errhandler) => errhandler.handle(raw, procedure, error),
        None => isthmus_engine::abort(error.code(), &process::line(procedure, error)),
    }
    error.code()
}

/// The handler in force for `scope`, and the handle that it is told.
fn find(scope: Scope) -> (Option<Arc<Errhandler>>, u32) {
    match scope {
        Scope::Comm(handle) => {
            if let Ok(comm) = handle.share("comm") {
                return (Some(comm.errhandler()), handle.raw());
            }
        }
        Scope::Session(handle) => {
            if let Ok(session) = handle.share("session") {
                return (Some(session.errhandler()), handle.raw());
            }
        }
        Scope::Win(handle) => {
            if let Ok(win) = handle.share("win") {
                return (Some(win.errhandler()), handle.raw());
            }
        }
        Scope::NewComm(handle) => {
            if let Some(given) = given(handle, Target::Comm) {
                return (Some(given), Handle::<Comm>::NULL.raw());
            }
        }
        Scope::NewSession(handle) => {
            if let Some(given) = given(handle, Target::Session) {
                return (Some(given), Handle::<Session>::NULL.raw());
            }
        }
        Scope::NoFile => return (for_files().ok(), FILE_NULL),
        Scope::File(handle) => {
            return match handle.share("fh") {
                Ok(file) => (Some(file.errhandler()), handle.raw()),
                Err(_) => (for_files().ok(), FILE_NULL),
            };
        }
        Scope::Process => {}
    }
    match of_process() {
        Some(comm) => (Some(comm.errhandler()), comm.handle().raw()),
        None => (None, COMM_SELF.raw()),
    }
}

/// The error handler that the call was given.
fn given(handle: Handle<Errhandler>, target: Target) -> Option<Arc<Errhandler>> {
    handle.share("errhandler").ok().filter(|given| given.is_for(target))
}

/// The last duplicate of `MPI_COMM_WORLD` for which the program has set an error handler.
pub(super) static LIKE_WORLD: Mutex<Weak<Comm>> = Mutex::new(Weak::new());

/// The object whose error handler gets errors without an object: that of `MPI_COMM_SELF` if the program has set it, or else of
/// `MPI_COMM_WORLD`, or of a duplicate of that (docs/decisions/0052). `None`: there is no world.
fn of_process() -> Option<Arc<Comm>> {
    let own = COMM_SELF.share("comm").ok()?;
    let is_set = |comm: &Arc<Comm>| comm.has_set_errhandler();
    if is_set(&own) {
        return Some(own);
    }
    let world = COMM_WORLD.share("comm").ok().filter(is_set);
    let like_world = || LIKE_WORLD.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
    world.or_else(like_world).or(Some(own))
}
