//! The job segment: one growing memfd that every rank of a job on this node maps.
//!
//! # Layout
//! ```text
//! Header                       one page
//! slots      ranks x Slot
//! bitmaps    ranks x whole pairs of lines              bit s of bitmap r: sender s has something for receiver r; then
//!                                                      the attention word
//! inboxes    ranks x ranks x u64                       offset of the ring from s to r, 0 while there is none;
//!                                                      an odd number: a notice
//! failures   ranks x u32                               ranks that are no more, in the order in which they went; the
//!                                                      highest bit: in peace
//! revoked    ranks x 2 x u64                           see [`crate::revocation`]
//! cards      ranks x Card                              only where ranks are on several nodes: see [`crate::card`]
//! arena      slots of all ranks of the node ([`Segment::slots_of_all`]), then everything else: rings, descriptors, revocations, agreements
//! pool       from `pool_from` on, where the machine has set huge pages aside: see [`pool`]
//! ```
//!
//! # Fields
//! The header is written by the launcher before anybody maps the segment, but for `next`, `numbers` and `taking`, which anybody
//! adds to, `limit` and `pool_limit`, which anybody lowers while joining, and the heads of the lists of [`crate::agreement`] and
//! [`crate::directory`], as the words of [`crate::revocation`] and the notes ([`crate::noted`]) are. The failures and their number are written by the launcher only. An inbox word `[r][s]` is written
//! by `s` only, but that `r` takes notices out.
//!
//! # Ordering
//! A chunk of the arena belongs to the process that moved `next` past it, and becomes known to others through a release store of
//! its offset. `failed` is published after the entry it counts.
//!
//! # Address
//! Every process asks the kernel to map the segment at an address that follows from the job's nonce, between the regions that Linux gives
//! to programs and to libraries: programs with ARMCI or Global Arrays send pointers to one another. If that address is not free, or the
//! address space is smaller, the mapping lies elsewhere and all else works, by offsets. Peers write offsets into shared memory, never
//! addresses.
//!
//! # Safety
//! The descriptor is sealed against shrinking; memory is granted before use, so that a full machine is an error and never a crash: see
//! `reserve.rs`. What the library uses is reserved then (`fallocate`); what is a user's, and the rings that streaming pairs lease, gets
//! its memory when it is touched ([`Segment::promise`]). A process killed in mid-allocation leaks its chunk until the job ends, and stops nobody.

mod memory;
mod pool;

use std::os::fd::OwnedFd;
use std::ptr::NonNull;

use isthmus_os::mmap::Mapping;
use isthmus_os::{checker, cpu, errno, limits, memfd};

use self::pool::Pool;
pub use self::pool::create_pool;
use crate::card::Card;
use crate::noted::Notes;
use crate::reserve;
use crate::slot::Slot;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

const MAGIC: u64 = 0x5355_4d48_5453_4901; // "\x01ISTHMUS"
const LAYOUT_VERSION: u32 = 16;
/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Bytes of addresses that each rank of the node has among those of all: see [`Segment::slots_of_all`].
pub const SLOTS_OF_EACH: u64 = 64 << 10;
/// Address space a job may grow into; only what is touched costs memory.
const LIMITS: [u64; 6] = [64 << 30, 16 << 30, 2 << 30, 256 << 20, 64 << 20, 16 << 20];
/// As much where a checker runs, which keeps a book of every page that is mapped.
const LIMIT_OF_CHECKED: u64 = 2 << 30;
/// So much more than is taken is made accessible at a time where a checker runs.
const STEP_OF_CHECKED: u64 = 256 << 10;
/// Ranks in one job on one node.
pub const MAX_RANKS: u32 = 4096;

/// A position in the segment, in bytes. Never zero: that is the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Offset(pub u64);

/// Why the segment could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error(transparent)]
    Os(#[from] isthmus_os::Error),
    /// Memory is, or would be, exhausted.
    #[error("{wanted} bytes wanted, {left} left ({limit})")]
    Exhausted {
        /// Bytes asked for.
        wanted: u64,
        /// Bytes left.
        left: u64,
        /// Of what.
        limit: &'static str,
    },
    /// The process may not map the smallest segment there is for the job's ranks.
    #[error("no address space for {0} bytes (`ulimit -v`, or the batch system's limit of memory)")]
    NoAddresses(u64),
    /// The descriptor is not a job segment of ours.
    #[error("not a job segment of this version of Isthmus")]
    Foreign,
    /// More ranks than a node's segment can hold.
    #[error("{0} ranks on one node; at most {MAX_RANKS}")]
    TooManyRanks(u32),
}

