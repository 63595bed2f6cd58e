//! Which message spaces have been revoked, and whose they were.
//!
//! # Layout
//! A list in the arena, latest first, whose head is in the segment's header:
//! ```text
//! next      u64            offset of the one before it, 0 for the first
//! first     u32            the message spaces: `first`, `first + 1`, ...
//! count     u32
//! members   u32            whom it concerns
//! pad       u32
//! member    members x u32
//! ```
//!
//! # Fields
//! An entry is written by whoever revokes, before one compare-and-swap of the head makes it known for good. Disjoint groups
//! may use the same message space, so an entry says whom it concerns.
//!
//! # Safety
//! The swap is what revokes. Who is killed before it has revoked nothing; who is killed after it, and before it has alerted
//! anybody, has failed: then the launcher alerts everyone, and they see this list too.

use std::ptr::NonNull;

use crate::segment::{Error, Offset, Segment};
use crate::sync::Ordering;

#[repr(C)]
struct Entry {
    next: u64,
    first: u32,
    count: u32,
    members: u32,
    pad: u32,
}

/// More than can ever be: a list that a broken peer closed to a ring ends.
const MOST: usize = 1 << 24;

/// Message spaces that were revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// Bytes of shared memory that [`publish`] needs.
pub fn bytes_for(members: usize) -> u64 {
    (size_of::<Entry>() + members * 4) as u64
}

/// Revoke the message spaces `first` to `first + count - 1` of `members`. `at` are [`bytes_for`] as many, the caller's and
/// no longer used for anything else. The members are to be alerted then. Does not block.
pub fn publish(segment: &Segment, at: Offset, first: u32, count: u32, members: &[u32]) -> Result<(), Error> {
    let place = segment.at(at, bytes_for(members.len())).ok_or(Error::Foreign)?;
    let head = segment.revocations();
    let mut next = head.load(Ordering::Acquire);
    loop {
        let entry = Entry {
            next,
            first,
            count,
            members: members.len() as u32,
            pad: 0,
        };
        // SAFETY: `at` checked the range and its alignment; nobody else knows of the memory yet.
        unsafe {
            place.cast::<Entry>().write(entry);
            let list = place.as_ptr().add(size_of::<Entry>()).cast::<u32>();
            std::ptr::copy_nonoverlapping(members.as_ptr(), list, members.len());
        }
        // SYNC: revocations
        match head.compare_exchange(next, at.0, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Ok(()),
            Err(newer) => next = newer,
        }
    }
}

/// What was revoked that concerns `me`, since `seen` was answered; and what to pass as `seen` next time (0 at first).
pub fn since(segment: &Segment, seen: u64, me: u32) -> (Vec<Revocation>, u64) {
    // SYNC: revocations
    let head = segment.revocations().load(Ordering::Acquire);
    let mut found = Vec::new();
    let mut at = head;
    for _ in 0..MOST {
        if at == seen || at == 0 {
            break;
        }
        let Some((entry, list)) = look(segment, at) else { break };
        let concerns = |index: u32| {
            // SAFETY: `look` checked that the list lies in memory that was taken; entries never change.
            unsafe { list.as_ptr().add(index as usize).read_volatile() == me }
        };
        if (0..entry.members).any(concerns) {
            found.push(Revocation {
                first: entry.first,
                count: entry.count,
            });
        }
        at = entry.next;
    }
    (found, head)
}

fn look(segment: &Segment, at: u64) -> Option<(Entry, NonNull<u32>)> {
    let place = segment.at(Offset(at), size_of::<Entry>() as u64)?;
    // SAFETY: in memory that was taken and aligned; any bits make an Entry, and entries never change.
    let entry = unsafe { place.cast::<Entry>().as_ptr().read_volatile() };
    segment.at(Offset(at), bytes_for(entry.members as usize))?;
    // SAFETY: within what was just checked.
    Some((entry, unsafe { place.add(size_of::<Entry>()) }.cast()))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::segment::create;

    fn revoke(segment: &Segment, first: u32, count: u32, members: &[u32]) {
        let at = segment.allocate(bytes_for(members.len())).expect("memory");
        publish(segment, at, first, count, members).expect("ours");
    }

    #[test]
    fn each_revocation_is_seen_once_by_whom_it_concerns() {
        let fd = create(4, [7; 16]).expect("memfd");
        let segment = Segment::attach(fd, [7; 16]).expect("attach");
        assert_eq!(since(&segment, 0, 1), (Vec::new(), 0));
        revoke(&segment, 6, 2, &[0, 1]);
        revoke(&segment, 8, 4, &[1, 3]);
        let (found, seen) = since(&segment, 0, 1);
        assert_eq!(
            found,
            [Revocation { first: 8, count: 4 }, Revocation { first: 6, count: 2 }]
        );
        assert_eq!(since(&segment, seen, 1), (Vec::new(), seen));
        assert_eq!(since(&segment, 0, 2).0, []);
        revoke(&segment, 20, 2, &[2]);
        assert_eq!(since(&segment, seen, 2).0, [Revocation { first: 20, count: 2 }]);
    }

    #[test]
    fn a_broken_list_ends() {
        let fd = create(2, [7; 16]).expect("memfd");
        let segment = Segment::attach(fd, [7; 16]).expect("attach");
        revoke(&segment, 6, 2, &[0]);
        segment.revocations().store(u64::MAX, Ordering::Relaxed);
        assert_eq!(since(&segment, 0, 0).0, []);
    }
}
