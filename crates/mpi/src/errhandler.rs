//! Error handlers (MPI-5.0 §9.3): what they are, the way from an error to its handler (`raise`), and which object has which (`objects`).

mod objects;
mod raise;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::error::{Class, Error, Result};
use crate::fail;
use crate::handle::{Handle, Object, ObjectKind, Table};
use crate::process;

pub use objects::{
    comm_call_errhandler, comm_get_errhandler, comm_set_errhandler, file_call_errhandler, file_get_errhandler,
    file_set_errhandler, session_call_errhandler, session_get_errhandler, session_set_errhandler, win_call_errhandler,
    win_get_errhandler, win_set_errhandler,
};
pub use raise::{Scope, raise};

/// A user's error handler: (canonical raw handle of the object, canonical error code).
pub type ErrorFn = Box<dyn Fn(u32, i32) + Send + Sync>;

/// What kind of object a user's error handler is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Comm,
    Session,
    Win,
    File,
}

/// What to do about an error.
enum Action {
    /// End the job.
    Fatal,
    /// End the processes of the object, which today means the job.
    Abort,
    /// Return the code.
    Return,
    /// Call the user's function, then return the code.
    User(Target, ErrorFn),
}

/// What happens when a call on an object fails.
pub struct Errhandler {
    action: Action,
    /// The handle by which users hold it, and how often. Objects may use it when users hold it no more.
    held: Mutex<(Handle<Errhandler>, u32)>,
}

/// `MPI_ERRORS_ARE_FATAL`.
pub const ERRORS_ARE_FATAL: Handle<Errhandler> = Handle::from_raw(0x141);
/// `MPI_ERRORS_ABORT`.
pub const ERRORS_ABORT: Handle<Errhandler> = Handle::from_raw(0x142);
/// `MPI_ERRORS_RETURN`.
pub const ERRORS_RETURN: Handle<Errhandler> = Handle::from_raw(0x143);

impl Object for Errhandler {
    const KIND: ObjectKind = ObjectKind::Errhandler;
    const INVALID: Class = Class::Errhandler;
    const NULL: u32 = 0x140;
    const NAME: &'static str = "MPI_Errhandler";
    fn table() -> &'static Table<Self> {
        // Error handlers may be used before MPI is initialized, so the predefined ones come with the table.
        static TABLE: OnceLock<Table<Errhandler>> = OnceLock::new();
        TABLE.get_or_init(|| {
            let predefined = |handle, action| {
                Some(Arc::new(Errhandler {
                    action,
                    held: Mutex::new((handle, 1)),
                }))
            };
            let table = Table::new();
            table.set_predefined(vec![
                None,
                predefined(ERRORS_ARE_FATAL, Action::Fatal),
                predefined(ERRORS_ABORT, Action::Abort),
                predefined(ERRORS_RETURN, Action::Return),
            ]);
            table
        })
    }
}

/// The error handler of `MPI_FILE_NULL`, which new files get (MPI-5.0 §14.7); `None`: `MPI_ERRORS_RETURN`, as it is at first.
static FOR_NEW_FILES: Mutex<Option<Arc<Errhandler>>> = Mutex::new(None);

/// The error handler of `MPI_FILE_NULL`: that of new files, and of errors without a file.
pub(crate) fn for_new_files() -> Result<Arc<Errhandler>> {
    let set = FOR_NEW_FILES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    set.map_or_else(|| ERRORS_RETURN.share("errhandler"), Ok)
}

/// The error handler of `MPI_FILE_NULL` from now on.
fn set_for_new_files(new: Arc<Errhandler>) {
    // What it replaces is dropped outside the lock: its closure is the program's.
    let _old = FOR_NEW_FILES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .replace(new);
}

impl Errhandler {
    fn create(target: Target, function: ErrorFn) -> Result<Handle<Self>> {
        let errhandler = Arc::new(Self {
            action: Action::User(target, function),
            held: Mutex::new((Handle::NULL, 0)),
        });
        errhandler.hold()
    }

