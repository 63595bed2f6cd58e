//! What a group of ranks posts for each other: shared control of collectives.
//!
//! A group goes through *steps*, numbered alike everywhere: the number of a call, and an index within it. In a step a
//! member may post something, once, and any member may read it. Nothing is reset between steps: a step's number is its
//! mark. What is posted lies in the post itself, or somewhere in the segment: in memory that was staged for it, or where the
//! user has it, if that is memory that all map. Such memory is *lent*: it is the user's again when the call returns, so its
//! owner waits until all have finished the step, or, if the call fails, *withdraws* what it lent.
//!
//! # Layout
//! ```text
//! per member  Progress                    128 bytes: how far it is
//!             CALLS x Post                128 bytes each, for the first step of a call
//!             LONG_CALLS x DEPTH x Post   for its later steps
//! ```
//! A first step uses the post `call % CALLS` of these, a later one `(call % LONG_CALLS, index % DEPTH)` of those. The rules of
//! writing are with these (`isthmus_shm::post`). A member waits on its rank's one doorbell, so a member that posts or finishes
//! rings the others'.
//!
//! # Safety
//! What a peer posts is data: a place is checked against the segment, a length by the reader. A member that dies leaves its
//! marks where they are; waiting members find out as all waits do.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use isthmus_shm::post::{LINE, Post, Progress};
use isthmus_shm::{Doorbell, Offset, Segment, doorbell};

use crate::types::Peer;
use crate::{Entered, Result, counters};

/// Calls of one step that a member may be ahead of another: a rank that shares a CPU does so much before it waits (with 8, a
/// reduce-scatter of one double took 2.1 us on 4 ranks of 2 CPUs and 5.1 on 8, and takes 1.2; docs/numbers/).
const CALLS: u64 = 32;
/// The same for calls of several steps.
const LONG_CALLS: u64 = 4;
/// The same for steps of one call, after the first.
const DEPTH: u64 = 4;
/// Bytes of one member's part.
const MEMBER: usize = LINE * (1 + CALLS + LONG_CALLS * DEPTH) as usize;
/// Members in one word of the set of failed ones.
const BITS: usize = u64::BITS as usize;
/// Bits of a step's index in its call.
const INDEX_BITS: u32 = 20;

pub use isthmus_shm::post::INLINE;

/// Steps that a call can have.
pub const MOST_STEPS: u64 = (1 << INDEX_BITS) - 1;

/// A step: the number of its call, from 1, and its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(u64);

impl Step {
    /// The first step of a call.
    #[inline]
    pub fn first_of(call: u64) -> Self {
        Self(call << INDEX_BITS)
    }

    /// The step after it, in the same call.
    #[inline]
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Does its call begin with it?
    #[inline]
    pub fn is_first(self) -> bool {
        self.index() == 0
    }

    #[inline]
    fn call(self) -> u64 {
        self.0 >> INDEX_BITS
    }

    /// Which one of its call it is.
    #[inline]
    pub(crate) fn index(self) -> u64 {
        self.0 & MOST_STEPS
    }

    /// The cell it uses.
    #[inline]
    fn cell(self) -> usize {
        let cell = match self.index() {
            0 => self.call() % CALLS,
            index => CALLS + self.call() % LONG_CALLS * DEPTH + index % DEPTH,
        };
        cell as usize
    }

    /// What everyone must have finished before the cell may be written: everything before this.
    #[inline]
    fn needs(self) -> Self {
        let ahead = match self.index() {
            0 => CALLS,
            index if index <= DEPTH => LONG_CALLS,
            _ => return Self(self.0 - DEPTH + 1),
        };
        Self::first_of((self.call() + 1).saturating_sub(ahead))
    }
}

/// In `what`, beside the length: the payload names a place in the segment.
const ELSEWHERE: u64 = 1 << 63;
/// In `what`: what the poster wants its readers to know.
const REMARK: u64 = 1 << 62;
/// In `what`: the poster may withdraw it.
const LENT: u64 = 1 << 61;

