//! A single-producer, single-consumer ring of records between one pair of processes.
//!
//! After the per-pair "fast box" of Open MPI's shared-memory transport (`opal/mca/btl/sm`): no atomic
//! read-modify-write, and header and payload share a line, so that a small message costs one line crossing.
//!
//! # Layout
//! One credit block of 128 bytes, then `size` bytes of data in lines of 64, `size` a power of two. A record starts on
//! a line; its first word is the header `handler 8 | length 24 | context 32`, its body follows at once, and it covers
//! as many lines as it needs, never wrapping: a `SKIP` record fills the end of the ring.
//!
//! # Fields (who may touch what, when)
//! - lines in `[consumed, tail)`: written by the producer before the header is published, read by the consumer after;
//! - lines in `[tail, consumed + size)`: the producer's, but for the header at `tail`, which the consumer polls;
//! - credit block: written by the consumer only.
//!
//! Positions count bytes since the ring was made and never wrap (64 bits).
//!
//! # Ordering
//! The header word at `tail` is zero before any record in front of it is published, so the consumer never takes old
//! bytes for a header. The producer zeroes a few headers ahead *after* publishing, which also brings the lines into
//! its cache while it has nothing better to do.
//!
//! # Safety
//! Exactly one [`Producer`] and one [`Consumer`] per ring. A consumer checks every length it reads: a broken or adversarial
//! producer can make it drop records, not leave the ring.

use std::sync::Arc;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Bytes in a line.
pub const LINE: u64 = 64;
/// Bytes of a record's header.
pub const HEADER: u64 = 8;
/// Headers that the producer keeps zeroed ahead of its tail: as many lines as a record of up to 511 bytes of payload takes, and the next
/// header. One that is zeroed only when the record before it is published delays that by the time in which a line comes, 0.15 us on
/// two CPUs of Emerald Rapids; and the lines between are ours by then.
const CLEAN_AHEAD: u64 = 10 * LINE;

/// Handler of the record that fills the end of the ring.
const SKIP: u8 = 0xff;

/// What the consumer tells the producer. On lines of its own.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Credit {
    /// Position up to which the producer may overwrite.
    consumed: AtomicU64,
    /// Nonzero: the consumer looks at this ring in every round; zero: it must be told by its doorbell.
    polled: AtomicU32,
    /// Nonzero: no room for unmatched payload, announce messages instead of sending them.
    announce_only: AtomicU32,
    /// How the consumer wants payload to be written; what it means is between the users of the ring. Zero: as usual.
    hints: AtomicU32,
}

impl Credit {
    /// What the consumer said last of announcements.
    pub fn announces_only(&self) -> bool {
        self.announce_only.load(Ordering::Relaxed) != 0
    }

    fn reset(&self) {
        self.consumed.store(0, Ordering::Relaxed);
        self.polled.store(0, Ordering::Relaxed);
        self.announce_only.store(0, Ordering::Relaxed);
        self.hints.store(0, Ordering::Relaxed);
    }
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Credit>() == 128);

/// How far [`Consumer::look_ahead`] looks: a line takes as long to come as a few short records to be handled.
const AHEAD: u64 = 4 * LINE;

/// Where a ring's words are: shared memory, or loom's cells in the model.
pub trait RingMemory {
    /// Bytes of data, a power of two.
    fn size(&self) -> u64;
    /// The credit block.
    fn credit(&self) -> &Credit;
    /// First word of the line at byte `at`, which is below `size` and a multiple of [`LINE`].
    fn header(&self, at: u64) -> &AtomicU64;
    /// The line at byte `at`, which is below `size`, will be read soon.
    #[inline]
    fn prefetch(&self, at: u64) {
        let _ = at;
    }
}

/// A record's header word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The number of its handler; 1 to 254.
    pub handler: u8,
    /// Bytes of body.
    pub length: u32,
    /// Free for the handler (the context id of messages).
    pub context: u32,
}

