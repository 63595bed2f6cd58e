//! Where the members of a group meet: cells in memory of the job that they all find by name. Members on several nodes, which share no memory,
//! have cells of their own each, which every round fills by an all-gather of the team ([`Board::between_nodes`]).
//!
//! # Layout
//! [`DEPTH`] cells per member, used in turn:
//! ```text
//! step      u64         the round it is for, counted from 1; 0: none yet
//! terms     3 x u64     what members must agree about: the routine, a value, and a root
//! payload   1248 bytes   what the member has for the others
//! ```
//!
//! # Ordering
//! A member fills its cell and publishes it by a release store of the step; then it waits until those it needs something from have
//! published theirs: all others, or one, or none ([`Whom`]). A cell is written again [`DEPTH`] rounds later, and not before everyone has
//! come to the round behind the one that it was for: a member that comes to a round has finished reading at those before.
//!
//! # Safety
//! Data that a member wrote is untrusted: the reader of a place in a payload checks it. A member that dies is missed by all, and the job
//! ends. Memory of a team that is no more serves another one; steps go on where they were, so a member that is late to look whether all
//! have come to the last round, at which nobody looks at terms ([`Board::part`]), still sees that they have.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use isthmus_engine::backoff::{LOOKS_AT_NOTICE, look_briefly};
use isthmus_engine::symmetric::{self, Bells};
use isthmus_engine::{Cause, Entered, Peer, wait_until};

use super::Caller;
use crate::team::Team;

/// Bytes that a member can show the others at a round.
pub const INLINE: usize = 1248;
/// So many rounds a member may be ahead of others that it does not wait for.
const DEPTH: usize = 8;
/// Between nodes: what the first message of a round has of a payload, in words. Longer payloads take a second one.
const FIRST_WORDS: usize = 27;
/// Words before them: a step, three terms, and the words of the payload.
const HEAD_WORDS: usize = 5;

#[derive(Debug)]
#[repr(C, align(128))]
struct Cell {
    step: AtomicU64,
    terms: [AtomicU64; 3],
    payload: [AtomicU64; INLINE / 8],
}

const _: () = assert!(size_of::<Cell>() == 1280);

/// Bytes of memory for `members`.
pub fn bytes_for(members: usize) -> u64 {
    (members * DEPTH * size_of::<Cell>()) as u64
}

/// What all members of a round must pass alike.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// The call.
    pub caller: Caller,
    /// An argument's name, and its value.
    pub argument: (&'static str, u64),
    /// The root, where there is one.
    pub root: Option<usize>,
}

impl Terms {
    /// Of a routine without a root.
    pub fn new(caller: Caller, argument: (&'static str, u64)) -> Self {
        let root = None;
        Self { caller, argument, root }
    }

    fn numbers(self) -> [u64; 3] {
        // No team is so large.
        [
            self.caller.identity(),
            self.argument.1,
            self.root.map_or(u64::MAX, |root| root as u64),
        ]
    }
}

/// The members that a member waits for in a round, and compares terms with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// All others.
    All,
    /// One.
    One(usize),
    /// Nobody: it is there for others.
    Nobody {
        /// With the members that have come by its own next round, so that of two members that both wait for no other the later one
        /// finds out.
        compares: bool,
    },
}

/// The cells, as one member sees them.
#[derive(Debug)]
pub struct Board {
    base: NonNull<u8>,
    bells: Bells,
    members: Box<[u32]>,
    me: usize,
    /// Meetings so far.
    step: AtomicU64,
    /// To this round all are known to have come.
    all_came: AtomicU64,
    /// A round whose terms are still to be compared.
    uncompared: Mutex<Option<(u64, Terms)>>,
    has_uncompared: AtomicBool,
    /// Members on several nodes: what carries the cells.
    between: Option<Between>,
}

/// What members on several nodes meet by.
#[derive(Debug)]
struct Between {
    team: Arc<Team>,
    /// What `base` leads to; from a box.
    cells: NonNull<[Cell]>,
}

