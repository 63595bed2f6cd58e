//! Short operations on ordinary memory, done by their target while it waits inside the library: a request in shared memory instead of a
//! system call.
//!
//! A process that has registered ordinary memory has some [`Mailbox`]es, and says whether it *makes progress*: whether one of its threads looks at
//! them, waiting for something. An origin that finds it so asks, and waits for the answer; if none comes soon, the request is taken back and the operation
//! goes by a single copy as it would have done, so that nobody depends on a target that computes, sleeps, or has lost its CPU. The target does
//! what is asked by the functions that it uses on its own memory, under the same locks, so the rule of atomicity stands; an operation is
//! over when its function comes back, so the rules of order stand, too. What is *left* to the target ([`finish_left`]) is over when that says so.
//!
//! Longer operations go in pieces, through [bounce buffers](super::bounce) of the origin: the target copies one piece while the origin copies the next. Or the request
//! names the origin's own memory ([`both_ends`]).
//!
//! # Safety
//! A request comes from a peer: region, offset, lengths and the kernel's number are checked before anything is touched.

mod held;
mod pieces;

use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use isthmus_shm::SharedAddress;
use isthmus_shm::backoff::{
    LOOKS_AT_ANSWER, LOOKS_AT_ANSWER_AWAY, LOOKS_AT_ROUSED, LOOKS_AT_SERVED, ROUSED, ShortWait,
};
use isthmus_shm::mailbox::{ANSWER, Answered, Mailbox, REQUEST, Turn};
use isthmus_shm::occupancy;

use super::combine::Combine;
use super::execute::{self, PeerRequest, What};
use super::notify::wait_watching;
use super::progressing::{self, Progressing};
use super::protocols::is_short;
use super::target::Target;
use super::{ProcessContext, both_ends, home, is_dead, service};
use crate::limits::{
    ALONE_DEAR_FROM, BOX_BYTES, BOX_MISSES, BOX_SELDOM, BOX_TRIES, BOXES, BYTES_PER_LOOK, ROUSED_AT, WAKE_FROM,
};
use crate::memory::heap::{self, REGISTRY};
use crate::{Error, Result, counters};

pub(super) use held::{finish_held, hold_put, is_one_of_several, may_hold_some};
pub(super) use pieces::{Outcome, Sides, ask_in_pieces, begin};

/// Lies in shared memory, followed by the room for each box's data.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Mailboxes {
    progressing: ThreadsInside,
    /// Raised by an origin to keep the owner awake for a while.
    roused: AtomicU32,
    boxes: [Mailbox; BOXES],
}

/// How many threads look, on lines of their own.
#[derive(Debug)]
#[repr(C, align(128))]
struct ThreadsInside(AtomicU32);

const BYTES: usize = size_of::<Mailboxes>() + BOXES * BOX_BYTES;

/// A request of the owner.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Request {
    at: u64,
    region: u32,
    number: u32,
    length: u32,
    width: u32,
    what: u8,
    class: u8,
    /// The operator, and [`IN_ROWS`].
    operator: u8,
    /// Where longer operands and results are: in the box's room, or where [`BESIDE`] says.
    lies: u8,
    /// Bytes of operands.
    given: u32,
}

const FIXED: usize = size_of::<Request>();
/// In the box's room...
const IN_BOX: u8 = 0;
/// ...in memory of the job, operands first, at a place that lies behind the request...
const IN_BUFFER: u8 = 1;
/// ...or in the origin's own memory, at an address that lies there.
const AT_ORIGIN: u8 = 2;

/// The request is about [`Rows`].
const IN_ROWS: u8 = 1 << 7;

/// Operands that lie behind the request rather than in the box's room.
const BESIDE: usize = REQUEST - FIXED;

const _: () = assert!(FIXED == 32 && BESIDE == 24);

/// Rows of the target's region, of one length and at a constant distance. They lie behind the request, after the first of three numbers.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Rows {
    /// Bytes of each; 0: the bytes are in a row.
    pub block: u64,
    /// Bytes from the beginning of one to the beginning of the next.
    pub stride: i64,
}

const _: () = assert!(size_of::<Rows>() == BESIDE - 8);

/// The boxes of this process, once it has some.
static OWN: OnceLock<&'static Mailboxes> = OnceLock::new();

