//! Huge pages from the machine's pool (hugetlb) as a part of the job segment.
//!
//! # Layout
//! A file of its own, since one file has pages of one size, mapped by every rank `from` bytes behind the segment's first: so offsets, places and
//! addresses are computed as for the rest. The header says how much of it has been taken.
//!
//! # Safety
//! A page of a pool that is empty is a SIGBUS when it is touched. So only what was reserved (`fallocate`) is handed out; a pool that has been taken
//! away meanwhile is an error there. Nobody reads addresses of freed memory, as with `free`.

use std::os::fd::OwnedFd;
use std::ptr::NonNull;

use isthmus_os::mmap::{self, Mapping};
use isthmus_os::{huge, limits, memfd};

use super::{Error, Header, Offset, PAGE, Segment};
use crate::sync::Ordering;

/// Addresses for it at most.
const LIMIT: u64 = 32 << 30;
/// So many times its bytes: processes keep those of memory that they have freed.
const ADDRESSES: u64 = 4;

/// The file, and where it is mapped.
#[derive(Debug)]
pub(super) struct Pool {
    file: OwnedFd,
    from: u64,
    length: u64,
}

impl Pool {
    /// A file that all of the pool fits into, with nothing of it taken, and its length; `None`: there is no pool, or the kernel refuses.
    pub(super) fn create() -> Option<(OwnedFd, u64)> {
        let pool = huge::pool();
        // What the kernel would add is memory that others could have.
        let length = pool.pages.saturating_mul(ADDRESSES * huge::BYTES).min(LIMIT);
        if length == 0 || pool.bytes != huge::BYTES {
            return None;
        }
        let file = memfd::create_huge(c"isthmus-pool").ok()?;
        limits::with_largest_files(|| memfd::extend(&file, length).ok())?;
        Some((file, length))
    }

    /// Map the segment, with this file from the offset `from` on. `None`: there are no addresses for it, or they are not at the beginning of a huge
    /// page.
    pub(super) fn map(
        segment: &OwnedFd,
        file: OwnedFd,
        from: u64,
        length: u64,
        hint: usize,
    ) -> Option<(Mapping, Self)> {
        let excess = |mapping: &Mapping| (mapping.base().addr().get() as u64 + from) % huge::BYTES;
        let mut mapping = Mapping::shared_near(segment, (from + length) as usize, hint).ok()?;
        if excess(&mapping) > 0 {
            // Elsewhere than wished: a little below is most often room, too.
            let below = mapping.base().addr().get() - excess(&mapping) as usize;
            drop(mapping);
            mapping = Mapping::shared_near(segment, (from + length) as usize, below).ok()?;
        }
        if excess(&mapping) > 0 {
            return None;
        }
        // SAFETY: within the mapping.
        let address: NonNull<u8> = unsafe { mapping.base().add(from as usize) };
        // SAFETY: these addresses are of the mapping made above, and nobody has seen it.
        unsafe { mmap::shared_at(&file, 0, length as usize, address) }.ok()?;
        Some((mapping, Self { file, from, length }))
    }

    pub(super) fn file(&self) -> &OwnedFd {
        &self.file
    }

    /// Offset in the segment of its first byte.
    pub(super) fn from(&self) -> u64 {
        self.from
    }

    /// Bytes of addresses.
    pub(super) fn length(&self) -> u64 {
        self.length
    }
}

/// Make a file of huge pages for the job whose segment this is, before anybody maps it, and say so in the header; `None`: the machine has set none
/// aside, or refuses. It takes none of them from the pool yet.
pub fn create_pool(segment: &OwnedFd) -> Option<OwnedFd> {
    let (file, length) = Pool::create()?;
    let first = Mapping::shared(segment, PAGE as usize).ok()?;
    // SAFETY: our segment has a page, and this field is an atomic.
    let header = unsafe { first.base().cast::<Header>().as_ref() };
    header.pool_limit.store(length, Ordering::SeqCst);
    Some(file)
}

impl Segment {
    /// Take addresses for `length` bytes of huge pages from the machine's pool, whole ones, with nothing behind them: only what [`Self::back`] has
    /// put memory behind may be touched. Does not block. Fails where the job has no pool, or no more addresses for it.
    pub fn take_from_pool(&self, length: u64) -> Result<Offset, Error> {
        let length = length.next_multiple_of(huge::BYTES);
        let Header {
            pool_next, pool_limit, ..
        } = self.header();
        let most = || self.pool.as_ref().map_or(0, |_| pool_limit.load(Ordering::SeqCst));
        let exhausted = |next: u64| Error::Exhausted {
            wanted: length,
            left: most().saturating_sub(next),
            limit: "addresses of huge pages",
        };
        let taken = pool_next.fetch_update(Ordering::SeqCst, Ordering::Relaxed, |next| {
            next.checked_add(length).filter(|&end| end <= most())
        });
        let at = taken.map_err(exhausted)?;
        // As in `advance`.
        // SYNC: pool-limit
        match (&self.pool, at + length <= most()) {
            (Some(pool), true) => Ok(Offset(pool.from() + at)),
            _ => Err(exhausted(at + length)),
        }
    }

    /// Nothing could be put behind addresses that were taken: the next caller may have them, unless others have taken more already.
    pub fn return_to_pool(&self, at: Offset, length: u64) {
        if let Some(pool) = &self.pool {
            let first = at.0 - pool.from();
            let next = &self.header().pool_next;
            let _ = next.compare_exchange(first + length, first, Ordering::SeqCst, Ordering::Relaxed);
        }
    }

    /// Is there a pool of huge pages to take from?
    pub fn has_pool(&self) -> bool {
        // SYNC: pool-limit
        self.pool.is_some() && self.header().pool_limit.load(Ordering::SeqCst) > 0
    }

    /// Are these bytes among the huge pages from the pool?
    pub fn is_in_pool(&self, at: Offset) -> bool {
        self.pool.as_ref().is_some_and(|pool| at.0 >= pool.from())
    }

    /// The file behind an offset, and where in it.
    pub(super) fn file(&self, at: u64) -> (&OwnedFd, u64) {
        match self.pool.as_ref().filter(|pool| at >= pool.from()) {
            Some(pool) => (pool.file(), at - pool.from()),
            None => (&self.fd, at),
        }
    }
}
