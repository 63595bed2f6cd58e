//! What models with a symmetric heap stand on: memory of the job that all ranks find by name, pieces of the segment that a
//! process maps again where it likes, and ringing peers without entering the engine.
//!
//! A piece is the process's own. Peers reach it by its offset in the segment, which they all map, so that whatever a process keeps in it
//! is a load or store away for everybody.

mod granted;
pub mod size;

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use isthmus_os::{huge, mmap};
use isthmus_shm::{MemoryWait, Offset, Segment, directory, doorbell, segment};

use crate::limits::COLLAPSED;
use crate::memory::huge_pages::HugePages;
use crate::memory::symmetric::granted::Granted;
use crate::memory::{heap, huge_pages};
use crate::types::Peer;
use crate::{Error, Result, counters};

const PAGE: u64 = 4096;

fn segment() -> Result<&'static Segment> {
    heap::segment().ok_or_else(|| Error::Boot("no memory is shared with peers".into()))
}

/// The `length` bytes that all ranks of the job call `key`; zero when they are named first. They last as long as the job.
///
/// # Errors
/// There is no memory, or others took the name for another length.
pub fn named(key: u64, length: u64) -> Result<NonNull<u8>> {
    directory::named(segment()?, key, length)?
        .ok_or_else(|| Error::NoMemory(format!("ranks disagree about the length of what they call {key:#x}")))
}

/// A number that no other process of the job gets, ever, and that is not 0.
pub fn unique_number() -> Result<u64> {
    // Numbers are taken by twos, so that message spaces begin with even ones.
    Ok(segment()?.take_numbers(2) + 1)
}

/// Addresses in the segment, taken by this process for good.
#[derive(Debug, Clone, Copy)]
pub struct Piece {
    segment: &'static Segment,
    at: u64,
    length: u64,
    /// By [`Self::grant`].
    granted: &'static Mutex<Granted>,
}

impl Piece {
    /// Take addresses for `length` bytes. What is to be touched of them is granted first: [`Self::grant`].
    ///
    /// # Errors
    /// The segment has no more.
    pub fn take(length: u64) -> Result<Self> {
        let segment = segment()?;
        let length = length.next_multiple_of(PAGE);
        match Self::from_pool(segment, length) {
            Some(at) => Ok(Self::lent(segment, at, length)),
            None => Self::take_small_pages(length),
        }
    }

    /// As [`Self::take`], of memory that can be mapped at any page ([`Self::map_at`]), for data that the program has in any case: it is not
    /// asked whether there is memory, which comes as it is touched.
    ///
    /// # Errors
    /// The segment has no more.
    pub fn take_for_statics(length: u64) -> Result<Self> {
        let piece = Self::take_small_pages(length)?;
        piece.segment.count(piece.length);
        Ok(piece)
    }

    fn take_small_pages(length: u64) -> Result<Self> {
        let segment = segment()?;
        let length = length.next_multiple_of(PAGE);
        let at = match length {
            _ if length < huge::BYTES => segment.take(length)?,
            // From the beginning of a huge page on.
            _ => Offset(segment.take(length + huge::BYTES)?.0.next_multiple_of(huge::BYTES)),
        };
        Ok(Self::lent(segment, at, length))
    }

    fn lent(segment: &'static Segment, at: Offset, length: u64) -> Self {
        segment.lend(at, length);
        let Offset(at) = at;
        // As the addresses, for good.
        let granted = Box::leak(Box::new(Mutex::new(Granted::new())));
        Self {
            segment,
            at,
            length,
            granted,
        }
    }

    /// Whole huge pages from the machine's pool, all of them at once, where that is the policy and it has as many.
    fn from_pool(segment: &Segment, length: u64) -> Option<Offset> {
        if HugePages::policy() != HugePages::Pool || !length.is_multiple_of(huge::BYTES) {
            return None;
        }
        let found = huge_pages::from_pool(segment, length).inspect_err(huge_pages::say_pool_is_short);
        found.inspect(|_| counters::HUGE_BYTES.add(length)).ok()
    }

    fn is_in_pool(&self) -> bool {
        self.segment.is_in_pool(Offset(self.at))
    }

    /// Where everybody finds it.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// Bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Where it is in this process without mapping it again.
    pub fn address(&self) -> NonNull<u8> {
        let within = self.segment.range(self.at, self.length);
        within.expect("it was taken")
    }

