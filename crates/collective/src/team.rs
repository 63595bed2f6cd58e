//! Teams: processes that make collective calls together, with message spaces of their own.
//!
//! A team is what an algorithm's [`Link`](crate::link::Link) is made for, whatever programs call it: an MPI communicator, an
//! OpenSHMEM team, an ARMCI or Global Arrays group. Its members have agreed on its context, and make it and let go of it alike.
//! Calls of one kind (blocking, completed by a request, persistent) on one team follow each other in the same order at all
//! members.

pub mod failure;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use isthmus_engine::{ContextId, Peer};

use crate::members::Members;
use crate::shared::Control;

use failure::Health;

/// Processes that make collective calls together.
#[derive(Debug)]
pub struct Team {
    /// See [`Self::context`]. Set once more if it is not known at first.
    context: AtomicU32,
    members: Members,
    /// The other side, of what has two.
    remote: Option<Members>,
    /// Without whom it is of no use, besides.
    beyond: Option<Members>,
    rank: i32,
    size: i32,
    /// Blocking calls so far.
    collectives: AtomicU32,
    /// Non-blocking ones.
    immediates: AtomicU32,
    /// Persistent ones made so far.
    persistents: AtomicU32,
    /// What its members share in memory.
    pub(crate) shared: Control,
    health: Health,
    this: Weak<Team>,
}

/// Tags of calls are smaller, even or odd; a power of two, so that counters may come around.
const BLOCKING_OR_NOT: u32 = 1 << 28;
/// Tags of what ranks say once in the life of a team begin here.
const SETUP: i32 = 3 << 27;
/// Tags of persistent collectives begin here.
const PERSISTENT: i32 = LARGEST_TAG / 2;
/// `MPI_TAG_UB`.
const LARGEST_TAG: i32 = 0x3fff_ffff;

impl Team {
    /// The team of `members`, of which the calling process has this rank; all have agreed on `context`: a number which nothing else
    /// uses, like the one after it. Even, since a message about a job that hangs takes what waits in an odd one for a collective call.
    /// Does not block.
    pub fn new(members: Members, rank: usize, context: ContextId) -> Arc<Self> {
        Self::with(members, rank, context, None, None)
    }

    /// The same, with another group that calls go to and come from (an intercommunicator, MPI-5.0 §7.6).
    pub fn between(members: Members, remote: Members, rank: usize, context: ContextId) -> Arc<Self> {
        Self::with(members, rank, context, Some(remote), None)
    }

    /// The same, of no use without those `beyond` either, whom no call goes to.
    pub fn depending(members: Members, beyond: Members, rank: usize, context: ContextId) -> Arc<Self> {
        Self::with(members, rank, context, None, Some(beyond))
    }

