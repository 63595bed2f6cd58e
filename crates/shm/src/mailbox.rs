//! A place where one process asks another to do something to the other's memory, and takes its request back if the other is away.
//!
//! # Layout
//! Two lines: `turn` with the request behind it, `answer` with its data behind it. The asking origin spins on the second while the other
//! side works on the first.
//!
//! # Fields
//! `turn`: a state in the three lowest bits (free, claimed, posted, taken, left, left and taken), above them the rank of the origin. `number`:
//! which turn this is, written by the origin that has claimed the box. `answer`: number and outcome of the last turn that is over, written by the target
//! thread that has taken it. The bytes of the request belong to the origin until it posts, and may not change until the box is free again; those of
//! the answer belong to the target until it answers. A request that is *left* no longer belongs to the origin: it is not withdrawn, has no answer,
//! and the target frees the box.
//!
//! # Ordering
//! A box is claimed by an acquire of what freed it; posting releases the request, taking acquires it; the answer releases what was done
//! and answered, and finding it acquires that. Only one of *take* and *withdraw* gets a posted box: both compare and swap. The target that has freed a box
//! that was left to it has released what was done, which [`Mailbox::left`] acquires.
//!
//! # Safety
//! An origin that dies with a box claimed or posted leaves it so, and one that dies after it was taken leaves it taken with its answer in it: [`Mailbox::reclaim`]
//! frees it for others. A target that dies after taking leaves it taken without an answer; all boxes of that process are of no use any more then.

use std::cell::UnsafeCell;

use crate::sync::{AtomicU32, Ordering};

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const POSTED: u32 = 2;
const TAKEN: u32 = 3;
const LEFT: u32 = 4;
const LEFT_TAKEN: u32 = 5;
const STATE: u32 = 7;
const ABOVE: u32 = 3;

const REFUSED: u32 = 1;

/// Bytes of a request.
pub const REQUEST: usize = 56;
/// Bytes that an answer may carry.
pub const ANSWER: usize = 56;

/// The box.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct Mailbox {
    turn: AtomicU32,
    number: AtomicU32,
    request: UnsafeCell<[u64; REQUEST / 8]>,
    answer: AtomicU32,
    #[cfg(not(loom))]
    unused: u32,
    answered: UnsafeCell<[u64; ANSWER / 8]>,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Mailbox>() == 128 && std::mem::offset_of!(Mailbox, answer) == 64);

// SAFETY: the bytes are touched only by raw pointers, by the side that owns them by the rules above.
unsafe impl Sync for Mailbox {}

/// A box that is claimed, or posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Turn {
    me: u32,
    number: u32,
    is_left: bool,
}

impl Turn {
    /// The rank that asks.
    pub fn asker(&self) -> u32 {
        self.me
    }
}

/// How a turn has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// It was done.
    Done,
    /// It makes no sense, says the other side.
    Refused,
}

