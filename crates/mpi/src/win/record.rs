//! Which bytes of a member's memory have been accessed in the epochs that are open, where `ISTHMUS_CHECK=1` compares accesses.
//!
//! Each member has a list in the job's memory. Who accesses it compares its bytes with those of the list, and adds them. A fence, and the
//! end of an exposure epoch, empties the member's own list; a flush or an unlock takes out what the origin has added.
//!
//! # Layout
//! A lock (a word: rank and one of who has it), a count (a word), and so many entries of 24 bytes: first byte, byte behind the last, what
//! was done, and whose it was. All of it is read and written under the lock.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use isthmus_engine::enter;
use isthmus_engine::layout::Layout;
use isthmus_engine::rma;

use super::access::Remote;
use super::{Flavor, Win};
use crate::error::Result;
use crate::fail;

/// Entries of a list; what comes when it is full is not compared.
const MOST: usize = 340;
const HEAD: usize = 8;
const ENTRY: usize = 24;
/// Bytes of a list.
pub(super) const BYTES: u64 = (HEAD + MOST * ENTRY) as u64;
/// Accesses of more pieces than these are not compared.
const PIECES: usize = 64;

/// What is done to bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Access {
    Put = 1,
    Get = 2,
    Accumulate = 3,
}

impl Access {
    fn describe(number: u32) -> &'static str {
        match number {
            1 => "put",
            2 => "got",
            _ => "accumulated",
        }
    }

    /// Gets do not disturb one another, nor accumulates. Programs put again and again to the same place, and mean the last.
    fn conflicts(self, other: u32, is_own: bool) -> bool {
        self as u32 != other || (self == Self::Put && !is_own)
    }
}

/// A list whose lock is held.
struct Held {
    at: NonNull<u8>,
}

impl Drop for Held {
    fn drop(&mut self) {
        // SYNC: window-record
        self.word(0).store(0, Ordering::Release);
    }
}

impl Held {
    fn word(&self, at: usize) -> &AtomicU32 {
        // SAFETY: within the list, and aligned; it is accessed by atomics only.
        unsafe { AtomicU32::from_ptr(self.at.as_ptr().add(at).cast()) }
    }

    fn long(&self, at: usize) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.at.as_ptr().add(at).cast()) }
    }

    fn count(&self) -> usize {
        (self.word(4).load(Ordering::Relaxed) as usize).min(MOST)
    }

    fn set_count(&self, count: usize) {
        self.word(4).store(count as u32, Ordering::Relaxed);
    }

    /// First byte, byte behind the last, what, and by whom.
    fn entry(&self, index: usize) -> (u64, u64, u32, u32) {
        let at = HEAD + index * ENTRY;
        (
            self.long(at).load(Ordering::Relaxed),
            self.long(at + 8).load(Ordering::Relaxed),
            self.word(at + 16).load(Ordering::Relaxed),
            self.word(at + 20).load(Ordering::Relaxed),
        )
    }

    fn set_entry(&self, index: usize, (from, to, what, origin): (u64, u64, u32, u32)) {
        let at = HEAD + index * ENTRY;
        self.long(at).store(from, Ordering::Relaxed);
        self.long(at + 8).store(to, Ordering::Relaxed);
        self.word(at + 16).store(what, Ordering::Relaxed);
        self.word(at + 20).store(origin, Ordering::Relaxed);
    }
}

impl Win {
    /// Compare an access that is about to be made with those of the epochs that are open, and keep it.
    ///
    /// # Errors
    /// It conflicts with one of them: what comes of both is undefined (MPI-5.0 §12.7.1).
    #[inline]
    pub(super) fn record(&self, target: usize, remote: Remote<'_>, access: Access) -> Result<()> {
        if self.is_checked {
            return self.record_slowly(target, remote, access);
        }
        Ok(())
    }