impl Header {
    fn pack(self) -> u64 {
        debug_assert!(self.length < 1 << 24);
        u64::from(self.handler) | u64::from(self.length) << 8 | u64::from(self.context) << 32
    }

    fn unpack(word: u64) -> Self {
        Self {
            handler: word as u8,
            length: (word >> 8) as u32 & 0xff_ffff,
            context: (word >> 32) as u32,
        }
    }
}

/// Bytes that a record with `body` bytes covers.
fn footprint(body: u32) -> u64 {
    (HEADER + u64::from(body)).next_multiple_of(LINE)
}

/// Lines that a record with `body` bytes covers.
pub fn lines(body: u32) -> u64 {
    footprint(body) / LINE
}

/// Bytes of shared memory for a ring with `size` bytes of data.
pub const fn bytes_for(size: u64) -> u64 {
    size_of::<Credit>() as u64 + size
}

/// The longest body in a ring with `size` bytes of data: with a quarter of the credit unreturned, a skip and the next
/// header, it always fits when everything was consumed.
pub const fn longest_body(size: u64) -> u32 {
    (size / 4 - HEADER) as u32
}

/// The sending side.
#[derive(Debug)]
pub struct Producer<M> {
    memory: M,
    tail: u64,
    /// Last credit seen.
    consumed: u64,
    /// Headers in `[tail, clean)` are zero.
    clean: u64,
}

/// The receiving side.
#[derive(Debug)]
pub struct Consumer<M> {
    memory: M,
    head: u64,
    returned: u64,
    /// The producer wrote what cannot be true.
    broken: bool,
}

/// Room for one record.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Byte where the record's header goes; the body follows after [`HEADER`] bytes.
    pub at: u64,
}

impl<M: RingMemory> Producer<M> {
    /// The producer of a new ring whose memory is all zero.
    pub fn new(memory: M) -> Self {
        let clean = memory.size();
        Self {
            memory,
            tail: 0,
            consumed: 0,
            clean,
        }
    }

    /// The producer of a new ring in memory where another one was. Nobody else looks at it any more.
    pub fn anew(memory: M) -> Self {
        memory.credit().reset();
        memory.header(0).store(0, Ordering::Relaxed);
        Self {
            memory,
            tail: 0,
            consumed: 0,
            clean: LINE,
        }
    }

    /// The memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Room for a record with `body` bytes (at most [`longest_body`]) that leaves `spare` bytes free, if there is.
    /// Write the body, then [`Self::publish`].
    #[inline]
    pub fn reserve(&mut self, body: u32, spare: u64) -> Option<Room> {
        let size = self.memory.size();
        debug_assert!(body <= longest_body(size));
        let need = footprint(body);
        let to_end = size - (self.tail & (size - 1));
        let skip = if need > to_end { to_end } else { 0 };
        // One line more: the header after the record must be zero, so its line must be ours.
        let end = self.tail + skip + need + LINE + spare;
        if end > self.consumed + size {
            // SYNC: ring-credit
            self.consumed = self
                .memory
                .credit()
                .consumed
                .load(Ordering::Acquire)
                .clamp(self.consumed, self.tail);
            if end > self.consumed + size {
                return None;
            }
        }
        if skip > 0 {
            self.put(
                Header {
                    handler: SKIP,
                    length: (skip - HEADER) as u32,
                    context: 0,
                },
                skip,
            );
        }
        Some(Room {
            at: self.tail & (size - 1),
        })
    }

    /// Publish the record just written to the [`Room`] that `reserve` gave.
    #[inline]
    pub fn publish(&mut self, header: Header) {
        self.put(header, footprint(header.length));
        // While the consumer is busy: zero what comes next. Only within what is known to be free.
        while self.clean < self.tail + CLEAN_AHEAD && self.clean + LINE <= self.consumed + self.memory.size() {
            self.zero(self.clean);
        }
    }

