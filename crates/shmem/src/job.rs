//! The job as OpenSHMEM sees it: this PE, the addresses of all symmetric memory, and its setup.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use isthmus_collective::symmetric::{Board, Round, Terms, bytes_for};
use isthmus_collective::{Members, Team};
use isthmus_engine::symmetric::{self, Bells, Piece, size};
use isthmus_engine::{ContextId, Peer, enter, rma, world};

use crate::call::Call;
use crate::far::{Far, FarContext, RemoteMemory};
use crate::memory::heap::Heap;
use crate::memory::statics::{self, Moved};
use crate::memory::symmetric::{Range, Ranges};
use crate::near;

/// What the job calls the memory where all PEs meet.
const WORLD: u64 = 0x5348_4d45_4d00_0001;
/// The message spaces of jobs on several nodes: of all PEs, and for the exchange of keys at the start. They are kept for the worlds of models.
const WORLD_CONTEXT: ContextId = ContextId(0xffff_ffa0);
const SETUP_CONTEXT: ContextId = ContextId(0xffff_ffa2);
/// Where heaps are tried to be put, one after the other, so far apart: below the usual place of the job's memory
/// and of programs, and above what sanitizers take.
const FIRST_ADDRESS: usize = 0x1100_0000_0000;
const BETWEEN_ADDRESSES: usize = 0x0040_0000_0000;
const ADDRESSES: usize = 96;
/// The least that a heap is cut down to, where nobody asked for a size.
const LEAST_HEAP: u64 = 16 << 20;
/// Heaps together may take no more than one part in so many of the job's addresses.
const SHARE: u64 = 2;
/// Segments of static data that a PE can tell the others about.
const MOST_STATICS: usize = 1000;

/// What a PE shows the others, on lines of its own.
#[repr(C, align(128))]
struct Mark {
    /// Threads that wait for memory to change.
    watchers: AtomicU32,
}

/// The job, once symmetric memory is there. It stays until the process ends.
#[derive(Debug)]
pub struct Job {
    /// This PE.
    pub me: u32,
    /// PEs.
    pub size: u32,
    /// Where everybody's symmetric memory is.
    pub ranges: Ranges,
    /// Everybody's doorbell.
    pub bells: Bells,
    /// Where all PEs meet.
    pub world: Board,
    /// Where those of this node meet, if there are others. They are members of the world in its order.
    pub node: Option<Board>,
    /// The memory of PEs on other nodes, if there are any.
    pub far: Option<Far>,
    marks: NonNull<Mark>,
    piece: Piece,
    heap: Mutex<Heap>,
}

// SAFETY: the marks are atomics that last as long as the job; all else is safe to share by itself.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

/// The job while the library is initialised.
static JOB: AtomicPtr<Job> = AtomicPtr::new(std::ptr::null_mut());

/// The job. A call outside `shmem_init` and `shmem_finalize` ends the program.
#[inline(always)]
pub fn job(call: Call) -> &'static Job {
    // SAFETY: it is null, or a job that is never dropped.
    match unsafe { JOB.load(Ordering::Acquire).as_ref() } {
        Some(job) => job,
        None => call.refuse("called before shmem_init, or after shmem_finalize"),
    }
}

/// Is the library initialised?
pub fn is_open() -> bool {
    !JOB.load(Ordering::Acquire).is_null()
}

/// From now on routines may be called, or may not be.
pub fn publish(job: Option<&'static Job>) {
    let address = job.map_or(std::ptr::null_mut(), |job| std::ptr::from_ref(job).cast_mut());
    match job {
        None => near::close(),
        Some(job) => near::open(job),
    }
    JOB.store(address, Ordering::Release);
}

/// What a PE tells of itself when symmetric memory is made.
#[repr(C)]
#[derive(Clone, Copy)]
struct Card {
    heap: u64,
    statics: u64,
    count: u64,
}

/// A moved segment as a PE tells of it.
#[repr(C)]
#[derive(Clone, Copy)]
struct MovedSegment {
    identity: u64,
    length: u64,
    offset: u64,
}

