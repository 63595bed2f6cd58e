//! Which bytes of a member's memory have been accessed in the epochs that are open, where `ISTHMUS_CHECK=1` compares accesses.
//!
//! Each member has a list in the job's memory. An origin compares the bytes that it accesses with those of the list, and adds them; for an
//! origin on another node the member does that when it is asked (`remote.rs`), before the access is made. A fence,
//! and the end of an exposure epoch, empties the member's own list; a flush or an unlock takes out what the origin has added, and the end of a
//! request that fetches what that has added.
//!
//! # Layout
//! A lock (a word: the rank and one of its holder), a count (a word), and so many entries of 24 bytes: first byte, byte behind the last, what
//! was done to elements of which type, and by which rank. All of it is read and written under the lock.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use isthmus_engine::backoff::ShortWait;
use isthmus_engine::enter;
use isthmus_engine::rma;

use super::access::TargetElements;
use super::control::MemberPart;
use super::{Flavor, Win};
use crate::datatype::Datatype;
use crate::error::{Error, Result};
use crate::fail;
use crate::ledger::{List, pieces_of};

/// Entries of a list; what comes when it is full is not compared.
const MOST: usize = 340;
const HEAD: usize = 8;
const ENTRY: usize = 24;
/// Bytes of a list.
pub(super) const BYTES: u64 = (HEAD + MOST * ENTRY) as u64;

/// An access to bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum WindowAccess {
    Put = 1,
    Get = 2,
    Accumulate = 3,
    /// An accumulate that changes nothing (`MPI_NO_OP`).
    Fetch = 4,
}

/// An access to bytes that are elements of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Deed {
    access: WindowAccess,
    /// The basic element; 0: there are several, or it does not matter.
    element: u32,
}

impl Deed {
    fn new(access: WindowAccess, datatype: &Datatype) -> Self {
        let element = match access {
            WindowAccess::Put | WindowAccess::Get => None,
            WindowAccess::Accumulate | WindowAccess::Fetch => datatype.signature().only_element(),
        };
        Self {
            access,
            element: element.map_or(0, |element| element as u32 + 1),
        }
    }

    pub fn word(self) -> u32 {
        self.element << 8 | self.access as u32
    }

    pub fn of(word: u32) -> Self {
        let access = match word & 0xff {
            1 => WindowAccess::Put,
            2 => WindowAccess::Get,
            4 => WindowAccess::Fetch,
            _ => WindowAccess::Accumulate,
        };
        Self {
            access,
            element: word >> 8,
        }
    }

    /// Reads do not disturb one another, nor do accumulates of one type (MPI-5.0 §12.7.1). Programs put again and again to the same place,
    /// and mean the last; what one process accumulates is done in order.
    fn conflicts(self, other: Self, is_own: bool) -> bool {
        use WindowAccess::{Accumulate, Fetch, Get, Put};
        match (self.access, other.access) {
            (Get | Fetch, Get | Fetch) => false,
            (Accumulate | Fetch, Accumulate | Fetch) => {
                !is_own && self.element != other.element && self.element != 0 && other.element != 0
            }
            (Put, Put) => !is_own,
            _ => true,
        }
    }

    fn describe(self) -> &'static str {
        match self.access {
            WindowAccess::Put => "put",
            WindowAccess::Get => "got",
            WindowAccess::Accumulate => "accumulated",
            WindowAccess::Fetch => "fetched",
        }
    }
}

/// An access that another one conflicts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict {
    /// First byte that both access, and byte behind the last.
    from: u64,
    to: u64,
    before: Deed,
    origin: u32,
}

impl Conflict {
    /// As it is told.
    pub const BYTES: usize = 24;

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.from.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.to.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.before.word().to_ne_bytes());
        bytes[20..].copy_from_slice(&self.origin.to_ne_bytes());
        bytes
    }

    /// `None`: there is none.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let (longs, words) = bytes.split_at_checked(16)?;
        let long = |at: usize| Some(u64::from_ne_bytes(longs[at..][..8].try_into().ok()?));
        let word = |at: usize| Some(u32::from_ne_bytes(words.get(at..at + 4)?.try_into().ok()?));
        Some(Self {
            from: long(0)?,
            to: long(8)?,
            before: Deed::of(word(0)?),
            origin: word(4)?,
        })
    }
}

/// A list whose lock is held.
pub(super) struct Held {
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

    /// First byte, byte behind the last, access, origin.
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