impl Mailbox {
    /// Is it anybody's? A look that costs nothing while it is not.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.turn.load(Ordering::Relaxed) == FREE
    }

    /// Claim the box for rank `me`, if it is free. Does not block.
    #[inline]
    pub fn claim(&self, me: u32) -> Option<Turn> {
        // SYNC: mailbox-free
        self.turn
            .compare_exchange(FREE, me << ABOVE | CLAIMED, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        let number = self.number.load(Ordering::Relaxed).wrapping_add(2);
        self.number.store(number, Ordering::Relaxed);
        Some(Turn {
            me,
            number,
            is_left: false,
        })
    }

    /// Where the request goes, and is: [`REQUEST`] bytes.
    #[inline]
    pub fn request(&self) -> *mut u8 {
        self.request.get().cast()
    }

    /// Where what is answered goes, and is: [`ANSWER`] bytes.
    #[inline]
    pub fn answered(&self) -> *mut u8 {
        self.answered.get().cast()
    }

    /// Show the request, which is written.
    #[inline]
    pub fn post(&self, turn: &Turn) {
        // SYNC: mailbox-request
        self.turn.store(turn.me << ABOVE | POSTED, Ordering::Release);
    }

    /// Show the request, which is written, and leave it to the other side, which frees the box once it has done it.
    #[inline]
    pub fn leave(&self, turn: Turn) {
        // SYNC: mailbox-request
        self.turn.store(turn.me << ABOVE | LEFT, Ordering::Release);
    }

    /// The number of the turn whose request was left, and is not done. A target that its asker tells of it finds it here, and what was done once there
    /// is none, or that of a later turn.
    #[inline]
    pub fn left(&self) -> Option<u32> {
        // SYNC: mailbox-free
        let state = self.turn.load(Ordering::Acquire) & STATE;
        matches!(state, LEFT | LEFT_TAKEN).then(|| self.number.load(Ordering::Relaxed))
    }

    /// Has the turn ended? Then [give the box back](Self::give_back) once what was answered is read.
    #[inline]
    pub fn answer(&self, turn: &Turn) -> Option<Answered> {
        // SYNC: mailbox-answer
        let answer = self.answer.load(Ordering::Acquire);
        if answer & !REFUSED != turn.number {
            return None;
        }
        Some(match answer & REFUSED {
            0 => Answered::Done,
            _ => Answered::Refused,
        })
    }

    /// Take the request back, unless somebody has taken it. True: the box is claimed again.
    #[inline]
    pub fn withdraw(&self, turn: &Turn) -> bool {
        let (posted, claimed) = (turn.me << ABOVE | POSTED, turn.me << ABOVE | CLAIMED);
        self.turn
            .compare_exchange(posted, claimed, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// The box is free for others: its turn has ended, or was never posted, or is taken back.
    #[inline]
    pub fn give_back(&self, turn: Turn) {
        let _ = turn;
        // SYNC: mailbox-free
        self.turn.store(FREE, Ordering::Release);
    }

    /// Take what was posted, to do it: the rank that asks, and what to [answer](Self::give_answer) with. Does not block.
    #[inline]
    pub fn take(&self) -> Option<Turn> {
        let turn = self.turn.load(Ordering::Relaxed);
        let taken = match turn & STATE {
            POSTED => TAKEN,
            LEFT => LEFT_TAKEN,
            _ => return None,
        };
        // SYNC: mailbox-request
        self.turn
            .compare_exchange(turn, turn & !STATE | taken, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        Some(Turn {
            me: turn >> ABOVE,
            number: self.number.load(Ordering::Relaxed),
            is_left: taken == LEFT_TAKEN,
        })
    }

    /// The taken operation is done, or failed; there is no answer to a deferred one.
    #[inline]
    pub fn give_answer(&self, turn: Turn, answered: Answered) {
        if turn.is_left {
            // SYNC: mailbox-free
            self.turn.store(FREE, Ordering::Release);
            return;
        }
        let outcome = match answered {
            Answered::Done => 0,
            Answered::Refused => REFUSED,
        };
        // SYNC: mailbox-answer
        self.answer.store(turn.number | outcome, Ordering::Release);
    }

    /// If whoever asks is dead, free the box. True: it may be claimed. For those who find none that is free.
    #[cold]
    pub fn reclaim(&self, is_dead: impl Fn(u32) -> bool) -> bool {
        let turn = self.turn.load(Ordering::Acquire);
        if turn == FREE {
            return true;
        }
        let number = self.number.load(Ordering::Relaxed);
        // While it is being done, it is still somebody's; what was left is done whoever lives.
        let is_over = match turn & STATE {
            TAKEN => self.answer.load(Ordering::Acquire) & !REFUSED == number,
            LEFT | LEFT_TAKEN => false,
            _ => true,
        };
        is_over
            && is_dead(turn >> ABOVE)
            && self
                .turn
                .compare_exchange(turn, FREE, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
    }
}

#[cfg(not(loom))]
impl Default for Mailbox {
    fn default() -> Self {
        Self {
            turn: AtomicU32::new(FREE),
            number: AtomicU32::new(0),
            request: UnsafeCell::default(),
            answer: AtomicU32::new(0),
            unused: 0,
            answered: UnsafeCell::default(),
        }
    }
}

#[cfg(loom)]
impl Default for Mailbox {
    fn default() -> Self {
        Self {
            turn: AtomicU32::new(FREE),
            number: AtomicU32::new(0),
            request: UnsafeCell::default(),
            answer: AtomicU32::new(0),
            answered: UnsafeCell::default(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_taken_or_withdrawn() {
        let place = Mailbox::default();
        assert!(place.take().is_none());
        let turn = place.claim(7).expect("free");
        assert!(place.claim(8).is_none() && place.take().is_none() && place.answer(&turn).is_none());
        place.post(&turn);
        assert!(place.withdraw(&turn) && place.take().is_none());
        place.post(&turn);
        let taken = place.take().expect("posted");
        assert!(!place.withdraw(&turn) && place.take().is_none());
        place.give_answer(taken, Answered::Refused);
        assert_eq!(place.answer(&turn), Some(Answered::Refused));
        place.give_back(turn);
        let turn = place.claim(8).expect("free again");
        assert_eq!(place.answer(&turn), None, "that was the answer of another turn");
        place.give_back(turn);
    }

    #[test]
    fn what_is_left_is_done_and_freed_by_the_other_side() {
        let place = Mailbox::default();
        let turn = place.claim(7).expect("free");
        place.leave(turn);
        let first = place.left();
        assert!(first.is_some() && place.claim(8).is_none() && !place.withdraw(&turn));
        assert!(!place.reclaim(|_| true), "the origin lives");
        let taken = place.take().expect("left");
        assert!(place.left() == first && place.take().is_none() && !place.reclaim(|_| true));
        place.give_answer(taken, Answered::Done);
        assert!(place.left().is_none() && place.is_free());
        let turn = place.claim(8).expect("free again");
        assert_eq!(place.answer(&turn), None);
        place.leave(turn);
        assert!(
            place.left().is_some() && place.left() != first,
            "what is left later is told apart"
        );
    }

    #[test]
    fn boxes_of_the_dead_are_freed() {
        let place = Mailbox::default();
        let turn = place.claim(7).expect("free");
        assert!(!place.reclaim(|rank| rank == 8));
        assert!(place.reclaim(|rank| rank == 7) && place.is_free());
        let turn = place.claim(7).filter(|other| *other != turn).expect("another turn");
        place.post(&turn);
        let taken = place.take().expect("posted");
        assert!(!place.reclaim(|rank| rank == 7), "it is being done");
        place.give_answer(taken, Answered::Done);
        assert!(place.reclaim(|rank| rank == 7));
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    #[derive(Default)]
    struct Shared {
        place: Mailbox,
        request: UnsafeCell<u32>,
        answer: UnsafeCell<u32>,
        memory: UnsafeCell<u32>,
    }

    // SAFETY: the cells are touched by one at a time, which is what the model checks.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    /// Ask for `by` to be added to the memory; what was there, or `None`: it was not done.
    fn ask(shared: &Shared, me: u32, by: u32) -> Option<u32> {
        // Another one has it: as the engine, we do without.
        let turn = shared.place.claim(me)?;
        // SAFETY: the box is ours.
        shared.request.with_mut(|request| unsafe { *request = by });
        shared.place.post(&turn);
        let mut looks = 0;
        let found = loop {
            if shared.place.answer(&turn).is_some() {
                // SAFETY: answered to us.
                break Some(shared.answer.with(|answer| unsafe { *answer }));
            }
            looks += 1;
            if looks > 1 && shared.place.withdraw(&turn) {
                break None;
            }
            loom::thread::yield_now();
        };
        shared.place.give_back(turn);
        found
    }

    fn serve(shared: &Shared) {
        if let Some(taken) = shared.place.take() {
            // SAFETY: taken by us.
            let by = shared.request.with(|request| unsafe { *request });
            // SAFETY: the taker of a request is the only one at the memory in this model.
            let before = shared.memory.with_mut(|memory| unsafe {
                *memory += by;
                *memory - by
            });
            // SAFETY: the answer is ours until we give it.
            shared.answer.with_mut(|answer| unsafe { *answer = before });
            shared.place.give_answer(taken, Answered::Done);
        }
    }

    /// A withdrawn request is not done, and any other is done once.
    #[test]
    fn loom_a_request_is_done_once_or_withdrawn() {
        loom::model(|| {
            let shared = Arc::new(Shared::default());
            let theirs = shared.clone();
            let server = loom::thread::spawn(move || {
                serve(&theirs);
                serve(&theirs);
            });
            let done = [ask(&shared, 1, 3), ask(&shared, 1, 3)];
            server.join().expect("ends");
            let times = done.iter().flatten().count() as u32;
            // SAFETY: the other has ended.
            assert_eq!(shared.memory.with(|memory| unsafe { *memory }), 3 * times);
            for (index, found) in done.iter().flatten().enumerate() {
                assert_eq!(*found, 3 * index as u32);
            }
        });
    }

    /// A target that is told of a deferred request finds it done once none is left, whichever of its threads has done it.
    #[test]
    fn loom_what_is_left_is_done_before_it_is_gone() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new(Shared::default());
            let told = Arc::new(AtomicU32::new(0));
            let (theirs, tell) = (shared.clone(), told.clone());
            let origin = loom::thread::spawn(move || {
                let turn = theirs.place.claim(1).expect("nobody else asks");
                // SAFETY: the box is ours.
                theirs.request.with_mut(|request| unsafe { *request = 3 });
                theirs.place.leave(turn);
                tell.store(1, Ordering::Release);
            });
            let theirs = shared.clone();
            let server = loom::thread::spawn(move || serve(&theirs));
            while told.load(Ordering::Acquire) == 0 {
                loom::thread::yield_now();
            }
            serve(&shared);
            while shared.place.left().is_some() {
                loom::thread::yield_now();
            }
            // SAFETY: what was left is done.
            assert_eq!(shared.memory.with(|memory| unsafe { *memory }), 3);
            assert!(shared.place.is_free());
            origin.join().expect("ends");
            server.join().expect("ends");
        });
    }

    /// Two that ask beside each other get their own answers.
    #[test]
    fn loom_two_that_ask_take_turns() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let shared = Arc::new(Shared::default());
            let theirs = shared.clone();
            let server = loom::thread::spawn(move || {
                serve(&theirs);
                serve(&theirs);
            });
            let theirs = shared.clone();
            let other = loom::thread::spawn(move || ask(&theirs, 2, 1));
            let own = ask(&shared, 1, 10);
            let other = other.join().expect("ends");
            server.join().expect("ends");
            let sum = other.map_or(0, |_| 1) + own.map_or(0, |_| 10);
            // SAFETY: the others have ended.
            assert_eq!(shared.memory.with(|memory| unsafe { *memory }), sum);
            assert!(own.is_none_or(|found| found <= 1) && other.is_none_or(|found| found == 0 || found == 10));
        });
    }
}
