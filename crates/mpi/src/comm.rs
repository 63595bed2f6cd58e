//! Communicators (MPI-5.0 §7.4).

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_engine::{ContextId, Peer};

use crate::attribute::{Attributes, Cached, Keyvals};
use crate::errhandler::Errhandler;
use crate::error::Class;
use crate::group::{Group, Members};
use crate::handle::{Handle, Kind, Object, Table};
use crate::info::Info;

/// A group of processes and a message space of their own.
pub struct Comm {
    /// Point-to-point messages; collectives use [`Self::collective_context`].
    pub context: ContextId,
    /// The local group.
    pub group: Arc<Group>,
    /// What happens when a call on this communicator fails.
    pub errhandler: Mutex<Arc<Errhandler>>,
    /// What users attached.
    pub attributes: Attributes<Comm>,
    /// What users call it.
    pub name: Mutex<String>,
    /// Hints in use.
    pub info: Info,
    /// The other side of an intercommunicator.
    remote: Option<Arc<Group>>,
    /// Whom ranks name in point-to-point calls: the remote group if there is one, else the local.
    targets: Members,
    rank: i32,
    size: i32,
    handle: OnceLock<Handle<Comm>>,
}

/// `MPI_COMM_WORLD`.
pub const COMM_WORLD: Handle<Comm> = Handle::from_raw(0x101);
/// `MPI_COMM_SELF`.
pub const COMM_SELF: Handle<Comm> = Handle::from_raw(0x102);

static TABLE: Table<Comm> = Table::new();
static KEYVALS: Keyvals<Comm> = Keyvals::new(12);

impl Object for Comm {
    const KIND: Kind = Kind::Comm;
    const INVALID: Class = Class::Comm;
    const NULL: u32 = 0x100;
    const NAME: &'static str = "MPI_Comm";
    #[inline]
    fn table() -> &'static Table<Self> {
        &TABLE
    }
}

impl Cached for Comm {
    fn keyvals() -> &'static Keyvals<Self> {
        &KEYVALS
    }
}

impl Comm {
    /// A communicator over `group`, whose members agreed on `context`.
    pub(crate) fn intra(context: ContextId, group: Arc<Group>, errhandler: Arc<Errhandler>) -> Self {
        let targets = group.members().clone();
        Self::new(context, group, None, targets, errhandler)
    }

    fn new(
        context: ContextId,
        group: Arc<Group>,
        remote: Option<Arc<Group>>,
        targets: Members,
        errhandler: Arc<Errhandler>,
    ) -> Self {
        Self {
            context,
            rank: group.rank(),
            size: group.size(),
            group,
            errhandler: Mutex::new(errhandler),
            attributes: Attributes::new(),
            name: Mutex::default(),
            info: Info::default(),
            remote,
            targets,
            handle: OnceLock::new(),
        }
    }

    /// The message space of collective calls.
    #[inline]
    pub fn collective_context(&self) -> ContextId {
        ContextId(self.context.0 + 1)
    }

    /// The calling process's rank in the local group.
    #[inline]
    pub fn rank(&self) -> i32 {
        self.rank
    }

    /// Number of processes in the local group.
    #[inline]
    pub fn size(&self) -> i32 {
        self.size
    }

    /// Number of processes that ranks name in point-to-point calls: the remote group's on an intercommunicator.
    #[inline]
    pub fn remote_size(&self) -> i32 {
        self.targets.len()
    }

    /// Is it an intercommunicator?
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// The process that `rank` names in point-to-point calls; `None` if there is no such rank.
    #[inline]
    pub fn peer(&self, rank: i32) -> Option<Peer> {
        self.targets.peer(rank)
    }

    /// The handle by which users hold it.
    pub fn handle(&self) -> Handle<Comm> {
        self.handle.get().copied().unwrap_or(Handle::NULL)
    }

    /// The error handler in force.
    pub fn current_errhandler(&self) -> Arc<Errhandler> {
        Arc::clone(&self.errhandler.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn name(&self) -> MutexGuard<'_, String> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