    /// Compare an access with those of the list, and add it if it conflicts with none.
    pub fn add(&self, by: usize, pieces: &[(u64, u64)], deed: Deed) -> Option<Conflict> {
        let mut count = self.count();
        for &(from, to) in pieces {
            for index in 0..count {
                let (first, last, what, origin) = self.entry(index);
                let before = Deed::of(what);
                if first < to && from < last && deed.conflicts(before, origin as usize == by) {
                    return Some(Conflict {
                        from: first.max(from),
                        to: last.min(to),
                        before,
                        origin,
                    });
                }
            }
        }
        for &(from, to) in pieces {
            if count < MOST {
                self.set_entry(count, (from, to, deed.word(), by as u32));
                count += 1;
            }
        }
        self.set_count(count);
        None
    }

    /// Take out an access that is over. Others on the same bytes stay.
    pub fn forget_done(&self, by: usize, pieces: &[(u64, u64)], deed: Deed) {
        for &(from, to) in pieces {
            let count = self.count();
            let entry = (from, to, deed.word(), by as u32);
            if let Some(index) = (0..count).find(|&index| self.entry(index) == entry) {
                self.set_entry(index, self.entry(count - 1));
                self.set_count(count - 1);
            }
        }
    }

    /// Take out all of an origin's.
    pub fn forget(&self, by: usize) {
        let mut kept = 0;
        for index in 0..self.count() {
            let entry = self.entry(index);
            if entry.3 as usize != by {
                self.set_entry(kept, entry);
                kept += 1;
            }
        }
        self.set_count(kept);
    }
}

/// The list of a member's part; `None`: nothing is compared.
fn list_of(part: MemberPart) -> Option<NonNull<u8>> {
    let offset = part.record().load(Ordering::Relaxed);
    rma::shared_at(offset, BYTES).filter(|_| offset != 0)
}

/// Lock a list for the rank `me`, if nobody has it, or a dead one.
fn try_lock(at: NonNull<u8>, me: usize, is_dead: impl Fn(usize) -> bool) -> Option<Held> {
    // SAFETY: the lock is the first word of the list, which is accessed by atomics only.
    let lock = unsafe { AtomicU32::from_ptr(at.as_ptr().cast()) };
    let seen = lock.load(Ordering::Relaxed);
    if seen != 0 && !is_dead(seen as usize - 1) {
        return None;
    }
    // SYNC: window-record
    let locked = lock.compare_exchange(seen, me as u32 + 1, Ordering::Acquire, Ordering::Relaxed);
    locked.ok().map(|_| Held { at })
}

/// The list of the calling process's own part, for an origin on another node. Does not wait for a process that has its lock for long: `None`. `Some(None)`:
/// nothing is compared.
pub(super) fn list_briefly(part: &MemberPart, me: usize, is_dead: impl Fn(usize) -> bool) -> Option<Option<Held>> {
    /// It is held for less than that many looks, unless its holder has lost its CPU.
    const LOOKS: u32 = 1000;
    let Some(at) = list_of(*part) else {
        return Some(None);
    };
    (0..LOOKS).find_map(|_| {
        std::hint::spin_loop();
        try_lock(at, me, &is_dead).map(Some)
    })
}

impl Win {
    /// Compare an access that is about to be made with those of the epochs that are open, and keep it.
    ///
    /// # Errors
    /// It conflicts with one of them: what comes of both is undefined (MPI-5.0 §12.7.1).
    #[inline]
    pub(super) fn record(&self, target: usize, elements: TargetElements<'_>, access: WindowAccess) -> Result<()> {
        if self.is_checked {
            return self.record_slowly(target, elements, access);
        }
        Ok(())
    }

    #[cold]
    fn record_slowly(&self, target: usize, elements: TargetElements<'_>, access: WindowAccess) -> Result<()> {
        let Some(pieces) = self.accessed(target, elements) else {
            return Ok(());
        };
        let deed = Deed::new(access, elements.datatype);
        let conflict = match self.seats.away(target) {
            Some(_) => self.record_away(target, deed, &pieces)?,
            None => self.list(target).and_then(|list| list.add(self.rank(), &pieces, deed)),
        };
        match conflict {
            Some(conflict) => Err(self.conflicting(target, deed, conflict)),
            None => Ok(()),
        }
    }

