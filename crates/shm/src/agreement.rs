//! Agreement of a group, some of whose members may fail while they agree.
//!
//! # Layout
//! A list in the arena, whose head is in the segment's header, with as many entries as groups have agreed at a time:
//! ```text
//! next       u64           offset of the one before it, 0 for the first
//! members    u64           words that follow
//! state      u64           {generation: 62 bits, phase: 2}: free, taken or live
//! key        u64           which group
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
//! An entry stays in the list, and serves another group of as many members once all that live have left (a word says so, too). So that two
//! members do not take one each for the same group, what makes an entry live is one compare-and-swap of a word of the header, the
//! *claim*: {generation: 25 bits, place: 39}. It fails if anything was claimed since the list was looked through, and whoever sees it first
//! writes it down in the entry's state.
//!
//! # Ordering
//! A contribution is published by a release store and the decision by its swap; a process that reads one with acquire sees all that its
//! writer had seen, failures included.
//!
//! # Safety
//! Between any two instructions a member may die: its word is there or not, the decision is made or not, and nobody waits
//! for it once the launcher has declared it failed. An entry that it had taken and not claimed is lost until the job ends.

use std::ptr::NonNull;

use crate::segment::{Error, Offset, Segment};
use crate::sync::{AtomicU64, Ordering};

const TURNS: u32 = 1 << 18;
const FAILURES: u64 = (1 << 13) - 1;
const _: () = assert!(crate::segment::MAX_RANKS as u64 <= FAILURES);

/// What a member contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contribution {
    /// The operands.
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
    /// Of its entry, and what that is while the group has it.
    state: &'a AtomicU64,
    live: u64,
    decisions: &'a [AtomicU64],
    words: &'a [AtomicU64],
}

/// The word of a member that has left: of no turn.
const LEFT: u64 = 1 << 45;

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

    /// The first member that has not contributed to turn `turn`, nor left, and that `has_failed` does not know.
    pub fn awaited(&self, turn: u32, has_failed: impl Fn(usize) -> bool) -> Option<usize> {
        let is_missing = |&member: &usize| {
            let word = self.words[member].load(Ordering::Relaxed);
            word != LEFT && !is_of(word, turn) && !has_failed(member)
        };
        (0..self.words.len()).find(is_missing)
    }

    /// Member `place` takes part in no more turns. The last that lives gives the board back. Does not block.
    pub fn leave(&self, place: usize, has_failed: impl Fn(usize) -> bool) {
        // SYNC: agreement-left
        self.words[place].store(LEFT, Ordering::SeqCst);
        let mut words = self.words.iter().enumerate();
        if words.all(|(member, word)| word.load(Ordering::SeqCst) == LEFT || has_failed(member)) {
            let free = (self.live & !PHASES) + GENERATION;
            // Where several see it the first has done it, and somebody else may have it by now.
            let _ = self
                .state
                .compare_exchange(self.live, free, Ordering::Release, Ordering::Relaxed);
        }
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
                // It may have left since, after a decision.
                // SYNC: agreement
                let now = place.load(Ordering::Acquire);
                return is_of(now, turn).then(|| (unpack(now), false));
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
struct AgreementEntry {
    next: u64,
    members: u64,
    state: AtomicU64,
    key: AtomicU64,
    decisions: [AtomicU64; 2],
}

/// Phases of an entry, in its state.
const FREE: u64 = 0;
/// Somebody fills it in.
const TAKEN: u64 = 1;
const LIVE: u64 = 2;
const PHASES: u64 = 3;
/// One more.
const GENERATION: u64 = 4;

/// Bits of an entry's place, in units of a line, in a claim; what is left is for its generation.
const PLACE: u32 = 39;
const LINE: u64 = 128;

/// More than can ever be: a list that a broken peer closed to a ring ends.
const MOST: usize = 1 << 24;

/// Bytes of shared memory for a group of so many.
pub fn bytes_for(members: usize) -> u64 {
    (size_of::<AgreementEntry>() + members * 8) as u64
}

/// The board of the group `key`, of `members` processes. If nobody has made it yet, one that other groups have left, or one in memory that
/// `allocate` gives ([`bytes_for`] as many, zeroed, and of lines). Does not block.
pub fn board<'a>(
    segment: &'a Segment,
    key: u64,
    members: usize,
    allocate: impl FnOnce() -> Result<Offset, Error>,
) -> Result<Board<'a>, Error> {
    let [claim, _] = segment.agreements();
    let mut allocate = Some(allocate);
    let mut own: Option<SeenEntry<'a>> = None;
    loop {
        // SYNC: agreement-claim
        let claimed = claim.load(Ordering::Acquire);
        write_down(segment, claimed);
        let (board, free) = find(segment, key, members);
        if board.is_some() || claim.load(Ordering::Acquire) != claimed {
            if let (Some(board), own) = (board, own.take()) {
                own.into_iter().for_each(|own| own.give_up());
                return Ok(board);
            }
            continue;
        }
        let taken = match (&own, free) {
            (Some(taken), _) => taken,
            (None, Some(free)) => match free.take() {
                Some(taken) => own.insert(taken),
                None => continue,
            },
            (None, None) => {
                let allocate = allocate.take().ok_or(Error::Foreign)?;
                own.insert(add(segment, allocate()?, members)?)
            }
        };
        taken.fill_in(key);
        let ours = taken.claim();
        // SYNC: agreement-claim
        if claim
            .compare_exchange(claimed, ours, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
        {
            write_down(segment, ours);
            return Ok(taken.board());
        }
    }
}

