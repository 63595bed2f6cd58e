//! Communicators (MPI-5.0 §7.4): what they are and what they answer. How they are made stands in `comm/create.rs`.

mod agreement;
mod attributes;
pub(crate) mod context;
mod create;
mod free;
mod hints;
mod idup;
mod inter;
mod split;
pub(crate) mod world;

use std::ffi::CStr;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_collective::Team;
use isthmus_engine::{ContextId, Peer};

use crate::attribute::{Attributes, Cached, Keyvals};
use crate::coll::check::Checks;
use crate::constants::{CONGRUENT, IDENT, MAX_OBJECT_NAME, SIMILAR, UNEQUAL};
use crate::errhandler::Errhandler;
use crate::error::{Class, Result};
use crate::fail;
use crate::group::{self, Group, Members};
use crate::handle::{Handle, Object, ObjectKind, Table};
use crate::liveness::Health;
use crate::process;
use crate::topology::Topology;

pub use attributes::{comm_create_keyval, comm_delete_attr, comm_free_keyval, comm_get_attr, comm_set_attr};
pub(crate) use create::digest;
pub use create::{comm_create, comm_create_from_group, comm_create_group, comm_dup, comm_dup_with_info};
pub use free::{comm_disconnect, comm_free};
pub use hints::{Hints, Promise, comm_get_info, comm_set_info};
pub use idup::{comm_idup, comm_idup_with_info};
pub(crate) use inter::gather_both;
pub use inter::{intercomm_create, intercomm_create_from_groups, intercomm_merge};
pub(crate) use split::split;
pub use split::{SHARED_MEMORY, comm_split, comm_split_type, resource_type};

/// A group of processes and a message space of their own.
pub struct Comm {
    /// See [`Self::context`]. Set once more if it is not known at first.
    context: AtomicU32,
    /// The local group.
    pub group: Arc<Group>,
    /// What users attached.
    pub attributes: Attributes<Comm>,
    errhandler: Mutex<Arc<Errhandler>>,
    /// Has the program set the error handler?
    has_set_errhandler: AtomicBool,
    name: Mutex<String>,
    /// The promises.
    pub hints: Hints,
    /// The other side of an intercommunicator.
    remote: Option<Box<Remote>>,
    /// The group that ranks name in point-to-point calls: the remote group if there is one, else the local.
    targets: Members,
    rank: i32,
    size: i32,
    /// Its topology, if it has one.
    pub(crate) topology: Option<Arc<Topology>>,
    team: Arc<Team>,
    /// Whether its ranks call the same.
    pub(crate) checks: Checks,
    health: Health,
    handle: OnceLock<Handle<Comm>>,
}

/// What intercommunicators have more.
struct Remote {
    group: Arc<Group>,
    /// An intracommunicator of the local group, for the library's own use.
    local: Arc<Comm>,
}

/// `MPI_COMM_WORLD`.
pub const COMM_WORLD: Handle<Comm> = Handle::from_raw(0x101);
/// `MPI_COMM_SELF`.
pub const COMM_SELF: Handle<Comm> = Handle::from_raw(0x102);

static TABLE: Table<Comm> = Table::new();
static KEYVALS: Keyvals<Comm> = Keyvals::new(12);

impl Object for Comm {
    const KIND: ObjectKind = ObjectKind::Comm;
    const INVALID: Class = Class::Comm;
    const NULL: u32 = 0x100;
    const NAME: &'static str = "MPI_Comm";
    #[inline]
    fn table() -> &'static Table<Self> {
        &TABLE
    }

    fn absent(raw: u32) -> Option<&'static str> {
        let is_ours = [COMM_WORLD.raw(), COMM_SELF.raw()].contains(&raw);
        // Once there is a world, they are live.
        is_ours.then(|| match process::finalized() {
            Ok(true) => "is gone since MPI_Finalize; sessions make communicators of their own",
            _ => "needs MPI_Init; a session has no MPI_COMM_WORLD",
        })
    }
}

/// What a communicator says as a team.
impl Deref for Comm {
    type Target = Team;

