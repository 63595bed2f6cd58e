//! The memory behind the segment's pages: how much of it is granted, and when pages get it.

use isthmus_os::{huge, memfd, memory};

use super::{Error, Header, Offset, PAGE, Segment};
use crate::reserve::{self, Account, MemoryWait};
use crate::sync::Ordering;

/// Ask how much memory is left before granting this much or more at once.
const CAREFUL_FROM: u64 = 256 << 10;

impl Segment {
    /// Take `length` bytes, zeroed, aligned to a page. Blocks no longer than the kernel takes to find the memory, for us and for processes that
    /// are taking what could leave too little.
    pub fn allocate(&self, length: u64) -> Result<Offset, Error> {
        let length = length.next_multiple_of(PAGE);
        let at = self.advance(length)?;
        self.reserve(at, length).inspect_err(|_| {
            self.punch(Offset(at), length);
            self.retreat(at, length);
        })?;
        Ok(Offset(at))
    }

    /// Take addresses for `length` bytes, aligned to a page, with hardly any memory behind them: see [`Self::back`].
    pub fn take(&self, length: u64) -> Result<Offset, Error> {
        let length = length.next_multiple_of(PAGE);
        let at = self.advance(length)?;
        // With its last page the file is long enough, so that no access in between can be a SIGBUS.
        reserve::reserve(&self.fd, at + length - PAGE, PAGE).inspect_err(|_| self.retreat(at, length))?;
        Ok(Offset(at))
    }

    /// Put memory behind whole pages that were taken. Pages with memory keep it. Blocks as [`Self::allocate`]; on an error, some may have been found.
    pub fn back(&self, at: Offset, length: u64) -> Result<(), Error> {
        match self.is_in_pool(at) {
            // The pool is beside the memory that others could have.
            true => {
                let (file, at) = self.file(at.0);
                reserve::reserve(file, at, length)
            }
            false => self.reserve(at.0, length),
        }
    }

    /// As [`Self::back`], but the memory comes when the pages are touched: until then it is held back from whatever else asks. Reads as zeros
    /// where nothing was written. Pages of the pool, and all where the kernel counts what processes could touch (`vm.overcommit_memory` = 2),
    /// have their memory now. Does not wait for others that are taking memory: [`Self::wait_for_memory`] does.
    pub fn promise(&self, at: Offset, length: u64) -> Result<(), Error> {
        if self.is_in_pool(at) {
            return self.back(at, length);
        }
        self.grant(length, false)?;
        match memory::comes_when_touched() {
            true => Ok(()),
            false => self.reserve_granted(at.0, length),
        }
    }

    /// After [`Self::promise`] or [`Self::can_grant`] has refused: wait until it may be tried again, without what others wait for meanwhile.
    /// Blocks no longer than others take or give back memory, and 2 s with the same `waiting`.
    ///
    /// # Errors
    /// The one given, if it is not want of memory; or that there will not be as much.
    pub fn wait_for_memory(&self, error: Error, waiting: &mut MemoryWait) -> Result<(), Error> {
        self.account().wait(error, waiting)
    }

    /// Give back whole pages that came from [`Self::back`] or [`Self::promise`], once; their addresses stay taken, and read as zeros. False:
    /// the machine does not want their memory, and they stay granted as they are.
    pub fn unback(&self, at: Offset, length: u64) -> bool {
        let punched = self.punch(at, length);
        if punched && !self.is_in_pool(at) {
            self.account().withdraw(length);
        }
        punched
    }

    /// Give back the memory behind whole pages and leave it at that: what was granted stays granted.
    pub fn punch(&self, at: Offset, length: u64) -> bool {
        let (file, at) = self.file(at.0);
        memfd::punch(file, at, length).is_ok()
    }

    /// Count pages that the program has anyway, so that their memory is not granted to others.
    pub fn count(&self, length: u64) {
        self.account().grant_unseen(length);
    }

    /// Memory that the segment uses, in bytes.
    pub fn memory(&self) -> Result<u64, Error> {
        let pool = self.pool.as_ref().map_or(Ok(0), |pool| memfd::memory(pool.file()))?;
        Ok(memfd::memory(&self.fd)? + pool)
    }

