//! What the members of a window share beside its memory: keys, counts and locks. Each has a part, in the job's memory.
//!
//! # Layout
//! ```text
//! 0     key         RegionKey  what of the member's memory is exposed; none in a dynamic window
//! 48    unit        u64        bytes of a displacement
//! 64    fence       u32        fences that the member has come to
//! 68    left        u32        members that will not look at this part again
//! 72    sequence    u32        of changes of the directory; odd while it is being changed
//! 76    attached    u32        entries of the directory
//! 80    directory   u64        where it lies in the job's memory, 0 while there is none
//! 88    record      u64        where the list of accesses lies in the job's memory, 0 if they are not checked
//! 96    meetings    2 x u32    what the member comes for when it meets the others, by turns, if that is checked
//! 104   met         u32        fences that the members of all nodes have come to, as the leader of a node tells the others
//! 128   exclusive   u32        who holds or awaits the member's lock alone: its rank and one
//! 136   waiters     bits       who is to be woken when the lock changes
//! .     shared      n bytes    who holds the lock with others
//! .     posts       n x u16    how often each target has posted for this origin
//! .     completes   n x u16    how often each origin has completed at this target
//! .     leaders     n x u32    fences that each leader has come to with its node; only if the members are on several nodes
//! ```
//!
//! # Fields
//! A member on another node has no part here ([`Seat::Away`]); what it would write into a part, its owner writes for it (`remote.rs`).
//!
//! A count of a pair is never more than one ahead of its reader: a target posts again only after the origin has completed, and
//! the other way about. So it may wrap.
//!
//! `fence` and what is above `left` are written by the member itself; `shared[o]` and `completes[o]` by `o`, `posts[t]` by `t`. The lock
//! is for all: `exclusive` changes by compare-and-swap, and names its holder, so that it can be taken over from the dead; the dead are
//! skipped in `shared`.
//!
//! # Ordering
//! Counts are published by release stores, after whatever was written before. An origin that wants to share the lock shows its flag and
//! then looks at `exclusive`; one that wants it alone takes `exclusive` and then looks at the flags: with full fences between, one of
//! them sees the other.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use isthmus_engine::rma::{self, RegionKey};

use crate::error::{Class, Error, Result};

const KEY: usize = 0;
const UNIT: usize = 48;
const FENCE: usize = 64;
const LEFT: usize = 68;
const SEQUENCE: usize = 72;
const ATTACHED: usize = 76;
const DIRECTORY: usize = 80;
const RECORD: usize = 88;
const BARRIER_ROUNDS: usize = 96;
const MET: usize = 104;
const EXCLUSIVE: usize = 128;
const WAITERS: usize = 136;

const _: () = assert!(size_of::<RegionKey>() == UNIT);

/// Parts begin at multiples of this.
const GRAIN: u64 = 128;

/// Where things lie in a part, for a number of members.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plan {
    shared: u32,
    posts: u32,
    completes: u32,
    leaders: u32,
    bytes: u32,
}

impl Plan {
    /// `spans`: the members are on several nodes.
    pub fn of(members: usize, spans: bool) -> Self {
        let shared = WAITERS + 8 * members.div_ceil(64);
        let posts = (shared + members).next_multiple_of(64);
        let completes = posts + 2 * members;
        let leaders = (completes + 2 * members).next_multiple_of(4);
        let bytes = leaders + if spans { 4 * members } else { 0 };
        // A communicator has fewer members than there are processes.
        let [shared, posts, completes, leaders, bytes] =
            [shared, posts, completes, leaders, bytes].map(|number| number as u32);
        Self {
            shared,
            posts,
            completes,
            leaders,
            bytes,
        }
    }
}

/// The part of one member, as everybody sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemberPart {
    at: NonNull<u8>,
}

// SAFETY: the memory is atomics in the job's segment, which stays mapped; the key is written before anybody is told of the part.
unsafe impl Send for MemberPart {}
// SAFETY: as above.
unsafe impl Sync for MemberPart {}

impl MemberPart {
    /// The part that a member says it has.
    pub fn at(number: u32, plan: Plan) -> Option<Self> {
        let at = rma::shared_at(u64::from(number) * GRAIN, u64::from(plan.bytes))?;
        Some(Self { at })
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: within the part, by its plan, and aligned.
        unsafe { AtomicU32::from_ptr(self.at.as_ptr().add(at).cast()) }
    }

    fn count(&self, at: usize) -> &AtomicU16 {
        // SAFETY: as above.
        unsafe { AtomicU16::from_ptr(self.at.as_ptr().add(at).cast()) }
    }