    #[inline]
    fn deref(&self) -> &Team {
        &self.team
    }
}

impl Cached for Comm {
    fn keyvals() -> &'static Keyvals<Self> {
        &KEYVALS
    }
}

impl Comm {
    /// A communicator over `group`, whose members agreed on `context`.
    fn intra(context: ContextId, group: Arc<Group>, errhandler: Arc<Errhandler>) -> Self {
        let targets = group.members().clone();
        let team = Team::new(targets.clone(), group.rank() as usize, context);
        Self::new(team, group, None, targets, errhandler)
    }

    /// An intercommunicator between `group` and `remote`, whose members agreed on `context` and the pair after it.
    fn inter(context: ContextId, group: Arc<Group>, remote: Arc<Group>, errhandler: Arc<Errhandler>) -> Self {
        let targets = remote.members().clone();
        let local_context = ContextId(context.0 + 2);
        let (members, rank) = (group.members().clone(), group.rank() as usize);
        let team = Team::depending(members.clone(), targets.clone(), rank, local_context);
        let local = Self::new(team, Arc::clone(&group), None, members.clone(), Arc::clone(&errhandler));
        let local = Arc::new(local);
        let remote = Remote { group: remote, local };
        let team = Team::between(members, targets.clone(), rank, context);
        Self::new(team, group, Some(Box::new(remote)), targets, errhandler)
    }

    fn new(
        team: Arc<Team>,
        group: Arc<Group>,
        remote: Option<Box<Remote>>,
        targets: Members,
        errhandler: Arc<Errhandler>,
    ) -> Self {
        Self {
            context: AtomicU32::new(team.context().0),
            rank: group.rank(),
            size: group.size(),
            group,
            attributes: Attributes::new(),
            errhandler: Mutex::new(errhandler),
            has_set_errhandler: AtomicBool::new(false),
            name: Mutex::default(),
            hints: Hints::default(),
            remote,
            targets,
            topology: None,
            team,
            checks: Checks::default(),
            health: Health::default(),
            handle: OnceLock::new(),
        }
    }

    /// Hand it to the user.
    pub(crate) fn publish(self) -> Result<Handle<Self>> {
        let comm = Arc::new(self);
        let handle = TABLE.insert(Arc::clone(&comm))?;
        // It was made by our caller, so its handle is not set yet.
        let _ = comm.handle.set(handle);
        Ok(handle)
    }

    /// Its members have agreed now.
    fn agree_on(&self, context: ContextId) {
        self.context.store(context.0, Ordering::Relaxed);
        self.team.agree_on(context);
        if let Some(remote) = &self.remote {
            remote.local.agree_on(ContextId(context.0 + 2));
        }
    }

    /// The message space of point-to-point calls.
    #[inline]
    pub fn context(&self) -> ContextId {
        ContextId(self.context.load(Ordering::Relaxed))
    }

    /// Its processes as those see them who know no communicators: what collective calls go through.
    #[inline]
    pub fn team(&self) -> &Team {
        &self.team
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
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// The remote group of an intercommunicator.
    pub fn remote_group(&self) -> Option<&Arc<Group>> {
        self.remote.as_ref().map(|remote| &remote.group)
    }

    /// An intracommunicator of the local group, for the library's own messages: the communicator itself, unless it is an
    /// intercommunicator.
    pub fn local(&self) -> &Comm {
        self.remote.as_ref().map_or(self, |remote| &remote.local)
    }

    /// The process that `rank` names in point-to-point calls; `None` if there is no such rank.
    #[inline]
    pub fn peer(&self, rank: i32) -> Option<Peer> {
        self.targets.peer(rank)
    }

    /// What it knows of its dead.
    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// The handle by which users hold it; the null handle if it is the library's own.
    pub fn handle(&self) -> Handle<Comm> {
        self.handle.get().copied().unwrap_or(Handle::NULL)
    }

    /// The error handler in force.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        Arc::clone(&self.errhandler.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_errhandler(&self, errhandler: Arc<Errhandler>) {
        *self.errhandler.lock().unwrap_or_else(PoisonError::into_inner) = errhandler;
        self.has_set_errhandler.store(true, Ordering::Relaxed);
    }

