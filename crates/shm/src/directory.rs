//! Memory of the job that its ranks find by name.
//!
//! # Layout
//! A list in the arena, latest first, whose head is in the segment's header. An entry and its memory are one piece:
//! ```text
//! next      u64            offset of the one before it, 0 for the first
//! key       u64            its name
//! length    u64            bytes of memory
//! pad       to 128 bytes
//! memory    length bytes, zero at first
//! ```
//!
//! # Fields
//! An entry is written by the first process to name it, before one compare-and-swap of the head makes it known for good.
//! It is never changed and never taken away.
//!
//! # Safety
//! A process that is killed before the swap has named nothing, and its memory is lost until the job ends. What peers wrote is data: offsets
//! and lengths are checked against the segment, and a list that a broken peer closed to a ring ends.

use std::ptr::NonNull;

use crate::segment::{Error, Offset, Segment};
use crate::sync::Ordering;

#[repr(C, align(128))]
struct DirectoryEntry {
    next: u64,
    key: u64,
    length: u64,
}

/// More than can ever be.
const MOST: usize = 1 << 24;

/// The memory called `key`, `length` bytes, zeroed when it was named first. All who name it must agree about its length; `None`
/// inside: they do not. Looks through the list, which grows with the number of names.
pub fn named(segment: &Segment, key: u64, length: u64) -> Result<Option<NonNull<u8>>, Error> {
    let head = segment.directory();
    let mut made: Option<(Offset, NonNull<DirectoryEntry>)> = None;
    // SYNC: directory
    let mut first = head.load(Ordering::Acquire);
    loop {
        if let Some(found) = find(segment, first, key, length) {
            // What we made for it, if anything, is lost until the job ends: somebody else was faster, once.
            return Ok(found);
        }
        let (at, entry) = match made {
            Some(made) => made,
            None => {
                let bytes = size_of::<DirectoryEntry>() as u64 + length;
                let at = segment.allocate(bytes)?;
                let place = segment.at(at, bytes).ok_or(Error::Foreign)?.cast::<DirectoryEntry>();
                *made.insert((at, place))
            }
        };
        // SAFETY: `at` checked the range and its alignment; nobody else knows of the memory yet.
        unsafe {
            entry.write(DirectoryEntry {
                next: first,
                key,
                length,
            });
        }
        // SYNC: directory
        match head.compare_exchange(first, at.0, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: the memory follows the entry.
            Ok(_) => return Ok(Some(unsafe { entry.add(1).cast() })),
            Err(newer) => first = newer,
        }
    }
}

/// `None`: nobody has named it.
fn find(segment: &Segment, first: u64, key: u64, length: u64) -> Option<Option<NonNull<u8>>> {
    let mut at = first;
    for _ in 0..MOST {
        let place = segment
            .at(Offset(at), size_of::<DirectoryEntry>() as u64)?
            .cast::<DirectoryEntry>();
        // SAFETY: the range was checked; entries are never changed once they are known.
        let entry = unsafe { place.read() };
        if entry.key == key {
            let whole = segment.at(Offset(at), (size_of::<DirectoryEntry>() as u64).saturating_add(length));
            let memory = whole.filter(|_| entry.length == length);
            // SAFETY: the memory follows the entry.
            return Some(memory.map(|_| unsafe { place.add(1).cast() }));
        }
        at = entry.next;
    }
    None
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::segment;

    #[test]
    fn the_same_name_is_the_same_memory() {
        let fd = segment::create(2, [7; 16]).expect("memfd");
        let other = fd.try_clone().expect("dup");
        let a = Segment::attach(fd, [7; 16]).expect("attach");
        let b = Segment::attach(other, [7; 16]).expect("attach");
        let first = named(&a, 5, 1000).expect("memory").expect("agreed");
        let second = named(&b, 5, 1000).expect("memory").expect("agreed");
        // SAFETY: both addresses are valid for 1000 bytes.
        unsafe {
            assert_eq!(first.read(), 0);
            first.write(9);
            assert_eq!(second.read(), 9);
        }
        let another = named(&b, 6, 1000).expect("memory").expect("agreed");
        // SAFETY: as above.
        assert_eq!(unsafe { another.read() }, 0);
        assert!(named(&a, 5, 999).expect("memory").is_none(), "not agreed");
    }
}
