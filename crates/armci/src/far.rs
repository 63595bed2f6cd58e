//! Global memory of jobs on several nodes, where a process maps only what is on its own: the regions, and what the engine does with them.
//!
//! Each block is registered with the engine twice, and all members of its group hear of both keys. By the *plain* region a process of
//! another node puts, gets, and reads, modifies and writes: its owner's progress executes that, which a thread of its own makes while the program
//! computes. By the *sums* all processes accumulate, those of the owner's node included, under the engine's locks of the owner: the locks of
//! stripes serve jobs on one node only. Nobody accumulates by the plain region, so the CPU's atomic instructions stay right for its numbers.
//!
//! A block of another node is named by its address in its owner. Nothing is ever loaded or stored there.
//!
//! Operations of one process on another are executed in their order; only long transfers by the provider's RMA could overtake what was asked
//! by messages, or be overtaken. They wait for what changes memory there, and a long put that is under way is waited for by whatever comes next.
//! A get that is under way holds up nothing: until it is waited for it may read what was put after it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use isthmus_engine::layout::Layout;
use isthmus_engine::rma::{self, Atomicity, Class, Combine, Flow, Operator, RegionKey, Scope, Target};
use isthmus_engine::{Peer, ProgressThread, Result, symmetric};

use crate::form::{Form, form};

/// What a process of a job on several nodes knows besides.
#[derive(Debug)]
pub struct Far {
    /// By process: is it on another node?
    elsewhere: Vec<bool>,
    flow: Flow,
    /// How often this process has notified each other one.
    notified: Vec<AtomicU32>,
    thread: Mutex<Option<ProgressThread>>,
}

/// The keys of a block: plain, sums.
pub type Keys = [RegionKey; 2];

/// A block and its regions.
#[derive(Debug, Clone)]
struct RegisteredBlock {
    length: u64,
    allocation: u64,
    keys: Keys,
    plain: Arc<Target>,
    sums: Arc<Target>,
}

/// By owner, then by the address of the first byte: as mapped here, or, of another node, in the owner.
static BLOCKS: RwLock<BTreeMap<u32, BTreeMap<u64, RegisteredBlock>>> = RwLock::new(BTreeMap::new());

/// Is the job on several nodes?
pub fn is_on() -> bool {
    symmetric::nodes() > 1
}

/// Register a block of ours.
///
/// # Errors
/// There is no memory.
pub fn register(address: *mut u8, bytes: u64) -> Result<Keys> {
    let plain = rma::register_as(address, bytes, Atomicity::Elements)?.key();
    match rma::register_as(address, bytes, Atomicity::Locked) {
        Ok(sums) => Ok([plain, sums.key()]),
        Err(error) => {
            rma::deregister(plain);
            Err(error)
        }
    }
}

/// From now on these bytes of `owner` may be accessed from here.
///
/// # Errors
/// The keys make no sense.
pub fn learn(owner: Peer, start: u64, length: u64, allocation: u64, keys: Keys) -> Result<()> {
    let [plain, sums] = keys;
    let known = RegisteredBlock {
        length,
        allocation,
        keys,
        plain: Arc::new(Target::attach(owner, plain)?),
        sums: Arc::new(Target::attach(owner, sums)?),
    };
    let mut blocks = BLOCKS.write().unwrap_or_else(PoisonError::into_inner);
    let of_owner = blocks.entry(owner.0).or_default();
    // Blocks that lay there have been freed.
    of_owner.retain(|other, block| other + block.length <= start || start + length <= *other);
    of_owner.insert(start, known);
    Ok(())
}

/// The number of the collective call that a block of `owner` comes from, which begins here.
pub fn allocation_at(owner: Peer, start: u64) -> Option<u64> {
    let blocks = BLOCKS.read().unwrap_or_else(PoisonError::into_inner);
    Some(blocks.get(&owner.0)?.get(&start)?.allocation)
}

/// Is the block of `owner` that begins here known by these keys? One that lay there before, and was freed, has others.
pub fn is_known(owner: Peer, start: u64, keys: &Keys) -> bool {
    let blocks = BLOCKS.read().unwrap_or_else(PoisonError::into_inner);
    let known = blocks.get(&owner.0).and_then(|of_owner| of_owner.get(&start));
    known.is_some_and(|block| block.keys == *keys)
}

/// Forget the blocks of an allocation.
pub fn forget(allocation: u64) {
    let mut blocks = BLOCKS.write().unwrap_or_else(PoisonError::into_inner);
    for of_owner in blocks.values_mut() {
        of_owner.retain(|_, block| block.allocation != allocation);
    }
}

/// Forget everything.
pub fn forget_all() {
    BLOCKS.write().unwrap_or_else(PoisonError::into_inner).clear();
}

/// A position in a block of another node.
#[derive(Debug, Clone)]
pub struct BlockTarget {
    plain: Arc<Target>,
    sums: Arc<Target>,
    /// Its offset in the block.
    pub at: u64,
}

impl BlockTarget {
    /// Are both in one block?
    pub fn is_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.plain, &other.plain)
    }
}

/// Where these addresses of `owner` are, if one block has them all.
pub fn find(owner: Peer, addresses: &Range<u64>) -> Option<BlockTarget> {
    let blocks = BLOCKS.read().unwrap_or_else(PoisonError::into_inner);
    let (first, block) = blocks.get(&owner.0)?.range(..=addresses.start).next_back()?;
    (addresses.end <= first + block.length).then(|| BlockTarget {
        plain: block.plain.clone(),
        sums: block.sums.clone(),
        at: addresses.start - first,
    })
}

/// A change of a number of a process of another node.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// It is replaced.
    Swap,
    /// It is added to.
    Add,
}

