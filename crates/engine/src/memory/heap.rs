//! Memory for users that every rank of the node maps: `MPI_Alloc_mem`, windows, symmetric heaps.
//!
//! Messages between such buffers, and one-sided operations on them, are plain copies without a system call. The memory is
//! cut from the job's segment, in pages, of which short blocks share one (`small.rs`), and belongs to the process that
//! allocated it: all bookkeeping is here, nothing of it is shared, and nobody frees a peer's. What a process has not
//! freed when it dies lasts as long as the job, since peers may be copying from it.
//!
//! A block costs what of it is touched: its memory is promised when it is allocated, and comes page by page (docs/decisions/0214).
//!
//! Addresses are taken from the segment in chunks and never given back; memory is. A free block either keeps what was
//! touched of it (it was used a moment ago, and there is little of that) or has none. The two kinds are not joined, so that it is known of
//! every block; if that is in the way of a request, all memory of free blocks goes back, and they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use isthmus_os::huge;
pub use isthmus_shm::SharedAddress;
use isthmus_shm::{MemoryWait, Offset, Registry, Segment, registry, segment};

use crate::memory::huge_pages;
pub use crate::memory::huge_pages::HugePages;
use crate::memory::small::{Freed, Small};
use crate::progress::gate::{State, state};
use crate::{Error, counters};

const PAGE: u64 = 4096;
/// Addresses taken from the segment at a time, at least.
const CHUNK: u64 = 4 << 20;
/// Memory that free blocks may keep, so that those who allocate in a loop do not pay for pages each time.
const KEPT: u64 = 4 << 20;

/// The memory that this process shares with peers, by address.
pub(crate) static REGISTRY: Registry = Registry::new();

/// The job's segment, once this process has joined.
static SEGMENT: OnceLock<&'static Segment> = OnceLock::new();

static HEAP: Mutex<Option<Heaps>> = Mutex::new(None);

/// One for each size of pages.
#[derive(Debug)]
struct Heaps {
    ordinary: Heap,
    /// Of huge pages from the machine's pool.
    pool: Heap,
    /// Parts of ordinary pages.
    small: Small,
}

fn heaps() -> MutexGuard<'static, Option<Heaps>> {
    HEAP.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The job's segment; `None` before this process has joined the job.
pub(crate) fn segment() -> Option<&'static Segment> {
    SEGMENT.get().copied()
}

/// From now on there is memory to be had from the job's segment.
pub(crate) fn open(segment: &'static Segment) {
    REGISTRY.add(registry::JOB, segment);
    let _ = SEGMENT.set(segment);
    *heaps() = Some(Heaps {
        ordinary: Heap::new(segment, PAGE),
        pool: Heap::new(segment, huge::BYTES),
        small: Small::default(),
    });
}

/// `length` bytes that every rank of the node maps, at a multiple of `alignment`, a power of two. The bytes may be
/// anything. Blocks while other ranks take memory that could leave too little.
///
/// # Errors
/// The segment or the machine has no more, or a look at what is left says that it is better not to take it; the engine
/// has not booted, or this is a child made by `fork`.
pub fn allocate(length: u64, alignment: u64) -> crate::Result<NonNull<u8>> {
    allocate_in(length, alignment, HugePages::policy())
}

/// As [`allocate`], in such pages, whatever the tunable says.
///
/// # Errors
/// As for [`allocate`].
pub fn allocate_in(length: u64, alignment: u64, policy: HugePages) -> crate::Result<NonNull<u8>> {
    take(length, alignment, policy).map(|(base, _)| base)
}

/// As [`allocate`], of zeros: what the kernel has just made is not written to.
///
/// # Errors
/// As for [`allocate`].
pub fn allocate_zeroed(length: u64, alignment: u64) -> crate::Result<NonNull<u8>> {
    let (base, are_zeros) = take(length, alignment, HugePages::policy())?;
    if !are_zeros {
        // SAFETY: the block is ours, has as many bytes, and nobody else knows it.
        unsafe { base.write_bytes(0, length as usize) };
    }
    Ok(base)
}

