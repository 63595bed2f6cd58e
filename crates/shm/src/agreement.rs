//! Agreement of a group, some of whose members may fail while they agree.
//!
//! # Layout
//! A list in the arena, whose head is in the segment's header, with one entry per group that has ever agreed:
//! ```text
//! next       u64           offset of the one before it, 0 for the first
//! key        u64           which group
//! members    u64
//! decisions  2 x u64       of the last two agreements, by turn
//! words      members x u64 what each member contributed last
//! ```
//! A contribution is {turn: 18 bits, nothing: 1, acknowledged: 13, value: 32}; a decision is {turn: 18, unacknowledged: 1, failures: 13,
//! value: 32}. Turns count the group's agreements from 1.
//!
//! # Fields
//! A word has one writer, its member. A decision is made by one compare-and-swap, by whichever member first sees that
//! everybody has contributed or failed; the others take it as it is. It names the failed by the length of the segment's list
//! of failures, which only grows, so the same number means the same processes to everybody. A turn's decision is overwritten
//! two turns later, when every living member has contributed to the turn between and therefore read it.
//!
//! # Ordering
//! A contribution is published by a release store and the decision by its swap; who reads one with acquire sees what its
//! writer had seen, failures included.
//!
//! # Safety
//! Between any two instructions a member may die: its word is there or not, the decision is made or not, and nobody waits
//! for it once the launcher has declared it failed.

use std::ptr::NonNull;

use crate::segment::{Error, Offset, Segment};
use crate::sync::{AtomicU64, Ordering};

const TURNS: u32 = 1 << 18;
const FAILURES: u64 = (1 << 13) - 1;
const _: () = assert!(crate::segment::MAX_RANKS as u64 <= FAILURES);

/// What a member contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contribution {
    /// What is combined.
    pub value: u32,
    /// How many failures, from the first one on, the member has acknowledged.
    pub acknowledged: u32,
}

/// What everybody takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The values of all who contributed, combined.
    pub value: u32,
    /// The failures, from the first one on, that everybody is to know of: members among them take no further part.
    pub failures: u32,
    /// A member has failed, and somebody has not acknowledged that.
    pub unacknowledged: bool,
}

/// The shared words of one group.
#[derive(Debug, Clone, Copy)]
pub struct Board<'a> {
    decisions: &'a [AtomicU64],
    words: &'a [AtomicU64],
}

fn turn_bits(turn: u32) -> u64 {
    // Never 0, which is an empty word.
    u64::from((turn - 1) % (TURNS - 1) + 1) << 46
}

fn is_of(word: u64, turn: u32) -> bool {
    word >> 46 == turn_bits(turn) >> 46
}

impl Board<'_> {
    /// Contribute to turn `turn`, as member `place`. The others are to be woken then.
    pub fn contribute(&self, place: usize, turn: u32, own: Contribution) {
        let word = turn_bits(turn) | u64::from(own.acknowledged) << 32 | u64::from(own.value);
        // SYNC: agreement
        self.words[place].store(word, Ordering::Release);
    }

    /// The decision of turn `turn`, to which the caller has contributed, if there is one or can be one. `failures` is how
    /// many failures the caller knows of, and `has_failed(place, from)` whether a member is among them from the `from`-th
    /// on. True beside it: it was made now, and the others are to be woken.
    pub fn decide(
        &self,
        turn: u32,
        failures: u32,
        has_failed: impl Fn(usize, u32) -> bool,
        combine: impl Fn(u32, u32) -> u32,
    ) -> Option<(Decision, bool)> {
        let place = &self.decisions[turn as usize % 2];
        // SYNC: agreement
        let before = place.load(Ordering::Acquire);
        if is_of(before, turn) {
            return Some((unpack(before), false));
        }
        let mut value = None;
        let mut acknowledged = failures;
        for (member, word) in self.words.iter().enumerate() {
            // SYNC: agreement
            let word = word.load(Ordering::Acquire);
            if is_of(word, turn) {
                let own = word as u32;
                value = Some(value.map_or(own, |value| combine(value, own)));
                acknowledged = acknowledged.min((word >> 32 & FAILURES) as u32);
            } else if !has_failed(member, 0) {
                return None;
            }
        }
        let unacknowledged = (0..self.words.len()).any(|member| has_failed(member, acknowledged));
        let decision = turn_bits(turn)
            | u64::from(unacknowledged) << 45
            | u64::from(failures) << 32
            | u64::from(value.unwrap_or(0));
        // SYNC: agreement
        match place.compare_exchange(before, decision, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Some((unpack(decision), true)),
            Err(theirs) => is_of(theirs, turn).then(|| (unpack(theirs), false)),
        }
    }
}