/// An entry, as it was seen.
#[derive(Clone, Copy)]
struct SeenEntry<'a> {
    at: u64,
    next: u64,
    state: &'a AtomicU64,
    seen: u64,
    key: &'a AtomicU64,
    decisions: &'a [AtomicU64],
    words: &'a [AtomicU64],
}

impl<'a> SeenEntry<'a> {
    /// Take a free one. `None`: somebody else has.
    fn take(mut self) -> Option<Self> {
        let taken = self.seen & !PHASES | TAKEN;
        let swapped = self
            .state
            .compare_exchange(self.seen, taken, Ordering::Acquire, Ordering::Relaxed);
        self.seen = taken;
        swapped.ok().map(|_| self)
    }

    /// One that was taken is not needed.
    fn give_up(self) {
        let free = (self.seen & !PHASES) + GENERATION;
        self.state.store(free, Ordering::Release);
    }

    /// One that was taken is for this group.
    fn fill_in(&self, key: u64) {
        self.key.store(key, Ordering::Relaxed);
        for word in self.decisions.iter().chain(self.words) {
            word.store(0, Ordering::Relaxed);
        }
    }

    fn claim(&self) -> u64 {
        ((self.seen / GENERATION) << PLACE) | (self.at / LINE)
    }

    fn board(&self) -> Board<'a> {
        Board {
            state: self.state,
            live: self.seen & !PHASES | LIVE,
            decisions: self.decisions,
            words: self.words,
        }
    }
}