/// Memory for a user, and whether all of it is zeros.
fn take(length: u64, alignment: u64, policy: HugePages) -> crate::Result<(NonNull<u8>, bool)> {
    let segment = segment().filter(|_| state() == State::Inside);
    let segment = segment.ok_or_else(|| Error::Boot("no memory is shared with peers".into()))?;
    let mut waiting = MemoryWait::default();
    loop {
        match take_now(length, alignment, policy) {
            Ok(taken) => return Ok(taken),
            // Other threads take and free meanwhile.
            Err(error) => segment.wait_for_memory(error, &mut waiting)?,
        }
    }
}

/// Does not wait for ranks that take memory.
fn take_now(length: u64, alignment: u64, policy: HugePages) -> Result<(NonNull<u8>, bool), segment::Error> {
    let mut heaps = heaps();
    let Heaps {
        ordinary: heap,
        pool,
        small,
    } = heaps.as_mut().expect("made before the state is Inside");
    if let Some(room) = Small::room(length, alignment) {
        let at = small.allocate(room, || heap.allocate(PAGE, PAGE).map(|(page, _)| page.at))?;
        counters::HEAP_BYTES.add(length);
        return Ok((heap.address(Extent { at, length }), false));
    }
    if policy == HugePages::Pool && length >= huge::BYTES {
        match pool.allocate(length, alignment) {
            Ok((block, are_zeros)) => {
                counters::HEAP_BYTES.add(length);
                counters::HUGE_BYTES.add(block.length);
                return Ok((pool.address(block), are_zeros));
            }
            Err(error) => huge_pages::say_pool_is_short(&error),
        }
    }
    // From the beginning of a huge page on, where there is room for one.
    let aligned = match policy {
        HugePages::Off => alignment,
        _ if length < huge::BYTES => alignment,
        _ => alignment.max(huge::BYTES),
    };
    let (block, are_zeros) = heap.allocate(length, aligned)?;
    policy.apply(heap.segment, Offset(block.at), block.length);
    counters::HEAP_BYTES.add(length);
    Ok((heap.address(block), are_zeros))
}

/// Have `take` take `length` bytes of this process's own memory, telling how many of them have become present: refused if as much is not
/// left beside what other ranks are taking. Blocks as [`allocate`].
///
/// # Errors
/// There is no more; the engine has not booted.
pub fn beside<T>(length: u64, take: impl FnOnce(&mut dyn FnMut(u64)) -> T) -> crate::Result<T> {
    let segment = segment().ok_or_else(|| Error::Boot("no memory is shared with peers".into()))?;
    Ok(segment.beside(length, take)?)
}

/// Bytes that [`allocate`] could give to one rank now, as far as the kernel tells.
pub fn available() -> u64 {
    segment().map_or_else(isthmus_os::memory::available, Segment::free)
}

/// Is there anybody to share memory with?
pub fn has_peers() -> bool {
    state() == State::Inside && heaps().as_ref().is_some_and(|heaps| heaps.ordinary.segment.ranks() > 1)
}

/// Give back what [`allocate`] gave. False: it did not give this address, or it was freed before.
pub fn free(address: NonNull<u8>) -> bool {
    state() == State::Inside
        && heaps()
            .as_mut()
            .is_some_and(|heaps| heaps.free_small(address) || heaps.ordinary.free(address) || heaps.pool.free(address))
}

impl Heaps {
    /// If it is a short block.
    fn free_small(&mut self, address: NonNull<u8>) -> bool {
        let Some(at) = self.ordinary.segment.offset_of(address.as_ptr().addr() as u64, 0) else {
            return false;
        };
        match self.small.free(at) {
            Freed::No => false,
            Freed::Block => true,
            Freed::Page(at) => {
                let page = self.ordinary.address(Extent { at, length: PAGE });
                self.ordinary.free(page)
            }
        }
    }
}

/// Where peers find these bytes of ours without a system call; `None`: they are not in memory that peers map.
#[inline]
pub fn shared_address_of(address: *const u8, length: u64) -> Option<SharedAddress> {
    REGISTRY.find(address.addr() as u64, length)
}

