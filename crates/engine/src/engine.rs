//! The engine's state, and a round of progress. What it does is in the folder beside and in the other files of this crate, by what it
//! is about.

mod arrivals;
mod departures;
mod unexpected;

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use isthmus_shm::{Offset, Segment, Slot, doorbell};

use crate::channel::channels::Channels;
use crate::matching::matcher::Matching;
use crate::membership::boot;
use crate::membership::given_up::GivenUps;
use crate::membership::liveness::Wounds;
use crate::memory::arena::{self, Arena};
use crate::memory::spare::Spare;
use crate::memory::staging::Staging;
use crate::ops::Ops;
use crate::protocol::advertise::{Adverts, Claim};
use crate::protocol::choice::select::Lessons;
use crate::protocol::reach::Reach;
use crate::protocol::rendezvous::Question;
use crate::protocol::send;
use crate::protocol::single_copy::{Pull, Push};
use crate::protocol::streamed::Streams;
use crate::rma::Serving;
use crate::tunables;

use arrivals::{Deferred, PATIENCE};

/// The engine.
pub(crate) struct Engine {
    pub segment: &'static Segment,
    pub me: u32,
    pub channels: Channels,
    pub ops: Ops,
    pub matching: Matching,
    /// Who will probably be heard next: whom we heard last, or wait for; ourselves: nobody.
    pub awaited: u32,
    pub arena: Arena,
    pub staging: Staging,
    /// The same for calls that do not follow each other.
    pub staging_apart: Staging,
    /// Descriptors of sends that were withdrawn, until their receivers have seen it.
    pub withdrawn: Vec<Offset>,
    /// What is known of each peer's memory.
    pub reach: Vec<Reach>,
    /// What large messages from each peer taught us.
    pub learned: Vec<Option<Box<Lessons>>>,
    deferred: Deferred,
    /// Memory for unmatched payload.
    pub spare: Spare,
    /// Single copies that are under way.
    pub pulls: Vec<Pull>,
    /// Help that receivers asked for.
    pub pushes: Vec<Push>,
    /// Receives that we have advertised, and peers' receives that we may claim.
    pub adverts: Adverts,
    pub claims: Vec<Claim>,
    /// What we have asked senders to stream.
    pub questions: Vec<Question>,
    /// Pipes and sockets to and from peers.
    pub streams: Streams,
    pub asked: u32,
    pub fruitless: u16,
    /// Calls of one-sided operations that are being served, and how many were made.
    pub serving: Vec<Serving>,
    calls: u32,
    pub wounds: Wounds,
    pub given_ups: GivenUps,
    /// The connection to the launcher.
    pub lifeline: Option<OwnedFd>,
    /// Scratch of `flush`.
    pub done: Vec<u32>,
    pub eager_limit: usize,
    /// From this length up to the eager limit messages are announced nonetheless, where that pays.
    pub announced_from: usize,
}

impl Engine {
    pub fn new(segment: &'static Segment, me: u32, fence_needed: bool, lifeline: Option<OwnedFd>) -> Self {
        let ranks = segment.ranks() as usize;
        Self {
            segment,
            me,
            matching: Matching::new(tunables::UNEXPECTED_LIMIT.get()),
            channels: Channels::new(segment, me, fence_needed),
            ops: Ops::default(),
            awaited: me,
            arena: Arena::default(),
            staging: Staging::default(),
            staging_apart: Staging::default(),
            withdrawn: Vec::new(),
            reach: vec![Reach::default(); ranks],
            learned: (0..ranks).map(|_| None).collect(),
            deferred: Deferred::default(),
            spare: Spare::default(),
            pulls: Vec::new(),
            pushes: Vec::new(),
            adverts: Adverts::default(),
            claims: Vec::new(),
            questions: Vec::new(),
            streams: Streams::default(),
            asked: 0,
            fruitless: 0,
            serving: Vec::new(),
            calls: 0,
            wounds: Wounds::default(),
            given_ups: GivenUps::default(),
            lifeline,
            done: Vec::new(),
            eager_limit: send::eager_limit(segment.ranks()) as usize,
            announced_from: send::announced_from(),
        }
    }