/// This process has ordinary memory: it has boxes from now on, whose address goes into its table of locks. Without memory for them
/// there are none, and nobody asks.
pub(super) fn open(told: &AtomicU64) {
    static OPENING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _opening = OPENING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if OWN.get().is_some() {
        return;
    }
    let Ok(memory) = heap::allocate(BYTES as u64, 128) else {
        return;
    };
    let at: NonNull<Mailboxes> = memory.cast();
    // SAFETY: as many bytes were just allocated on such a line, and nobody knows of them.
    let own = unsafe {
        at.write(Mailboxes {
            progressing: ThreadsInside(AtomicU32::new(0)),
            roused: AtomicU32::new(0),
            boxes: std::array::from_fn(|_| Mailbox::default()),
        });
        at.as_ref()
    };
    let address = heap::shared_address_of(memory.as_ptr(), BYTES as u64).expect("the heap's memory is mapped by all");
    let _ = OWN.set(own);
    progressing::show_in(&own.progressing.0);
    // SYNC: mailboxes
    told.store(address.0, Ordering::Release);
}

/// The boxes that somebody says lie there.
pub(super) fn at(told: &AtomicU64) -> Option<&'static Mailboxes> {
    // SYNC: mailboxes
    let address = SharedAddress(told.load(Ordering::Acquire));
    if address.0 == 0 || !address.0.is_multiple_of(128) {
        return None;
    }
    let at: NonNull<Mailboxes> = REGISTRY.at(address, BYTES as u64)?.cast();
    // SAFETY: the bytes were taken from a segment, which stays mapped; boxes are atomics and raw bytes.
    Some(unsafe { at.as_ref() })
}

/// Do what is asked of this process. Any thread may, inside the engine or not. True: something was.
#[inline]
pub(crate) fn serve() -> bool {
    OWN.get().is_some_and(|own| own.serve())
}

impl Mailboxes {
    #[inline]
    fn serve(&'static self) -> bool {
        let mut served = false;
        if self.roused.load(Ordering::Relaxed) != 0 {
            self.roused.store(0, Ordering::Relaxed);
            served = true;
        }
        for (index, mailbox) in self.boxes.iter().enumerate() {
            if let Some(turn) = mailbox.take() {
                served = true;
                let done = self.answer(index, mailbox, turn.asker());
                counters::RMA_SERVED.add_anywhere(1);
                mailbox.give_answer(turn, if done { Answered::Done } else { Answered::Refused });
            }
        }
        served
    }

    fn answer(&'static self, index: usize, mailbox: &Mailbox, asker: u32) -> bool {
        // SAFETY: what was taken is ours; any bits are numbers.
        let request = unsafe { mailbox.request().cast::<Request>().read() };
        let given = request.given as usize;
        let Some(results) = request.wanted() else {
            return false;
        };
        let wanted = PeerRequest {
            what: u32::from(request.what),
            region: request.region,
            class: u32::from(request.class),
            operator: u32::from(request.operator & !IN_ROWS),
            width: request.width,
            number: request.number,
        };
        if request.lies == AT_ORIGIN {
            let there = self.beside(index);
            return both_ends::answer(asker, wanted, request.at, u64::from(request.length), there);
        }
        let Some((operands, results)) = self.data(index, &request, given, results) else {
            return false;
        };
        if wanted.what == What::Batch as u32 {
            if request.lies != IN_BOX || request.is_in_rows() || given > BOX_BYTES {
                return false;
            }
            // SAFETY: the room has as many bytes, and the box is ours; any bits are numbers.
            return unsafe {
                let first = mailbox.request().add(FIXED).cast::<held::Entry>().read();
                held::put_all(request.region, first, self.room(index), given)
            };
        }
        if request.is_in_rows() {
            // Nothing else is asked of rows; results would lie on operands.
            if wanted.what != What::Put as u32 {
                return false;
            }
            let rows = self.rows(index);
            // SAFETY: as below.
            return unsafe {
                execute::do_rows(
                    wanted,
                    (request.at, u64::from(request.length)),
                    rows,
                    (operands, given),
                    results,
                )
            };
        }
        // SAFETY: operands and results are so long, and the box is ours.
        unsafe { execute::do_at(wanted, request.at, u64::from(request.length), operands, given, results) }
    }