/// The board of one group, as one member sees it.
#[derive(Debug)]
pub struct Board {
    segment: &'static Segment,
    fence_needed: bool,
    base: NonNull<u8>,
    offset: u64,
    members: Box<[u32]>,
    /// Theirs.
    bells: Box<[&'static Doorbell]>,
    me: usize,
    /// What everyone is known to have finished.
    all_finished: AtomicU64,
    /// Members that have failed: nobody waits for them. A bit for each.
    dead: Box<[AtomicU64]>,
}

/// Members that a board can have. Its memory is 6.1 KiB for each of them.
pub const MOST_MEMBERS: usize = 1024;

// SAFETY: the memory is atomics in the job segment, which stays mapped until the process exits; payloads are handed from
// writer to readers by their marks.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

/// Boards that this process took memory for and has given up, until everyone has: (offset, members).
static GIVEN_UP: Mutex<Vec<(u64, usize)>> = Mutex::new(Vec::new());

/// Something posted.
#[derive(Debug, Clone, Copy)]
pub struct Posted {
    /// Where it lies, in memory that its writer leaves alone until the reader has finished the step.
    pub data: *const u8,
    /// Its bytes.
    pub length: usize,
    /// What the poster wanted to be known.
    pub remark: bool,
    /// It is lent: see [`Board::has_withdrawn`].
    pub lent: bool,
}

impl Board {
    /// Take memory for a board of `members` ranks. One of them does, and tells the others the number that comes back, which
    /// is never zero.
    pub fn allocate(inside: &mut Entered, members: usize) -> Result<u64> {
        inside.settle_staged();
        let engine = inside.engine();
        let mut given_up = GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner);
        given_up.retain(|&(offset, members)| {
            let length = (members * MEMBER) as u64;
            let everyone_left = engine
                .segment
                .at(Offset(offset), length)
                .is_some_and(|base| (0..members).all(|member| progress(base, member).has_left()));
            if everyone_left {
                engine.memory.arena.release(Offset(offset), length);
            }
            !everyone_left
        });
        let Offset(offset) = engine
            .memory
            .arena
            .allocate(engine.segment, (members * MEMBER) as u64)?;
        Ok(offset)
    }

    /// The board at `offset`, as member `me` of `members` sees it; `owner` says that this process allocated it. `None` if
    /// there is no such memory.
    pub fn attach(inside: &mut Entered, offset: u64, members: &[Peer], me: usize) -> Option<Self> {
        let engine = inside.engine();
        let base = engine
            .segment
            .at(Offset(offset), (members.len() * MEMBER) as u64)
            .filter(|_| me < members.len() && members.len() <= MOST_MEMBERS && offset.is_multiple_of(LINE as u64))?;
        Some(Self {
            segment: engine.segment,
            fence_needed: engine.channels.fence_needed(),
            base,
            offset,
            members: members.iter().map(|peer| peer.0).collect(),
            bells: members
                .iter()
                .map(|peer| engine.segment.slot(peer.0).doorbell())
                .collect(),
            me,
            all_finished: AtomicU64::new(0),
            dead: (0..members.len().div_ceil(BITS)).map(|_| AtomicU64::new(0)).collect(),
        })
    }

    /// Members of the group.
    #[inline]
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// The process of one.
    #[inline]
    pub fn peer(&self, member: usize) -> Peer {
        Peer(self.members[member])
    }

    /// Which of them we are.
    #[inline]
    pub fn me(&self) -> usize {
        self.me
    }

    #[inline]
    fn progress(&self, member: usize) -> &Progress {
        assert!(member < self.members.len());
        progress(self.base, member)
    }

    #[inline]
    fn cell(&self, member: usize, step: Step) -> &Post {
        assert!(member < self.members.len());
        // SAFETY: `attach` checked that every member's part lies in memory that was taken; cells are atomics.
        unsafe {
            self.base
                .add(member * MEMBER + LINE * (1 + step.cell()))
                .cast()
                .as_ref()
        }
    }

    /// What everyone should have finished before we write our cell for this step, if it is not free: where ranks share CPUs so much that
    /// half of all cells are, since who is woken then goes through several calls (64 ranks: reduce and gather of 8 bytes take a fifth less).
    #[inline]
    pub fn enough(step: Step, ranks_share_cpus: bool) -> Step {
        match step.index() {
            0 if ranks_share_cpus => Step(step.needs().0 + ((CALLS / 2) << INDEX_BITS)).min(step),
            _ => step.needs(),
        }
    }