    /// True if the consumer has taken everything.
    pub fn is_drained(&self) -> bool {
        // SYNC: ring-credit
        self.memory.credit().consumed.load(Ordering::Acquire) == self.tail
    }

    /// Does the consumer look at this ring without being told?
    #[inline]
    pub fn is_polled(&self) -> bool {
        self.memory.credit().polled.load(Ordering::Relaxed) != 0
    }

    /// Does the consumer want announcements only?
    #[inline]
    pub fn announce_only(&self) -> bool {
        self.memory.credit().announce_only.load(Ordering::Relaxed) != 0
    }

    /// The consumer's hint how to copy.
    #[inline]
    pub fn hints(&self) -> u32 {
        self.memory.credit().hints.load(Ordering::Relaxed)
    }

    #[inline]
    fn put(&mut self, header: Header, covers: u64) {
        let next = self.tail + covers;
        if next >= self.clean {
            self.zero(next);
        }
        // SYNC: ring-record
        self.memory
            .header(self.tail & (self.memory.size() - 1))
            .store(header.pack(), Ordering::Release);
        self.tail = next;
    }

    #[inline]
    fn zero(&mut self, position: u64) {
        self.memory
            .header(position & (self.memory.size() - 1))
            .store(0, Ordering::Relaxed);
        self.clean = position + LINE;
    }
}

/// A record that arrived.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// Its header.
    pub header: Header,
    /// Byte where its header is; the body follows after [`HEADER`] bytes and lies within the ring.
    pub at: u64,
}

impl<M: RingMemory> Consumer<M> {
    /// The consumer of a new ring.
    pub fn new(memory: M) -> Self {
        Self {
            memory,
            head: 0,
            returned: 0,
            broken: false,
        }
    }

    /// The memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Bytes of records that were taken so far, with what they cover.
    #[inline]
    pub fn taken(&self) -> u64 {
        self.head
    }

    /// Is there anything? One load.
    #[inline]
    pub fn is_ready(&self) -> bool {
        // SYNC: ring-record
        !self.broken
            && self
                .memory
                .header(self.head & (self.memory.size() - 1))
                .load(Ordering::Acquire)
                != 0
    }

    /// The next record, if one was published. It stays until [`Self::release`]. A header that cannot be true ends the
    /// ring for good: what a peer wrote is data, not truth.
    #[inline]
    pub fn peek(&mut self) -> Option<Record> {
        let record = self.look()?;
        if record.header.handler != SKIP {
            return Some(record);
        }
        // A skip fills the ring up to its end, and the next record is at its beginning.
        let covered = footprint(record.header.length);
        if record.at == 0 || record.at + covered != self.memory.size() {
            self.broken = true;
            return None;
        }
        self.advance(covered);
        let record = self.look()?;
        self.broken = record.header.handler == SKIP;
        (!self.broken).then_some(record)
    }

    /// The record at the head, of whatever kind.
    #[inline]
    fn look(&mut self) -> Option<Record> {
        let size = self.memory.size();
        let at = self.head & (size - 1);
        // A message of more than a line: the second comes while we still wait for the first.
        self.memory.prefetch((self.head + LINE) & (size - 1));
        // SYNC: ring-record
        let word = self.memory.header(at).load(Ordering::Acquire);
        if word == 0 || self.broken {
            return None;
        }
        let header = Header::unpack(word);
        if footprint(header.length) > size - at {
            self.broken = true;
            return None;
        }
        Some(Record { header, at })
    }

    /// Records come faster than they are taken: prefetch the lines a few ahead while we handle this one. Not for
    /// the first of a burst: where records come one at a time, their sender would have to take those lines back.
    #[inline]
    pub fn look_ahead(&self) {
        self.memory.prefetch((self.head + AHEAD) & (self.memory.size() - 1));
    }

