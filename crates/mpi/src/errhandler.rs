//! Error handlers, and the way from an error to its handler (MPI-5.0 §9.3).

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::comm::{COMM_SELF, COMM_WORLD, Comm};
use crate::environment::{self, codes};
use crate::error::{Class, Completing, Error, Result};
use crate::fail;
use crate::handle::{Handle, Kind, Object, Table};
use crate::liveness;
use crate::session::Session;
use crate::win::Win;

/// A user's error handler: (canonical raw handle of the object, canonical error code).
pub type ErrorFn = Box<dyn Fn(u32, i32) + Send + Sync>;

/// What kind of object a user's error handler is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
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
    const KIND: Kind = Kind::Errhandler;
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

impl Errhandler {
    fn create(target: Target, function: ErrorFn) -> Result<Handle<Self>> {
        let errhandler = Arc::new(Self {
            action: Action::User(target, function),
            held: Mutex::new((Handle::NULL, 0)),
        });
        errhandler.hold()
    }

    /// One more hold by the user.
    fn hold(self: &Arc<Self>) -> Result<Handle<Self>> {
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
    fn share_for(&self, target: Target) -> Result<Arc<Self>> {
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
    fn is_for(&self, target: Target) -> bool {
        !matches!(self.action, Action::User(own, _) if own != target)
    }

    fn held(&self) -> MutexGuard<'_, (Handle<Self>, u32)> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Do what is to be done about `error`, which `procedure` met on the object `raw`. Does not return if it is fatal.
    fn handle(&self, raw: u32, procedure: &str, error: &Error) {
        match &self.action {
            Action::Return => {}
            Action::User(_, function) => function(raw, error.code()),
            Action::Fatal | Action::Abort => {
                isthmus_engine::abort(error.code(), &environment::line(procedure, error));
            }
        }
    }
}

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
}

/// `MPI_FILE_NULL`, whose error handler is the one that new files get, and the one for errors without a file (MPI-5.0
/// §14.7).
const FILE_NULL: u32 = 0x118;

/// The error handler of `MPI_FILE_NULL`; `None`: `MPI_ERRORS_RETURN`, as it is at first.
static FOR_FILES: Mutex<Option<Arc<Errhandler>>> = Mutex::new(None);

fn for_files() -> Result<Arc<Errhandler>> {
    let set = FOR_FILES.lock().unwrap_or_else(PoisonError::into_inner).clone();
    set.map_or_else(|| ERRORS_RETURN.share("errhandler"), Ok)
}

/// `procedure` (as in `MPI_Send`) failed with `error`: tell the error handler, of the communicator of the request that failed
/// where there is one. The canonical code that the call returns, if it returns.
#[cold]
pub fn raise(scope: Scope, procedure: &str, error: &Error) -> i32 {
    codes::remember(procedure, error);
    let requests = error.completion().and_then(|completion| completion.scope.as_ref());
    let (errhandler, raw) = match requests {
        Some(comm) => (Some(comm.errhandler()), comm.handle().raw()),
        None => find(scope),
    };
    match errhandler {
        Some(errhandler) => errhandler.handle(raw, procedure, error),
        None => isthmus_engine::abort(error.code(), &environment::line(procedure, error)),
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
static LIKE_WORLD: Mutex<Weak<Comm>> = Mutex::new(Weak::new());

/// Whose error handler hears of errors without an object: that of `MPI_COMM_SELF` if the program has set it, or else of
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
