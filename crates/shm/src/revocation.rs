//! Message spaces that are revoked, as the members of each learn of them.
//!
//! # Layout
//! In the arena, one entry a revocation, with a link for each member that is to learn of it; per rank two words beside the list of failures:
//! ```text
//! first     u32            the message spaces: `first`, `first + 1`, ...
//! count     u32
//! members   u32            links that follow
//! users     u32            members that have not taken it
//! link      members x { next u64: another link, 0 for the last; member u32; pad u32 }
//!
//! inbox     u64            of a rank: the latest link that it has not taken, 0 while there is none
//! telling   u64            of a rank: offset of the entry that it is telling others of, 0 while there is none
//! ```
//! A link is named by {its entry's offset in lines: 51 bits, its place there: 13}.
//!
//! # Fields
//! An entry is written by its maker before `telling` names it, and only `next` of its links and `users` change then. Anybody adds to an
//! inbox by compare-and-swap; its owner takes all of it by one swap. The maker of an entry uses its memory again once all members have
//! taken it: the last of them may never make one, and would keep the memory.
//!
//! # Safety
//! `telling` is what revokes. A maker that is killed before it has revoked nothing. If it is killed before all members have been told,
//! those that learn of its failure look there. An entry one of whose members is killed before it has looked is never used again. What peers
//! wrote is data: offsets and lengths are checked, and a list that a broken peer closed to a ring ends.

use crate::segment::{Error, Offset, Segment};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

#[repr(C)]
struct RevocationEntry {
    first: u32,
    count: u32,
    members: u32,
    users: AtomicU32,
}

#[repr(C)]
struct Link {
    next: AtomicU64,
    member: u32,
    pad: u32,
}

const LINE: u64 = 128;
const PLACES: u64 = 1 << 13;
const _: () = assert!(crate::segment::MAX_RANKS as u64 <= PLACES);

/// How the link at this place of the entry at `at` is named.
fn name(at: Offset, place: usize) -> u64 {
    at.0 / LINE * PLACES + place as u64
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
    (size_of::<RevocationEntry>() + members * size_of::<Link>()) as u64
}

/// Rank `me` revokes the message spaces `first` to `first + count - 1` of `members`, other ranks of this node that live. `at` are
/// [`bytes_for`] as many, the caller's, and used for this until [`is_unused`] says otherwise. The members are to be alerted then. Does not
/// block.
pub fn publish(
    segment: &Segment,
    at: Offset,
    me: u32,
    (first, count): (u32, u32),
    members: &[u32],
) -> Result<(), Error> {
    let place = segment.at(at, bytes_for(members.len())).ok_or(Error::Foreign)?;
    let entry = place.cast::<RevocationEntry>();
    // SAFETY: `at` checked the range and its alignment; nobody else knows of the memory yet. The links follow the entry.
    let links = unsafe {
        entry.write(RevocationEntry {
            first,
            count,
            members: members.len() as u32,
            users: AtomicU32::new(members.len() as u32),
        });
        let links = entry.add(1).cast::<Link>();
        for (place, &member) in members.iter().enumerate() {
            links.add(place).write(Link {
                next: AtomicU64::new(0),
                member,
                pad: 0,
            });
        }
        std::slice::from_raw_parts(links.as_ptr(), members.len())
    };
    let [_, telling] = segment.revocations(me);
    // SYNC: revocation-telling
    telling.store(at.0, Ordering::Release);
    for (place, link) in links.iter().enumerate() {
        let [inbox, _] = segment.revocations(link.member);
        let own = name(at, place);
        let mut latest = inbox.load(Ordering::Relaxed);
        loop {
            link.next.store(latest, Ordering::Relaxed);
            // SYNC: revocations
            match inbox.compare_exchange(latest, own, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(newer) => latest = newer,
            }
        }
    }
    telling.store(0, Ordering::Release);
    Ok(())
}

/// Have all members taken what was [published](publish) there? For its maker, which owns the memory again from then on.
pub fn is_unused(segment: &Segment, at: Offset) -> bool {
    // SYNC: revocation-users
    look(segment, at).is_some_and(|(entry, _)| entry.users.load(Ordering::Acquire) == 0)
}