#[repr(C)]
struct Header {
    magic: u64,
    layout: u32,
    ranks: u32,
    /// The job's secret.
    nonce: [u8; 16],
    /// CPUs that the job may use, as its launcher sees them.
    cpus: u64,
    /// Nobody maps less.
    limit: AtomicU64,
    /// First byte of the arena that belongs to nobody.
    next: AtomicU64,
    /// How many ranks are no more.
    failed: AtomicU32,
    /// Nodes that the ranks are on, and which of them this is; 0: all are here, and there are no cards.
    nodes: u16,
    node: u16,
    /// The board of an agreement that was taken last, and offset of the latest of all; 0 while there is none.
    agreements: [AtomicU64; 2],
    /// First number that nobody has taken.
    numbers: AtomicU64,
    /// Offset of the latest entry of the directory, 0 while there is none.
    directory: AtomicU64,
    /// Is memory of devices looked for? 0: nobody has said, 1: no, 2: yes.
    devices: AtomicU32,
    /// A bit for each warning that somebody has given.
    said: AtomicU64,
    /// Bytes that were granted, and of private memory those that ranks are taking at this moment: see [`crate::reserve`].
    granted: AtomicU64,
    taking: AtomicU64,
    /// Bytes that the job could have when it was made.
    memory: u64,
    /// Where huge pages from the machine's pool begin.
    pool_from: u64,
    /// Bytes of addresses for them; 0: there are none, or somebody cannot map them.
    pool_limit: AtomicU64,
    /// Of these, what has been taken.
    pool_next: AtomicU64,
    /// Offset of the slots of all ranks, 0: there are none. See [`Segment::slots_of_all`].
    slots_of_all: u64,
    notes: Notes,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Header>() <= PAGE as usize);

/// A mapped job segment.
#[derive(Debug)]
pub struct Segment {
    fd: OwnedFd,
    mapping: Mapping,
    ranks: u32,
    cpus: u32,
    nodes: u16,
    node: u16,
    /// Where the arena begins.
    arena: u64,
    /// Bytes asked for since somebody last looked how many are left.
    unseen: AtomicU64,
    /// Bytes that this process can access: all, but where a checker runs, which would read the rest in search of pointers, and
    /// so make a page of each hole.
    open: AtomicU64,
    /// Huge pages from the machine's pool.
    pool: Option<Pool>,
    /// Bytes of the mapping before those.
    ordinary: u64,
}

/// Of an entry in the list of failures.
const IN_PEACE: u32 = 1 << 31;

/// A rank that is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// Which.
    pub rank: u32,
    /// It had finalized, and left a job in which another had failed.
    pub in_peace: bool,
}

struct Plan {
    slots: u64,
    bitmaps: u64,
    inboxes: u64,
    failures: u64,
    revocations: u64,
    arena: u64,
}

/// Words of one receiver's bitmap.
fn bitmap_words(ranks: u32) -> u64 {
    u64::from(ranks).div_ceil(64)
}

/// Bytes of one receiver's bitmap and attention word: whole pairs of lines, so that neighbours do not disturb each other.
fn bitmap_bytes(ranks: u32) -> u64 {
    ((bitmap_words(ranks) + 1) * 8).next_multiple_of(128)
}

fn plan(ranks: u32) -> Plan {
    let ranks64 = u64::from(ranks);
    let slots = PAGE;
    let bitmaps = slots + ranks64 * size_of::<Slot>() as u64;
    let inboxes = bitmaps + ranks64 * bitmap_bytes(ranks);
    let failures = inboxes + ranks64 * ranks64 * 8;
    let revocations = (failures + ranks64 * 4).next_multiple_of(8);
    let arena = (revocations + ranks64 * 16).next_multiple_of(PAGE);
    Plan {
        slots,
        bitmaps,
        inboxes,
        failures,
        revocations,
        arena,
    }
}

/// Where the arena begins: after the cards, if there are any.
fn arena(ranks: u32, nodes: u16) -> u64 {
    let cards = if nodes == 0 { 0 } else { u64::from(ranks) };
    plan(ranks).arena + (cards * size_of::<Card>() as u64).next_multiple_of(PAGE)
}