    /// Move whatever can move. True: something did.
    #[inline]
    pub fn progress(&mut self) -> bool {
        self.deferred.patient = self.deferred.rounds < PATIENCE;
        if !self.deferred.patient {
            self.deferred.rounds = 0;
        }
        let mut moved = self.poll_hot();
        for (index, word) in self.segment.bitmap(self.me).iter().enumerate() {
            let mut bits = doorbell::take_word(word);
            while bits != 0 {
                moved |= self.answer_doorbell(index as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        if self.segment.attention(self.me).load(Ordering::Relaxed) != 0 {
            moved |= self.attend();
        }
        if !self.channels.is_quiet() {
            moved |= self.flush();
        }
        let pulled = !self.pulls.is_empty() && self.pull_on();
        moved |= pulled;
        // Who has something of its own to copy does not help.
        if !self.pushes.is_empty() {
            moved |= self.push_on(pulled);
        }
        if !self.claims.is_empty() {
            moved |= self.claim_on();
        }
        if !self.questions.is_empty() {
            moved |= self.question_on();
        }
        if self.streams.is_busy() {
            moved |= self.stream_on();
        }
        if self.matching.has_calls() || !self.serving.is_empty() {
            moved |= self.serve();
        }
        self.deferred.patient = false;
        if self.deferred.seen {
            moved |= self.take_deferred(moved);
        }
        if !moved {
            self.fruitless = self.fruitless.wrapping_add(1);
            if self.fruitless == 0 {
                crate::membership::boot::check_lifeline(self);
            }
        }
        moved
    }

    /// A number for the next call of a one-sided operation: no other one that is under way has it.
    pub fn next_call(&mut self) -> i32 {
        self.calls = self.calls.wrapping_add(1);
        (self.calls & 0x3fff_ffff) as i32
    }

    /// What we show to the others.
    pub fn slot(&self) -> &'static Slot {
        self.segment.slot(self.me)
    }

    /// Who will probably be heard next is this one, until somebody else is heard.
    pub fn await_peer(&mut self, peer: u32) {
        self.awaited = peer;
    }

    /// Where ranks take turns: has the one that will probably be heard next got a CPU, as far as it knows itself? Not asked where some
    /// have one to themselves: those have theirs always, and wait for the ones that share (docs/decisions/0030).
    pub fn is_awaited_at_work(&self) -> bool {
        self.awaited != self.me && !boot::is_partly_crowded() && self.segment.slot(self.awaited).is_at_work()
    }

    /// Rounds of progress in a row that moved nothing, roughly: it wraps.
    pub fn fruitless(&self) -> u16 {
        self.fruitless
    }

    /// Has something happened since the last call that a thread may wait for?
    pub fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.ops.news)
    }

    /// End the job: see [`crate::abort`].
    pub fn abort(&self, code: i32, message: &str) -> ! {
        crate::membership::boot::end_job(self.lifeline.as_ref(), code, message)
    }

    /// Is there a record to take, or a doorbell bit? Takes nothing.
    pub fn has_work(&self) -> bool {
        self.channels.has_record()
            || self
                .segment
                .bitmap(self.me)
                .iter()
                .any(|word| word.load(Ordering::Acquire) != 0)
            || self.has_copies_to_do()
            || self.matching.has_calls()
            || !self.claims.is_empty()
            || !self.questions.is_empty()
            || self.streams.is_draining()
            || self.segment.attention(self.me).load(Ordering::Acquire) != 0
            || self.is_behind()
    }

    /// The descriptor that a peer named.
    pub fn descriptor(&self, offset: u64) -> Option<&'static isthmus_shm::Descriptor> {
        arena::descriptor(self.segment, Offset(offset))
    }
}