/// An entry was claimed: it is live, if nobody has written that down yet.
fn write_down(segment: &Segment, claimed: u64) {
    let at = (claimed & ((1 << PLACE) - 1)) * LINE;
    let Some(entry) = look(segment, at).filter(|_| claimed != 0) else {
        return;
    };
    if entry.seen & PHASES == TAKEN && entry.claim() == claimed {
        let live = entry.seen & !PHASES | LIVE;
        // SYNC: agreement-live
        let _ = entry
            .state
            .compare_exchange(entry.seen, live, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// The board of a group, and an entry that is free and large enough.
fn find<'a>(segment: &'a Segment, key: u64, members: usize) -> (Option<Board<'a>>, Option<SeenEntry<'a>>) {
    let [_, head] = segment.agreements();
    // SYNC: agreements
    let mut at = head.load(Ordering::Acquire);
    let mut free = None;
    for _ in 0..MOST {
        let Some(entry) = look(segment, at) else { break };
        if entry.words.len() == members {
            match entry.seen & PHASES {
                // While it is another's its key changes: then its state does, too.
                LIVE if entry.key.load(Ordering::Acquire) == key
                    && entry.state.load(Ordering::Relaxed) == entry.seen =>
                {
                    return (Some(entry.board()), None);
                }
                FREE => free = Some(entry),
                _ => {}
            }
        }
        at = entry.next;
    }
    (None, free)
}

/// One more entry, which is taken.
fn add(segment: &Segment, at: Offset, members: usize) -> Result<SeenEntry<'_>, Error> {
    let place: NonNull<AgreementEntry> = segment.at(at, bytes_for(members)).ok_or(Error::Foreign)?.cast();
    let [_, head] = segment.agreements();
    let mut latest = head.load(Ordering::Relaxed);
    loop {
        // SAFETY: `at` checked range and alignment; nobody else knows of the memory yet, which is zero.
        unsafe {
            let entry = place.as_ptr();
            (&raw mut (*entry).next).write(latest);
            (&raw mut (*entry).members).write(members as u64);
            (*entry).state.store(TAKEN, Ordering::Relaxed);
        }
        // SYNC: agreements
        match head.compare_exchange(latest, at.0, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => return look(segment, at.0).ok_or(Error::Foreign),
            Err(newer) => latest = newer,
        }
    }
}

fn look(segment: &Segment, at: u64) -> Option<SeenEntry<'_>> {
    let place: NonNull<AgreementEntry> = segment.at(Offset(at), size_of::<AgreementEntry>() as u64)?.cast();
    // SAFETY: in memory that was taken and aligned; numbers that never change once the entry can be found.
    let (next, members) = unsafe {
        let entry = place.as_ptr();
        (
            (&raw const (*entry).next).read_volatile(),
            (&raw const (*entry).members).read_volatile(),
        )
    };
    let members = usize::try_from(members)
        .ok()
        .filter(|&members| members <= crate::segment::MAX_RANKS as usize)?;
    segment.at(Offset(at), bytes_for(members))?;
    // SAFETY: within what was just checked; the words are atomics that live as long as the segment.
    unsafe {
        let entry = place.as_ptr();
        let words = place.add(1).cast::<AtomicU64>();
        let state = &(*entry).state;
        Some(SeenEntry {
            at,
            next,
            state,
            // SYNC: agreement-live
            seen: state.load(Ordering::Acquire),
            key: &(*entry).key,
            decisions: std::slice::from_raw_parts((&raw const (*entry).decisions).cast(), 2),
            words: std::slice::from_raw_parts(words.as_ptr(), members),
        })
    }
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

    /// Groups that come and go use the same memory, and groups that are there at once do not.
    #[test]
    fn a_board_serves_again_once_all_have_left() {
        let fd = create(3, [7; 16]).expect("memfd");
        let segment = Segment::attach(fd, [7; 16]).expect("attach");
        let mut made = 0;
        let mut board = |key| {
            let make = || {
                made += 1;
                segment.allocate(bytes_for(2))
            };
            super::board(&segment, key, 2, make).expect("memory")
        };
        let stays = board(1);
        for key in 2..1000 {
            let ours = board(key);
            ours.contribute(0, 1, values(key as u32));
            ours.contribute(1, 1, values(3));
            let (decision, _) = ours.decide(1, 0, |_, _| false, u32::max).expect("all are there");
            assert_eq!(decision.value, (key as u32).max(3));
            ours.leave(1, |_| false);
            assert!(std::ptr::eq(board(key).words, ours.words), "another has not left");
            // One that has failed need not.
            ours.leave(0, |member| key % 2 == 0 && member == 1);
            assert!(ours.decide(2, 0, |_, _| false, u32::max).is_none());
            ours.leave(0, |_| false);
        }
        assert!(std::ptr::eq(board(1).words, stays.words));
        assert_eq!(made, 2);
    }

    /// Members of many groups in threads that come and go at the same time: each group has one board.
    #[test]
    fn a_group_has_one_board() {
        let fd = create(4, [7; 16]).expect("memfd");
        let segment = &Segment::attach(fd, [7; 16]).expect("attach");
        let made = &AtomicU64::new(0);
        let meet = &std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for place in 0..4 {
                scope.spawn(move || {
                    for key in 1..500 {
                        let make = || {
                            made.fetch_add(1, Ordering::Relaxed);
                            segment.allocate(bytes_for(4))
                        };
                        let board = super::board(segment, key, 4, make).expect("memory");
                        board.contribute(place, 1, values(place as u32));
                        meet.wait();
                        let decision = board.decide(1, 0, |_, _| false, |one, other| one + other);
                        assert_eq!(decision.map(|(decision, _)| decision.value), Some(6), "group {key}");
                        board.leave(place, |_| false);
                    }
                });
            }
        });
        // As many as may be taken at a time, of two groups.
        assert!(made.load(Ordering::Relaxed) <= 8);
    }

    #[test]
    fn the_failed_are_not_waited_for_and_known_to_all() {
        let (decisions, words) = ([const { AtomicU64::new(0) }; 2], [const { AtomicU64::new(0) }; 3]);
        let board = Board {
            state: &AtomicU64::new(LIVE),
            live: LIVE,
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
        // A process that knows of fewer failures takes it nevertheless.
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
    /// that of the doorbells: a contributor rings the others, a waiter that finds nothing looks again before it sleeps.
    #[test]
    fn loom_one_decision() {
        loom::model(|| {
            let shared = Arc::new((
                [AtomicU64::new(0), AtomicU64::new(0)],
                [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)],
            ));
            let run = |shared: &Arc<([AtomicU64; 2], [AtomicU64; 3])>, place: usize, failures: u32| {
                let state = AtomicU64::new(LIVE);
                let board = Board {
                    state: &state,
                    live: LIVE,
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
            assert!(own.is_some() || other.is_some(), "the last contributor decides");
        });
    }
}