/// Which node each rank of a job is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nodes {
    /// The one whose segment is made.
    pub own: u16,
    /// By rank.
    pub of: Vec<u16>,
}

/// Make the segment of a new job. Blocks no longer than the kernel takes to reserve its fixed part.
pub fn create(ranks: u32, nonce: [u8; 16]) -> Result<OwnedFd, Error> {
    create_on(ranks, nonce, None)
}

/// As [`create`], of a job on several nodes: one of its segments, for the ranks of one node.
pub fn create_on(ranks: u32, nonce: [u8; 16], nodes: Option<&Nodes>) -> Result<OwnedFd, Error> {
    if ranks > MAX_RANKS {
        return Err(Error::TooManyRanks(ranks));
    }
    let fd = memfd::create(c"isthmus-job")?;
    let count = nodes.map_or(0, |nodes| nodes.of.iter().max().map_or(1, |last| last + 1));
    let arena = arena(ranks, count);
    let memory = reserve::refuse_if_short(arena)?;
    let limit = largest_mapping(&fd, arena, LIMITS[0])?;
    limits::with_largest_files(|| {
        // Where our limit on files is too low even so, a rank will hear of it that needs more than it allows.
        let _ = memfd::extend(&fd, limit);
        reserve::reserve(&fd, 0, arena)
    })?;
    let mapping = Mapping::shared(&fd, arena as usize)?;
    let here = nodes.map_or(ranks, |nodes| {
        nodes.of.iter().filter(|node| **node == nodes.own).count() as u32
    });
    let slots = u64::from(here) * SLOTS_OF_EACH;
    // Addresses, with the last page as in `Segment::take`. Not where they are few: a rank may have fewer than its launcher.
    let has_slots = slots > 0
        && limit == LIMITS[0]
        && limits::with_largest_files(|| reserve::reserve(&fd, arena + slots - PAGE, PAGE)).is_ok();
    let (slots, last_page) = if has_slots { (slots, PAGE) } else { (0, 0) };
    let cpus = cpu::usable() as u64;
    let header = Header {
        magic: MAGIC,
        layout: LAYOUT_VERSION,
        ranks,
        nonce,
        cpus,
        limit: AtomicU64::new(limit),
        next: AtomicU64::new(arena + slots),
        failed: AtomicU32::new(0),
        nodes: count,
        node: nodes.map_or(0, |nodes| nodes.own),
        agreements: [AtomicU64::new(0), AtomicU64::new(0)],
        numbers: AtomicU64::new(0),
        directory: AtomicU64::new(0),
        devices: AtomicU32::new(0),
        said: AtomicU64::new(0),
        granted: AtomicU64::new(arena + last_page),
        taking: AtomicU64::new(0),
        memory,
        pool_from: limit,
        pool_limit: AtomicU64::new(0),
        pool_next: AtomicU64::new(0),
        slots_of_all: if has_slots { arena } else { 0 },
        notes: Notes::default(),
    };
    // SAFETY: the first page is reserved and mapped, nobody else has the descriptor yet.
    unsafe { mapping.base().cast::<Header>().write(header) };
    if let Some(nodes) = nodes {
        let segment = Segment::map(mapping, fd.try_clone().map_err(clone_failed)?, &inspect(&fd, nonce)?);
        for (rank, node) in (0..ranks).zip(&nodes.of) {
            segment.card(rank).expect("there are nodes").set_node(u32::from(*node));
            // Nobody here waits until a rank elsewhere has a CPU.
            segment.slot(rank).set_away(*node != nodes.own);
        }
    }
    Ok(fd)
}

/// The largest of the limits, up to `most`, that this process can map twice over (`ulimit -v`): there must be room for
/// everything else. It holds more than what is there from the start.
fn largest_mapping(fd: &OwnedFd, arena: u64, most: u64) -> Result<u64, Error> {
    let mut last = None;
    for limit in LIMITS.into_iter().filter(|&limit| limit <= most && limit >= 2 * arena) {
        // Under valgrind what is too large is an invalid argument.
        match Mapping::shared(fd, 2 * limit as usize) {
            Ok(_) => return Ok(limit),
            Err(error) if error.errno == errno::ENOMEM => last = Some(Error::NoAddresses(2 * limit)),
            Err(error) => last = Some(Error::Os(error)),
        }
    }
    Err(last.unwrap_or(Error::Foreign))
}