fn unpack(word: u64) -> Decision {
    Decision {
        value: word as u32,
        failures: (word >> 32 & FAILURES) as u32,
        unacknowledged: word >> 45 & 1 == 1,
    }
}

#[repr(C)]
struct Entry {
    next: u64,
    key: u64,
    members: u64,
    decisions: [AtomicU64; 2],
}

/// More than can ever be: a list that a broken peer closed to a ring ends.
const MOST: usize = 1 << 24;

/// Bytes of shared memory for a group of so many.
pub fn bytes_for(members: usize) -> u64 {
    (size_of::<Entry>() + members * 8) as u64
}

/// The board of the group `key`, of `members` processes. If nobody has made it yet, in memory that `allocate` gives
/// ([`bytes_for`] as many, zeroed). Does not block.
pub fn board<'a>(
    segment: &'a Segment,
    key: u64,
    members: usize,
    allocate: impl FnOnce() -> Result<Offset, Error>,
) -> Result<Board<'a>, Error> {
    let head = segment.agreements();
    let mut seen = head.load(Ordering::Acquire);
    if let Some(board) = find(segment, seen, key, members) {
        return Ok(board);
    }
    let at = allocate()?;
    let place: NonNull<Entry> = segment.at(at, bytes_for(members)).ok_or(Error::Foreign)?.cast();
    loop {
        // SAFETY: `at` checked range and alignment; nobody else knows of the memory yet, which is zero.
        unsafe {
            let entry = place.as_ptr();
            (&raw mut (*entry).next).write(seen);
            (&raw mut (*entry).key).write(key);
            (&raw mut (*entry).members).write(members as u64);
        }
        // SYNC: agreements
        match head.compare_exchange(seen, at.0, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return look(segment, at.0).map(|(_, board)| board).ok_or(Error::Foreign),
            Err(newer) => seen = newer,
        }
        // Another member may have been first; then this memory is lost until the job ends.
        if let Some(board) = find(segment, seen, key, members) {
            return Ok(board);
        }
    }
}

fn find(segment: &Segment, mut at: u64, key: u64, members: usize) -> Option<Board<'_>> {
    for _ in 0..MOST {
        let (entry, board) = look(segment, at)?;
        if entry.key == key && board.words.len() == members {
            return Some(board);
        }
        at = entry.next;
    }
    None
}

/// What of an entry never changes.
struct Fixed {
    next: u64,
    key: u64,
}