    fn conflicting(&self, target: usize, deed: Deed, conflict: Conflict) -> Error {
        let Conflict {
            from,
            to,
            before,
            origin,
        } = conflict;
        let types = match (deed.access, before.access) {
            (WindowAccess::Accumulate | WindowAccess::Fetch, WindowAccess::Accumulate | WindowAccess::Fetch) => {
                " as elements of another type"
            }
            _ => "",
        };
        fail!(
            RmaConflict,
            "bytes {from} to {} of rank {target} of {}, which rank {} accesses, have been {}{types} by rank {origin} in the same epoch",
            to - 1,
            self.label(),
            self.rank(),
            before.describe()
        )
    }

    /// The bytes of an access; `None`: it is not compared, or outside the window, which is refused elsewhere.
    fn accessed(&self, target: usize, elements: TargetElements<'_>) -> Option<List> {
        let unit = match self.flavor {
            Flavor::Dynamic => 1,
            _ => self.unit(target),
        };
        let base = u64::try_from(elements.disp.checked_mul(unit)?).ok()?;
        let pieces = elements.datatype.with_places(base, elements.count, pieces_of)?;
        let is_inside = match self.flavor {
            Flavor::Dynamic => self
                .attached_at(target, elements.disp, elements.datatype, elements.count)
                .is_ok(),
            _ => pieces.iter().all(|&(_, end)| end <= self.key(target).length()),
        };
        is_inside.then_some(pieces)
    }

    /// An operation of the calling process is over: its results are there (MPI-5.0 §12.3.5). Others on the same bytes stay.
    #[cold]
    pub(super) fn forget_done(&self, target: usize, elements: TargetElements<'_>, access: WindowAccess) {
        let Some(pieces) = self.accessed(target, elements) else {
            return;
        };
        let deed = Deed::new(access, elements.datatype);
        if self.seats.away(target).is_some() {
            // A member that has failed compares nothing.
            let _ = self.forget_done_away(target, deed, &pieces);
        } else if let Some(list) = self.list(target) {
            list.forget_done(self.rank(), &pieces, deed);
        }
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
            if self.seats.away(target).is_some() {
                // As above.
                let _ = self.forget_away(target);
            } else if let Some(list) = self.list(target) {
                list.forget(self.rank());
            }
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

    /// The list of a member of this node, once its lock is held; that of a dead holder is taken over.
    fn list(&self, member: usize) -> Option<Held> {
        let at = list_of(self.part(member)?)?;
        let mut wait = ShortWait::default();
        loop {
            match try_lock(at, self.rank(), |holder| self.has_failed(&mut enter(), holder)) {
                Some(held) => return Some(held),
                None => wait.pause(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_told_as_it_is() {
        let conflict = Conflict {
            from: 1 << 40,
            to: (1 << 40) + 8,
            before: Deed {
                access: WindowAccess::Accumulate,
                element: 5,
            },
            origin: 3,
        };
        assert_eq!(Conflict::of(&conflict.to_bytes()), Some(conflict));
        assert_eq!(Conflict::of(&[]), None);
        assert_eq!(Conflict::of(&conflict.to_bytes()[..20]), None);
    }

    #[test]
    fn what_conflicts() {
        use WindowAccess::{Accumulate, Fetch, Get, Put};
        let deed = |access, element| Deed { access, element };
        let conflict =
            |one: WindowAccess, other: WindowAccess| deed(one, 1).conflicts(Deed::of(deed(other, 1).word()), false);
        assert!(conflict(Put, Put) && conflict(Put, Get) && conflict(Put, Fetch) && conflict(Fetch, Put));
        assert!(conflict(Get, Accumulate) && conflict(Accumulate, Put));
        assert!(!conflict(Get, Get) && !conflict(Get, Fetch) && !conflict(Fetch, Get) && !conflict(Fetch, Fetch));
        assert!(!conflict(Accumulate, Accumulate) && !conflict(Fetch, Accumulate));
        let put = deed(Put, 0);
        assert!(!put.conflicts(put, true) && deed(Get, 0).conflicts(put, true));
        // Of different types, unless it is not known of which, or one process does both.
        assert!(deed(Accumulate, 1).conflicts(deed(Accumulate, 2), false));
        assert!(deed(Fetch, 1).conflicts(deed(Accumulate, 2), false));
        assert!(!deed(Accumulate, 1).conflicts(deed(Accumulate, 0), false));
        assert!(!deed(Accumulate, 1).conflicts(deed(Accumulate, 2), true));
    }
}