/// Where every process of a job maps its segment, if nothing else is there: so an address in it usually is the same
/// everywhere, as programs expect that hand addresses to one another. Other jobs have other addresses, since a process may
/// know several. Between what Linux gives programs and what it gives their libraries, below what sanitizers take.
fn usual_base(nonce: [u8; 16]) -> usize {
    const FIRST: usize = 0x2000_0000_0000;
    const SLOTS: usize = 128;
    FIRST + (usize::from(nonce[0]) % SLOTS) * (2 * LIMITS[0] as usize)
}

/// What the header says that never changes, and how much everybody maps.
struct SegmentFacts {
    ranks: u32,
    cpus: u32,
    nodes: u16,
    node: u16,
    limit: u64,
    pool_from: u64,
    pool_limit: u64,
}

fn clone_failed(error: std::io::Error) -> isthmus_os::Error {
    isthmus_os::Error {
        call: "fcntl(F_DUPFD_CLOEXEC)",
        errno: error.raw_os_error().unwrap_or(0),
    }
}

/// Look at the header of what should be a segment with this nonce.
fn inspect(fd: &OwnedFd, nonce: [u8; 16]) -> Result<SegmentFacts, Error> {
    let length = memfd::length(fd)?;
    if length < PAGE {
        return Err(Error::Foreign);
    }
    let first = Mapping::shared(fd, PAGE as usize)?;
    // SAFETY: the file has a page, and shrinking is sealed or the launcher would not have made it; the fields read here
    // are written before anybody else has the descriptor, or are atomic.
    let header = unsafe { first.base().cast::<Header>().as_ref() };
    let limit = header.limit.load(Ordering::SeqCst);
    let (ranks, cpus) = (header.ranks, header.cpus as u32);
    let ours = header.magic == MAGIC && header.layout == LAYOUT_VERSION && header.nonce == nonce;
    let sane = ours && (1..=MAX_RANKS).contains(&ranks);
    let (nodes, node) = (header.nodes, header.node);
    if !sane || limit > LIMITS[0] || limit < arena(ranks, nodes) || length < arena(ranks, nodes) {
        return Err(Error::Foreign);
    }
    Ok(SegmentFacts {
        ranks,
        cpus,
        nodes,
        node,
        limit,
        pool_from: header.pool_from,
        pool_limit: header.pool_limit.load(Ordering::SeqCst),
    })
}

impl Segment {
    /// Map the segment that [`create`] made with this nonce. A process that can map less of it than the others
    /// (`ulimit -v`) makes everybody use less.
    pub fn attach(fd: OwnedFd, nonce: [u8; 16]) -> Result<Self, Error> {
        Self::attach_with(fd, None, nonce)
    }

    /// As [`Self::attach`], with the file of huge pages that [`create_pool`] made. A process that has none, or cannot map it, makes everybody do
    /// without, and fails if somebody has taken memory of it already.
    pub fn attach_with(fd: OwnedFd, pool: Option<OwnedFd>, nonce: [u8; 16]) -> Result<Self, Error> {
        let facts = inspect(&fd, nonce)?;
        let checked = checker::is_present();
        let most = match checked {
            true => facts.limit.min(LIMIT_OF_CHECKED),
            false => largest_mapping(&fd, arena(facts.ranks, facts.nodes), facts.limit)?,
        };
        // A checker keeps a book of every page; and who can map less than others has no addresses for more.
        let pool = pool.filter(|_| !checked && most == facts.limit && facts.pool_limit > 0);
        let base = usual_base(nonce);
        let with_pool = pool.and_then(|file| Pool::map(&fd, file, facts.pool_from, facts.pool_limit, base));
        let segment = match with_pool {
            Some((mapping, pool)) => Self {
                pool: Some(pool),
                ordinary: most,
                open: AtomicU64::new(most),
                ..Self::map(mapping, fd, &facts)
            },
            None => Self::map(Mapping::shared_near(&fd, most as usize, base)?, fd, &facts),
        };
        if checked {
            segment.close();
        }
        segment.mapping.keep_from_core_dumps();
        let header = segment.header();
        // SYNC: segment-limit
        header.limit.fetch_min(most, Ordering::SeqCst);
        let next = header.next.load(Ordering::SeqCst);
        if next > most {
            return Err(Error::Exhausted {
                wanted: next,
                left: most,
                limit: "address space here, `ulimit -v`",
            });
        }
        if segment.pool.is_none() && facts.pool_limit > 0 {
            // SYNC: pool-limit
            header.pool_limit.store(0, Ordering::SeqCst);
            let taken = header.pool_next.load(Ordering::SeqCst);
            if taken > 0 {
                return Err(Error::Exhausted {
                    wanted: taken,
                    left: 0,
                    limit: "huge pages that this process can map",
                });
            }
        }
        Ok(segment)
    }

