//! The engine: its parts, a round of progress, and what is done where parts meet.
//!
//! Each part owns its state; its fields are private to it. What a message goes through is in `protocol/`.

mod arrivals;
mod departures;
mod failed_calls;
mod failures;
mod remote;
mod remote_reads;
mod unexpected;
mod withdrawal;

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use isthmus_shm::occupancy::{self, PeerActivity};
use isthmus_shm::slot::Cause;
use isthmus_shm::{Offset, Segment, Slot, doorbell};

use crate::channel::channels::Channels;
use crate::channel::network::Network;
use crate::channel::reading::Reading;
use crate::limits::DEFERRED_ROUNDS;
use crate::matching::matcher::Matching;
use crate::membership::{Membership, launcher};
use crate::memory::Memory;
use crate::memory::arena;
use crate::ops::{Ops, Stage};
use crate::progress::gate::Guarded;
use crate::protocol::transfers::Transfers;
use crate::rma::{self, Asked, Call, Moving, Serving, Unanswered};
use crate::rules::Rule;
use crate::tunables::{self, Origin};
use crate::types::OpId;

use arrivals::Deferred;

/// The engine of this process; `None` before [`boot`].
pub(crate) static ENGINE: Guarded<Option<Engine>> = Guarded::new(None);

/// The engine.
pub(crate) struct Engine {
    pub segment: &'static Segment,
    pub me: u32,
    /// Read in each round: which peers have rung, and whether there are failures or revocations to learn of.
    bitmap: &'static [AtomicU64],
    attention: &'static AtomicU64,
    pub memory: Memory,
    pub membership: Membership,
    pub channels: Channels,
    pub ops: Ops,
    pub matching: Matching,
    pub transfers: Transfers,
    /// The peer that will probably be heard next: heard last, or awaited.
    awaited: Awaited,
    /// What the wait that is under way is for, as far as its caller has said. For people who ask.
    pub(crate) cause: Cause,
    /// The routine that waits, where its caller has said so; empty: it is found on the stack.
    pub(crate) routine: &'static str,
    /// The first operation that was asked for, and found pending, since that was last forgotten.
    pub(crate) pending: Option<OpId>,
    /// Calls that have tested without success.
    pub(crate) tests: Tests,
    deferred: Deferred,
    reading: Reading,
    /// Do the ranks of this node share CPUs?
    is_oversubscribed: bool,
    /// Rounds of progress in a row that moved nothing, roughly.
    idle_rounds: u16,
    /// Calls of one-sided operations that are being served, and how many were made.
    pub serving: Vec<Serving>,
    /// Calls that wait for something.
    pub asked: Vec<Asked>,
    /// Calls of ours that nobody has waited for yet, oldest first.
    pub unanswered: Vec<Unanswered>,
    /// Such calls that wait for others to the same peer, to go with them.
    pub batches: BTreeMap<u32, Call>,
    /// Those for which there was no room, with their peers, and what must not overtake them.
    pub queued: VecDeque<(u32, Call)>,
    /// Transfers by the provider's RMA that were started and not waited for.
    pub moving: Vec<Moving>,
    calls: u32,
    /// Scratch of `flush`.
    done: Vec<u32>,
}

/// Calls in a row that do not block and have found nothing.
#[derive(Debug, Default)]
pub struct Tests {
    pub(crate) count: u32,
    /// When the first of them read the clock.
    pub(crate) began: Option<Duration>,
    pub(crate) shown: bool,
}

/// Some ranks that a wait is for.
#[derive(Debug, Clone, Copy, Default)]
struct Awaited {
    peers: [u32; Self::MOST],
    count: u8,
}

impl Awaited {
    const MOST: usize = 4;

    #[inline]
    fn only(peer: u32) -> Self {
        Self {
            peers: [peer; Self::MOST],
            count: 1,
        }
    }

    /// This one, too, unless there are many.
    #[inline]
    fn add(&mut self, peer: u32) {
        let at = usize::from(self.count);
        if at < Self::MOST {
            self.peers[at] = peer;
            self.count += 1;
        }
    }

    #[inline]
    fn peers(&self) -> &[u32] {
        &self.peers[..usize::from(self.count)]
    }
}

/// Bytes of unmatched payload that this rank keeps: unless somebody has said how many, all ranks of the node together fill no more than a
/// quarter of what there was when the job began.
fn unexpected_limit(segment: &Segment) -> u64 {
    match tunables::UNEXPECTED_LIMIT.value() {
        (limit, Origin::Default) => limit.min(segment.memory_at_start() / 4 / u64::from(segment.ranks_here().max(1))),
        (limit, _) => limit,
    }
}

impl Engine {
    pub fn new(segment: &'static Segment, me: u32, fence_needed: bool, lifeline: Option<OwnedFd>) -> Self {
        Self {
            segment,
            me,
            bitmap: segment.bitmap(me),
            attention: segment.attention(me),
            memory: Memory::default(),
            membership: Membership::new(lifeline),
            channels: Channels::new(segment, me, fence_needed),
            ops: Ops::default(),
            matching: Matching::new(unexpected_limit(segment)),
            transfers: Transfers::new(segment.ranks()),
            awaited: Awaited::default(),
            cause: Cause::Unknown,
            routine: "",
            pending: None,
            tests: Tests::default(),
            deferred: Deferred::default(),
            reading: Reading::chosen(),
            is_oversubscribed: occupancy::is_oversubscribed(),
            idle_rounds: 0,
            serving: Vec::new(),
            asked: Vec::new(),
            unanswered: Vec::new(),
            batches: BTreeMap::new(),
            queued: VecDeque::new(),
            moving: Vec::new(),
            calls: 0,
            done: Vec::new(),
        }
    }