/// Revocations that concern rank `me`, since the last call.
pub fn take(segment: &Segment, me: u32) -> Vec<Revocation> {
    let [inbox, _] = segment.revocations(me);
    let mut found = Vec::new();
    if inbox.load(Ordering::Relaxed) == 0 {
        return found;
    }
    // SYNC: revocations
    let mut named = inbox.swap(0, Ordering::AcqRel);
    for _ in 0..MOST {
        let at = Offset(named / PLACES * LINE);
        let Some((entry, links)) = look(segment, at) else { break };
        let place = (named % PLACES) as usize;
        let Some(link) = links.get(place).filter(|link| link.member == me) else {
            break;
        };
        named = link.next.load(Ordering::Relaxed);
        found.push(entry.revocation());
        // SYNC: revocation-users
        entry.users.fetch_sub(1, Ordering::Release);
    }
    found
}

/// What a rank was telling others of when it failed, if that concerns rank `me`: it may not have come to it.
pub fn left_by(segment: &Segment, failed: u32, me: u32) -> Option<Revocation> {
    let [_, telling] = segment.revocations(failed);
    // SYNC: revocation-telling
    let at = telling.load(Ordering::Acquire);
    let (entry, links) = look(segment, Offset(at))?;
    let is_ours = links.iter().any(|link| link.member == me);
    is_ours.then(|| entry.revocation())
}

impl RevocationEntry {
    fn revocation(&self) -> Revocation {
        let Self { first, count, .. } = *self;
        Revocation { first, count }
    }
}

/// The entry at `at`, and its links.
fn look(segment: &Segment, at: Offset) -> Option<(&RevocationEntry, &[Link])> {
    let place = segment.at(at, size_of::<RevocationEntry>() as u64)?;
    // SAFETY: in memory that was taken and aligned; any bits make an Entry, of which only the atomic changes while it can be found.
    let entry = unsafe { place.cast::<RevocationEntry>().as_ref() };
    segment.at(at, bytes_for(entry.members as usize))?;
    // SAFETY: the links follow the entry, within what was just checked; as for entries.
    let links = unsafe {
        std::slice::from_raw_parts(
            place.cast::<RevocationEntry>().as_ptr().add(1).cast(),
            entry.members as usize,
        )
    };
    Some((entry, links))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::segment::create;

    fn segment(ranks: u32) -> Segment {
        let fd = create(ranks, [7; 16]).expect("memfd");
        Segment::attach(fd, [7; 16]).expect("attach")
    }

    fn revoke(segment: &Segment, me: u32, first: u32, count: u32, members: &[u32]) -> Offset {
        let at = segment.allocate(bytes_for(members.len())).expect("memory");
        publish(segment, at, me, (first, count), members).expect("ours");
        at
    }

    #[test]
    fn each_revocation_is_seen_once_by_each_that_it_concerns() {
        let segment = segment(4);
        assert_eq!(take(&segment, 1), []);
        let one = revoke(&segment, 0, 6, 2, &[1]);
        let other = revoke(&segment, 2, 8, 4, &[1, 3]);
        assert!(!is_unused(&segment, one));
        assert_eq!(
            take(&segment, 1),
            [Revocation { first: 8, count: 4 }, Revocation { first: 6, count: 2 }]
        );
        assert!(is_unused(&segment, one));
        assert!(!is_unused(&segment, other), "rank 3 has not seen the other");
        assert_eq!(take(&segment, 1), []);
        assert_eq!(take(&segment, 2), []);
        assert_eq!(take(&segment, 3), [Revocation { first: 8, count: 4 }]);
        assert!(is_unused(&segment, other));
        let alone = revoke(&segment, 1, 20, 2, &[]);
        assert!(is_unused(&segment, alone));
    }

    #[test]
    fn what_a_rank_was_telling_of_is_known_when_it_has_failed() {
        let segment = segment(3);
        let at = revoke(&segment, 0, 6, 2, &[2]);
        assert_eq!(left_by(&segment, 0, 2), None, "all were told");
        segment.revocations(0)[1].store(at.0, Ordering::Relaxed);
        assert_eq!(left_by(&segment, 0, 2), Some(Revocation { first: 6, count: 2 }));
        assert_eq!(left_by(&segment, 0, 1), None);
    }

    #[test]
    fn a_broken_list_ends() {
        let segment = segment(2);
        let at = revoke(&segment, 1, 6, 2, &[0]);
        let link = name(at, 0);
        // Nowhere, and of another rank.
        let foreign = revoke(&segment, 0, 6, 2, &[1]);
        for next in [u64::MAX, name(foreign, 0), name(at, 7)] {
            let (entry, links) = look(&segment, at).expect("ours");
            links[0].next.store(next, Ordering::Relaxed);
            entry.users.store(9, Ordering::Relaxed);
            segment.revocations(0)[0].store(link, Ordering::Relaxed);
            assert_eq!(take(&segment, 0).len(), 1);
        }
    }
}