    /// Where the operands and the results of a request lie. `None`: nowhere.
    #[inline]
    fn data(&self, index: usize, request: &Request, given: usize, wanted: usize) -> Option<(*mut u8, *mut u8)> {
        if request.lies == IN_BUFFER {
            let operands = REGISTRY
                .at(SharedAddress(self.beside(index)), given as u64 + wanted as u64)?
                .as_ptr();
            return Some((operands, operands.wrapping_add(given)));
        }
        let room = room_of(given > 0, wanted > 0, BOX_BYTES);
        let is_whole = given <= room && wanted <= room;
        is_whole.then(|| (self.operands(index, request), self.results(index, given, wanted)))
    }

    /// The rows behind the request in a box that is ours.
    fn rows(&self, index: usize) -> Rows {
        // SAFETY: any bits are numbers, and the box is ours.
        unsafe { self.boxes[index].request().add(FIXED + 8).cast::<Rows>().read() }
    }

    /// Write them.
    fn set_rows(&self, index: usize, rows: Rows) {
        // SAFETY: the box is ours, and operands of a request about rows are in the box's room.
        unsafe { self.boxes[index].request().add(FIXED + 8).cast::<Rows>().write(rows) }
    }

    /// The number behind the request in a box that is ours.
    fn beside(&self, index: usize) -> u64 {
        // SAFETY: any bits are a number, and the box is ours.
        unsafe { self.boxes[index].request().add(FIXED).cast::<u64>().read() }
    }

    /// Write it.
    fn set_beside(&self, index: usize, number: u64) {
        // SAFETY: the box is ours, and no operands follow the request.
        unsafe { self.boxes[index].request().add(FIXED).cast::<u64>().write(number) }
    }

    /// The room of a box.
    fn room(&self, index: usize) -> *mut u8 {
        std::ptr::from_ref(self)
            .cast_mut()
            .cast::<u8>()
            .wrapping_add(size_of::<Self>() + index * BOX_BYTES)
    }

    /// Where the operands of a request in a box lie.
    #[inline]
    fn operands(&self, index: usize, request: &Request) -> *mut u8 {
        match request.given as usize {
            ..=BESIDE if !request.is_in_rows() => self.boxes[index].request().wrapping_add(FIXED),
            _ => self.room(index),
        }
    }

    /// Where its results lie: never on the operands.
    #[inline]
    fn results(&self, index: usize, given: usize, wanted: usize) -> *mut u8 {
        match wanted {
            ..=ANSWER => self.boxes[index].answered(),
            _ if given > BESIDE => self.room(index).wrapping_add(BOX_BYTES / 2),
            _ => self.room(index),
        }
    }
}

impl Request {
    /// Are there [`Rows`] behind it?
    #[inline]
    fn is_in_rows(&self) -> bool {
        self.operator & IN_ROWS != 0
    }

    /// Bytes of results; `None`: it asks for nothing that there is.
    #[inline]
    fn wanted(&self) -> Option<usize> {
        match What::of(u32::from(self.what))? {
            What::Put | What::Accumulate | What::Batch => Some(0),
            What::Get | What::GetAccumulate | What::CompareSwap => Some(self.length as usize),
            What::Active | What::Expose => None,
        }
    }
}

/// Bytes that operands, and results, may have in so many.
#[inline]
const fn room_of(is_given: bool, is_wanted: bool, bytes: usize) -> usize {
    match is_given && is_wanted {
        true => bytes / 2,
        false => bytes,
    }
}

/// An operation that a target is asked for, without its place: on bytes in a row, or in rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub what: What,
    pub rows: Option<Rows>,
    pub combine: Option<&'a Combine>,
    /// Of elements that are compared.
    pub width: u32,
}

impl<'a> Asked<'a> {
    /// To copy.
    pub const fn plain(what: What) -> Self {
        Self {
            what,
            rows: None,
            combine: None,
            width: 0,
        }
    }

    /// To combine elements.
    pub const fn combining(what: What, combine: &'a Combine) -> Self {
        Self {
            what,
            rows: None,
            combine: Some(combine),
            width: combine.width,
        }
    }

    /// Byte `done` of the stream that begins at `at`: the beginning of a row, if there are rows.
    fn address_of(&self, at: u64, done: u64) -> u64 {
        match self.rows {
            None => at + done,
            Some(Rows { block, stride }) => at.wrapping_add_signed((done / block) as i64 * stride),
        }
    }