    /// Done with the record that `peek` gave: its memory goes back to the producer, a quarter of the ring at a time. True:
    /// it went now, and a producer that waits for room may go on.
    #[inline]
    pub fn release(&mut self, record: Record) -> bool {
        self.advance(footprint(record.header.length));
        let due = self.head - self.returned >= self.memory.size() / 4;
        if due {
            self.return_credit();
        }
        due
    }

    /// Done with the record that `peek` gave, which is the last of this ring: from now on the memory is its owner's.
    pub fn leave(mut self, record: Record) -> Self {
        self.set_polled(false);
        self.advance(footprint(record.header.length));
        self.return_credit();
        self
    }

    #[inline]
    fn advance(&mut self, covered: u64) {
        self.head += covered;
    }

    /// Return all credit now (it is returned in quarters otherwise).
    pub fn return_credit(&mut self) {
        self.returned = self.head;
        // SYNC: ring-credit
        self.memory.credit().consumed.store(self.head, Ordering::Release);
    }

    /// Tell the producer whether this ring is looked at without a doorbell. After `false`, fence and look once more.
    pub fn set_polled(&self, polled: bool) {
        self.memory.credit().polled.store(u32::from(polled), Ordering::Relaxed);
    }

    /// Tell the producer how it is to copy.
    pub fn set_hints(&self, hints: u32) {
        self.memory.credit().hints.store(hints, Ordering::Relaxed);
    }

    /// Tell the producer to announce only, or to send again.
    pub fn set_announce_only(&self, announce_only: bool) {
        self.memory
            .credit()
            .announce_only
            .store(u32::from(announce_only), Ordering::Relaxed);
    }
}

/// A ring in mapped memory.
#[cfg(not(loom))]
#[derive(Debug, Clone, Copy)]
pub struct Mapped {
    base: std::ptr::NonNull<u8>,
    size: u64,
}

#[cfg(not(loom))]
impl Mapped {
    /// The ring at `base`.
    ///
    /// # Safety
    /// `base` is aligned to 128 bytes and stays mapped, for `bytes_for(size)` bytes, as long as this lives; `size` is a
    /// power of two of at least 1024; the memory was zero when the ring was made and only a producer and a consumer
    /// touch it.
    pub unsafe fn new(base: std::ptr::NonNull<u8>, size: u64) -> Self {
        debug_assert!(size.is_power_of_two() && size >= 1024);
        Self { base, size }
    }

    /// Address of the body of the record at `at`.
    #[inline]
    pub fn body(&self, at: u64) -> *mut u8 {
        debug_assert!(at < self.size);
        // SAFETY: `at` lies in the data, which follows the credit block.
        unsafe { self.base.as_ptr().add(size_of::<Credit>() + (at + HEADER) as usize) }
    }
}

#[cfg(not(loom))]
impl RingMemory for Mapped {
    #[inline]
    fn size(&self) -> u64 {
        self.size
    }

    #[inline]
    fn credit(&self) -> &Credit {
        // SAFETY: `new`'s contract; a Credit is only atomics.
        unsafe { self.base.cast().as_ref() }
    }

    #[inline]
    fn header(&self, at: u64) -> &AtomicU64 {
        debug_assert!(at < self.size && at.is_multiple_of(LINE));
        // SAFETY: `at` lies in the data; header words are only touched as atomics while both sides can see them.
        unsafe { self.base.add(size_of::<Credit>() + at as usize).cast().as_ref() }
    }

    #[inline]
    fn prefetch(&self, at: u64) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line = self.base.as_ptr().wrapping_add(size_of::<Credit>() + at as usize);
            // SAFETY: a prefetch may name any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }
}

/// Shared ownership of a memory, for tests and the model.
impl<M: RingMemory> RingMemory for Arc<M> {
    fn size(&self) -> u64 {
        (**self).size()
    }
    fn credit(&self) -> &Credit {
        (**self).credit()
    }
    fn header(&self, at: u64) -> &AtomicU64 {
        (**self).header(at)
    }
}

#[cfg(test)]
mod tests;