    /// Move whatever can move. True: something did.
    #[inline]
    pub fn progress(&mut self) -> bool {
        self.deferred.leaving = self.deferred.rounds < DEFERRED_ROUNDS;
        if !self.deferred.leaving {
            self.deferred.rounds = 0;
        }
        let mut moved = self.poll_recent();
        for (index, word) in self.bitmap.iter().enumerate() {
            let mut bits = doorbell::take_word(word);
            while bits != 0 {
                moved |= self.answer_doorbell(index as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
        if self.attention.load(Ordering::Relaxed) != 0 {
            moved |= self.handle_failures();
        }
        if self.channels.has_network() {
            if !self.batches.is_empty() || !self.queued.is_empty() {
                moved |= self.send_batches();
            }
            moved |= self.advance_network(moved);
        }
        if !self.channels.is_quiet() {
            moved |= self.flush();
        }
        moved |= self.advance_transfers();
        if self.matching.has_calls() || !self.serving.is_empty() || !self.asked.is_empty() {
            moved |= self.serve();
        }
        moved |= rma::serve();
        self.deferred.leaving = false;
        if self.deferred.seen {
            moved |= self.take_deferred(moved);
        }
        if !moved {
            self.idle_rounds = self.idle_rounds.wrapping_add(1);
            if self.idle_rounds == 0 {
                launcher::check_lifeline(self.membership.lifeline(), self.me);
            }
        }
        moved
    }

    /// A number for the next call of a one-sided operation: no other one that is under way has it.
    pub fn next_call(&mut self) -> i32 {
        self.calls = self.calls.wrapping_add(1);
        // 0 is that of calls without an answer.
        1 + (self.calls & 0x3fff_ffff) as i32
    }

    /// What we show to the others.
    pub fn slot(&self) -> &'static Slot {
        self.segment.slot(self.me)
    }

    /// This peer will probably be heard next, until another is heard.
    pub fn await_peer(&mut self, peer: u32) {
        self.awaited = Awaited::only(peer);
        self.cause = match self.cause {
            Cause::Collective(_, context) => Cause::Collective(Some(peer), context),
            _ => Cause::Comes(peer),
        };
    }

    /// As [`Self::await_peer`], of a message.
    #[inline]
    pub fn expect(&mut self, peer: u32) {
        self.awaited = Awaited::only(peer);
    }

    /// Those whom these operations are with, if there are such, will probably be heard next.
    #[inline]
    pub fn expect_all(&mut self, ops: impl IntoIterator<Item = OpId>) {
        let mut awaited = Awaited::default();
        for op in ops {
            if let Some(peer) = self.is_with(op) {
                awaited.add(peer);
            }
        }
        if !awaited.peers().is_empty() {
            self.awaited = awaited;
        }
    }

    /// The peer that an incomplete operation waits for, if it is a particular one on this node.
    #[inline]
    fn is_with(&self, op: OpId) -> Option<u32> {
        let op = &self.ops[self.ops.find(op)?];
        let with = match op.stage {
            Stage::Posted => op.from,
            Stage::Receiving { .. } | Stage::Queued | Stage::Offered => Some(op.to),
            _ => None,
        };
        // Nobody here sees whether a rank on another node has a CPU.
        with.filter(|peer| !self.channels.is_remote(*peer))
    }

    /// Where ranks take turns: have those who will probably be heard next got a CPU, as far as they know themselves
    /// (docs/decisions/0020)?
    pub fn activity_of_awaited(&self) -> PeerActivity {
        if self.awaited.peers().is_empty() || !Rule::AtWork.holds() {
            return PeerActivity::Unknown;
        }
        let at_work = |peer: &u32| self.segment.slot(*peer).is_at_work();
        match self.awaited.peers().iter().all(at_work) {
            true => PeerActivity::AtWork,
            false => PeerActivity::Away,
        }
    }

    /// Rounds of progress in a row that moved nothing, roughly: it wraps.
    pub fn idle_rounds(&self) -> u16 {
        self.idle_rounds
    }

    /// Has something happened since the last call that a thread may wait for?
    pub fn take_events(&mut self) -> bool {
        std::mem::take(&mut self.ops.has_events)
    }

    /// End the job: see [`crate::abort`].
    pub fn abort(&self, code: i32, message: &str) -> ! {
        launcher::end_job(self.membership.lifeline(), code, &[], message)
    }

    /// Is there a record to take, or a doorbell bit? Takes nothing.
    pub fn has_work(&mut self) -> bool {
        self.channels.has_record()
            || self.matching.has_calls()
            || self.bitmap.iter().any(|word| word.load(Ordering::Acquire) != 0)
            || self.has_transfers_to_advance()
            || self.attention.load(Ordering::Acquire) != 0
            || self.is_behind()
            || self.channels.network_mut().is_some_and(Network::has_work)
    }

    /// The descriptor that a peer named.
    pub fn descriptor(&self, offset: u64) -> Option<&'static isthmus_shm::Descriptor> {
        arena::descriptor(self.segment, Offset(offset))
    }
}