    /// Map only what the launcher looks at: the header, the slots, the doorbells, the failures, the cards.
    pub fn oversee(fd: &OwnedFd, nonce: [u8; 16]) -> Result<Self, Error> {
        let facts = inspect(fd, nonce)?;
        let mapping = Mapping::shared(fd, arena(facts.ranks, facts.nodes) as usize)?;
        Ok(Self::map(mapping, fd.try_clone().map_err(clone_failed)?, &facts))
    }

    fn map(mapping: Mapping, fd: OwnedFd, facts: &SegmentFacts) -> Self {
        Self {
            open: AtomicU64::new(mapping.len() as u64),
            ordinary: mapping.len() as u64,
            pool: None,
            mapping,
            fd,
            ranks: facts.ranks,
            cpus: facts.cpus,
            nodes: facts.nodes,
            node: facts.node,
            arena: arena(facts.ranks, facts.nodes),
            unseen: AtomicU64::new(0),
        }
    }

    /// Only what has been taken can be accessed from now on; [`Self::available`] makes it more. Before anybody uses it.
    fn close(&self) {
        let arena = self.arena;
        let rest = self.ordinary - arena;
        if self.mapping.open(arena as usize, rest as usize, false) {
            self.open.store(arena, Ordering::Relaxed);
        }
    }

    /// The first `end` bytes are asked for: how many can be accessed now.
    #[cold]
    fn open_up_to(&self, end: u64) -> u64 {
        let end = end.next_multiple_of(STEP_OF_CHECKED).min(self.ordinary);
        if self.mapping.open(0, end as usize, true) {
            self.open.fetch_max(end, Ordering::Relaxed);
        }
        self.open.load(Ordering::Relaxed)
    }

    /// Ranks of the job. Those on other nodes have slots here, which stay empty.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Bytes of addresses that there are, taken or not.
    pub fn limit(&self) -> u64 {
        // SYNC: segment-limit
        self.header().limit.load(Ordering::SeqCst)
    }

    /// Nodes that the ranks are on.
    pub fn nodes(&self) -> u32 {
        u32::from(self.nodes).max(1)
    }

    /// Which of them this is.
    pub fn node(&self) -> u32 {
        u32::from(self.node)
    }

    /// Which of them that rank is on.
    pub fn node_of(&self, rank: u32) -> u32 {
        self.card(rank).map_or(0, Card::node)
    }

    /// Is that rank on another node?
    pub fn is_elsewhere(&self, rank: u32) -> bool {
        self.nodes != 0 && self.node_of(rank) != self.node()
    }

    /// Ranks on this node.
    pub fn ranks_here(&self) -> u32 {
        (0..self.ranks).filter(|&rank| !self.is_elsewhere(rank)).count() as u32
    }

    /// The business card of `rank`; `None`: all are on this node.
    pub fn card(&self, rank: u32) -> Option<&Card> {
        assert!(rank < self.ranks);
        let at = plan(self.ranks).arena + u64::from(rank) * size_of::<Card>() as u64;
        // SAFETY: as for `slot`; where there are nodes, the cards lie there.
        (self.nodes != 0).then(|| unsafe { self.pointer(at).cast().as_ref() })
    }

    /// Bytes of memory that the job could have when it was made.
    pub fn memory_at_start(&self) -> u64 {
        self.header().memory
    }

    /// CPUs that the job may use.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// In children made by `fork` the segment is not mapped.
    pub fn keep_from_children(&self) -> bool {
        self.mapping.keep_from_children()
    }

    fn header(&self) -> &Header {
        // SAFETY: the header is there and only its atomics change.
        unsafe { self.mapping.base().cast().as_ref() }
    }

    /// The slot of `rank`.
    pub fn slot(&self, rank: u32) -> &Slot {
        assert!(rank < self.ranks);
        // SAFETY: the slot lies in the fixed part, which is reserved; a Slot is only atomics.
        unsafe {
            self.pointer(plan(self.ranks).slots)
                .cast::<Slot>()
                .add(rank as usize)
                .as_ref()
        }
    }

