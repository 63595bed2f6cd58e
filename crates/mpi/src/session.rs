//! Sessions and process sets (MPI-5.0 §11.3).

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::constants::THREAD_MULTIPLE;
use crate::environment;
use crate::errhandler::Errhandler;
use crate::error::{Class, Result};
use crate::fail;
use crate::group::{Group, Members, publish};
use crate::handle::{Handle, Object, ObjectKind, Table};
use crate::info::Info;
use crate::process::{self, SessionId, kinds};
use crate::{liveness, p2p};

/// An instance of MPI, independent of others in the process.
pub struct Session {
    id: SessionId,
    errhandler: Mutex<Arc<Errhandler>>,
    handle: OnceLock<Handle<Session>>,
    /// The thread level granted.
    level: i32,
}

impl Object for Session {
    const KIND: ObjectKind = ObjectKind::Session;
    const INVALID: Class = Class::Session;
    const NULL: u32 = 0x120;
    const NAME: &'static str = "MPI_Session";
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Session> = Table::new();
        &TABLE
    }
}

impl Session {
    /// Which it is.
    pub(crate) fn id(&self) -> SessionId {
        self.id
    }

    /// The handle by which the user holds it.
    pub fn handle(&self) -> Handle<Session> {
        self.handle.get().copied().unwrap_or(Handle::NULL)
    }

    /// The error handler in force.
    pub(crate) fn errhandler(&self) -> Arc<Errhandler> {
        Arc::clone(&self.errhandler.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_errhandler(&self, errhandler: Arc<Errhandler>) {
        *self.errhandler.lock().unwrap_or_else(PoisonError::into_inner) = errhandler;
    }
}

/// The process sets that every session offers: the job, and the process alone.
const PSETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// The members of a process set. Names compare without case, as those of URIs do (MPI-5.0 §11.3.2).
pub(crate) fn pset_members(name: &str) -> Option<Members> {
    match PSETS.iter().position(|pset| pset.eq_ignore_ascii_case(name))? {
        0 => Some(Members::first(process::world().size)),
        _ => Some(Members::from_peers(process::me().into_iter().collect())),
    }
}

fn checked_pset(name: &CStr) -> Result<Members> {
    let name = name.to_string_lossy();
    pset_members(&name).ok_or_else(|| fail!(Arg, "pset_name=\"{name}\" is not a process set"))
}

/// `MPI_Session_init`: joins the job if the process has not. The info's `thread_level` is granted as `MPI_Init_thread`
/// would; without it the session gets as much as it can, since it may be one of several that know nothing of each other.
pub fn session_init(info: Option<&Info>, errhandler: &Errhandler) -> Result<Handle<Session>> {
    let errhandler = errhandler.share_for_session()?;
    let asked = info.and_then(|info| info.value("thread_level"));
    let level = match asked {
        None => THREAD_MULTIPLE,
        Some(name) => environment::thread_level(&name)
            .ok_or_else(|| fail!(InfoValue, "thread_level=\"{name}\" is not the name of a thread level"))?,
    };
    let level = environment::join(level)?;
    liveness::attach(&errhandler);
    static SESSIONS: AtomicU64 = AtomicU64::new(0);
    let id = SessionId(SESSIONS.fetch_add(1, Ordering::Relaxed));
    if let Some(asked) = info.and_then(|info| info.value("mpi_memory_alloc_kinds")) {
        kinds::ask(id, asked);
    }
    let session = Arc::new(Session {
        id,
        errhandler: Mutex::new(errhandler),
        handle: OnceLock::new(),
        level,
    });
    let handle = Session::table().insert(Arc::clone(&session))?;
    // The session was made here, so its handle is not set yet.
    let _ = session.handle.set(handle);
    Ok(handle)
}

/// `MPI_Session_finalize`: what this process sent through the session is on its way when this returns.
pub fn session_finalize(handle: Handle<Session>) -> Result<()> {
    let session = handle.remove("session")?;
    let drained = p2p::drain();
    p2p::forget_session(session.id);
    kinds::forget(session.id);
    environment::leftovers::say_own("MPI_Session_finalize");
    environment::part();
    drained
}

/// `MPI_Session_get_info`: the hints in use.
pub fn session_get_info(session: &Session) -> Result<Handle<Info>> {
    Info::from_pairs([
        ("thread_level", environment::thread_level_name(session.level).to_owned()),
        ("mpi_memory_alloc_kinds", kinds::memory_alloc_kinds(Some(session.id))),
    ])
    .publish()
}

/// `MPI_Session_get_num_psets`.
pub fn session_get_num_psets(_session: &Session, _info: Option<&Info>) -> Result<i32> {
    Ok(PSETS.len() as i32)
}

/// `MPI_Session_get_nth_pset`: the whole name; the caller cuts it and says how long it is.
pub fn session_get_nth_pset(_session: &Session, _info: Option<&Info>, n: i32) -> Result<String> {
    let name = usize::try_from(n).ok().and_then(|n| PSETS.get(n));
    match name {
        Some(name) => Ok((*name).to_owned()),
        None => Err(fail!(Arg, "n={n}, but there are {} process sets", PSETS.len())),
    }
}

/// `MPI_Session_get_pset_info`: `mpi_size`, the number of processes.
pub fn session_get_pset_info(_session: &Session, pset_name: &CStr) -> Result<Handle<Info>> {
    let size = checked_pset(pset_name)?.len();
    Info::from_pairs([("mpi_size", size.to_string())]).publish()
}

/// `MPI_Group_from_session_pset`: the members of a process set.
pub fn group_from_session_pset(session: &Session, pset_name: &CStr) -> Result<Handle<Group>> {
    publish(Some(session.id), checked_pset(pset_name)?)
}
