//! Which object has which error handler.

use std::sync::{Arc, PoisonError};

use super::raise::LIKE_WORLD;
use super::{Errhandler, Target};
use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::file::File;
use crate::handle::Handle;
use crate::liveness;
use crate::process::codes;
use crate::session::Session;
use crate::win::Win;

/// `MPI_File_set_errhandler`: the handler of errors on the file from now on; for `MPI_FILE_NULL`, of errors without a file, and of new files.
pub fn file_set_errhandler(file: Handle<File>, errhandler: &Errhandler) -> Result<()> {
    let new = errhandler.share_for(Target::File)?;
    if file.is_null() {
        super::set_for_new_files(new);
    } else {
        file.resolve("file")?.set_errhandler(new);
    }
    Ok(())
}

/// The handler in force for a file, or for those to come.
fn of_file(file: Handle<File>) -> Result<Arc<Errhandler>> {
    if file.is_null() {
        return super::for_new_files();
    }
    Ok(file.resolve("file")?.errhandler())
}

/// `MPI_File_get_errhandler`: the handler in force. To be freed by the caller.
pub fn file_get_errhandler(file: Handle<File>) -> Result<Handle<Errhandler>> {
    of_file(file)?.hold()
}

/// `MPI_File_call_errhandler`: as if a call on the file had failed with `code`.
pub fn file_call_errhandler(file: Handle<File>, code: i32) -> Result<()> {
    let error = user_error(code)?;
    of_file(file)?.handle(file.raw(), "MPI_File_call_errhandler", &error);
    Ok(())
}

/// `MPI_Comm_set_errhandler`: the handler of errors on `comm` from now on.
pub fn comm_set_errhandler(comm: &Comm, errhandler: &Errhandler) -> Result<()> {
    comm.set_errhandler(errhandler.share_for(Target::Comm)?);
    if comm.is_like_world() {
        let duplicate = comm.handle().share("comm")?;
        *LIKE_WORLD.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&duplicate);
    }
    liveness::attach(errhandler);
    Ok(())
}

/// `MPI_Session_set_errhandler`: the handler of errors on `session` from now on.
pub fn session_set_errhandler(session: &Session, errhandler: &Errhandler) -> Result<()> {
    session.set_errhandler(errhandler.share_for(Target::Session)?);
    liveness::attach(errhandler);
    Ok(())
}

/// `MPI_Win_set_errhandler`: the handler of errors on `win` from now on.
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