    /// Is our cell for this step free: has everyone read what it held?
    #[inline]
    pub fn is_free(&self, step: Step) -> bool {
        self.is_finished_before(step.needs())
    }

    /// Has everyone finished everything before `step`?
    #[inline]
    pub fn is_finished_before(&self, step: Step) -> bool {
        self.all_finished.load(Ordering::Relaxed) >= step.0 || self.look_round() >= step.0
    }

    /// A member that has not finished everything before `step`.
    pub fn unfinished_before(&self, step: Step) -> Option<usize> {
        let mut others = (0..self.members.len()).filter(|&member| member != self.me && !self.is_dead(member));
        others.find(|&member| self.progress(member).finished() < step.0)
    }

    /// Has everyone finished `step`?
    pub fn is_finished(&self, step: Step) -> bool {
        self.is_finished_before(step.next())
    }

    /// Has `member` finished `step`?
    pub fn is_finished_by(&self, member: usize, step: Step) -> bool {
        self.progress(member).finished() > step.0
    }

    #[cold]
    fn look_round(&self) -> u64 {
        let finished = |member| self.progress(member).finished();
        let others = (0..self.members.len()).filter(|&member| member != self.me && !self.is_dead(member));
        let all = others.map(finished).min().unwrap_or(u64::MAX);
        self.all_finished.fetch_max(all, Ordering::Relaxed);
        all
    }

    fn is_dead(&self, member: usize) -> bool {
        self.dead[member / BITS].load(Ordering::Relaxed) >> (member % BITS) & 1 != 0
    }

    /// From now on wait for no member that has failed.
    #[cold]
    pub(crate) fn bury(&self, has_failed: impl Fn(u32) -> bool) {
        for member in (0..self.members.len()).filter(|&member| has_failed(self.members[member])) {
            self.dead[member / BITS].fetch_or(1 << (member % BITS), Ordering::Relaxed);
        }
    }

    /// Everyone has come to `step`, as its posts show, and so has finished all calls before.
    #[inline]
    pub fn everyone_came_to(&self, step: Step) {
        let known = step.0 & !MOST_STEPS;
        if self.all_finished.load(Ordering::Relaxed) < known {
            self.all_finished.store(known, Ordering::Relaxed);
        }
    }

    /// Where the payload of our post for `step` goes, up to [`INLINE`] bytes. The cell must be free.
    #[inline]
    pub fn payload(&self, step: Step) -> *mut u8 {
        self.cell(self.me, step).payload().as_ptr().cast_mut().cast()
    }

    /// Where in the segment these bytes of ours lie, if they do: what may be lent.
    #[inline]
    pub fn offset_of(&self, address: *const u8, length: usize) -> Option<u64> {
        let offset = self.segment.offset_of(address.addr() as u64, length as u64)?;
        self.at(offset, length).map(|_| offset)
    }

    /// `length` bytes at an offset in the segment, as a peer says; `None`: there is no such memory.
    #[inline]
    pub fn at(&self, offset: u64, length: usize) -> Option<*const u8> {
        let data = self.segment.range(offset, length as u64)?;
        Some(data.as_ptr().cast_const())
    }

    /// Post for `step` the payload of `length` bytes that was written to [`Self::payload`], or what lies at this offset in
    /// the segment. The cell must be free. Rings nobody.
    #[inline]
    pub fn post(&self, step: Step, length: usize, elsewhere: Option<u64>, remark: bool, lent: bool) {
        let cell = self.cell(self.me, step);
        let mut what = length as u64 | if remark { REMARK } else { 0 } | if lent { LENT } else { 0 };
        match elsewhere {
            None => debug_assert!(length <= INLINE),
            Some(offset) => {
                cell.payload()[0].store(offset, Ordering::Relaxed);
                what |= ELSEWHERE;
            }
        }
        cell.publish(step.0, what);
    }

    /// Ring the doorbell of a member, after posting something that it waits for.
    #[inline]
    pub fn ring(&self, member: usize) {
        doorbell::order(self.fence_needed);
        wake(self.bells[member]);
    }