    /// Has the program set the error handler itself, rather than inherited it?
    pub(crate) fn has_set_errhandler(&self) -> bool {
        self.has_set_errhandler.load(Ordering::Relaxed)
    }

    /// Is it a duplicate of `MPI_COMM_WORLD`, or as good as one: the same processes in the same order?
    pub(crate) fn is_like_world(&self) -> bool {
        let everyone = process::world().size;
        ![COMM_WORLD, COMM_SELF].contains(&self.handle())
            && !self.is_inter()
            && self.size as u32 == everyone
            && group::compare(self.group.members(), &Members::first(everyone)) == IDENT
    }

    /// What to call it, for messages.
    pub(crate) fn label(&self) -> String {
        match &**self.name() {
            "" if self.is_inter() => format!("an intercommunicator of {} and {} ranks", self.size, self.remote_size()),
            "" => format!("a communicator of {} ranks", self.size),
            name => name.to_owned(),
        }
    }

    fn name(&self) -> MutexGuard<'_, String> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `MPI_Comm_size`: of the local group.
pub fn comm_size(comm: &Comm) -> Result<i32> {
    Ok(comm.size)
}

/// `MPI_Comm_rank`: in the local group.
pub fn comm_rank(comm: &Comm) -> Result<i32> {
    Ok(comm.rank)
}

/// `MPI_Comm_test_inter`.
pub fn comm_test_inter(comm: &Comm) -> Result<bool> {
    Ok(comm.is_inter())
}

fn remote(comm: &Comm) -> Result<&Arc<Group>> {
    comm.remote_group()
        .ok_or_else(|| fail!(Comm, "comm={:?} is not an intercommunicator", comm.handle()))
}

/// `MPI_Comm_remote_size`.
pub fn comm_remote_size(comm: &Comm) -> Result<i32> {
    Ok(remote(comm)?.size())
}

/// `MPI_Comm_group`: the local group.
pub fn comm_group(comm: &Comm) -> Result<Handle<Group>> {
    Group::table().insert(Arc::clone(&comm.group))
}

/// `MPI_Comm_remote_group`.
pub fn comm_remote_group(comm: &Comm) -> Result<Handle<Group>> {
    Group::table().insert(Arc::clone(remote(comm)?))
}

/// `MPI_Comm_compare`: `IDENT`, `CONGRUENT`, `SIMILAR` or `UNEQUAL`.
pub fn comm_compare(comm1: &Comm, comm2: &Comm) -> Result<i32> {
    if std::ptr::eq(comm1, comm2) {
        return Ok(IDENT);
    }
    comm1.group.common_session(&comm2.group)?;
    let local = group::compare(comm1.group.members(), comm2.group.members());
    let remote = match (comm1.remote_group(), comm2.remote_group()) {
        (None, None) => IDENT,
        (Some(remote1), Some(remote2)) => group::compare(remote1.members(), remote2.members()),
        _ => UNEQUAL,
    };
    Ok(match (local, remote) {
        (UNEQUAL, _) | (_, UNEQUAL) => UNEQUAL,
        (IDENT, IDENT) => CONGRUENT,
        _ => SIMILAR,
    })
}

/// `MPI_Comm_set_name`. A longer name is cut.
pub fn comm_set_name(comm: &Comm, comm_name: &CStr) -> Result<()> {
    let mut name = comm_name.to_string_lossy().into_owned();
    process::cut(&mut name, MAX_OBJECT_NAME - 1);
    *comm.name() = name;
    Ok(())
}

/// `MPI_Comm_get_name`. The null handle has a name too.
pub fn comm_get_name(handle: Handle<Comm>) -> Result<String> {
    if handle.is_null() {
        return Ok("MPI_COMM_NULL".to_owned());
    }
    Ok(handle.resolve("comm")?.name().clone())
}

/// `MPI_Comm_get_parent`: the null handle, since no process is spawned by another.
pub fn comm_get_parent() -> Result<Handle<Comm>> {
    Ok(Handle::NULL)
}