fn look(segment: &Segment, at: u64) -> Option<(Fixed, Board<'_>)> {
    let place: NonNull<Entry> = segment.at(Offset(at), size_of::<Entry>() as u64)?.cast();
    // SAFETY: in memory that was taken and aligned; numbers that never change once the entry can be found.
    let (next, key, members) = unsafe {
        let entry = place.as_ptr();
        let members = (&raw const (*entry).members).read_volatile();
        (
            (&raw const (*entry).next).read_volatile(),
            (&raw const (*entry).key).read_volatile(),
            members,
        )
    };
    let members = usize::try_from(members)
        .ok()
        .filter(|&members| members <= crate::segment::MAX_RANKS as usize)?;
    segment.at(Offset(at), bytes_for(members))?;
    // SAFETY: within what was just checked; the words are atomics that live as long as the segment.
    let (decisions, words) = unsafe {
        let decisions = (&raw const (*place.as_ptr()).decisions).cast::<AtomicU64>();
        let words = place.add(1).cast::<AtomicU64>();
        (
            std::slice::from_raw_parts(decisions, 2),
            std::slice::from_raw_parts(words.as_ptr(), members),
        )
    };
    Some((Fixed { next, key }, Board { decisions, words }))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::segment::create;

    fn values(value: u32) -> Contribution {
        Contribution { value, acknowledged: 0 }
    }

    #[test]
    fn everybody_takes_the_same_turn_after_turn() {
        let fd = create(3, [7; 16]).expect("memfd");
        let segment = Segment::attach(fd, [7; 16]).expect("attach");
        let make = || segment.allocate(bytes_for(3));
        let board = super::board(&segment, 5, 3, make).expect("memory");
        let none = |_: usize, _: u32| false;
        for turn in 1..40 {
            for place in 0..3 {
                assert_eq!(board.decide(turn, 0, none, u32::max), None);
                board.contribute(place, turn, values(turn * 10 + place as u32));
            }
            let decision = Decision {
                value: turn * 10 + 2,
                failures: 0,
                unacknowledged: false,
            };
            assert_eq!(board.decide(turn, 0, none, u32::max), Some((decision, true)));
            assert_eq!(board.decide(turn, 0, none, u32::max), Some((decision, false)));
        }
        let again = super::board(&segment, 5, 3, || unreachable!("it is there")).expect("found");
        assert!(again.decide(39, 0, none, u32::max).is_some());
        assert!(
            super::board(&segment, 6, 3, make)
                .expect("memory")
                .decide(39, 0, none, u32::max)
                .is_none()
        );
    }

    #[test]
    fn the_failed_are_not_waited_for_and_known_to_all() {
        let (decisions, words) = ([const { AtomicU64::new(0) }; 2], [const { AtomicU64::new(0) }; 3]);
        let board = Board {
            decisions: &decisions,
            words: &words,
        };
        // The second failure is that of member 1.
        let failed = |member: usize, from: u32| member == 1 && from < 2;
        board.contribute(
            0,
            1,
            Contribution {
                value: 0b110,
                acknowledged: 2,
            },
        );
        board.contribute(
            2,
            1,
            Contribution {
                value: 0b011,
                acknowledged: 1,
            },
        );
        assert_eq!(board.decide(1, 0, |_, _| false, |a, b| a & b), None);
        let decision = Decision {
            value: 0b010,
            failures: 2,
            unacknowledged: true,
        };
        assert_eq!(board.decide(1, 2, failed, |a, b| a & b), Some((decision, true)));
        // Who knows of fewer failures takes it nevertheless.
        assert_eq!(board.decide(1, 0, |_, _| false, |a, b| a & b), Some((decision, false)));
    }

    #[test]
    fn turns_come_around() {
        for turn in [1, 2, TURNS - 1, TURNS, TURNS + 1, u32::MAX] {
            assert!(is_of(turn_bits(turn) | 0x1fff_ffff_ffff, turn), "{turn}");
            assert!(!is_of(0, turn));
            assert!(!is_of(turn_bits(turn), turn.wrapping_sub(2).max(1)) || turn < 3);
        }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;

    /// Two members decide; the third has failed, and one of them knows of one failure more than the other. The fence is
    /// that of the doorbells: who contributes rings the others, who finds nothing looks again before it sleeps.
    #[test]
    fn loom_one_decision() {
        loom::model(|| {
            let shared = Arc::new((
                [AtomicU64::new(0), AtomicU64::new(0)],
                [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)],
            ));
            let run = |shared: &Arc<([AtomicU64; 2], [AtomicU64; 3])>, place: usize, failures: u32| {
                let board = Board {
                    decisions: &shared.0,
                    words: &shared.1,
                };
                board.contribute(
                    place,
                    1,
                    Contribution {
                        value: 1 << place,
                        acknowledged: 0,
                    },
                );
                crate::sync::fence(Ordering::SeqCst);
                board
                    .decide(1, failures, |member, from| member == 2 && from < 1, |a, b| a | b)
                    .map(|(decision, _)| decision)
            };
            let theirs = shared.clone();
            let other = loom::thread::spawn(move || run(&theirs, 1, 2));
            let own = run(&shared, 0, 1);
            let other = other.join().expect("ends");
            if let (Some(own), Some(other)) = (own, other) {
                assert_eq!(own, other);
            }
            assert!(own.is_some() || other.is_some(), "whoever comes last decides");
        });
    }
}