/// Address in this process of `length` bytes that are, or are said to be, at `address`. Memory that was not taken from a segment
/// has none.
#[inline]
pub fn address_of(address: SharedAddress, length: u64) -> Option<NonNull<u8>> {
    REGISTRY.at(address, length)
}

/// An extent of the segment: offset and length in bytes, whole pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    at: u64,
    length: u64,
}

impl Extent {
    fn end(self) -> u64 {
        self.at + self.length
    }
}

/// Free blocks of one kind; neighbours are joined.
#[derive(Debug, Default)]
struct Pool {
    by_offset: BTreeMap<u64, u64>,
    by_size: BTreeSet<(u64, u64)>,
    bytes: u64,
}

impl Pool {
    /// Add a block; answers what it has become part of.
    fn add(&mut self, block: Extent) -> Extent {
        let mut whole = block;
        if let Some((&at, &length)) = self.by_offset.range(..block.at).next_back()
            && at + length == block.at
        {
            whole = Extent {
                at,
                length: length + block.length,
            };
            self.remove(Extent { at, length });
        }
        if let Some(&length) = self.by_offset.get(&block.end()) {
            self.remove(Extent {
                at: block.end(),
                length,
            });
            whole.length += length;
        }
        self.by_offset.insert(whole.at, whole.length);
        self.by_size.insert((whole.length, whole.at));
        self.bytes += whole.length;
        whole
    }

    fn remove(&mut self, block: Extent) {
        self.by_offset.remove(&block.at);
        self.by_size.remove(&(block.length, block.at));
        self.bytes -= block.length;
    }

    /// Cut `length` bytes from the smallest block that holds them where `align` moves its beginning to.
    fn cut(&mut self, length: u64, align: impl Fn(u64) -> u64) -> Option<Extent> {
        let fits = |&&(size, at): &&(u64, u64)| align(at) - at <= size - length;
        let &(size, at) = self.by_size.range((length, 0)..).find(fits)?;
        let whole = Extent { at, length: size };
        let block = Extent { at: align(at), length };
        self.remove(whole);
        for rest in [
            Extent {
                at,
                length: block.at - at,
            },
            Extent {
                at: block.end(),
                length: whole.end() - block.end(),
            },
        ] {
            if rest.length > 0 {
                self.add(rest);
            }
        }
        Some(block)
    }
}

#[derive(Debug)]
struct Heap {
    segment: &'static Segment,
    /// Bytes of a page: ordinary ones, or those of the pool.
    page: u64,
    /// Free, with memory where they were touched.
    warm: Pool,
    /// Free, with memory behind none, or hardly any: they read as zeros.
    cold: Pool,
    /// What users have, by offset.
    live: HashMap<u64, u64>,
}

impl Heap {
    fn new(segment: &'static Segment, page: u64) -> Self {
        Self {
            segment,
            page,
            warm: Pool::default(),
            cold: Pool::default(),
            live: HashMap::new(),
        }
    }

    fn address(&self, block: Extent) -> NonNull<u8> {
        let within = self.segment.at(Offset(block.at), block.length);
        within.expect("blocks lie in what was taken from the segment")
    }

    /// The offset that `offset` is moved up to, so that its address is aligned.
    fn align(&self, alignment: u64) -> impl Fn(u64) -> u64 + use<> {
        let base = self.segment.base().addr().get() as u64;
        move |offset| (base + offset).next_multiple_of(alignment) - base
    }

    /// A block, and whether all of it is zeros.
    fn allocate(&mut self, length: u64, alignment: u64) -> Result<(Extent, bool), segment::Error> {
        let too_much = segment::Error::Exhausted {
            wanted: length,
            left: 0,
            limit: "addresses of the job segment",
        };
        let alignment = alignment.max(self.page);
        let padded = length.max(1).checked_next_multiple_of(self.page);
        let Some(length) = padded.filter(|length| length.checked_add(alignment).is_some()) else {
            return Err(too_much);
        };
        let (block, are_zeros) = match self.warm.cut(length, self.align(alignment)) {
            Some(block) => (block, false),
            None => (self.allocate_cold(length, alignment)?, true),
        };
        self.live.insert(block.at, block.length);
        Ok((block, are_zeros))
    }

