//! Symmetric memory of PEs on other nodes, which this process does not map.
//!
//! Each PE registers its heap and its moved static data with the engine ([`rma`]), and tells all others the keys. What a routine does to
//! memory of another node is then an operation of the engine, executed by that PE's progress, which a thread of its own makes while the
//! program computes. The functions here are called where a look at the displacements found nothing: routines on mapped memory do not
//! know of them.
//!
//! Messages from one PE to another are executed in their order, so what follows a fence comes after what was before; only long contiguous
//! transfers by the provider's RMA may overtake messages, and wait for those that a fence is behind ([`FarContext::order`]).
//!
//! Each context has a [`FarContext`]: its fences and quiets concern what was asked through it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use isthmus_collective::Team;
use isthmus_engine::layout::{Layout, Level};
use isthmus_engine::rma::{self, Atomicity, Flow, Region, RegionKey, Scope, Target};
use isthmus_engine::symmetric::{self, Piece};
use isthmus_engine::{Peer, ProgressThread};

use crate::call::Call;
use crate::memory::statics::Moved;
use crate::memory::symmetric::Ranges;

/// Bits of a range's name that are the offset.
const OFFSET: u64 = (1 << 48) - 1;
/// Words of a range as a PE tells of it: what it is, its bytes, and its key.
const RANGE_WORDS: usize = 8;
/// More ranges no PE has: a peer's number.
const MOST_RANGES: u64 = 1 << 16;
/// What the heap is; segments of static data are hashes.
const HEAP: u64 = 0;

const _: () = assert!(size_of::<RegionKey>() == 8 * (RANGE_WORDS - 2));

/// The memory of PEs on other nodes.
#[derive(Debug)]
pub struct Far {
    /// By range, as their names count them, then by PE. `None`: it is on this node, or has no such range.
    targets: Vec<Vec<Option<Target>>>,
    /// Of `SHMEM_CTX_DEFAULT`.
    default: FarContext,
    /// Of the contexts that the program has made.
    made: Mutex<Vec<Weak<FarContext>>>,
    thread: Mutex<Option<ProgressThread>>,
}

/// What one context has asked of other nodes. Several threads may use it.
#[derive(Debug, Default)]
pub struct FarContext {
    flow: Flow,
    /// Fences so far.
    fences: AtomicU64,
    /// So many of them, at least, have nothing under way that was asked before them.
    completed: AtomicU64,
}

/// A range of symmetric memory, as another PE announces it.
struct SymmetricRange {
    identity: u64,
    length: u64,
    key: RegionKey,
}

impl Far {
    /// Register our memory, tell all PEs, and hear of theirs. Blocks until all have come.
    pub fn found(call: Call, team: &Team, heap: Piece, moved: &[Moved]) -> Self {
        let pieces = std::iter::once((HEAP, heap)).chain(moved.iter().map(|moved| (moved.identity, moved.piece)));
        let pieces: Vec<(u64, Piece)> = pieces.collect();
        let mut own = Vec::new();
        for (identity, piece) in &pieces {
            let region = rma::register_as(piece.address().as_ptr(), piece.length(), Atomicity::Elements);
            let key = region.as_ref().map(Region::key);
            let key = key.unwrap_or_else(|error| call.refuse(error));
            own.extend([*identity, piece.length()]);
            // SAFETY: plain numbers without holes, as many bytes.
            own.extend(unsafe { std::mem::transmute::<RegionKey, [u64; RANGE_WORDS - 2]>(key) });
        }
        let mut counts = vec![0; team.size() as usize];
        let gathered = team.allgather(&[pieces.len() as u64], &mut counts);
        gathered.unwrap_or_else(|error| call.refuse(error));
        let most = counts.iter().copied().max().unwrap_or(0);
        if most > MOST_RANGES {
            call.refuse(format!("a PE tells of {most} ranges of symmetric memory"));
        }
        let most = most as usize;
        own.resize(most * RANGE_WORDS, 0);
        let mut all = vec![0; own.len() * counts.len()];
        let gathered = team.allgather(&own, &mut all);
        gathered.unwrap_or_else(|error| call.refuse(error));
        let lists: Vec<Vec<SymmetricRange>> = all
            .chunks_exact(own.len())
            .zip(&counts)
            .map(|(told, count)| {
                told.chunks_exact(RANGE_WORDS)
                    .take(*count as usize)
                    .map(SymmetricRange::of)
                    .collect()
            })
            .collect();
        let targets = pieces.iter().map(|(identity, piece)| {
            let of = |(pe, list): (usize, &Vec<SymmetricRange>)| {
                let peer = Peer(pe as u32);
                let same = |told: &&SymmetricRange| told.identity == *identity && told.length == piece.length();
                let told = list.iter().find(same).filter(|_| symmetric::is_elsewhere(peer))?;
                let target = Target::attach(peer, told.key);
                Some(target.unwrap_or_else(|error| call.refuse(error)))
            };
            lists.iter().enumerate().map(of).collect()
        });
        Self {
            targets: targets.collect(),
            default: FarContext::default(),
            made: Mutex::default(),
            thread: Mutex::new(None),
        }
    }

