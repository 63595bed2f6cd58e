//! Windows: memory that processes open to one another (MPI-5.0 §12).
//!
//! The engine moves bytes (`isthmus_engine::rma`); here is what MPI adds: access rules. Synchronisation goes by counts and
//! locks in memory that the members of a node map (`control.rs`), so among them no call but those that make a window sends a message, and a
//! target that computes keeps nobody waiting. Members on other nodes are asked by active messages (`remote.rs`).

mod access;
mod accumulate;
mod attributes;
mod check;
mod control;
mod create;
mod dynamic;
mod epoch;
mod fence;
mod general;
mod hints;
mod lock;
mod operation;
mod passive;
mod query;
mod record;
mod remote;
mod target;

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_engine::rma::{self, Flow, RegionKey};
use isthmus_engine::{Cause, Entered, Peer, fault_events};

use crate::attribute::{Attributes, Cached, Keyvals};
use crate::errhandler::Errhandler;
use crate::error::{Class, Result};
use crate::fail;
use crate::group::Group;
use crate::handle::{Handle, Object, ObjectKind, Table};

pub use access::{Origin, TargetElements, get, put, rget, rput};
pub use accumulate::{accumulate, compare_and_swap, fetch_and_op, get_accumulate, raccumulate, rget_accumulate};
pub use attributes::{
    ABIS, Value, Words, win_create_keyval, win_delete_attr, win_free_keyval, win_get_attr, win_set_attr,
};
pub use check::say_what_is_open;
pub use create::{win_allocate, win_allocate_shared, win_create, win_create_dynamic, win_free};
pub use dynamic::{win_attach, win_detach};
pub use fence::win_fence;
pub use general::{win_complete, win_post, win_start, win_test, win_wait};
pub use hints::{win_get_info, win_set_info};
pub use passive::{
    win_flush, win_flush_all, win_flush_local, win_flush_local_all, win_lock, win_lock_all, win_sync, win_unlock,
    win_unlock_all,
};
pub use query::{win_get_group, win_get_name, win_set_name, win_shared_query};
pub use remote::handle as handle_active;

use control::{MemberPart, OwnPart, Plan, Seats};
use dynamic::Attachments;
use epoch::Epochs;
use hints::Hints;
use remote::Away;
use target::Targets;

/// How a window came by its memory; the numbers are the standard's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
#[allow(missing_docs)] // The names are the standard's.
pub enum Flavor {
    Create = 311,
    Allocate = 312,
    Dynamic = 313,
    Shared = 314,
}

/// Memory that goes with the window.
#[derive(Debug, Clone, Copy)]
enum WindowMemory {
    /// The user's.
    Foreign,
    /// Ours, from the shared heap.
    Ours(NonNull<u8>),
}

/// A window, as one of its members sees it.
pub struct Win {
    flavor: Flavor,
    group: Arc<Group>,
    size: usize,
    plan: Plan,
    own: OwnPart,
    seats: Seats,
    /// If the members are on several nodes.
    away: Option<Box<Away>>,
    base: *mut u8,
    bytes: i64,
    unit: i64,
    memory: WindowMemory,
    targets: Targets,
    /// If it is dynamic.
    attachments: Option<Box<Attachments>>,
    flow: Flow,
    epochs: Epochs,
    hints: Hints,
    /// `ISTHMUS_CHECK`.
    is_checked: bool,
    attributes: Attributes<Win>,
    errhandler: Mutex<Arc<Errhandler>>,
    name: Mutex<Box<str>>,
    words: OnceLock<Box<[Words; ABIS]>>,
    handle: OnceLock<Handle<Win>>,
}

// There are programs with thousands of windows: with the counts of an `Arc` it takes no more than `malloc` has in one step of 16 bytes.
const _: () = assert!(size_of::<Win>() <= 296);

// SAFETY: the pointers name the user's memory and the window's own; they are followed only by operations, which the standard lets
// threads make at a time.
unsafe impl Send for Win {}
// SAFETY: as above; what changes is atomic or under a lock.
unsafe impl Sync for Win {}