    fn allocate_cold(&mut self, length: u64, alignment: u64) -> Result<Extent, segment::Error> {
        let align = self.align(alignment);
        let mut found = self.cold.cut(length, &align);
        if found.is_none() && self.warm.bytes > 0 {
            self.cool();
            found = self.cold.cut(length, &align);
        }
        if found.is_none() {
            // A refused request takes no addresses. Memory in the pool is not counted.
            if length > CHUNK && self.page == PAGE {
                self.segment.can_grant(length)?;
            }
            self.grow(length + alignment - self.page)?;
            found = self.cold.cut(length, &align);
        }
        let block = found.expect("as much was just added, wherever it begins");
        if let Err(error) = self.segment.promise(Offset(block.at), block.length) {
            // Some of it may have been found, where it has its memory now.
            self.segment.punch(Offset(block.at), block.length);
            self.cold.add(block);
            return Err(error);
        }
        Ok(block)
    }

    /// Take more addresses.
    fn grow(&mut self, least: u64) -> Result<(), segment::Error> {
        let take = |length| match self.page {
            PAGE => self.segment.take(length),
            _ => self.segment.take_from_pool(length),
        };
        let (at, length) = match take(least.max(CHUNK)) {
            Ok(at) => (at, least.max(CHUNK)),
            Err(_) => (take(least)?, least),
        };
        // Users expect to find their data in core dumps, and to share nothing less with children than they do elsewhere.
        self.segment.lend(at, length);
        self.cold.add(Extent { at: at.0, length });
        Ok(())
    }

    fn free(&mut self, address: NonNull<u8>) -> bool {
        let Some(at) = self.segment.offset_of(address.as_ptr().addr() as u64, 0) else {
            return false;
        };
        let Some(length) = self.live.remove(&at) else {
            return false;
        };
        let whole = self.warm.add(Extent { at, length });
        if self.warm.bytes > KEPT {
            self.warm.remove(whole);
            self.cool_block(whole);
        }
        true
    }

    /// Give back the memory of all free blocks.
    fn cool(&mut self) {
        let all = std::mem::take(&mut self.warm);
        for (at, length) in all.by_offset {
            self.cool_block(Extent { at, length });
        }
    }

    /// A free block that is in no pool becomes one without memory, unless the kernel does not take it.
    fn cool_block(&mut self, block: Extent) {
        match self.segment.unback(Offset(block.at), block.length) {
            true => self.cold.add(block),
            false => self.warm.add(block),
        };
    }
}

#[cfg(test)]
mod tests {
    use isthmus_os::memory;

    use super::*;

    fn heap() -> Heap {
        let fd = segment::create(1, [3; 16]).expect("memfd");
        Heap::new(Box::leak(Box::new(Segment::attach(fd, [3; 16]).expect("attach"))), PAGE)
    }

    fn used(heap: &Heap) -> u64 {
        heap.segment.memory().expect("a number")
    }

    /// Free bytes and blocks of both kinds, after checking that they are disjoint and not adjacent within a kind.
    fn sound(heap: &Heap) -> u64 {
        let mut all: Vec<Extent> = heap.live.iter().map(|(&at, &length)| Extent { at, length }).collect();
        for pool in [&heap.warm, &heap.cold] {
            let blocks: Vec<Extent> = pool
                .by_offset
                .iter()
                .map(|(&at, &length)| Extent { at, length })
                .collect();
            assert!(
                blocks.windows(2).all(|pair| pair[0].end() < pair[1].at),
                "not joined: {blocks:?}"
            );
            assert_eq!(pool.bytes, blocks.iter().map(|block| block.length).sum::<u64>());
            assert_eq!(pool.by_size.len(), blocks.len());
            all.extend(blocks);
        }
        all.sort_by_key(|block| block.at);
        assert!(
            all.windows(2).all(|pair| pair[0].end() <= pair[1].at),
            "overlap: {all:?}"
        );
        heap.warm.bytes + heap.cold.bytes
    }