    /// The bitmap of `receiver`.
    pub fn bitmap(&self, receiver: u32) -> &[AtomicU64] {
        assert!(receiver < self.ranks);
        let bytes = bitmap_bytes(self.ranks);
        // SAFETY: as for `slot`.
        unsafe {
            let first = self
                .pointer(plan(self.ranks).bitmaps + u64::from(receiver) * bytes)
                .cast::<AtomicU64>();
            std::slice::from_raw_parts(first.as_ptr(), bitmap_words(self.ranks) as usize)
        }
    }

    /// Not zero: `rank` should look at the failures and revocations. Beside its bitmap, which it looks at anyway.
    #[inline]
    pub fn attention(&self, rank: u32) -> &AtomicU64 {
        assert!(rank < self.ranks);
        let at = u64::from(rank) * bitmap_bytes(self.ranks) + bitmap_words(self.ranks) * 8;
        // SAFETY: as for `slot`.
        unsafe { self.pointer(plan(self.ranks).bitmaps + at).cast().as_ref() }
    }

    /// Let `rank` look at the failures and revocations, and wake it if it sleeps. Does not block.
    #[cfg(not(loom))]
    pub fn alert(&self, rank: u32) {
        // SYNC: attention
        self.attention(rank).store(1, Ordering::SeqCst);
        // Rare, and the launcher is not registered with membarrier.
        crate::sync::fence(Ordering::SeqCst);
        self.slot(rank).doorbell().alert();
    }

    /// How many ranks are no more.
    #[inline]
    pub fn failed(&self) -> u32 {
        // SYNC: failures
        self.header().failed.load(Ordering::Acquire).min(self.ranks)
    }

    /// The `index`-th rank that went, counted from 0; there must have been so many.
    pub fn failure(&self, index: u32) -> Failure {
        let word = self.failure_word(index).load(Ordering::Relaxed);
        Failure {
            rank: (word & !IN_PEACE).min(self.ranks - 1),
            in_peace: word & IN_PEACE != 0,
        }
    }

    /// A rank is no more: its process has ended, and touches no memory any more. By the launcher only, once per rank.
    pub fn declare_failed(&self, failure: Failure) {
        let count = self.failed();
        if count < self.ranks {
            let word = failure.rank | if failure.in_peace { IN_PEACE } else { 0 };
            self.failure_word(count).store(word, Ordering::Relaxed);
            // SYNC: failures
            self.header().failed.store(count + 1, Ordering::Release);
        }
    }

    fn failure_word(&self, index: u32) -> &AtomicU32 {
        assert!(index < self.ranks);
        // SAFETY: as for `slot`.
        unsafe {
            self.pointer(plan(self.ranks).failures + u64::from(index) * 4)
                .cast()
                .as_ref()
        }
    }

    /// What `rank` has not learned of, and what it is telling others of: see [`crate::revocation`].
    pub(crate) fn revocations(&self, rank: u32) -> &[AtomicU64; 2] {
        assert!(rank < self.ranks);
        let at = plan(self.ranks).revocations + u64::from(rank) * 16;
        // SAFETY: as for `slot`.
        unsafe { self.pointer(at).cast().as_ref() }
    }

    /// A bit for each warning that somebody has given.
    pub fn said(&self) -> &AtomicU64 {
        &self.header().said
    }

    /// What processes of the job have found out about this node.
    pub fn notes(&self) -> &Notes {
        &self.header().notes
    }

    /// Where [`SLOTS_OF_EACH`] bytes of addresses begin for each rank of this node, page by page of all ranks together: how many ranks there are, and
    /// how many come before `rank`. Memory comes by [`Self::back`]. `None`: the job has too few addresses.
    pub fn slots_of_all(&self, rank: u32) -> Option<(Offset, u64, u64)> {
        let at = self.header().slots_of_all;
        let here = |ranks: u32| (0..ranks).filter(|&rank| !self.is_elsewhere(rank)).count() as u64;
        let (ranks, before) = (here(self.ranks), here(rank.min(self.ranks)));
        let sound = at >= self.arena && at.is_multiple_of(PAGE) && self.range(at, ranks * SLOTS_OF_EACH).is_some();
        (sound && before < ranks).then_some((Offset(at), ranks, before))
    }