    fn request(&self, target: &Target, at: u64, length: usize, given: usize) -> Request {
        let combine = self.combine;
        Request {
            at,
            region: target.id(),
            number: combine.map_or(0, |combine| combine.number),
            length: length as u32,
            width: self.width,
            what: self.what as u8,
            class: combine.map_or(0, |combine| combine.class as u8),
            operator: combine.map_or(0, |combine| combine.operator as u8)
                | if self.rows.is_some() { IN_ROWS } else { 0 },
            lies: IN_BOX,
            given: given as u32,
        }
    }
}

impl Target {
    /// Is a request to a target that makes progress likely to be answered? One that makes progress may have lost its CPU: an origin without an
    /// answer asks for nothing for some operations, twice as many each time. An operation in pieces counts as so many, as it loses more by another way.
    #[inline]
    fn is_trusted(&self, pieces: u64) -> bool {
        let skipped = self.skipped.load(Ordering::Relaxed);
        if skipped > 0 {
            let left = u64::from(skipped).saturating_sub(pieces);
            self.skipped.store(left as u16, Ordering::Relaxed);
        }
        skipped == 0
    }

    #[inline]
    fn note(&self, end: End) {
        match end {
            End::Done => {
                self.idle_rounds.store(0, Ordering::Relaxed);
                self.unanswered.store(0, Ordering::Relaxed);
                self.skipped.store(0, Ordering::Relaxed);
            }
            End::Away => {
                let unanswered = self.unanswered.load(Ordering::Relaxed).min(BOX_MISSES) + 1;
                self.unanswered.store(unanswered, Ordering::Relaxed);
                self.skipped.store(1 << unanswered >> 1, Ordering::Relaxed);
            }
            End::Refused | End::Dead => {}
        }
    }
}

/// How an attempt went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Done,
    /// Nothing was done: take another way.
    Away,
    Refused,
    Dead,
}

/// The boxes of a target that makes progress, or may do so any moment, and how often to look for its answer.
#[inline]
pub(super) fn progressing(target: &Target) -> Option<(&'static Mailboxes, u32)> {
    let boxes = target.mailboxes()?;
    if boxes.is_progressing() {
        return target.is_trusted(1).then_some((boxes, LOOKS_AT_ANSWER.count()));
    }
    boxes.miss(target).then_some((boxes, LOOKS_AT_ANSWER_AWAY.count()))
}

/// Does the target make progress?
pub(super) fn is_progressing(target: &Target) -> bool {
    target.mailboxes().is_some_and(Mailboxes::is_progressing)
}

/// Have the target do one operation on `length` bytes at `at`: `given` bytes of operands lie at `from`, and `wanted` bytes of results
/// go to `into`. False: nothing was done.
///
/// # Errors
/// The target refuses, or has died.
///
/// # Safety
/// `from` must be readable, and `into` writable, for as many bytes.
#[inline]
pub(super) unsafe fn ask(
    target: &Target,
    asked: Asked<'_>,
    at: u64,
    length: usize,
    from: (*const u8, usize),
    into: (*mut u8, usize),
) -> Result<bool> {
    let room = room_of(from.1 > 0, into.1 > 0, BOX_BYTES);
    if from.1 > room || into.1 > room {
        return Ok(false);
    }
    let Some((boxes, looks)) = progressing(target) else {
        return Ok(false);
    };
    let home = home()?;
    let Some((index, turn)) = boxes.claim(home) else {
        return Ok(false);
    };
    let request = asked.request(target, at, length, from.1);
    // SAFETY: the caller's promise; the box is ours, and has the room.
    unsafe {
        boxes.boxes[index].request().cast::<Request>().write(request);
        if from.1 > 0 {
            super::flow::copy_short(from.0, boxes.operands(index, &request), from.1);
        }
    }
    boxes.boxes[index].post(&turn);
    let end = boxes.settle(home, target, index, &turn, looks);
    // That one which made no progress did not answer says nothing of when it does.
    if end != End::Away || looks != LOOKS_AT_ANSWER_AWAY.count() {
        target.note(end);
    }
    if end == End::Done && into.1 > 0 {
        // SAFETY: as above.
        unsafe { super::flow::copy_short(boxes.results(index, from.1, into.1), into.0, into.1) };
    }
    boxes.leave(index, turn, end);
    end.into_result(target)
}