    #[test]
    fn memory_comes_and_goes() {
        let mut heap = heap();
        let before = used(&heap);
        let (block, are_zeros) = heap.allocate(64 << 20, 1).expect("memory");
        if memory::comes_when_touched() {
            assert!(used(&heap) <= before + PAGE, "behind none of it");
        }
        let address = heap.address(block);
        // SAFETY: the block is ours.
        unsafe {
            assert!(are_zeros && address.add(5).read() == 0);
            address.write_bytes(7, 64 << 20);
        }
        assert!(used(&heap) >= before + (64 << 20));
        assert!(heap.free(address));
        assert!(!heap.free(address), "once");
        assert!(used(&heap) <= before + PAGE, "{} more", used(&heap) - before);
        let (again, are_zeros) = heap.allocate(64 << 20, 1).expect("memory");
        assert_eq!(again, block, "the same addresses again");
        // SAFETY: as above.
        assert!(are_zeros && unsafe { address.read() } == 0);
        sound(&heap);
    }

    #[test]
    fn little_that_was_used_stays_at_hand() {
        let mut heap = heap();
        let (block, _) = heap.allocate(10_000, 1).expect("memory");
        // SAFETY: the block is ours.
        unsafe { heap.address(block).write_bytes(7, 12_288) };
        let with_it = used(&heap);
        heap.free(heap.address(block));
        assert_eq!(used(&heap), with_it);
        assert_eq!(heap.allocate(12_000, 1).expect("memory"), (block, false));
        assert_eq!(used(&heap), with_it);
    }

    #[test]
    fn alignment_is_of_addresses() {
        let mut heap = heap();
        for alignment in [1, 64, 4096, 8192, 1 << 16, 2 << 20, 64 << 20] {
            let (block, _) = heap.allocate(5000, alignment).expect("memory");
            let address = heap.address(block).addr().get() as u64;
            assert!(
                address.is_multiple_of(alignment.max(PAGE)),
                "{address:x} for {alignment}"
            );
            sound(&heap);
        }
    }

    #[test]
    fn any_order_of_requests_leaves_it_sound() {
        let mut heap = heap();
        let mut live: Vec<(NonNull<u8>, u64, u8)> = Vec::new();
        let mut state = 42u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for step in 0..2000u32 {
            if live.len() > 20 || (!live.is_empty() && random(3) == 0) {
                let (address, length, mark) = live.swap_remove(random(live.len() as u64) as usize);
                // SAFETY: allocated below and not freed since.
                let bytes = unsafe { std::slice::from_raw_parts(address.as_ptr(), length as usize) };
                assert!(bytes[0] == mark && bytes[length as usize - 1] == mark);
                assert!(heap.free(address));
            } else {
                let length = 1 + (random(1 << 22) >> random(14));
                let (block, _) = heap.allocate(length, 1 << random(18)).expect("memory");
                let address = heap.address(block);
                // SAFETY: the block is ours.
                unsafe {
                    address.write(step as u8);
                    address.add(length as usize - 1).write(step as u8);
                }
                live.push((address, length, step as u8));
            }
            sound(&heap);
            assert!(heap.warm.bytes <= KEPT);
        }
        for (address, ..) in live {
            assert!(heap.free(address));
        }
        heap.cool();
        let free = sound(&heap);
        assert_eq!(heap.cold.by_offset.len(), 1, "all joined");
        assert!(free < 512 << 20, "addresses are used again: {free}");
    }

    #[test]
    fn what_cannot_be_had_is_an_error_and_harms_nothing() {
        let mut heap = heap();
        for length in [u64::MAX, u64::MAX - PAGE, 1 << 50, memory::available()] {
            assert!(heap.allocate(length, 1).is_err(), "{length}");
        }
        assert!(heap.allocate(1 << 40, 1 << 62).is_err());
        assert_eq!(sound(&heap), 0);
        assert!(!heap.free(NonNull::dangling()));
        assert!(heap.allocate(1, 1).is_ok());
    }
}