    /// Serve PEs of other nodes while the program calls nothing, or no longer.
    pub fn make_progress(&self, whether: bool) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        match whether {
            true if thread.is_none() => *thread = ProgressThread::begin(),
            true => {}
            false => *thread = None,
        }
    }

    /// The region with these bytes on `pe`, and where they are in it. `None`: they are not symmetric.
    pub fn find(&self, ranges: &Ranges, address: usize, length: usize, pe: u32) -> Option<(&Target, u64)> {
        let name = ranges.name(address, length)?;
        let target = self
            .targets
            .get((name >> OFFSET.count_ones()) as usize)?
            .get(pe as usize)?;
        Some((target.as_ref()?, name & OFFSET))
    }

    /// What belongs to a new context, as long as that has it.
    pub fn make_context(&self) -> Arc<FarContext> {
        let made = Arc::<FarContext>::default();
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|context| context.strong_count() > 0);
        all.push(Arc::downgrade(&made));
        made
    }

    /// Of `SHMEM_CTX_DEFAULT`.
    pub fn default_context(&self) -> &FarContext {
        &self.default
    }

    /// Complete the operations of all contexts: they are over, and seen by all PEs. Blocks.
    pub fn complete(&self, call: Call) {
        self.default.complete(call);
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let made: Vec<Arc<FarContext>> = made().iter().filter_map(Weak::upgrade).collect();
        for context in made {
            context.complete(call);
        }
    }

    /// Something was asked of a PE that nothing waits for: it goes on while the program computes (OpenSHMEM 1.6, "Progress of OpenSHMEM
    /// Operations"). Does not block.
    pub fn goes_on(&self, pe: u32) {
        rma::send_if_idle(Peer(pe));
    }
}

impl FarContext {
    /// Complete its operations: they are over, and seen by all PEs. Blocks.
    pub fn complete(&self, call: Call) {
        let fences = self.fences.load(Ordering::Relaxed);
        self.flow.flush_all().unwrap_or_else(|error| call.refuse(error));
        // Only now: another thread's long transfer must not pass while this one waits.
        self.completed.fetch_max(fences, Ordering::Relaxed);
    }

    /// Later operations come after earlier ones, at each PE. Blocks while long puts are under way, which messages may overtake.
    pub fn order(&self, call: Call) {
        self.flow
            .flush_all_long_puts()
            .unwrap_or_else(|error| call.refuse(error));
        self.fences.fetch_add(1, Ordering::Relaxed);
        rma::send_kept();
    }

    /// Before a transfer that may overtake messages.
    fn before_long(&self, call: Call, length: u64) {
        if rma::overtakes(length) && self.completed.load(Ordering::Relaxed) < self.fences.load(Ordering::Relaxed) {
            self.complete(call);
        }
    }

    /// Put bytes, in a row of so many at the target or, if `row` is 0, scattered. Their source may change when this returns or, if it does not
    /// wait, after a quiet. Blocks while earlier operations are under way that a long row might overtake.
    ///
    /// # Safety
    /// Those of `here` must be good, until then.
    unsafe fn put(
        &self,
        call: Call,
        (target, there, row): (&Target, &Layout<'_>, u64),
        here: &Layout<'_>,
        waits: bool,
    ) {
        self.before_long(call, row);
        let is_long = rma::overtakes(row);
        let scope = (is_long && waits).then(Scope::new);
        // SAFETY: the caller's promise; what is not long is copied.
        let put = unsafe { self.flow.put_in(scope, target, there, here) };
        let put = put.and_then(|()| match scope {
            Some(scope) => scope.finish(),
            None => {
                rma::send_if_idle(target.peer());
                Ok(())
            }
        });
        put.unwrap_or_else(|error| call.refuse(error));
    }

    /// Get bytes: blocks until they are there, or, if it does not wait, they are there after a quiet.
    ///
    /// # Safety
    /// Those of `here` must be good, until then.
    unsafe fn get(&self, call: Call, (target, there): (&Target, &Layout<'_>), here: &Layout<'_>, waits: bool) {
        let scope = waits.then(Scope::new);
        // SAFETY: the caller's promise.
        let got = unsafe { self.flow.get_in(scope, target, there, here) };
        let got = got.and_then(|()| match scope {
            Some(scope) => scope.finish(),
            None => {
                rma::send_if_idle(target.peer());
                Ok(())
            }
        });
        got.unwrap_or_else(|error| call.refuse(error));
    }

    /// The flow of its operations.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }
}

impl SymmetricRange {
    fn of(words: &[u64]) -> Self {
        let mut key = [0; RANGE_WORDS - 2];
        key.copy_from_slice(&words[2..]);
        Self {
            identity: words[0],
            length: words[1],
            // SAFETY: a key may have any bits; it is checked when it is attached.
            key: unsafe { std::mem::transmute::<[u64; RANGE_WORDS - 2], RegionKey>(key) },
        }
    }
}

/// Bytes of a PE on another node.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The memory of all of them.
    pub far: &'a Far,
    /// The context that operations on them belong to.
    pub context: &'a FarContext,
    /// The region.
    pub target: &'a Target,
    /// Where in it they begin.
    pub at: u64,
}

/// Symmetric memory, as PEs of other nodes are reached there.
#[derive(Debug, Clone, Copy)]
pub struct RemoteMemory<'a> {
    /// The context that the operations belong to, beside. `None`: there are no other nodes.
    pub far: Option<(&'a Far, &'a FarContext)>,
    /// The names of bytes.
    pub ranges: &'a Ranges,
}