    /// Have `take` take `length` bytes of this process's own memory, unless as much is not left beside what ranks were granted of the
    /// segment; it tells how many of them have become present. Blocks as [`Self::allocate`].
    pub fn beside<T>(&self, length: u64, take: impl FnOnce(&mut dyn FnMut(u64)) -> T) -> Result<T, Error> {
        self.account().beside(length, take)
    }

    /// Bytes that were granted so far, and not given back.
    pub fn granted(&self) -> u64 {
        self.header().granted.load(Ordering::Relaxed)
    }

    /// Bytes that could be granted now.
    pub fn free(&self) -> u64 {
        self.account().free()
    }

    pub(super) fn account(&self) -> Account<'_> {
        let Header { granted, taking, .. } = self.header();
        Account {
            file: &self.fd,
            granted,
            taking,
        }
    }

    /// Could so much be promised now? Does not wait for others.
    pub fn can_grant(&self, length: u64) -> Result<(), Error> {
        self.account().grant_now(length)?;
        self.account().withdraw(length);
        Ok(())
    }

    fn reserve(&self, at: u64, length: u64) -> Result<(), Error> {
        self.grant(length, true)?;
        self.reserve_granted(at, length)
    }

    fn reserve_granted(&self, at: u64, length: u64) -> Result<(), Error> {
        reserve::reserve(&self.fd, at, length).inspect_err(|_| self.account().withdraw(length))
    }

    /// Looking how much is left costs some 100 us, so many small requests are looked at as one large one.
    fn grant(&self, length: u64, waits: bool) -> Result<(), Error> {
        let unseen = self.unseen.fetch_add(length, Ordering::Relaxed).saturating_add(length);
        if unseen < CAREFUL_FROM {
            self.account().grant_unseen(length);
            return Ok(());
        }
        self.unseen.store(0, Ordering::Relaxed);
        match waits {
            true => self.account().grant(length),
            false => self.account().grant_now(length),
        }
    }

    /// Move the end of what is taken.
    fn advance(&self, length: u64) -> Result<u64, Error> {
        let Header { next, limit, .. } = self.header();
        let most = || limit.load(Ordering::SeqCst).min(self.ordinary);
        let exhausted = |next: u64| Error::Exhausted {
            wanted: length,
            left: most().saturating_sub(next),
            limit: "the job segment",
        };
        let taken = next.fetch_update(Ordering::SeqCst, Ordering::Relaxed, |next| {
            next.checked_add(length).filter(|&end| end <= most())
        });
        let at = taken.map_err(exhausted)?;
        // Somebody who can map less may have joined meanwhile: either they see what we took, or we see their limit.
        // SYNC: segment-limit
        if at + length > most() {
            return Err(exhausted(at + length));
        }
        Ok(at)
    }

    /// Addresses that turned out to have no memory go back, unless somebody has taken others since.
    fn retreat(&self, at: u64, length: u64) {
        let _ = self
            .header()
            .next
            .compare_exchange(at + length, at, Ordering::SeqCst, Ordering::Relaxed);
    }

    /// Let the huge pages that lie within these bytes be mapped as such: see [`isthmus_os::mmap::Mapping::prefer_huge`]. Bytes that they are;
    /// 0: there are none, or the kernel makes none.
    pub fn prefer_huge(&self, at: Offset, length: u64, now: bool) -> u64 {
        if self.is_in_pool(at) {
            return length;
        }
        let from = at.0.next_multiple_of(huge::BYTES);
        let end = (at.0 + length) / huge::BYTES * huge::BYTES;
        let inside = from < end && end <= self.ordinary;
        match inside && self.mapping.prefer_huge(from as usize, (end - from) as usize, now) {
            true => end - from,
            false => 0,
        }
    }

    /// The `length` bytes at `offset`, which [`Self::allocate`] gave out, will be written soon.
    pub fn populate(&self, offset: Offset, length: u64) {
        self.mapping.populate(offset.0 as usize, length as usize);
    }
}