/// Leave a target a put of `length` bytes at `at`: it has done it when it has [finished](finish_left) what was left to it, and who leaves it sees
/// to it that it does, before anybody needs the data. False: nothing was done.
///
/// # Safety
/// `from` must be readable for as many bytes.
pub(super) unsafe fn leave_put(target: &Target, at: u64, from: *const u8, length: usize) -> Result<bool> {
    if !is_short(length) {
        return Ok(false);
    }
    let Some(boxes) = target.mailboxes() else {
        return Ok(false);
    };
    let home = home()?;
    let Some((index, turn)) = boxes.claim_soon(home) else {
        return Ok(false);
    };
    let request = Asked::plain(What::Put).request(target, at, length, length);
    // SAFETY: the caller's promise; the box is ours, and has the room.
    unsafe {
        boxes.boxes[index].request().cast::<Request>().write(request);
        super::flow::copy_short(from, boxes.operands(index, &request), length);
    }
    boxes.boxes[index].leave(turn);
    Ok(true)
}

/// Do what others have left to this process, as far as they have told of it. Any thread may, inside the engine or not.
pub fn finish_left() {
    let Some(own) = OWN.get() else { return };
    own.serve();
    for mailbox in &own.boxes {
        finish_turn(mailbox, || {
            own.serve();
        });
    }
}

/// Serve until what is left in this box now is done. Peers that go on may leave more in the same box: that is not what was told of.
fn finish_turn(mailbox: &Mailbox, mut serve: impl FnMut()) {
    let mut wait = ShortWait::default();
    let Some(turn) = mailbox.left() else { return };
    while mailbox.left() == Some(turn) {
        // Another thread may be at it.
        serve();
        wait.pause();
    }
}

impl Mailboxes {
    /// A box for this process, for which it waits where the target is at it.
    #[inline]
    fn claim_soon(&self, home: &ProcessContext) -> Option<(usize, Turn)> {
        for _ in 0..LOOKS_AT_ANSWER.count() {
            let found = self.claim(home);
            if found.is_some() || !self.is_progressing() {
                return found;
            }
            serve();
            std::hint::spin_loop();
        }
        None
    }

    /// The target makes no progress. If it sleeps inside the library, and was missed some times, have it look for a while. True: ask it
    /// nevertheless.
    fn miss(&self, target: &Target) -> bool {
        let idle_rounds = target.idle_rounds.load(Ordering::Relaxed).wrapping_add(1);
        target.idle_rounds.store(idle_rounds, Ordering::Relaxed);
        if idle_rounds >= ROUSED_AT && idle_rounds.is_power_of_two() {
            self.rouse(target);
        }
        // If somebody asks us, they are inside the library just now.
        let helped = serve();
        helped || idle_rounds <= BOX_TRIES || idle_rounds.is_multiple_of(BOX_SELDOM)
    }

    /// Is an operation of so many bytes, in pieces, likely to be done by the target? One that sleeps is woken if it is worth it.
    fn is_ready(&self, target: &Target, asked: Asked<'_>, length: u64) -> bool {
        if !self.is_progressing() && (length < WAKE_FROM || !self.wake(target, asked, length)) {
            // A short operation on bytes in a row was asked for, or counted, before it came here.
            if asked.rows.is_some() || !is_short(length as usize) {
                self.miss(target);
            }
            return false;
        }
        let is_trusted = target.is_trusted((length / BOX_BYTES as u64).max(1));
        is_trusted || asked.combine.is_some() && length >= ALONE_DEAR_FROM
    }

    /// Have a target that sleeps inside the library make progress, for an operation of so many bytes. True: it does.
    #[cold]
    fn wake(&self, target: &Target, asked: Asked<'_>, length: u64) -> bool {
        let more = asked.combine.map_or(0, |_| length / BYTES_PER_LOOK);
        self.rouse(target)
            && (0..LOOKS_AT_ROUSED.value + more).any(|_| {
                std::hint::spin_loop();
                self.is_progressing()
            })
    }