impl<'a> RemoteMemory<'a> {
    /// The region of a PE on another node with these bytes. There is none: the job ends.
    pub fn target(self, call: Call, name: &str, address: usize, length: usize, pe: u32) -> Found<'a> {
        let found = self.far.and_then(|(far, context)| {
            let (target, at) = far.find(self.ranges, address, length, pe)?;
            Some(Found {
                far,
                context,
                target,
                at,
            })
        });
        found.unwrap_or_else(|| self.ranges.refuse(call, name, address, length, pe))
    }

    /// Put bytes into memory that is not mapped here. They may change when this returns or, if it does not wait, after a quiet.
    ///
    /// # Safety
    /// `source` must be good for as many, until then.
    #[cold]
    #[inline(never)]
    pub unsafe fn put(self, call: Call, dest: usize, source: *const u8, length: usize, pe: u32, waits: bool) {
        if length == 0 {
            return;
        }
        let found = self.target(call, "dest", dest, length, pe);
        let length = length as u64;
        let (there, here) = (Layout::contiguous(found.at, length), Layout::local(source, length));
        let target = (found.target, &there, length);
        // SAFETY: the caller's promise.
        unsafe { found.context.put(call, target, &here, waits) };
    }

    /// Get bytes from memory that is not mapped here: blocks until they are there, or, if it does not wait, they are there after a quiet.
    ///
    /// # Safety
    /// `dest` must be good for as many, until then.
    #[cold]
    #[inline(never)]
    pub unsafe fn get(self, call: Call, dest: *mut u8, source: usize, length: usize, pe: u32, waits: bool) {
        if length == 0 {
            return;
        }
        let found = self.target(call, "source", source, length, pe);
        let length = length as u64;
        let (there, here) = (Layout::contiguous(found.at, length), Layout::local(dest, length));
        // SAFETY: the caller's promise.
        unsafe { found.context.get(call, (found.target, &there), &here, waits) };
    }

    /// Put blocks into memory that is not mapped here: `blocks` of the bytes from `dest.first` on. They may change when this returns.
    ///
    /// # Safety
    /// Those of `source` must be good.
    #[cold]
    #[inline(never)]
    pub unsafe fn put_blocks(self, call: Call, dest: &FarBlocks, source: &Layout<'_>, pe: u32) {
        let found = self.target(call, "dest", dest.first, dest.length, pe);
        let there = dest.layout(found.at);
        // Blocks without gaps are bytes in a row.
        let row = match there {
            Layout::Contiguous(span) => span.length,
            _ => 0,
        };
        let target = (found.target, &there, row);
        // SAFETY: the caller's promise.
        unsafe { found.context.put(call, target, source, true) };
    }

    /// Get blocks from memory that is not mapped here. Blocks until they are there.
    ///
    /// # Safety
    /// Those of `dest` must be good.
    #[cold]
    #[inline(never)]
    pub unsafe fn get_blocks(self, call: Call, dest: &Layout<'_>, source: &FarBlocks, pe: u32) {
        let found = self.target(call, "source", source.first, source.length, pe);
        let there = source.layout(found.at);
        // SAFETY: the caller's promise; this waits for the bytes.
        unsafe { found.context.get(call, (found.target, &there), dest, true) };
    }
}

/// Blocks of symmetric memory.
#[derive(Debug, Clone, Copy)]
pub struct FarBlocks {
    /// The lowest address.
    pub first: usize,
    /// Bytes from there to the end of the last one.
    pub length: usize,
    /// From there to the first block: more than 0 where the stride is negative.
    pub begin: usize,
    /// Bytes of a block.
    pub block: usize,
    /// How many, and bytes from one to the next.
    pub level: [Level; 1],
}

impl FarBlocks {
    /// As offsets in a region, in which the lowest address is `at`.
    fn layout(&self, at: u64) -> Layout<'_> {
        Layout::strided(at + self.begin as u64, self.block as u64, &self.level)
    }
}
