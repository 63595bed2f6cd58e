//! Which object has which error handler.

use std::sync::{Arc, PoisonError};

use super::raise::{FILE_NULL, FOR_FILES, LIKE_WORLD, for_files};
use super::{Errhandler, Target};
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::liveness;
use crate::process::codes;
use crate::session::Session;
use crate::win::Win;

/// `MPI_File_set_errhandler` of `MPI_FILE_NULL`: whom errors without a file go to from now on.
pub fn set_for_files(errhandler: &Errhandler) -> Result<()> {
    let new = errhandler.share_for(Target::File)?;
    // What it replaces is dropped outside the lock: its closure is the program's.
    let _old = FOR_FILES.lock().unwrap_or_else(PoisonError::into_inner).replace(new);
    Ok(())
}

/// `MPI_File_get_errhandler` of `MPI_FILE_NULL`. To be freed by the caller.
pub fn get_for_files() -> Result<Handle<Errhandler>> {
    for_files()?.hold()
}

/// `MPI_File_call_errhandler` of `MPI_FILE_NULL`.
pub fn call_for_files(code: i32) -> Result<()> {
    let error = user_error(code)?;
    for_files()?.handle(FILE_NULL, "MPI_File_call_errhandler", &error);
    Ok(())
}

/// `MPI_Comm_set_errhandler`: whom errors on `comm` go to from now on.
pub fn comm_set_errhandler(comm: &Comm, errhandler: &Errhandler) -> Result<()> {
    comm.set_errhandler(errhandler.share_for(Target::Comm)?);
    if comm.is_like_world() {
        let duplicate = comm.handle().share("comm")?;
        *LIKE_WORLD.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&duplicate);
    }
    liveness::attach(errhandler);
    Ok(())
}

/// `MPI_Session_set_errhandler`: whom errors on `session` go to from now on.
pub fn session_set_errhandler(session: &Session, errhandler: &Errhandler) -> Result<()> {
    session.set_errhandler(errhandler.share_for(Target::Session)?);
    liveness::attach(errhandler);
    Ok(())
}

/// `MPI_Win_set_errhandler`: whom errors on `win` go to from now on.
pub fn win_set_errhandler(win: &Win, errhandler: &Errhandler) -> Result<()> {
    win.set_errhandler(errhandler.share_for(Target::Win)?);
    liveness::attach(errhandler);
    Ok(())
}

/// `MPI_Win_get_errhandler`: the handler in force. To be freed by the caller.
pub fn win_get_errhandler(win: &Win) -> Result<Handle<Errhandler>> {
    win.errhandler().hold()
}

/// `MPI_Win_call_errhandler`: as if a call on `win` had failed with `code`.
pub fn win_call_errhandler(win: &Win, code: i32) -> Result<()> {
    let error = user_error(code)?;
    let handle = win.handle().raw();
    win.errhandler().handle(handle, "MPI_Win_call_errhandler", &error);
    Ok(())
}

/// `MPI_Comm_get_errhandler`: the handler in force. To be freed by the caller.
pub fn comm_get_errhandler(comm: &Comm) -> Result<Handle<Errhandler>> {
    comm.errhandler().hold()
}

/// `MPI_Session_get_errhandler`: the handler in force. To be freed by the caller.
pub fn session_get_errhandler(session: &Session) -> Result<Handle<Errhandler>> {
    session.errhandler().hold()
}

/// `MPI_Comm_call_errhandler`: as if a call on `comm` had failed with `code`.
pub fn comm_call_errhandler(comm: &Comm, code: i32) -> Result<()> {
    let error = user_error(code)?;
    let handle = comm.handle().raw();
    comm.errhandler().handle(handle, "MPI_Comm_call_errhandler", &error);
    Ok(())
}

/// `MPI_Session_call_errhandler`: as if a call on `session` had failed with `code`.
pub fn session_call_errhandler(session: &Session, code: i32) -> Result<()> {
    let error = user_error(code)?;
    let handle = session.handle().raw();
    session
        .errhandler()
        .handle(handle, "MPI_Session_call_errhandler", &error);
    Ok(())
}

fn user_error(code: i32) -> Result<Error> {
    codes::class_of(code)?;
    Ok(Error::from_code(
        code,
        format!("errorcode={code}, raised by the program"),
    ))
}