    #[cold]
    fn record_slowly(&self, target: usize, remote: Remote<'_>, access: Access) -> Result<()> {
        let unit = match self.flavor {
            Flavor::Dynamic => 1,
            _ => self.unit(target),
        };
        // What is outside the window is refused elsewhere.
        let Some(base) = remote.disp.checked_mul(unit).and_then(|at| u64::try_from(at).ok()) else {
            return Ok(());
        };
        let Some(pieces) = remote.datatype.with_places(base, remote.count, pieces) else {
            return Ok(());
        };
        let is_inside = match self.flavor {
            Flavor::Dynamic => self
                .attached_at(target, remote.disp, remote.datatype, remote.count)
                .is_ok(),
            _ => pieces.iter().all(|&(_, end)| end <= self.key(target).length()),
        };
        if !is_inside {
            return Ok(());
        }
        let Some(list) = self.list(target) else { return Ok(()) };
        let mut count = list.count();
        for &(from, to) in &pieces {
            for index in 0..count {
                let (first, last, what, origin) = list.entry(index);
                if first < to && from < last && access.conflicts(what, origin as usize == self.rank()) {
                    return Err(fail!(
                        RmaConflict,
                        "bytes {} to {} of rank {target} of {}, which rank {} accesses, have been {} by rank {origin} in the same epoch",
                        first.max(from),
                        last.min(to) - 1,
                        self.label(),
                        self.rank(),
                        Access::describe(what)
                    ));
                }
            }
        }
        for (from, to) in pieces {
            if count < MOST {
                list.set_entry(count, (from, to, access as u32, self.rank() as u32));
                count += 1;
            }
        }
        list.set_count(count);
        Ok(())
    }

    /// What the calling process has done to these members is over: others may come after it.
    #[inline]
    pub(super) fn forget_own(&self, targets: impl Iterator<Item = usize>) {
        if self.is_checked {
            self.forget_recorded(targets);
        }
    }

    #[cold]
    fn forget_recorded(&self, targets: impl Iterator<Item = usize>) {
        for target in targets {
            let Some(list) = self.list(target) else { continue };
            let mut kept = 0;
            for index in 0..list.count() {
                let entry = list.entry(index);
                if entry.3 as usize != self.rank() {
                    list.set_entry(kept, entry);
                    kept += 1;
                }
            }
            list.set_count(kept);
        }
    }

    /// What others have done to our memory is over.
    pub(super) fn forget_others(&self) {
        if self.is_checked
            && let Some(list) = self.list(self.rank())
        {
            list.set_count(0);
        }
    }

    /// The list of a member, once nobody else looks at it; that of somebody who died with it is taken over.
    fn list(&self, member: usize) -> Option<Held> {
        let offset = self.part(member)?.record().load(Ordering::Relaxed);
        let at = rma::shared_at(offset, BYTES).filter(|_| offset != 0)?;
        // SAFETY: the lock is the first word of the list, which is accessed by atomics only.
        let lock = unsafe { AtomicU32::from_ptr(at.as_ptr().cast()) };
        let me = self.rank() as u32 + 1;
        let mut holder = 0;
        loop {
            // SYNC: window-record
            match lock.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Held { at }),
                Err(seen) => {
                    let is_dead = seen != 0 && self.has_failed(&mut enter(), seen as usize - 1);
                    holder = if is_dead { seen } else { 0 };
                    std::thread::yield_now();
                }
            }
        }
    }
}

/// The bytes of a layout; `None`: too many pieces, or more than there are addresses.
fn pieces(layout: &Layout<'_>) -> Option<Vec<(u64, u64)>> {
    let mut cursor = layout.cursor(0);
    let mut left = layout.length();
    let mut pieces: Vec<(u64, u64)> = Vec::new();
    while left > 0 {
        let block = cursor.block();
        let length = block.length.min(left);
        let is_full = length == 0 || pieces.len() == PIECES;
        match pieces.last_mut() {
            Some((_, end)) if *end == block.address => *end = end.checked_add(length)?,
            _ if is_full => return None,
            _ => pieces.push((block.address, block.address.checked_add(length)?)),
        }
        cursor.advance(length);
        left -= length;
    }
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_conflicts() {
        let conflict = |one: Access, other: Access| one.conflicts(other as u32, false);
        assert!(conflict(Access::Put, Access::Put) && conflict(Access::Put, Access::Get));
        assert!(conflict(Access::Get, Access::Accumulate) && conflict(Access::Accumulate, Access::Put));
        assert!(!conflict(Access::Get, Access::Get) && !conflict(Access::Accumulate, Access::Accumulate));
        assert!(!Access::Put.conflicts(Access::Put as u32, true) && Access::Get.conflicts(Access::Put as u32, true));
    }
}