impl Drop for Between {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and only the board that this belongs to leads there.
        drop(unsafe { Box::from_raw(self.cells.as_ptr()) });
    }
}

// SAFETY: the memory is atomics that last as long as the job.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

/// A round to which all have come. What they showed may be read until the next one.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    board: &'a Board,
    step: u64,
}

impl Board {
    /// The cells at `base`, [`bytes_for`] the members, of which the caller is the `me`-th; they have met `step` times.
    pub fn new(base: NonNull<u8>, bells: Bells, members: Box<[u32]>, me: usize, step: u64) -> Self {
        Self {
            base,
            bells,
            members,
            me,
            step: AtomicU64::new(step),
            all_came: AtomicU64::new(step.saturating_sub(DEPTH as u64)),
            uncompared: Mutex::new(None),
            has_uncompared: AtomicBool::new(false),
            between: None,
        }
    }

    /// Of members on several nodes: those of the team, which nothing else calls. Every round waits for all of them.
    pub fn between_nodes(team: Arc<Team>, bells: Bells) -> Self {
        let size = team.size();
        let members = (0..size)
            .filter_map(|rank| team.peer(rank))
            .map(|peer| peer.0)
            .collect();
        let zero = || Cell {
            step: AtomicU64::new(0),
            terms: [const { AtomicU64::new(0) }; 3],
            payload: [const { AtomicU64::new(0) }; INLINE / 8],
        };
        let cells: Box<[Cell]> = (0..size as usize * DEPTH).map(|_| zero()).collect();
        let cells = NonNull::from(Box::leak(cells));
        let me = team.rank() as usize;
        Self {
            between: Some(Between { team, cells }),
            ..Self::new(cells.cast(), bells, members, me, 0)
        }
    }

    /// The team of members on several nodes, which do not map each other's memory.
    #[inline]
    pub(super) fn team(&self) -> Option<&Team> {
        self.between.as_ref().map(|between| &*between.team)
    }

    /// As [`new`](Self::new), at what the job calls `key`.
    pub fn named(key: u64, bells: Bells, members: Box<[u32]>, me: usize, step: u64) -> isthmus_engine::Result<Self> {
        let base = symmetric::named(key, bytes_for(members.len()))?;
        Ok(Self::new(base, bells, members, me, step))
    }

    /// Processes of the job, in the order of the group.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Which of them we are.
    pub fn me(&self) -> usize {
        self.me
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Meetings so far.
    pub fn step(&self) -> u64 {
        self.step.load(Ordering::Relaxed)
    }

    #[inline]
    fn cell(&self, member: usize, step: u64) -> &Cell {
        debug_assert!(member < self.members.len());
        // SAFETY: the creator of the board vouched for the memory of all members' cells; cells are atomics.
        unsafe {
            self.base
                .cast::<Cell>()
                .add(member * DEPTH + step as usize % DEPTH)
                .as_ref()
        }
    }

    /// Come, show some words and bytes behind them (at most 1248 bytes together), and wait until everybody has come. Blocks. PEs that
    /// do not agree about the terms end the job.
    pub fn round(&self, terms: Terms, words: &[u64], data: &[u8]) -> Round<'_> {
        self.round_with(terms, words, data, Whom::All)
    }