impl Far {
    /// If the job is on several nodes.
    pub fn of(members: &[Peer]) -> Option<Self> {
        let elsewhere: Vec<bool> = members.iter().map(|peer| symmetric::is_elsewhere(*peer)).collect();
        is_on().then(|| Self {
            notified: elsewhere.iter().map(|_| AtomicU32::new(0)).collect(),
            elsewhere,
            flow: Flow::new(),
            thread: Mutex::new(ProgressThread::begin()),
        })
    }

    /// The program no longer needs to be served while it computes.
    pub fn rest(&self) {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Is a process on another node?
    #[inline]
    pub fn is_elsewhere(&self, proc: usize) -> bool {
        self.elsewhere[proc]
    }

    /// How often `proc` has been notified before this time.
    pub fn notifies(&self, proc: usize) -> u32 {
        self.notified[proc].fetch_add(1, Ordering::Relaxed)
    }

    /// Put the bytes of `here` to offsets of a block. They may change when this is over locally, as the calling thread's form says; complete at the
    /// next fence. Blocks in its blocking form, as long as bytes are read.
    ///
    /// # Errors
    /// Its owner has failed.
    ///
    /// # Safety
    /// The bytes must be readable until it is over.
    pub unsafe fn put(&self, target: &BlockTarget, there: &Layout<'_>, here: &Layout<'_>) -> Result<()> {
        self.before(target, there)?;
        // SAFETY: the caller's promise.
        let begin = |scope| unsafe { self.flow.put_in(scope, &target.plain, there, here) };
        self.start(target, begin)
    }

    /// Get the bytes at offsets of a block, which are there when this is over locally. Blocks in its blocking form.
    ///
    /// # Errors
    /// Its owner has failed.
    ///
    /// # Safety
    /// The bytes of `here` must be writable until then.
    pub unsafe fn get(&self, target: &BlockTarget, there: &Layout<'_>, here: &Layout<'_>) -> Result<()> {
        self.before(target, there)?;
        // SAFETY: the caller's promise.
        let begin = |scope| unsafe { self.flow.get_in(scope, &target.plain, there, here) };
        self.start(target, begin)
    }

    /// Begin an operation, and end it in its blocking form. The rest of it goes on though this process calls nothing more.
    fn start(&self, target: &BlockTarget, begin: impl FnOnce(Option<Scope>) -> Result<()>) -> Result<()> {
        match form() {
            Form::Blocking => {
                let scope = Scope::new();
                let begun = begin(Some(scope));
                // Pieces that have begun write to the caller's memory until then.
                let finished = scope.finish();
                begun.and(finished)?;
            }
            Form::NonBlocking(scope) => begin(scope)?,
        }
        rma::send_if_idle(target.plain.peer());
        Ok(())
    }

    /// What may overtake others, or be overtaken, waits for them.
    fn before(&self, target: &BlockTarget, there: &Layout<'_>) -> Result<()> {
        match *there {
            Layout::Contiguous(span) if rma::overtakes(span.length) => self.flow.flush_changes(|| target.plain.peer()),
            _ => self.flow.flush_long_puts(|| target.plain.peer()),
        }
    }

    /// Wait until all that was started with a process, or at all, is over locally. Blocks.
    ///
    /// # Errors
    /// It has failed.
    pub fn finish(&self, peer: Option<Peer>) -> Result<()> {
        match peer {
            Some(peer) => self.flow.flush_local(|| peer),
            None => self.flow.flush_local_all(),
        }
    }

    /// Wait until all that was started at a process, or at all, is complete there. Blocks.
    ///
    /// # Errors
    /// It has failed.
    pub fn fence(&self, peer: Option<Peer>) -> Result<()> {
        match peer {
            Some(peer) => self.flow.flush(|| peer),
            None => self.flow.flush_all(),
        }
    }

    /// Add elements, one after the other, to those at offsets of a block.
    ///
    /// # Errors
    /// Its owner has failed.
    pub fn add(
        &self,
        target: &BlockTarget,
        there: &Layout<'_>,
        elements: &[u8],
        (class, width): (Class, u64),
    ) -> Result<()> {
        let combine = Combine::of(class, width as u32, Operator::Sum);
        let combine = combine.unwrap_or_else(|| unreachable!("all types of ARMCI can be added"));
        let here = Layout::local(elements.as_ptr(), elements.len() as u64);
        self.flow.flush_long_puts(|| target.sums.peer())?;
        // SAFETY: the elements are borrowed, and added or copied when this returns.
        unsafe { self.flow.accumulate(&target.sums, there, &here, combine) }?;
        rma::send_if_idle(target.sums.peer());
        Ok(())
    }

    /// Change the number of `width` bytes (4 or 8) at a position by the operand; what was there goes to `result`, unless that is null, and is
    /// there when this returns.
    ///
    /// # Errors
    /// Its owner has failed.
    ///
    /// # Safety
    /// The operand must be readable, and `result` writable or null, for as many bytes.
    pub unsafe fn change(
        &self,
        target: &BlockTarget,
        change: Change,
        width: u32,
        (operand, result): (*const u8, *mut u8),
    ) -> Result<()> {
        let operator = match change {
            Change::Swap => Operator::Replace,
            Change::Add => Operator::Sum,
        };
        let combine = Combine::of(Class::Signed, width, operator);
        let combine = combine.unwrap_or_else(|| unreachable!("numbers have 4 or 8 bytes"));
        self.flow.flush_long_puts(|| target.plain.peer())?;
        // SAFETY: the operand is copied, and the result waited for.
        unsafe { self.flow.fetch_op(&target.plain, target.at, operand, result, combine) }?;
        match result.is_null() {
            true => {
                rma::send_kept();
                Ok(())
            }
            false => self.flow.flush_local(|| target.plain.peer()),
        }
    }
}