static KEYVALS: Keyvals<Win> = Keyvals::new(14);

impl Object for Win {
    const KIND: ObjectKind = ObjectKind::Win;
    const INVALID: Class = Class::Win;
    const NULL: u32 = 0x110;
    const NAME: &'static str = "MPI_Win";
    #[inline]
    fn table() -> &'static Table<Self> {
        static TABLE: Table<Win> = Table::new();
        &TABLE
    }
}

impl Cached for Win {
    fn keyvals() -> &'static Keyvals<Self> {
        &KEYVALS
    }
}

impl Win {
    /// The calling process among the members.
    #[inline]
    fn rank(&self) -> usize {
        self.group.rank() as usize
    }

    /// The handle by which users hold it.
    pub fn handle(&self) -> Handle<Win> {
        self.handle.get().copied().unwrap_or(Handle::NULL)
    }

    /// The error handler in force.
    pub(crate) fn errhandler(&self) -> Arc<Errhandler> {
        Arc::clone(&self.errhandler.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn set_errhandler(&self, errhandler: Arc<Errhandler>) {
        *self.errhandler.lock().unwrap_or_else(PoisonError::into_inner) = errhandler;
    }

    fn name(&self) -> MutexGuard<'_, Box<str>> {
        self.name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to call it, for messages.
    fn label(&self) -> String {
        match &**self.name() {
            "" => format!("a window of {} ranks", self.size),
            name => name.to_owned(),
        }
    }

    /// The place of a rank; an error if there is none such.
    #[inline(always)]
    fn member(&self, argument: &str, rank: i32) -> Result<usize> {
        match usize::try_from(rank) {
            Ok(member) if member < self.size => Ok(member),
            _ => Err(self.no_member(argument, rank)),
        }
    }

    #[cold]
    fn no_member(&self, argument: &str, rank: i32) -> crate::error::Error {
        fail!(Rank, "{argument}={rank}, but the window has {} ranks", self.size)
    }

    /// The part of a member of this node; `None`: it is on another one.
    #[inline]
    fn part(&self, member: usize) -> Option<MemberPart> {
        self.seats.part(member)
    }

    /// What of a member's memory is exposed.
    fn key(&self, member: usize) -> RegionKey {
        match self.seats.away(member) {
            Some((_, key, _)) => key,
            None => self.part(member).map_or(RegionKey::NONE, |part| part.key()),
        }
    }

    /// Bytes of a displacement at a member.
    fn unit(&self, member: usize) -> i64 {
        match self.seats.away(member) {
            Some((.., unit)) => unit,
            None => self.part(member).map_or(1, |part| part.unit()),
        }
    }

    /// Wake a member: something has changed that it may wait for.
    fn wake(&self, member: usize) {
        if member != self.rank()
            && self.part(member).is_some()
            && let Some(peer) = self.group.peer(member as i32)
        {
            // There is such a process.
            let _ = rma::wake(peer);
        }
    }

    /// The call waits for this member to come to the one that goes with it.
    fn awaits(&self, inside: &mut Entered, member: usize) {
        if let Some(Peer(peer)) = self.group.peer(member as i32) {
            inside.waits_for(Cause::Comes(peer));
        }
    }

    /// Has this member failed? Not asked while the job is whole.
    fn has_failed(&self, inside: &mut Entered, member: usize) -> bool {
        fault_events() != 0
            && self
                .group
                .peer(member as i32)
                .is_some_and(|peer| inside.has_failed(peer))
    }

    /// Fails if any member has.
    fn check_whole(&self, inside: &mut Entered) -> Result<()> {
        if fault_events() == 0 {
            return Ok(());
        }
        match (0..self.size).find(|&member| self.has_failed(inside, member)) {
            Some(dead) => Err(self.failed(dead)),
            None => Ok(()),
        }
    }

    #[cold]
    fn failed(&self, member: usize) -> crate::error::Error {
        fail!(ProcFailed, "rank {member} of {} has failed", self.label())
    }
}