    /// As [`round`](Self::round), but wait for these only. Blocks.
    pub fn round_with(&self, terms: Terms, words: &[u64], data: &[u8], whom: Whom) -> Round<'_> {
        if let Some(team) = self.team() {
            let step = self.enter_round(team, terms, words, data);
            (0..self.members.len()).for_each(|member| self.check(member, step, terms));
            return Round { board: self, step };
        }
        let step = self.come(terms, words, data);
        match whom {
            Whom::All => {
                self.await_all(terms.caller, step);
                (0..self.members.len()).for_each(|member| self.check(member, step, terms));
            }
            Whom::One(member) => {
                self.await_one(terms.caller, member, step);
                self.check(member, step, terms);
            }
            Whom::Nobody { compares } => {
                if compares {
                    *self.uncompared.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, terms));
                    self.has_uncompared.store(true, Ordering::Relaxed);
                }
            }
        }
        Round { board: self, step }
    }

    /// The last round: others may write these cells as soon as we have left. Blocks.
    pub fn part(&self, terms: Terms) {
        if let Some(team) = self.team() {
            self.enter_round(team, terms, &[], &[]);
            return;
        }
        let step = self.come(terms, &[], &[]);
        self.await_all(terms.caller, step);
    }

    /// A round between nodes: tell all members what we show, and hear of theirs: the step. Blocks until all have come.
    #[cold]
    fn enter_round(&self, team: &Team, terms: Terms, words: &[u64], data: &[u8]) -> u64 {
        let step = self.step.load(Ordering::Relaxed) + 1;
        self.step.store(step, Ordering::Relaxed);
        assert!(words.len() * 8 + data.len() <= INLINE);
        let mut shown = words.to_vec();
        shown.extend(data.chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_ne_bytes(word)
        }));
        let [routine, value, root] = terms.numbers();
        let mut own = [0; HEAD_WORDS + FIRST_WORDS];
        own[..HEAD_WORDS].copy_from_slice(&[step, routine, value, root, shown.len() as u64]);
        let at_once = shown.len().min(FIRST_WORDS);
        own[HEAD_WORDS..][..at_once].copy_from_slice(&shown[..at_once]);
        let mut all = vec![0; own.len() * self.size()];
        let gathered = team.allgather(&own, &mut all);
        gathered.unwrap_or_else(|error| terms.caller.refuse(error));
        let mut longest = 0;
        for (member, told) in all.chunks_exact(own.len()).enumerate() {
            let cell = self.cell(member, step);
            for (term, number) in cell.terms.iter().zip(&told[1..HEAD_WORDS - 1]) {
                term.store(*number, Ordering::Relaxed);
            }
            for (word, number) in cell.payload.iter().zip(&told[HEAD_WORDS..]) {
                word.store(*number, Ordering::Relaxed);
            }
            // A peer's number.
            longest = longest.max(told[HEAD_WORDS - 1].min((INLINE / 8) as u64) as usize);
            cell.step.store(step, Ordering::Relaxed);
        }
        if longest > FIRST_WORDS {
            let rest = longest - FIRST_WORDS;
            shown.resize(longest, 0);
            let mut all = vec![0; rest * self.size()];
            let gathered = team.allgather(&shown[FIRST_WORDS..], &mut all);
            gathered.unwrap_or_else(|error| terms.caller.refuse(error));
            for (member, told) in all.chunks_exact(rest).enumerate() {
                let payload = &self.cell(member, step).payload[FIRST_WORDS..];
                payload
                    .iter()
                    .zip(told)
                    .for_each(|(word, number)| word.store(*number, Ordering::Relaxed));
            }
        }
        step
    }

    /// Fill our next cell and publish it: the step. Blocks while somebody may still read what it held.
    fn come(&self, terms: Terms, words: &[u64], data: &[u8]) -> u64 {
        let step = self.step.load(Ordering::Relaxed) + 1;
        self.step.store(step, Ordering::Relaxed);
        self.await_room(terms.caller, step);
        if self.has_uncompared.load(Ordering::Relaxed) {
            self.compare_late();
        }
        let mine = self.cell(self.me, step);
        for (term, number) in mine.terms.iter().zip(terms.numbers()) {
            term.store(number, Ordering::Relaxed);
        }
        assert!(words.len() * 8 + data.len() <= INLINE);
        for (cell, &word) in mine.payload.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
        // SAFETY: there is room; nobody reads the cell before the step is published.
        unsafe {
            let to = mine.payload.as_ptr().add(words.len()).cast::<u8>().cast_mut();
            std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len());
        }
        // SYNC: board
        mine.step.store(step, Ordering::Release);
        self.bells.order();
        for (member, &pe) in self.members.iter().enumerate() {
            if member != self.me {
                self.bells.ring(Peer(pe));
            }
        }
        step
    }

    /// Compare the terms of the round before this one, where we waited for nobody. Nobody writes those cells until we publish the next.
    #[cold]
    fn compare_late(&self) {
        self.has_uncompared.store(false, Ordering::Relaxed);
        let late = self.uncompared.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((step, terms)) = late {
            let came = (0..self.members.len()).filter(|&member| self.has_come(member, step));
            came.for_each(|member| self.check(member, step, terms));
        }
    }

    fn has_come(&self, member: usize, step: u64) -> bool {
        // SYNC: board
        self.cell(member, step).step.load(Ordering::Acquire) >= step
    }

    /// All have come to the round behind the one whose cell `step` writes again.
    #[inline]
    fn await_room(&self, caller: Caller, step: u64) {
        let needed = (step + 1).saturating_sub(DEPTH as u64);
        if needed <= self.all_came.load(Ordering::Relaxed) {
            return;
        }
        // Mostly they are further than they must be: then this is not asked again soon.
        let latest = step - 1;
        if (0..self.members.len()).all(|member| self.has_come(member, latest)) {
            self.all_came.store(latest, Ordering::Relaxed);
        } else {
            self.await_all(caller, needed);
        }
    }

    fn await_all(&self, caller: Caller, step: u64) {
        let mut next = 0;
        self.await_those(caller, || {
            while next < self.members.len() && self.has_come(next, step) {
                next += 1;
            }
            (next < self.members.len()).then_some(next)
        });
        self.all_came.store(step, Ordering::Relaxed);
    }

    fn await_one(&self, caller: Caller, member: usize, step: u64) {
        self.await_those(caller, || (!self.has_come(member, step)).then_some(member));
    }

    /// Wait until `missing` names no member any more.
    #[inline(always)]
    fn await_those(&self, caller: Caller, mut missing: impl FnMut() -> Option<usize> + Send) {
        if look_briefly(&LOOKS_AT_NOTICE, || missing().is_none()) {
            return;
        }
        let look = |inside: &mut Entered| match missing() {
            None => Some(()),
            Some(member) => {
                inside.waits_in(caller.name(), Cause::Comes(self.members[member]));
                None
            }
        };
        if let Err(error) = wait_until(look) {
            caller.refuse(error);
        }
    }

    #[inline]
    fn check(&self, member: usize, step: u64, terms: Terms) {
        let theirs = self.cell(member, step);
        let numbers = terms.numbers();
        let agreed = theirs
            .terms
            .iter()
            .zip(numbers)
            .all(|(term, number)| term.load(Ordering::Relaxed) == number);
        if !agreed && theirs.step.load(Ordering::Relaxed) == step {
            self.disagree(member, step, terms);
        }
    }

    #[cold]
    fn disagree(&self, member: usize, step: u64, terms: Terms) -> ! {
        let theirs = self.cell(member, step);
        let theirs = [0, 1, 2].map(|index| theirs.terms[index].load(Ordering::Relaxed));
        let pe = self.members[member];
        let (name, value) = terms.argument;
        let numbers = terms.numbers();
        if theirs[0] != numbers[0] {
            terms.caller.refuse(format!(
                "PE {pe} calls another routine at the same time; all PEs of a team must call the same"
            ));
        }
        if theirs[2] != numbers[2] {
            terms.caller.refuse(format!(
                "PE_root={} here and PE_root={} on PE {pe}: all PEs must pass the same",
                numbers[2], theirs[2]
            ));
        }
        terms.caller.refuse(format!(
            "{name}={value} here and {name}={} on PE {pe}: all PEs must pass the same",
            theirs[1]
        ))
    }
}

impl Round<'_> {
    /// What a member has shown behind so many words.
    #[inline]
    pub fn data(&self, member: usize, words: usize) -> *const u8 {
        assert!(member < self.board.size() && words * 8 <= INLINE);
        let payload = &self.board.cell(member, self.step).payload;
        payload.as_ptr().wrapping_add(words).cast()
    }

    /// The `index`-th word of it.
    #[inline]
    pub fn word(&self, member: usize, index: usize) -> u64 {
        assert!(member < self.board.size());
        self.board.cell(member, self.step).payload[index].load(Ordering::Relaxed)
    }
}