    /// Where the directory begins.
    pub(crate) fn directory(&self) -> &AtomicU64 {
        &self.header().directory
    }

    /// The board of an agreement that was taken last, and where the list of them begins.
    pub(crate) fn agreements(&self) -> &[AtomicU64; 2] {
        &self.header().agreements
    }

    /// Where `sender` says that its ring to `receiver` is.
    pub fn inbox(&self, receiver: u32, sender: u32) -> &AtomicU64 {
        assert!(receiver < self.ranks && sender < self.ranks);
        let index = u64::from(receiver) * u64::from(self.ranks) + u64::from(sender);
        // SAFETY: as for `slot`.
        unsafe { self.pointer(plan(self.ranks).inboxes + index * 8).cast().as_ref() }
    }

    /// Take `count` neighbouring numbers that no other process of the job gets, ever: the first.
    pub fn take_numbers(&self, count: u32) -> u64 {
        self.header().numbers.fetch_add(u64::from(count), Ordering::Relaxed)
    }

    /// Map whole pages that were taken a second time, at `address`, in place of whatever is there. Fails where the kernel refuses.
    ///
    /// # Safety
    /// Memory at `address` now must be the caller's, and unused.
    pub unsafe fn map_at(&self, at: Offset, length: u64, address: NonNull<u8>) -> Result<(), Error> {
        if self.range(at.0, length).is_none() {
            return Err(Error::Foreign);
        }
        let (file, at) = self.file(at.0);
        // SAFETY: the caller's promise.
        unsafe { isthmus_os::mmap::shared_at(file, at, length as usize, address) }?;
        Ok(())
    }

    /// These pages are a user's: they are in core dumps, and children share them, which is not so for the rest.
    pub fn lend(&self, at: Offset, length: u64) -> bool {
        self.range(at.0, length).is_some() && self.mapping.lend(at.0 as usize, length as usize)
    }

    /// Address of `length` bytes at `offset`, or `None` if that is not within memory that was taken: offsets come from
    /// peers too.
    pub fn at(&self, offset: Offset, length: u64) -> Option<NonNull<u8>> {
        self.range(offset.0, length).filter(|_| offset.0.is_multiple_of(64))
    }

    /// As [`Self::at`], for bytes that may begin anywhere: users' data.
    pub fn range(&self, offset: u64, length: u64) -> Option<NonNull<u8>> {
        (length <= self.available(offset)?).then(|| self.pointer(offset))
    }

    /// Bytes that were taken from `offset` on; `None`: it is not within what can be taken.
    pub fn available(&self, offset: u64) -> Option<u64> {
        if let Some(pool) = self.pool.as_ref().filter(|pool| offset >= pool.from()) {
            let taken = self.header().pool_next.load(Ordering::Relaxed).min(pool.length());
            return (pool.from() + taken).checked_sub(offset);
        }
        let next = self.header().next.load(Ordering::Relaxed);
        let mut taken = next.min(self.ordinary);
        if taken > self.open.load(Ordering::Relaxed) {
            taken = taken.min(self.open_up_to(taken));
        }
        taken.checked_sub(offset).filter(|_| offset >= self.arena)
    }

    /// Address of its first byte, here.
    pub fn base(&self) -> NonNull<u8> {
        self.mapping.base()
    }

    /// Is memory of devices looked for in this job? What the first rank says, so that all do alike.
    pub fn looks_for_devices(&self, own: bool) -> bool {
        let own = 1 + u32::from(own);
        let devices = &self.header().devices;
        // Nothing else is ordered by it.
        match devices.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => own == 2,
            Err(first) => first == 2,
        }
    }

    /// Bytes that are mapped from there on, present or not.
    pub fn mapped(&self) -> usize {
        self.mapping.len()
    }

    /// Offset of `length` bytes at `address` of this process; `None`: they are not of this mapping.
    #[inline]
    pub fn offset_of(&self, address: u64, length: u64) -> Option<u64> {
        let offset = address.checked_sub(self.mapping.base().as_ptr().addr() as u64)?;
        let end = offset.checked_add(length)?;
        (end <= self.mapping.len() as u64).then_some(offset)
    }

    fn pointer(&self, offset: u64) -> NonNull<u8> {
        debug_assert!(offset <= self.mapping.len() as u64);
        // SAFETY: within the mapping.
        unsafe { self.mapping.base().add(offset as usize) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