impl Job {
    /// Make symmetric memory, together with all PEs. This process has joined the job. Blocks until all have come.
    pub fn found(call: Call) -> &'static Self {
        let (me, size) = (world().rank, world().size);
        // Before the first message to another node, for which the engine may start a thread.
        let moved = statics::relocate(&mut enter());
        let is_far = (0..size).any(|pe| symmetric::is_elsewhere(Peer(pe)));
        let bells = enter().bells();
        let marks_bytes = u64::from(size) * size_of::<Mark>() as u64;
        let shared = symmetric::named(WORLD, marks_bytes + bytes_for(size as usize));
        let shared = or_refuse(call, shared);
        // SAFETY: the cells follow the marks.
        let cells = unsafe { shared.add(marks_bytes as usize) };
        let everyone: Box<[u32]> = (0..size).collect();
        let board = |members: Box<[u32]>| {
            let member = members.iter().position(|&peer| peer == me);
            Board::new(cells, bells, members, member.expect("we are on our node"), 0)
        };
        let (world, node) = match is_far {
            false => (board(everyone.clone()), None),
            true => {
                let near = everyone
                    .iter()
                    .copied()
                    .filter(|pe| !symmetric::is_elsewhere(Peer(*pe)));
                let team = Team::new(Members::first(size), me as usize, WORLD_CONTEXT);
                (Board::between_nodes(team, bells), Some(board(near.collect())))
            }
        };
        // It is completed below.
        let mut job = Self {
            me,
            size,
            ranges: Ranges::new(Range::new(0, 0, everyone.iter().map(|_| None)), Ok(Vec::new())),
            bells,
            world,
            node,
            far: None,
            marks: shared.cast(),
            piece: or_refuse(call, Piece::take(4096)),
            heap: Mutex::new(Heap::new(0)),
        };
        let length = job.agree_on_size(call);
        let piece = or_refuse(call, Piece::take(length));
        let base = job.agree_on_address(call, piece);
        if is_far {
            let team = Team::new(Members::first(size), me as usize, SETUP_CONTEXT);
            job.far = Some(Far::found(call, &team, piece, moved.as_deref().unwrap_or_default()));
        }
        let ranges = job.tell(call, piece, base, moved);
        job.ranges = ranges;
        job.piece = piece;
        job.heap = Mutex::new(Heap::new(length));
        Box::leak(Box::new(job))
    }

    /// All objects of the heap are gone, and it is as it was at first.
    pub fn clear_heap(&self) {
        *self.heap() = Heap::new(self.piece.length());
        self.give_back(0, self.piece.length());
    }

    /// Give the memory behind a part of the heap back, unless a network may know its pages: the bytes that read as zeros then.
    pub fn give_back(&self, at: u64, length: u64) -> Option<std::ops::Range<u64>> {
        match self.far {
            None => self.piece.give_back(at, length),
            Some(_) => None,
        }
    }

    /// The allocator of the heap.
    pub fn heap(&self) -> MutexGuard<'_, Heap> {
        self.heap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the heap's memory is.
    pub fn piece(&self) -> Piece {
        self.piece
    }

    /// The heap is as large as all PEs say; the default is cut down to what the job has addresses for.
    fn agree_on_size(&self, call: Call) -> u64 {
        let (wanted, asked) = match size::wanted() {
            Ok(wanted) => wanted,
            Err((name, text)) => call.refuse(format!(
                "{name}={text} is not a size: it takes a number of bytes that may end in k, m, g or t"
            )),
        };
        let mut length = wanted.max(1).next_multiple_of(2 << 20);
        let most = symmetric::limit() / SHARE / u64::from(self.size);
        if !asked {
            length = length.min((most / (2 << 20) * (2 << 20)).max(LEAST_HEAP));
        } else if length > most * SHARE {
            call.refuse(format!(
                "SHMEM_SYMMETRIC_SIZE asks for {wanted} bytes on each of {} PEs; the job has addresses for {most} on each",
                self.size
            ));
        }
        let terms = Terms::new(call.into(), ("SHMEM_SYMMETRIC_SIZE", length));
        self.world.round(terms, &[], &[]);
        length
    }

    /// The same free addresses in all processes.
    fn agree_on_address(&self, call: Call, piece: Piece) -> usize {
        let terms = Terms::new(call.into(), ("attempt", 0));
        for attempt in 0..ADDRESSES {
            let address = FIRST_ADDRESS + attempt * BETWEEN_ADDRESSES;
            let at = NonNull::new(std::ptr::with_exposed_provenance_mut(address)).expect("not zero");
            let free = symmetric::reserve_addresses(at, piece.length());
            let round = self.world.round(terms, &[u64::from(free)], &[]);
            if (0..self.world.size()).all(|member| round.word(member, 0) == 1) {
                // SAFETY: the addresses were kept just now.
                or_refuse(call, unsafe { piece.map_at(at) });
                return address;
            }
            if free {
                // SAFETY: as above, and nobody uses them.
                unsafe { symmetric::release_addresses(at, piece.length()) };
            }
        }
        call.refuse(format!(
            "there are no {} bytes of addresses that are free in all PEs: SHMEM_SYMMETRIC_SIZE may be smaller",
            piece.length()
        ))
    }

    /// Tell the others where our memory is, and hear of theirs.
    fn tell(&self, call: Call, piece: Piece, base: usize, moved: Result<Vec<Moved>, &'static str>) -> Ranges {
        let statics: &[Moved] = moved.as_deref().unwrap_or_default();
        let count = statics.len().min(MOST_STATICS);
        let list = or_refuse(call, Piece::take((MOST_STATICS * size_of::<MovedSegment>()) as u64));
        for (index, moved) in statics.iter().take(count).enumerate() {
            let told = MovedSegment {
                identity: moved.identity,
                length: moved.length as u64,
                offset: moved.piece.offset(),
            };
            // SAFETY: the list has room for that many, and nobody reads it yet.
            unsafe { list.address().cast::<MovedSegment>().add(index).write(told) };
        }
        let card = Card {
            heap: piece.offset(),
            statics: list.offset(),
            count: count as u64,
        };
        let words = [card.heap, card.statics, card.count];
        let terms = Terms::new(call.into(), ("table", 0));
        let round = self.world.round(terms, &words, &[]);
        let cards: Vec<Card> = (0..self.world.size()).map(|member| card_of(round, member)).collect();
        let address =
            |offset: u64, length: u64| symmetric::at(offset, length).map(|at| at.as_ptr().expose_provenance());
        let heap = Range::new(
            base,
            piece.length() as usize,
            cards.iter().enumerate().map(|(pe, card)| match pe as u32 == self.me {
                true => Some(base),
                false if symmetric::is_elsewhere(Peer(pe as u32)) => None,
                false => address(card.heap, piece.length()),
            }),
        );
        let list = |(pe, card): (usize, &Card)| match symmetric::is_elsewhere(Peer(pe as u32)) {
            true => Vec::new(),
            false => list_of(*card),
        };
        let lists: Vec<Vec<MovedSegment>> = cards.iter().enumerate().map(list).collect();
        let ranges = moved.map(|moved| {
            let range = |moved: &Moved| {
                let theirs = lists.iter().enumerate().map(|(pe, list)| {
                    if pe as u32 == self.me {
                        return Some(moved.first);
                    }
                    let same =
                        |told: &&MovedSegment| told.identity == moved.identity && told.length == moved.length as u64;
                    list.iter()
                        .find(same)
                        .and_then(|told| address(told.offset, told.length))
                });
                Range::new(moved.first, moved.length, theirs)
            };
            moved.iter().map(range).collect()
        });
        self.world.round(terms, &[], &[]);
        Ranges::new(heap, ranges)
    }

    #[inline(always)]
    fn mark(&self, pe: u32) -> &Mark {
        debug_assert!(pe < self.size);
        // SAFETY: there is one per PE; a mark is only atomics.
        unsafe { self.marks.add(pe as usize).as_ref() }
    }

    /// Threads of this PE that wait for its memory to change: raised before they look, so that who writes knows to ring.
    pub fn watchers(&self) -> &AtomicU32 {
        &self.mark(self.me).watchers
    }

    /// Something was written into the memory of `pe`: wake it, if it waits for that.
    #[inline(always)]
    pub fn tell_of_write(&self, pe: u32) {
        self.bells.order();
        if self.mark(pe).watchers.load(Ordering::Relaxed) != 0 {
            self.bells.ring(Peer(pe));
        }
    }

    /// Threads of a PE that wait for its memory to change.
    pub fn watchers_of(&self, pe: u32) -> &AtomicU32 {
        &self.mark(pe).watchers
    }

    /// Wake all of this node that wait for memory to change.
    pub fn tell_everyone(&self) {
        for pe in 0..self.size {
            self.tell_of_write(pe);
        }
    }

    /// Memory on other nodes, reached in a context.
    pub fn remote_memory<'a>(&'a self, context: impl FnOnce(&'a Far) -> &'a FarContext) -> RemoteMemory<'a> {
        RemoteMemory {
            far: self.far.as_ref().map(|far| (far, context(far))),
            ranges: &self.ranges,
        }
    }

    /// Are these PEs of the world on several nodes?
    pub fn spans_nodes(&self, members: &[u32]) -> bool {
        let node = |pe: &u32| rma::node_of(Peer(*pe));
        self.far.is_some() && members.iter().any(|pe| node(pe) != node(&members[0]))
    }

    /// A PE of the world as an argument.
    #[inline(always)]
    pub fn pe(&self, call: Call, pe: i32) -> u32 {
        if pe.cast_unsigned() >= self.size {
            self.refuse_pe(call, pe, self.size as usize);
        }
        pe.cast_unsigned()
    }

    /// Say that there is no such PE, and end the job.
    #[cold]
    #[inline(never)]
    pub fn refuse_pe(&self, call: Call, pe: i32, size: usize) -> ! {
        call.refuse(format!("pe={pe} is not a PE: they are 0 to {}", size - 1))
    }

    /// Where the object at `address` of `length` bytes on `pe` is here. `None`: it is on another node, or not symmetric, or has no bytes.
    #[inline(always)]
    pub fn near(&self, address: usize, length: usize, pe: u32) -> Option<usize> {
        self.ranges.find(address, length, pe)
    }

    /// Where the object at `address` of `length` bytes on `pe`, which is of this node, is here. One that is not symmetric ends the job.
    #[inline(always)]
    pub fn remote(&self, call: Call, name: &str, address: usize, length: usize, pe: u32) -> usize {
        match self.ranges.find(address, length, pe) {
            Some(address) => address,
            None => self.nothing_or_refuse(call, name, address, length, pe),
        }
    }

    /// No bytes may lie anywhere: they are not touched.
    #[cold]
    #[inline(never)]
    fn nothing_or_refuse(&self, call: Call, name: &str, address: usize, length: usize, pe: u32) -> usize {
        match length {
            0 => address,
            _ => self.ranges.refuse(call, name, address, length, pe),
        }
    }
}

fn card_of(round: Round<'_>, member: usize) -> Card {
    Card {
        heap: round.word(member, 0),
        statics: round.word(member, 1),
        count: round.word(member, 2),
    }
}

/// What a PE tells of its static data, as far as it makes sense.
fn list_of(card: Card) -> Vec<MovedSegment> {
    let count = card.count.min(MOST_STATICS as u64);
    let Some(list) = symmetric::at(card.statics, count * size_of::<MovedSegment>() as u64) else {
        return Vec::new();
    };
    // SAFETY: the range was checked; its writer published it before the round.
    (0..count as usize)
        .map(|index| unsafe { list.cast::<MovedSegment>().add(index).read_unaligned() })
        .collect()
}

fn or_refuse<T>(call: Call, result: isthmus_engine::Result<T>) -> T {
    result.unwrap_or_else(|error| call.refuse(error))
}