    fn long(&self, at: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.at.as_ptr().add(at).cast()) }
    }

    /// By the member, before anybody knows of the part.
    pub fn expose(&self, key: RegionKey, unit: i64) {
        // SAFETY: ours alone yet.
        unsafe { self.at.as_ptr().add(KEY).cast::<RegionKey>().write(key) };
        self.long(UNIT).store(unit as u64, Ordering::Relaxed);
    }

    pub fn key(&self) -> RegionKey {
        // SAFETY: within the part; any bits are a key, which is checked when it is used.
        unsafe { self.at.as_ptr().add(KEY).cast::<RegionKey>().read_volatile() }
    }

    pub fn unit(&self) -> i64 {
        self.long(UNIT).load(Ordering::Relaxed) as i64
    }

    pub fn fence(&self) -> &AtomicU32 {
        self.word(FENCE)
    }

    pub fn left(&self) -> &AtomicU32 {
        self.word(LEFT)
    }

    pub fn sequence(&self) -> &AtomicU32 {
        self.word(SEQUENCE)
    }

    pub fn attached(&self) -> &AtomicU32 {
        self.word(ATTACHED)
    }

    pub fn directory(&self) -> &AtomicU64 {
        self.long(DIRECTORY)
    }

    pub fn record(&self) -> &AtomicU64 {
        self.long(RECORD)
    }

    pub fn barrier_round(&self, turn: u32) -> &AtomicU32 {
        self.word(BARRIER_ROUNDS + 4 * (turn as usize & 1))
    }

    pub fn met(&self) -> &AtomicU32 {
        self.word(MET)
    }

    pub fn exclusive(&self) -> &AtomicU32 {
        self.word(EXCLUSIVE)
    }

    pub fn waiters(&self, plan: Plan) -> impl Iterator<Item = &AtomicU64> {
        (WAITERS..plan.shared as usize).step_by(8).map(|at| self.long(at))
    }

    pub fn waiter(&self, member: usize) -> (&AtomicU64, u64) {
        (self.long(WAITERS + 8 * (member / 64)), 1 << (member % 64))
    }

    pub fn shared(&self, plan: Plan, member: usize) -> &AtomicU8 {
        // SAFETY: within the part, by its plan.
        unsafe { AtomicU8::from_ptr(self.at.as_ptr().add(plan.shared as usize + member)) }
    }

    pub fn posts(&self, plan: Plan, target: usize) -> &AtomicU16 {
        self.count(plan.posts as usize + 2 * target)
    }

    pub fn completes(&self, plan: Plan, origin: usize) -> &AtomicU16 {
        self.count(plan.completes as usize + 2 * origin)
    }

    /// Only if the members are on several nodes.
    pub fn leader(&self, plan: Plan, leader: usize) -> &AtomicU32 {
        self.word(plan.leaders as usize + 4 * leader)
    }
}

/// The data of one member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Seat {
    /// It is on this node: its part.
    Here(MemberPart),
    /// It is on another node: what it has told of its part.
    Away { number: u32, key: RegionKey, unit: i64 },
}

/// The data of all members.
#[derive(Debug)]
pub(super) enum Seats {
    /// All are on this node: the numbers of their parts, and where a part numbered 0 would be.
    Here { origin: *mut u8, numbers: Box<[u32]> },
    /// They are on several.
    Spread(Box<[Seat]>),
}

impl Seats {
    /// The seats of members of this node, of which `own` is one; `None`: one has told of a part that there is not.
    pub fn here(own: OwnPart, numbers: Box<[u32]>, plan: Plan) -> Option<Self> {
        let is_sound = numbers.iter().all(|number| MemberPart::at(*number, plan).is_some());
        let before = u64::from(own.number) * GRAIN;
        is_sound.then(|| Self::Here {
            origin: own.part.at.as_ptr().wrapping_sub(before as usize),
            numbers,
        })
    }

    /// The part of a member of this node; `None`: it is on another one.
    #[inline]
    pub fn part(&self, member: usize) -> Option<MemberPart> {
        match self {
            Self::Here { origin, numbers } => {
                let before = u64::from(numbers[member]) * GRAIN;
                NonNull::new(origin.wrapping_add(before as usize)).map(|at| MemberPart { at })
            }
            Self::Spread(seats) => match seats[member] {
                Seat::Here(part) => Some(part),
                Seat::Away { .. } => None,
            },
        }
    }

    /// The number of the part of a member of another node, and what it has told of its memory.
    pub fn away(&self, member: usize) -> Option<(u32, RegionKey, i64)> {
        match self {
            Self::Here { .. } => None,
            Self::Spread(seats) => match seats[member] {
                Seat::Here(_) => None,
                Seat::Away { number, key, unit } => Some((number, key, unit)),
            },
        }
    }
}

/// A part of our own: its number, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnPart {
    pub number: u32,
    pub part: MemberPart,
}

struct Retired {
    own: OwnPart,
    plan: Plan,
    lookers: usize,
}

/// Parts of windows that are freed here, until nobody looks at them.
static RETIRED: Mutex<Vec<Retired>> = Mutex::new(Vec::new());

/// Take a part for the calling process.
pub(super) fn take(plan: Plan) -> Result<OwnPart> {
    RETIRED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .retain(|retired| {
            // SYNC: window-left
            let everyone_left = retired.own.part.left().load(Ordering::Acquire) as usize >= retired.lookers;
            if everyone_left {
                give_back(retired.own, retired.plan);
            }
            !everyone_left
        });
    let offset = rma::take_shared(u64::from(plan.bytes))?;
    let number = u32::try_from(offset / GRAIN).ok();
    match number.and_then(|number| Some((number, MemberPart::at(number, plan)?))) {
        Some((number, part)) => Ok(OwnPart { number, part }),
        None => Err(Error::new(Class::NoMem, "the job's memory is too large for windows")),
    }
}

/// Nobody has been told of it, or looks at it any more.
pub(super) fn give_back(own: OwnPart, plan: Plan) {
    rma::give_shared(u64::from(own.number) * GRAIN, u64::from(plan.bytes));
}

/// The window is freed here; others, `lookers` with us, may still look at this part for a moment.
pub(super) fn retire(own: OwnPart, plan: Plan, lookers: usize) {
    let mut retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
    retired.push(Retired { own, plan, lookers });
}