    fn with(
        members: Members,
        rank: usize,
        context: ContextId,
        remote: Option<Members>,
        beyond: Option<Members>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            context: AtomicU32::new(context.0),
            rank: rank as i32,
            size: members.len(),
            members,
            remote,
            beyond,
            collectives: AtomicU32::new(0),
            immediates: AtomicU32::new(0),
            persistents: AtomicU32::new(0),
            shared: Control::default(),
            health: Health::default(),
            this: this.clone(),
        })
    }

    /// A share in it, for what outlives the caller's.
    pub fn share(&self) -> Arc<Self> {
        let this = self.this.upgrade();
        this.unwrap_or_else(|| unreachable!("teams live in an Arc from the start"))
    }

    /// Its members have agreed on another context now, before anything else is called on it.
    pub fn agree_on(&self, context: ContextId) {
        self.context.store(context.0, Ordering::Relaxed);
    }

    /// The message space that is the caller's own.
    #[inline]
    pub fn context(&self) -> ContextId {
        ContextId(self.context.load(Ordering::Relaxed))
    }

    /// The message space of collective calls.
    #[inline]
    pub fn collective_context(&self) -> ContextId {
        ContextId(self.context.load(Ordering::Relaxed) + 1)
    }

    /// The calling process's rank among its members.
    #[inline]
    pub fn rank(&self) -> i32 {
        self.rank
    }

    /// Number of members.
    #[inline]
    pub fn size(&self) -> i32 {
        self.size
    }

    /// Its members.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// Those on the other side.
    pub fn remote_members(&self) -> Option<&Members> {
        self.remote.as_ref()
    }

    /// Has it another side?
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.remote.is_some()
    }

    /// Number of those on the other side; 0 if there is none.
    #[inline]
    pub fn remote_size(&self) -> i32 {
        self.remote.as_ref().map_or(0, Members::len)
    }

    /// The ranks that its calls concern: members, the other side, and ranks whose failure makes it useless.
    pub fn everyone(&self) -> impl Iterator<Item = &Members> {
        [Some(&self.members), self.remote.as_ref(), self.beyond.as_ref()]
            .into_iter()
            .flatten()
    }

    /// The member with this rank.
    #[inline]
    pub fn peer(&self, rank: i32) -> Option<Peer> {
        self.members.peer(rank)
    }

    /// A member by its rank, or one of the other side behind them.
    #[inline]
    pub(crate) fn peer_at(&self, place: usize) -> Option<Peer> {
        match place.checked_sub(self.size as usize) {
            None => self.members.peer(place as i32),
            Some(rank) => self.remote.as_ref()?.peer(rank as i32),
        }
    }

    /// No call on it can go well any more: what others have staged for the calling process is theirs again.
    pub fn give_up(&self) {
        self.shared.give_up();
    }

    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// The tag of the next blocking collective call, by which no two calls in flight are taken for one another: an even
    /// number.
    #[inline]
    pub(crate) fn next_collective(&self) -> i32 {
        // Calls on one team follow each other, so there is nobody to race with.
        let number = self.collectives.load(Ordering::Relaxed);
        self.collectives.store(number.wrapping_add(1), Ordering::Relaxed);
        (number.wrapping_mul(2) % BLOCKING_OR_NOT) as i32
    }

    /// The tag that comes when half of all have come since this one.
    pub(crate) fn opposite(tag: i32) -> i32 {
        match tag - PERSISTENT {
            ..0 => (tag + BLOCKING_OR_NOT as i32 / 2) % BLOCKING_OR_NOT as i32,
            number => PERSISTENT + (number + PERSISTENT / 2) % PERSISTENT,
        }
    }

    /// The tag of the messages by which ranks come by a board, of which the `first` rank is one: larger than those of checks,
    /// smaller than those of persistent collectives. Odd: it is for non-blocking calls.
    pub(crate) fn setup_tag(first: usize, is_for_requests: bool) -> i32 {
        SETUP + 2 * first as i32 + i32::from(is_for_requests)
    }

    /// The tag of the next non-blocking collective call: an odd number. The MPI standard wants all calls in one order, but
    /// programs mix blocking and non-blocking ones that every other library keeps apart (mpi4py's own suite does).
    pub fn next_immediate(&self) -> i32 {
        // Calls follow each other, so there is nobody to race with.
        let number = self.immediates.load(Ordering::Relaxed);
        self.immediates.store(number.wrapping_add(1), Ordering::Relaxed);
        Self::immediate_tag(number)
    }

    /// The tag of the non-blocking collective call with this number.
    pub fn immediate_tag(number: u32) -> i32 {
        (number.wrapping_mul(2) % BLOCKING_OR_NOT) as i32 + 1
    }

    /// The tag of a new persistent collective, however often it is started. Larger than those of calls, which may come
    /// around while it lives, and smaller than those of agreements.
    pub fn next_persistent(&self) -> i32 {
        PERSISTENT + (self.persistents.fetch_add(1, Ordering::Relaxed) % PERSISTENT as u32) as i32
    }
}