    /// Map it at `address` too, in place of whatever is there.
    ///
    /// # Safety
    /// Memory that is there now must be the caller's, and unused.
    pub unsafe fn map_at(&self, address: NonNull<u8>) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.segment.map_at(Offset(self.at), self.length, address) }?;
        Ok(())
    }

    /// Grant part of it, in whole pages, so that touching it cannot fail. Memory comes when it is touched, and at once where huge pages are made
    /// of it: of what is not too long, or if they were asked for by name.
    ///
    /// # Errors
    /// The machine, or the cgroup, has no more.
    pub fn grant(&self, from: u64, length: u64) -> Result<()> {
        let first = from / PAGE * PAGE;
        let end = (from + length).next_multiple_of(PAGE).min(self.length);
        if first >= end || self.is_in_pool() {
            return Ok(());
        }
        let mut waiting = MemoryWait::default();
        while let Err(error) = self.grant_now(first..end) {
            self.segment.wait_for_memory(error, &mut waiting)?;
        }
        let (at, length) = (Offset(self.at + first), end - first);
        match HugePages::policy() {
            // The settings of the machine count for others (docs/decisions/0046).
            HugePages::Auto => counters::HUGE_BYTES.add(self.segment.prefer_huge(at, length, length <= COLLAPSED)),
            policy => policy.apply(self.segment, at, length),
        }
        Ok(())
    }

    /// Grant whole pages. Does not wait for ranks that take memory; after an error the parts before stay granted, and the next call finds them so.
    fn grant_now(&self, pages: Range<u64>) -> std::result::Result<(), segment::Error> {
        let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        for Range { start, end } in granted.missing(pages) {
            self.segment.promise(Offset(self.at + start), end - start)?;
            granted.add(start..end);
        }
        Ok(())
    }

    /// Give back whole pages within part of it, which read as zeros then: which. Memory from the pool stays: no other process needs it. `None`:
    /// there are no such pages, or their memory stays.
    pub fn give_back(&self, from: u64, length: u64) -> Option<Range<u64>> {
        let first = from.next_multiple_of(PAGE);
        let end = (from + length) / PAGE * PAGE;
        if first >= end || self.is_in_pool() {
            return None;
        }
        let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut are_zeros = true;
        for Range { start, end } in granted.within(first..end) {
            match self.segment.unback(Offset(self.at + start), end - start) {
                true => granted.remove(start..end),
                false => are_zeros = false,
            }
        }
        are_zeros.then_some(first..end)
    }
}

/// `length` bytes of a peer's piece, as it told us; `None`: there is no such memory.
pub fn at(offset: u64, length: u64) -> Option<NonNull<u8>> {
    segment().ok()?.range(offset, length)
}

/// Keep addresses for the caller, without access. False: they are not all free in this process.
pub fn reserve_addresses(address: NonNull<u8>, length: u64) -> bool {
    mmap::reserve_addresses(address, length as usize)
}

/// Give back what [`reserve_addresses`] kept.
///
/// # Safety
/// The caller kept it, and nobody uses it.
pub unsafe fn release_addresses(address: NonNull<u8>, length: u64) {
    // SAFETY: the caller's promise.
    unsafe { mmap::release_addresses(address, length as usize) };
}

/// The doorbells of all ranks, from outside the engine.
#[derive(Debug, Clone, Copy)]
pub struct Bells {
    segment: &'static Segment,
    fence_needed: bool,
}

impl Bells {
    pub(crate) fn new(segment: &'static Segment, fence_needed: bool) -> Self {
        Self { segment, fence_needed }
    }

    /// Must a writer fence between writing something and looking whether somebody waits for it? Else whoever waits does it for all.
    pub fn fence_needed(&self) -> bool {
        self.fence_needed
    }

    /// Between writing something and looking whether somebody waits for it.
    #[inline(always)]
    pub fn order(&self) {
        doorbell::order(self.fence_needed);
    }

    /// Wake `peer` if it sleeps. After [`Self::order`]. Does not block.
    #[inline]
    pub fn ring(&self, peer: Peer) {
        if self.segment.slot(peer.0).doorbell().alert() {
            counters::WAKES.add_anywhere(1);
        }
    }
}

/// Nodes that the ranks of the job are on. Those of others map no memory of ours.
pub fn nodes() -> u32 {
    segment().map_or(1, Segment::nodes)
}

/// Is that rank of the job on another node?
pub fn is_elsewhere(peer: Peer) -> bool {
    segment().is_ok_and(|segment| segment.is_elsewhere(peer.0))
}

/// Bytes of addresses that the job has for everything.
pub fn limit() -> u64 {
    segment().map_or(0, Segment::limit)
}