    /// True: the target slept, and was woken, if not just now by another origin.
    #[cold]
    fn rouse(&self, target: &Target) -> bool {
        let Ok(home) = home() else { return false };
        let bell = home.segment.slot(target.peer().0).doorbell();
        if occupancy::is_oversubscribed() {
            return false;
        }
        if !bell.is_armed() {
            return bell.was_rung(ROUSED.time());
        }
        self.roused.store(1, Ordering::Relaxed);
        super::wake(target.peer()).is_ok()
    }
}

impl End {
    fn into_result(self, target: &Target) -> Result<bool> {
        match self {
            Self::Done => Ok(true),
            Self::Away => Ok(false),
            Self::Refused => Err(service::refused(target)),
            Self::Dead => Err(Error::PeerFailed { peer: target.peer().0 }),
        }
    }
}

impl Mailboxes {
    /// A box for this process.
    #[inline]
    fn claim(&self, home: &ProcessContext) -> Option<(usize, Turn)> {
        let first = home.me as usize % BOXES;
        for step in 0..BOXES {
            let index = (first + step) % BOXES;
            if self.boxes[index].is_free()
                && let Some(turn) = self.boxes[index].claim(home.me)
            {
                return Some((index, turn));
            }
        }
        self.reclaim(home);
        None
    }

    /// All boxes are somebody's: free those of the dead.
    #[cold]
    fn reclaim(&self, home: &ProcessContext) {
        if home.segment.failed() > 0 {
            for mailbox in &self.boxes {
                mailbox.reclaim(|rank| is_dead(home.segment, rank));
            }
        }
    }

    #[inline]
    fn is_progressing(&self) -> bool {
        self.progressing.0.load(Ordering::Relaxed) != 0
    }

    /// Wait for the answer, as long as the target makes progress, and for at most so many looks.
    #[inline]
    fn settle(&self, home: &ProcessContext, target: &Target, index: usize, turn: &Turn, most: u32) -> End {
        let mailbox = &self.boxes[index];
        let mut looks = 0_u32;
        let _progressing = Progressing::begin();
        loop {
            match mailbox.answer(turn) {
                Some(Answered::Done) => return End::Done,
                Some(Answered::Refused) => return End::Refused,
                None => {}
            }
            looks += 1;
            let goes_on = looks < most
                && (!looks.is_multiple_of(16) || most == LOOKS_AT_ANSWER_AWAY.count() || self.is_progressing());
            if !goes_on && mailbox.withdraw(turn) {
                return End::Away;
            }
            if looks > most + LOOKS_AT_ANSWER.count() {
                return wait_long(home, target, mailbox, turn);
            }
            if looks.is_multiple_of(8) {
                // Others may wait for us as we do for them.
                serve();
            }
            std::hint::spin_loop();
        }
    }

    /// Give the box back; of what the dead have taken nobody knows when it is written no more.
    fn leave(&self, index: usize, turn: Turn, end: End) {
        if end != End::Dead {
            self.boxes[index].give_back(turn);
        }
    }
}

/// The target is at it, and takes its time: its CPU is another's, or it is stopped, or dead.
#[cold]
fn wait_long(home: &ProcessContext, target: &Target, mailbox: &Mailbox, turn: &Turn) -> End {
    let end = || match mailbox.answer(turn) {
        Some(Answered::Done) => Some(End::Done),
        Some(Answered::Refused) => Some(End::Refused),
        None if is_dead(home.segment, target.peer().0) => Some(End::Dead),
        None => None,
    };
    let mut wait = ShortWait::default();
    while wait.looks() < LOOKS_AT_SERVED.count() {
        if let Some(end) = end() {
            return end;
        }
        wait.pause();
    }
    wait_watching(end).unwrap_or(End::Dead)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An origin that leaves the next put in the same box as soon as one is done keeps nobody busy.
    #[test]
    fn what_is_left_later_is_not_waited_for() {
        let mailbox = Mailbox::default();
        let leave = || mailbox.leave(mailbox.claim(3).expect("free"));
        leave();
        let mut served = 0;
        finish_turn(&mailbox, || {
            served += 1;
            let turn = mailbox.take().expect("left");
            mailbox.give_answer(turn, Answered::Done);
            leave();
            assert!(served < 2, "it goes on with what was left later");
        });
        assert!(served == 1 && mailbox.left().is_some());
    }
}