    /// Ring everyone's doorbell.
    #[inline]
    pub fn ring_all(&self) {
        doorbell::order(self.fence_needed);
        for (member, bell) in self.bells.iter().enumerate() {
            if member != self.me {
                wake(bell);
            }
        }
    }

    /// Has `member` posted for `step`?
    #[inline]
    pub fn has_posted(&self, member: usize, step: Step) -> bool {
        self.cell(member, step).is_for(step.0)
    }

    /// We wait for `member`: with more ranks than CPUs, for longer while it has one.
    #[inline]
    pub fn await_member(&self, inside: &mut Entered, member: usize) {
        inside.engine().await_peer(self.members[member]);
    }

    /// What `member` has posted for `step`, which it has; `None` if that makes no sense.
    #[inline]
    pub fn posted(&self, member: usize, step: Step) -> Option<Posted> {
        let cell = self.cell(member, step);
        let what = cell.what();
        let length = (what & !(ELSEWHERE | REMARK | LENT)) as usize;
        let data = if what & ELSEWHERE == 0 {
            (length <= INLINE).then(|| cell.payload().as_ptr().cast())?
        } else {
            self.at(cell.payload()[0].load(Ordering::Relaxed), length)?
        };
        Some(Posted {
            data,
            length,
            remark: what & REMARK != 0,
            lent: what & LENT != 0,
        })
    }

    /// Take back what we have lent in the call of `step` and those before: after this it may change.
    #[cold]
    pub fn withdraw(&self, step: Step) {
        self.progress(self.me).withdraw(step.call());
    }

    /// Has `member` taken back what it lent in the call of `step`? Then what was read of it may be anything.
    #[inline]
    pub fn has_withdrawn(&self, member: usize, step: Step) -> bool {
        self.progress(member).has_withdrawn(step.call())
    }

    /// Has `member` gone past `step`, and never posted for it?
    pub fn has_skipped(&self, member: usize, step: Step) -> bool {
        self.is_finished_by(member, step) && !self.has_posted(member, step)
    }

    /// We will read no post again, whatever others may still stage for us: no call can go well any more, or none will come.
    #[cold]
    pub fn give_up(&self) {
        self.finish_before(Step(u64::MAX));
        self.ring_all();
    }

    /// We are done with everything before `step`, and will read no such post again. Rings nobody.
    #[inline]
    pub fn finish_before(&self, step: Step) {
        self.progress(self.me).finish_before(step.0);
    }
}

#[inline]
fn wake(bell: &Doorbell) {
    if bell.alert() {
        counters::WAKES.add_anywhere(1);
    }
}

/// # Panics
/// Never: the caller has checked the member.
#[inline]
fn progress<'a>(base: NonNull<u8>, member: usize) -> &'a Progress {
    // SAFETY: the holder of a base checked that all members' parts lie in memory that was taken, which stays mapped; a Progress
    // is only atomics.
    unsafe { base.add(member * MEMBER).cast().as_ref() }
}

impl Drop for Board {
    fn drop(&mut self) {
        // No data for readers is left: a stager for a board holds it until then.
        self.progress(self.me).leave();
        if self.me == 0 {
            let mut given_up = GIVEN_UP.lock().unwrap_or_else(PoisonError::into_inner);
            given_up.push((self.offset, self.members.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_written_again_when_all_have_finished_what_it_held() {
        let mut held = [None; MEMBER / LINE - 1];
        // Calls of different lengths in turn.
        for call in 1..=200 {
            let mut step = Step::first_of(call);
            for _ in 0..=call * 7 % 23 {
                let before = held[step.cell()].replace(step);
                assert!(
                    before.is_none_or(|before| before < step.needs()),
                    "{before:?}, {step:?}"
                );
                assert!(step.needs() <= step);
                let enough = [false, true].map(|shared| Board::enough(step, shared));
                assert!(step.needs() == enough[0] && enough[0] <= enough[1] && enough[1] <= step);
                step = step.next();
            }
        }
        assert!(held.iter().all(Option::is_some), "every cell is used");
    }
}