    /// One more hold by the user.
    pub(crate) fn hold(self: &Arc<Self>) -> Result<Handle<Self>> {
        if let Some(handle) = self.predefined() {
            return Ok(handle);
        }
        let mut held = self.held();
        if held.1 == 0 {
            held.0 = Self::table().insert(Arc::clone(self))?;
        }
        held.1 += 1;
        Ok(held.0)
    }

    /// The handle, if it is a predefined one.
    fn predefined(&self) -> Option<Handle<Self>> {
        match self.action {
            Action::Fatal => Some(ERRORS_ARE_FATAL),
            Action::Abort => Some(ERRORS_ABORT),
            Action::Return => Some(ERRORS_RETURN),
            Action::User(..) => None,
        }
    }

    /// Does the call that failed go on, so that the program hears of it?
    pub(crate) fn returns(&self) -> bool {
        matches!(self.action, Action::Return | Action::User(..))
    }

    /// A reference that outlives the handle, for a communicator.
    pub(crate) fn share_for_comm(&self) -> Result<Arc<Self>> {
        self.share_for(Target::Comm)
    }

    /// A reference that outlives the handle, for a session.
    pub(crate) fn share_for_session(&self) -> Result<Arc<Self>> {
        self.share_for(Target::Session)
    }

    /// A reference that outlives the handle, if it may be attached to an object of this kind.
    pub(crate) fn share_for(&self, target: Target) -> Result<Arc<Self>> {
        let handle = self.held().0;
        if !self.is_for(target) {
            return Err(fail!(
                Errhandler,
                "errhandler={:#x} was created for another kind of object",
                handle.raw()
            ));
        }
        handle.share("errhandler")
    }

    /// May it be attached to an object of this kind?
    pub(crate) fn is_for(&self, target: Target) -> bool {
        !matches!(self.action, Action::User(own, _) if own != target)
    }

    fn held(&self) -> MutexGuard<'_, (Handle<Self>, u32)> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Do what is to be done about `error`, which `procedure` met on the object `raw`. Does not return if it is fatal.
    pub(crate) fn handle(&self, raw: u32, procedure: &str, error: &Error) {
        match &self.action {
            Action::Return => {}
            Action::User(_, function) => function(raw, error.code()),
            Action::Fatal | Action::Abort => {
                isthmus_engine::abort(error.code(), &process::line(procedure, error));
            }
        }
    }
}

/// `MPI_Comm_create_errhandler`: a handler for communicators.
pub fn comm_create_errhandler(function: ErrorFn) -> Result<Handle<Errhandler>> {
    Errhandler::create(Target::Comm, function)
}

/// `MPI_Session_create_errhandler`: a handler for sessions.
pub fn session_create_errhandler(function: ErrorFn) -> Result<Handle<Errhandler>> {
    Errhandler::create(Target::Session, function)
}

/// `MPI_Win_create_errhandler`: a handler for windows.
pub fn win_create_errhandler(function: ErrorFn) -> Result<Handle<Errhandler>> {
    Errhandler::create(Target::Win, function)
}

/// `MPI_File_create_errhandler`: a handler for files.
pub fn file_create_errhandler(function: ErrorFn) -> Result<Handle<Errhandler>> {
    Errhandler::create(Target::File, function)
}

/// `MPI_Errhandler_free`: the user holds it once less. Objects that use it keep it.
pub fn errhandler_free(handle: Handle<Errhandler>) -> Result<()> {
    let errhandler = handle.resolve("errhandler")?;
    if errhandler.predefined().is_some() {
        // What MPI_Comm_get_errhandler answers must be freed, predefined or not.
        return Ok(());
    }
    let mut held = errhandler.held();
    held.1 -= 1;
    if held.1 == 0 {
        let last = handle.remove("errhandler")?;
        drop(held);
        drop(last);
    }
    Ok(())
}
